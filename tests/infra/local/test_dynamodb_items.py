"""Requests about items have the answers of moto's own front."""

import json
from collections.abc import Iterator
from http.client import HTTPMessage
from typing import Any

import pytest

from infra.local.dynamodb import METHODS, ItemRequests
from infra.local.server import App, LoopbackRequest, LoopbackResponse

KEY = {"pk": {"S": "a"}, "sk": {"S": "1"}}
ITEM = KEY | {
    "count": {"N": "12"},
    "sealed": {"B": "AP8="},
    "parts": {"BS": ["YQ==", "Yg=="]},
    "tags": {"SS": ["x", "y"]},
    "none": {"NULL": True},
    "deep": {"M": {"B": {"S": "no bytes"}, "list": {"L": [{"S": ""}, {"B": "eg=="}, {"M": {}}]}}},
}
OTHER = KEY | {"sk": {"S": "2"}}
PUT = {"TableName": "T", "Item": ITEM}
UPDATE: dict[str, Any] = {
    "TableName": "T",
    "Key": KEY,
    "UpdateExpression": "SET #seq.#3 = #count, #count = #count + :one, #sealed = :sealed",
    "ExpressionAttributeNames": {"#seq": "deep", "#3": "3", "#count": "count", "#sealed": "sealed"},
    "ExpressionAttributeValues": {":one": {"N": "1"}, ":sealed": {"B": "AQI="}},
    "ReturnValues": "ALL_NEW",
}
ADD: dict[str, Any] = {
    "TableName": "T",
    "Key": KEY,
    "UpdateExpression": " ADD #count :one",
    "ConditionExpression": "attribute_not_exists(#count) OR #count < :one",
    "ExpressionAttributeNames": {"#count": "count"},
    "ExpressionAttributeValues": {":one": {"N": "100"}},
}
NEW = {"ConditionExpression": "attribute_not_exists(#pk)", "ExpressionAttributeNames": {"#pk": "pk"}}
QUERY = {
    "TableName": "T",
    "KeyConditionExpression": "#pk = :pk",
    "ExpressionAttributeNames": {"#pk": "pk"},
    "ExpressionAttributeValues": {":pk": {"S": "a"}},
    "Limit": 1,
}
SEALED = {"ConditionExpression": "#sealed = :sealed", "ExpressionAttributeNames": {"#sealed": "sealed"}}
REQUESTS: list[tuple[str, dict[str, Any]]] = [
    ("GetItem", {"TableName": "T", "Key": KEY, "ConsistentRead": True}),
    ("PutItem", PUT),
    ("GetItem", {"TableName": "T", "Key": KEY, "ConsistentRead": True}),
    ("PutItem", PUT | NEW),
    ("UpdateItem", UPDATE),
    ("UpdateItem", UPDATE | NEW | {"ExpressionAttributeNames": UPDATE["ExpressionAttributeNames"] | {"#pk": "pk"}}),
    ("UpdateItem", UPDATE | {"UpdateExpression": "SET #nothing = :one"}),
    # Expressions that have been checked before, with other values, another key or one thing that is wrong.
    ("UpdateItem", UPDATE),
    ("UpdateItem", UPDATE | {"ExpressionAttributeValues": {":one": {"N": "-3.5"}, ":sealed": {"B": "/w=="}}}),
    ("UpdateItem", UPDATE | {"ExpressionAttributeValues": {":one": {"S": "no number"}, ":sealed": {"B": "AQI="}}}),
    ("UpdateItem", UPDATE | {"ExpressionAttributeNames": UPDATE["ExpressionAttributeNames"] | {"#unused": "pk"}}),
    ("UpdateItem", UPDATE | {"Key": KEY | {"sk": {"S": "4"}}}),
    ("UpdateItem", UPDATE | {"ReturnValues": "UPDATED_NEW"}),
    ("UpdateItem", UPDATE | {"ReturnValues": "UPDATED_NEW"}),
    ("UpdateItem", ADD),
    ("UpdateItem", ADD | {"Key": OTHER}),
    ("UpdateItem", ADD | {"Key": {"pk": {"S": "a"}, "sk": {"N": "1"}}}),
    ("UpdateItem", ADD | {"Expected": {}}),
    ("UpdateItem", ADD | {"ExpressionAttributeValues": {":one": {"N": "7"}}, "ReturnValues": "ALL_NEW"}),
    ("UpdateItem", ADD | {"ExpressionAttributeValues": {":one": {"N": "8"}}, "ReturnValues": "ALL_NEW"}),
    ("GetItem", {"TableName": "T", "Key": KEY, "ConsistentRead": True}),
    ("DeleteItem", {"TableName": "T", "Key": OTHER}),
    ("PutItem", PUT | SEALED | {"ExpressionAttributeValues": {":sealed": {"B": "AQI="}}, "ReturnValues": "ALL_OLD"}),
    ("BatchWriteItem", {"RequestItems": {"T": [{"PutRequest": {"Item": OTHER | {"sealed": {"B": "AQI="}}}}]}}),
    ("BatchGetItem", {"RequestItems": {"T": {"Keys": [KEY, OTHER, KEY | {"sk": {"S": "3"}}]}}}),
    ("Query", QUERY),
    ("Query", QUERY | {"ExclusiveStartKey": KEY, "Limit": 2}),
    ("Query", QUERY | {"ExpressionAttributeValues": {":pk": {"S": "b"}}}),
    ("Scan", {"TableName": "T"}),
    ("Scan", {"TableName": "T", "Limit": 1, "ProjectionExpression": "pk, sealed"}),
    ("Scan", {"TableName": "missing"}),
    ("TransactGetItems", {"TransactItems": [{"Get": {"TableName": "T", "Key": key}} for key in (KEY, OTHER)]}),
    ("TransactGetItems", {"TransactItems": [{"Get": {"TableName": "missing", "Key": KEY}}]}),
    ("TransactWriteItems", {"TransactItems": [{"Put": PUT | NEW}, {"Delete": {"TableName": "T", "Key": OTHER}}]}),
    ("TransactWriteItems", {"TransactItems": [{"Put": PUT}, {"Delete": {"TableName": "T", "Key": OTHER}}]}),
    ("DeleteItem", {"TableName": "T", "Key": KEY, "ReturnValues": "ALL_OLD"}),
    ("DeleteItem", {"TableName": "T", "Key": KEY, "ReturnValues": "ALL_OLD"}),
    ("GetItem", {"TableName": "missing", "Key": KEY}),
    ("GetItem", {"TableName": "T", "Key": {"pk": {"S": "a"}}}),
    ("DescribeTable", {"TableName": "missing"}),
]


