from datetime import UTC, datetime

import boto3
import pytest

from mcpist import audit
from mcpist.caller import Role
from mcpist.errors import StoreUnavailable
from mcpist.settings import settings
from mcpist.stores import Table
from tests.core.sample import caller

pytestmark = pytest.mark.usefixtures("aws")

ADA = caller(Role("members"), Role("writers"))


def test_a_row_says_who_used_what_by_which_account(aws: list[str]) -> None:
    audit.record(ADA, module="shop", tool="get_item", outcome="succeeded", request="r1", account="uma@shop", batch="b1")
    assert aws == ["PutItem"]
    today = f"{datetime.now(UTC):%Y-%m-%d}"
    (row,) = Table(settings().audit_table, "audit").query(f"acme#{today}")
    kept = row.pop("expires_at") - datetime.now(UTC).timestamp()
    assert 399 < kept / audit.SECONDS_A_DAY <= 400
    assert row.pop("sk").startswith(today)
    assert row == {
        "pk": f"acme#{today}",
        "user_key": "acme#uma",
        "service_key": "acme#shop",
        "user": "uma",
        "roles": ["members", "writers"],
        "service": "shop",
        "account": "uma@shop",
        "tool": "shop.get_item",
        "outcome": "succeeded",
        "request": "r1",
        "batch": "b1",
    }


@pytest.mark.parametrize(("index", "key"), [("by_user", "user_key"), ("by_service", "service_key")])
def test_rows_are_found_by_user_and_by_service(index: str, key: str) -> None:
    audit.record(ADA, module="shop", tool="get_item", outcome="succeeded", request="r1")
    value = {"user_key": "acme#uma", "service_key": "acme#shop"}[key]
    found = boto3.client("dynamodb").query(
        TableName=settings().audit_table,
        IndexName=index,
        KeyConditionExpression=f"{key} = :value",
        ExpressionAttributeValues={":value": {"S": value}},
    )
    assert found["Count"] == 1


def test_rows_of_the_same_moment_do_not_replace_each_other() -> None:
    for _ in range(20):
        audit.record(ADA, module="shop", tool="get_item", outcome="succeeded", request="r1")
    today = f"{datetime.now(UTC):%Y-%m-%d}"
    assert len(Table(settings().audit_table, "audit").query(f"acme#{today}")) == 20


def test_whatever_keeps_a_row_from_being_written_is_an_outage_of_the_audit() -> None:
    boto3.client("dynamodb").delete_table(TableName=settings().audit_table)
    with pytest.raises(StoreUnavailable, match="audit"):
        audit.record(ADA, module="shop", tool="get_item", outcome="succeeded", request="r1")
