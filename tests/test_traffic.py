"""Requests as recorded values."""

import json

import pytest

from infra.local.router import KeyHolder
from tests.infra.local.web import request
from tests.traffic import AwsRequest, to_aws_request

CALLER = KeyHolder("F-1", "F")


def test_a_dynamodb_request_is_recorded_with_operation_table_and_body() -> None:
    headers = {"X-Amz-Target": "DynamoDB_20120810.GetItem", "Content-Type": "application/x-amz-json-1.0"}
    made = to_aws_request(request("POST", "/", body=b'{"TableName": "T"}', headers=headers), CALLER, "dynamodb", "i-1")
    assert made == AwsRequest("F-1", "F", "dynamodb", "GetItem", {"TableName": "T"}, "i-1")
    assert made.table == "T"


def test_requests_without_target_are_named_by_method_and_path() -> None:
    made = to_aws_request(request("PUT", "/bucket/a%20b", body=b"x"), CALLER, "s3", None)
    assert (made.operation, made.body, made.table) == ("PUT /bucket/a b", None, None)
    invoked = to_aws_request(request("POST", "/2015-03-31/functions/f/invocations", body=b"{}"), CALLER, "lambda", None)
    assert (invoked.operation, invoked.body) == ("Invoke", {})


@pytest.mark.parametrize(
    "body",
    [
        {"RequestItems": {"A": [], "B": []}},
        {"TransactItems": [{"Put": {"TableName": "A"}}, {"Delete": {"TableName": "B"}}, {"Put": {"TableName": "A"}}]},
    ],
)
def test_batches_and_transactions_name_all_their_tables(body: object) -> None:
    made = AwsRequest("c", None, "dynamodb", "X", json.loads(json.dumps(body)))
    assert made.tables == ("A", "B")
