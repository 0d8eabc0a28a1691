"""New rows of the audit are put into the owner's bucket, and a batch that cannot be comes again."""

import json
from typing import Any

import boto3
import pytest

from janitor.delivery import object_key
from janitor.handler import handler
from mcpist.audit import record as audit
from mcpist.aws.attributes import serialize
from mcpist.aws.clients import AwsError
from mcpist.settings import settings
from tests.lambda_context import Context


@pytest.fixture(autouse=True)
def bucket(organization: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """A bucket of the owner, beside the tables of an organization."""
    assert organization
    monkeypatch.setenv("AUDIT_EXPORT", "siem-logs")
    settings.cache_clear()
    boto3.client("s3").create_bucket(Bucket="siem-logs")
    return "siem-logs"


def record(number: int, organization: str = "acme") -> dict[str, Any]:
    row = audit.new_row(
        organization, user="uma", roles=[], event="use", service="github", outcome="succeeded", request=f"r{number}"
    )
    image = serialize(row)
    keys = {name: image[name] for name in ("pk", "sk")}
    return {"eventID": f"e{number}", "eventName": "INSERT", "dynamodb": {"Keys": keys, "NewImage": image}}


def delivered(bucket: str) -> list[list[dict[str, Any]]]:
    s3 = boto3.client("s3")
    keys = [one["Key"] for one in s3.list_objects_v2(Bucket=bucket).get("Contents", [])]
    bodies = [s3.get_object(Bucket=bucket, Key=key)["Body"].read().decode() for key in keys]
    return [[json.loads(line) for line in body.splitlines()] for body in bodies]


def test_a_batch_is_one_object_in_the_order_of_the_rows(bucket: str) -> None:
    records = [record(1), record(2, "globex"), record(3)]
    assert handler({"Records": records}, Context()) == {"delivered_rows": 3}
    (rows,) = delivered(bucket)
    assert [one["metadata"]["tenant_uid"] for one in rows] == ["acme", "globex", "acme"]
    assert [one["unmapped"]["request"] for one in rows] == ["r1", "r2", "r3"]


def test_a_batch_that_comes_again_replaces_its_object(bucket: str) -> None:
    records = [record(1), record(2)]
    for _ in range(2):
        handler({"Records": records}, Context())
    assert len(delivered(bucket)) == 1
    assert object_key(records[0]) != object_key(records[1])


def test_a_batch_that_is_not_stored_is_an_error_so_that_it_comes_again(bucket: str) -> None:
    boto3.client("s3").delete_bucket(Bucket=bucket)
    with pytest.raises(AwsError):
        handler({"Records": [record(1)]}, Context())