def sent(app: App, operation: str, body: dict[str, Any]) -> LoopbackResponse:
    """Send a request as the router passes it on."""
    content = json.dumps(body).encode()
    values = {
        "content-type": "application/x-amz-json-1.0",
        "x-amz-target": f"DynamoDB_20120810.{operation}",
        "host": "127.0.0.1",
        "authorization": "AWS4-HMAC-SHA256 Credential=A/20261123/us-east-1/dynamodb/aws4_request",
    }
    headers = HTTPMessage()
    for name, value in values.items():
        headers[name] = value
    environ = {f"HTTP_{name.upper().replace('-', '_')}": value for name, value in values.items()}
    environ["CONTENT_TYPE"] = values["content-type"]
    return app(LoopbackRequest(_environ(content) | environ, headers, content))


def answer(app: App, operation: str, body: dict[str, Any]) -> tuple[int, Any]:
    """Return the status and the JSON of an answer."""
    response = sent(app, operation, body)
    return response.status, json.loads(response.body)


def _environ(content: bytes) -> dict[str, Any]:
    from werkzeug.test import EnvironBuilder

    return EnvironBuilder("/", base_url="http://127.0.0.1", method="POST", data=content).get_environ()


@pytest.fixture
def front() -> Iterator[App]:
    """moto's own front, with an empty table."""
    from infra.local.moto_backend import Moto, running_moto

    with running_moto(lambda _: LoopbackResponse(404)):
        moto = Moto()
        yield moto.by_front


def make_table(app: App) -> None:
    """Create the table, anew."""
    answer(app, "DeleteTable", {"TableName": "T"})
    keys = [{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}]
    types = [{"AttributeName": name, "AttributeType": "S"} for name in ("pk", "sk")]
    definition = {"TableName": "T", "KeySchema": keys, "AttributeDefinitions": types, "BillingMode": "PAY_PER_REQUEST"}
    assert answer(app, "CreateTable", definition)[0] == 200


def test_every_answer_is_that_of_motos_front(front: App) -> None:
    answers = []
    for app in (front, ItemRequests(front)):
        make_table(front)
        answers.append([answer(app, *request) for request in REQUESTS])
    expected, seen = answers
    assert seen == expected
    assert {status for status, _ in seen} == {200, 400}
    assert {operation for operation, _ in REQUESTS} >= METHODS.keys()


def test_an_answer_has_its_checksum(front: App) -> None:
    make_table(front)
    ours = sent(ItemRequests(front), *REQUESTS[1])
    theirs = sent(front, *REQUESTS[1])
    assert {name.lower() for name, _ in ours.headers} >= {"content-type", "x-amzn-requestid", "x-amz-crc32"}
    assert dict(theirs.headers)["x-amz-crc32"] == dict(ours.headers)["x-amz-crc32"]
