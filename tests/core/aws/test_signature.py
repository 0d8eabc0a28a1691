"""Signatures are those of botocore."""

import time
from datetime import UTC, datetime

import pytest
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials as BotocoreCredentials

from mcpist.aws.credentials import Credentials, signed_headers

HEADERS = {"content-type": "application/x-amz-json-1.0", "x-amz-target": "DynamoDB_20120810.GetItem"}


@pytest.mark.parametrize("token", ["", "a token/with+signs="])
@pytest.mark.parametrize("body", [b"", b'{"TableName": "\xc3\xbc"}'])
def test_a_signature_is_that_of_botocore(token: str, body: bytes) -> None:
    host = "dynamodb.eu-central-1.amazonaws.com"
    theirs = AWSRequest("POST", f"https://{host}/", headers=HEADERS, data=body)
    SigV4Auth(BotocoreCredentials("AKIA1", "sec/ret+", token or None), "dynamodb", "eu-central-1").add_auth(theirs)
    now = datetime.strptime(theirs.headers["X-Amz-Date"], "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC).timestamp()
    ours = signed_headers(
        {**HEADERS, "host": host},
        body,
        Credentials("AKIA1", "sec/ret+", token),
        service="dynamodb",
        region="eu-central-1",
        now=now,
    )
    assert ours["authorization"] == theirs.headers["Authorization"]
    assert ours["x-amz-date"] == theirs.headers["X-Amz-Date"]
    assert ours.get("x-amz-security-token", "") == token


def test_each_day_has_a_signature_of_its_own() -> None:
    now = time.time()
    keys = Credentials("AKIA1", "secret", "")
    found = {
        signed_headers({"host": "h"}, b"", keys, service="s", region="r", now=moment)["authorization"][-64:]
        for moment in (now, now + 86_400, now)
    }
    assert len(found) == 2
