from typing import Any

import pytest

from benchmarks.prices import MissingPrice, Usage
from benchmarks.usage import Tables, billed, size
from tests.traffic import AwsRequest


def item(sk: str, characters: int) -> dict[str, Any]:
    """An item of the partition `p` that is as large as its text and ten bytes more."""
    return {"pk": {"S": "p"}, "sk": {"S": sk}, "text": {"S": "x" * characters}}


STANDING = Tables({"T": [item("a1", 1_000), item("a2", 5_000), item("b1", 10)]}, {"T": 0, "Indexed": 2})


def of(service: str, operation: str, body: Any = None) -> Usage:
    return billed(AwsRequest("sandbox", "McpEndpointFunction", service, operation, body), STANDING)


def key(sk: str) -> dict[str, Any]:
    return {"pk": {"S": "p"}, "sk": {"S": sk}}


def test_an_item_is_as_large_as_dynamodb_counts_it() -> None:
    assert size({"pk": {"S": "ab"}}) == 4
    assert size({"n": {"N": "1829865576"}}) == 1 + 5 + 1
    assert size({"é": {"S": "é"}}) == 4
    assert size({"b": {"B": "eHh4"}}) == size({"b": {"B": b"xxx"}}) == 4
    assert size({"f": {"BOOL": True}}) == size({"f": {"NULL": True}}) == 2
    assert size({"m": {"M": {"a": {"S": "xy"}}}}) == 1 + 3 + 1 + 2 + 1
    assert size({"l": {"L": [{"S": "xy"}, {"S": "z"}]}}) == 1 + 3 + 2 + 1 + 1 + 1


def test_each_started_kilobyte_is_a_write_unit_and_another_in_each_index() -> None:
    assert of("dynamodb", "PutItem", {"TableName": "T", "Item": item("a", 900)}) == {"dynamodb_write": 1}
    assert of("dynamodb", "PutItem", {"TableName": "T", "Item": item("a", 1_024)}) == {"dynamodb_write": 2}
    assert of("dynamodb", "PutItem", {"TableName": "Indexed", "Item": item("a", 1_024)}) == {"dynamodb_write": 6}


def test_an_update_is_billed_by_the_item_that_stands_and_a_batch_by_each_of_its_items() -> None:
    assert of("dynamodb", "UpdateItem", {"TableName": "T", "Key": key("a2")}) == {"dynamodb_write": 5}
    puts = [{"PutRequest": {"Item": item("a", length)}} for length in (10, 1_500)]
    assert of("dynamodb", "BatchWriteItem", {"RequestItems": {"T": puts}}) == {"dynamodb_write": 3}


def test_a_transaction_takes_each_write_unit_twice() -> None:
    put = {"Put": {"TableName": "Indexed", "Item": item("a", 900)}}
    update = {"Update": {"TableName": "T", "Key": key("a2")}}
    assert of("dynamodb", "TransactWriteItems", {"TransactItems": [put, update]}) == {"dynamodb_write": 2 * (3 + 5)}


def test_each_started_four_kilobytes_are_a_read_unit_or_half_a_unit() -> None:
    consistent = {"TableName": "T", "Key": key("a2"), "ConsistentRead": True}
    assert of("dynamodb", "GetItem", consistent) == {"dynamodb_read": 2}
    assert of("dynamodb", "GetItem", {"TableName": "T", "Key": key("a2")}) == {"dynamodb_read": 1}
    assert of("dynamodb", "GetItem", {"TableName": "T", "Key": key("gone")}) == {"dynamodb_read": 0.5}


def test_a_query_rounds_the_sum_and_a_batch_each_item() -> None:
    values = {":pk": {"S": "p"}, ":prefix": {"S": "a"}}
    query = {"TableName": "T", "ExpressionAttributeValues": values, "ConsistentRead": True}
    assert of("dynamodb", "Query", query) == {"dynamodb_read": 2}
    keys = {"Keys": [key("a1"), key("a2"), key("b1")], "ConsistentRead": True}
    assert of("dynamodb", "BatchGetItem", {"RequestItems": {"T": keys}}) == {"dynamodb_read": 4}


def test_requests_of_other_services_are_billed_one_by_one() -> None:
    assert of("kms", "Decrypt") == {"kms_request": 1}
    assert of("lambda", "Invoke") == {"lambda_request": 1}
    assert of("s3", "GET /bucket/rag/demo/index.sqlite") == of("s3", "HEAD /bucket/file") == {"s3_get": 1}
    assert of("s3", "GET /bucket") == of("s3", "PUT /bucket/file") == {"s3_put": 1}
    assert of("s3", "DELETE /bucket/file") == of("states", "StartExecution") == {}


@pytest.mark.parametrize(
    ("service", "operation", "body"),
    [
        ("dynamodb", "TransactWriteItems", {"TransactItems": [{"Delete": {"TableName": "T", "Key": key("a1")}}]}),
        ("dynamodb", "Query", {"ExpressionAttributeValues": {":key": {"S": "by an index"}}}),
        ("kms", "Encrypt", None),
        ("sqs", "SendMessage", None),
        ("s3", "PATCH /bucket/file", None),
    ],
)
def test_an_operation_without_a_price_is_an_error(service: str, operation: str, body: Any) -> None:
    with pytest.raises(MissingPrice):
        of(service, operation, body)
