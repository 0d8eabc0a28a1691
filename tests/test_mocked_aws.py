"""The answers of the mocked AWS are those of moto, and a kept client is as good as a new one."""

from typing import Any

import boto3
import pytest
from botocore.awsrequest import AWSPreparedRequest
from botocore.exceptions import ClientError
from moto.core.botocore_stubber import BotocoreStubber

from mcpist.aws import clients
from mcpist.memory import forget_all
from tests import mocked_aws
from tests.kept_clients import quotas_of

KEY = {"pk": {"S": "org#acme"}, "sk": {"S": "user#ada"}}
NO_KEY = {"pk": {"S": "org#acme"}, "sk": {"S": "user#eve"}}
ITEM = KEY | {
    "count": {"N": "12.5"},
    "sealed": {"B": b"\x00\xff"},
    "parts": {"BS": [b"a", b"b"]},
    "tags": {"SS": ["x", "y"]},
    "none": {"NULL": True},
    "done": {"BOOL": False},
    "deep": {"M": {"list": {"L": [{"S": ""}, {"M": {}}, {"B": b"z"}]}, "empty": {"L": []}}},
}
NEW = {"ConditionExpression": "attribute_not_exists(pk)"}
ONE: dict[str, Any] = {"ExpressionAttributeValues": {":one": {"N": "1"}}}
REQUESTS: list[tuple[str, dict[str, Any]]] = [
    ("put_item", {"Item": ITEM, **NEW}),
    ("put_item", {"Item": ITEM, **NEW, "ReturnValuesOnConditionCheckFailure": "ALL_OLD"}),
    ("get_item", {"Key": KEY, "ConsistentRead": True}),
    ("get_item", {"Key": NO_KEY}),
    ("get_item", {"Key": {"pk": {"S": "half of a key"}}}),
    *(
        ("update_item", {"Key": KEY, "UpdateExpression": f"ADD #count :one{more}", "ReturnValues": returned, **ONE})
        for more in ("", " SET more = :one", "")
        for returned in ("ALL_NEW", "NONE", "UPDATED_NEW")
    ),
    ("query", {"KeyConditionExpression": "pk = :one", "ExpressionAttributeValues": {":one": KEY["pk"]}, "Limit": 1}),
    ("scan", {"Limit": 1}),
    ("put_item", {"Item": ITEM | {"large": {"S": "x" * 405_000}}}),
    ("update_item", {"Key": NO_KEY, "UpdateExpression": "ADD #count :one", "ReturnValues": "ALL_NEW", **ONE}),
    ("delete_item", {"Key": KEY, "ReturnValues": "ALL_OLD"}),
    ("delete_item", {"Key": NO_KEY, "ConditionExpression": "attribute_exists(sealed)"}),
]


@pytest.fixture
def stubber() -> BotocoreStubber:
    return BotocoreStubber()


def answers(table: str, *, by_moto: bool, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Return the answers to all requests about items of a new table, without what differs by the request."""
    client, found = boto3.client("dynamodb"), []
    client.create_table(
        TableName=table,
        BillingMode="PAY_PER_REQUEST",
        KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}],
        AttributeDefinitions=[{"AttributeName": name, "AttributeType": "S"} for name in ("pk", "sk")],
    )
    if by_moto:
        monkeypatch.setattr(mocked_aws, "DYNAMODB_HOST", "elsewhere.example.com")
    for operation, arguments in REQUESTS:
        names = {"ExpressionAttributeNames": {"#count": "count"}} if "#count" in str(arguments) else {}
        try:
            answer = getattr(client, operation)(TableName=table, **arguments, **names)
        except ClientError as error:
            answer = error.response
        answer["ResponseMetadata"] = answer["ResponseMetadata"]["HTTPStatusCode"]
        found.append((operation, answer))
    return found


def test_items_are_answered_as_by_moto(aws: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    assert "GetItem" not in aws
    ours = answers("same", by_moto=False, monkeypatch=monkeypatch)
    assert [one["ResponseMetadata"] for _, one in ours].count(400) == 4
    boto3.client("dynamodb").delete_table(TableName="same")
    assert ours == answers("same", by_moto=True, monkeypatch=monkeypatch)


def test_what_is_no_request_about_items_of_the_mocked_region_is_left_to_moto(stubber: BotocoreStubber) -> None:
    request = AWSPreparedRequest(
        "POST", f"https://{mocked_aws.DYNAMODB_HOST}/", {"X-Amz-Target": "DynamoDB_20120810.GetItem"}, b"{", False
    )
    assert stubber("before-send", request) is None  # it is not mocked


def test_a_kept_client_has_no_handlers_of_another_test() -> None:
    found, kept = list[str](), list[Any]()
    for name in ("one", "two"):
        with mocked_aws.mocked_aws() as sent:
            clients.session().register("before-call.sts.*", lambda name=name, **_: found.append(f"session {name}"))
            first, second = (boto3.DEFAULT_SESSION._session.create_client("sts", "us-east-1") for _ in range(2))
            first.meta.events.register("before-call.sts.*", lambda name=name, **_: found.append(f"client {name}"))
            assert first is not second
            first.get_caller_identity()
            second.get_caller_identity()
            kept.append(first)
            assert sent == ["GetCallerIdentity", "GetCallerIdentity"]
    assert kept[0] is kept[1]
    assert found == ["session one", "client one", "session one", "session two", "client two", "session two"]
    forget_all()


def test_a_kept_client_may_retry_as_often_as_a_new_one() -> None:
    for _ in range(2):
        with mocked_aws.mocked_aws():
            client = clients.client("sts")
            (quota,) = quotas_of(client)
            assert quota._available_capacity == quota._max_capacity
            assert quota.acquire(5)
