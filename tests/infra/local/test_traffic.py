"""Recorded requests and the credentials behind them."""

import json

import pytest

from infra.local.aws_requests import AwsRequest, KeyHolder, Keyring, credential_scope, to_aws_request
from tests.infra.local.web import request, signed

CALLER = KeyHolder("F-1", "F")


def test_a_signed_request_names_its_key_and_service() -> None:
    assert credential_scope(request("POST", "/", headers=signed("AKIA1", "dynamodb"))) == ("AKIA1", "dynamodb")


def test_a_presigned_request_names_them_in_its_query() -> None:
    credential = "AKIA1%2F20261121%2Fus-east-1%2Fs3%2Faws4_request"
    assert credential_scope(request("GET", f"/b/k?X-Amz-Credential={credential}&X-Amz-Signature=0")) == ("AKIA1", "s3")


@pytest.mark.parametrize("authorization", ["Bearer x", "AWS4-HMAC-SHA256 Credential=x"])
def test_other_requests_have_no_credential(authorization: str) -> None:
    assert credential_scope(request("GET", "/", headers={"Authorization": authorization})) in {None, ("", "")}


def test_keys_are_random_and_only_issued_ones_are_known() -> None:
    keyring = Keyring()
    first, second = keyring.issue(CALLER), keyring.issue(CALLER)
    assert first != second
    assert keyring.caller(first) == CALLER
    assert keyring.caller("AKIA") is None


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
