"""moto's tables answer as they do without our changes, and a refused transaction leaves nothing."""

import json
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import boto3
import moto.dynamodb.models.table
import pytest
from botocore.exceptions import ClientError
from hypothesis import given
from hypothesis import strategies as st
from moto import mock_aws
from moto.dynamodb.models import dynamodb_backends
from moto.dynamodb.models.dynamo_type import DynamoType
from moto.dynamodb.models.table import Table

from infra.local import dynamodb as dynamodb_patches
from infra.local.names import ACCOUNT, REGION
from infra.local.server import LoopbackRequest, LoopbackResponse

STRINGS = {"AttributeType": "S"}
QUERIES: list[dict[str, Any]] = [
    {"KeyConditionExpression": "pk = :a", "ExpressionAttributeValues": {":a": {"S": "a"}}},
    {
        "KeyConditionExpression": "pk = :a AND sk BETWEEN :low AND :high",
        "ExpressionAttributeValues": {":a": {"S": "b"}, ":low": {"S": "1"}, ":high": {"S": "4"}},
        "ScanIndexForward": False,
        "Limit": 2,
    },
    {
        "IndexName": "by_user",
        "KeyConditionExpression": "user_key = :u",
        "ExpressionAttributeValues": {":u": {"S": "uma"}},
        "ScanIndexForward": False,
    },
    {
        "IndexName": "by_user",
        "KeyConditionExpression": "user_key = :u AND sk < :high",
        "ExpressionAttributeValues": {":u": {"S": "ada"}, ":high": {"S": "5"}, ":n": {"N": "2"}},
        "FilterExpression": "amount > :n",
        "Limit": 3,
    },
]
ROWS = st.lists(
    st.tuples(
        st.sampled_from("abc"), st.sampled_from("12345"), st.sampled_from(["uma", "ada", None]), st.integers(0, 4)
    ),
    max_size=20,
)


@pytest.fixture(scope="module")
def dynamodb() -> Iterator[Any]:
    with mock_aws():
        client = boto3.client("dynamodb", region_name=REGION)
        client.create_table(
            TableName="rows",
            BillingMode="PAY_PER_REQUEST",
            KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}],
            AttributeDefinitions=[{"AttributeName": name, **STRINGS} for name in ("pk", "sk", "user_key")],
            GlobalSecondaryIndexes=[
                {
                    "IndexName": "by_user",
                    "KeySchema": [
                        {"AttributeName": "user_key", "KeyType": "HASH"},
                        {"AttributeName": "sk", "KeyType": "RANGE"},
                    ],
                    "Projection": {"ProjectionType": "ALL"},
                }
            ],
        )
        yield client


def item(pk: str, sk: str, user: str | None = None, amount: int = 0) -> dict[str, Any]:
    return {
        "pk": {"S": pk},
        "sk": {"S": sk},
        "amount": {"N": str(amount)},
        **({"user_key": {"S": user}} if user else {}),
    }


def fill(rows: list[tuple[str, str, str | None, int]]) -> None:
    table = dynamodb_backends[ACCOUNT][REGION].tables["rows"]
    for held in table.all_items():
        table.delete_item(held.hash_key, held.range_key)
    for row in rows:
        table.put_item(item(*row))


@given(rows=ROWS)
def test_a_query_answers_as_without_us(dynamodb: Any, rows: list[tuple[str, str, str | None, int]]) -> None:
    fill(rows)
    for asked in QUERIES:
        answers = []
        for answer in (dynamodb_patches.query, dynamodb_patches._query):
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(Table, "query", answer)
                found = dynamodb.query(TableName="rows", **asked)
            answers.append({name: found.get(name) for name in ("Items", "Count", "LastEvaluatedKey")})
        assert answers[0] == answers[1]


def test_a_query_of_one_partition_reads_no_other(dynamodb: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    fill([("a", "1", "uma", 1), ("b", "1", "uma", 1)])
    monkeypatch.delattr(Table, "all_items")
    assert dynamodb.query(TableName="rows", **QUERIES[0])["Count"] == 1


def test_a_query_after_an_update_reads_no_other_item_and_finds_the_new_place(
    dynamodb: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill([("a", "1", "uma", 1), ("a", "2", None, 1), ("b", "1", "uma", 1)])
    dynamodb.query(TableName="rows", **QUERIES[2])
    monkeypatch.delattr(Table, "all_items")
    items = dynamodb_backends[ACCOUNT][REGION].tables["rows"].items
    for pk in items:  # no walk through a partition either
        items[pk] = NoWalk(items[pk])
    key, user = {"pk": {"S": "a"}, "sk": {"S": "1"}}, {":user": {"S": "uma"}}
    dynamodb.update_item(TableName="rows", Key=key, UpdateExpression="REMOVE user_key")
    other = {**key, "sk": {"S": "2"}}
    for one in (other, other, {**key, "sk": {"S": "3"}}):
        change = "SET user_key = :user"
        dynamodb.update_item(TableName="rows", Key=one, UpdateExpression=change, ExpressionAttributeValues=user)
    found = dynamodb.query(TableName="rows", **QUERIES[2])["Items"]
    for pk in items:
        items[pk] = dict(items[pk])
    assert [(one["pk"]["S"], one["sk"]["S"]) for one in found] == [("a", "3"), ("a", "2"), ("b", "1")]


class NoWalk(dict[Any, Any]):
    """A partition whose items are found by their keys alone."""

    def values(self) -> Any:
        raise AssertionError


def test_a_refused_transaction_leaves_every_item_as_it_was(dynamodb: Any) -> None:
    fill([("a", "1", "uma", 1), ("a", "2", "uma", 1), ("a", "3", "uma", 1)])
    before = dynamodb.scan(TableName="rows")["Items"]
    change = {"UpdateExpression": "ADD amount :n", "ExpressionAttributeValues": {":n": {"N": "1"}}}
    writes = [
        {"Put": {"TableName": "rows", "Item": item("a", "1", "ada", 9)}},
        {"Put": {"TableName": "rows", "Item": item("new", "1")}},
        {"Delete": {"TableName": "rows", "Key": {"pk": {"S": "a"}, "sk": {"S": "2"}}}},
        {"Update": {"TableName": "rows", "Key": {"pk": {"S": "a"}, "sk": {"S": "3"}}, **change}},
    ]
    refused = {"TableName": "rows", "Item": item("b", "9"), "ConditionExpression": "attribute_exists(pk)"}
    with pytest.raises(ClientError, match="ConditionalCheckFailed"):
        dynamodb.transact_write_items(TransactItems=[*writes, {"Put": refused}])
    assert dynamodb.scan(TableName="rows")["Items"] == before
    dynamodb.transact_write_items(TransactItems=writes)
    assert len(dynamodb.scan(TableName="rows")["Items"]) == 3


NESTED: dict[str, Any] = {
    "pk": {"S": "a"},
    "sk": {"S": "1"},
    "deep": {"M": {"list": {"L": [{"S": ""}, {"M": {"sealed": {"B": b"\x00"}}}]}, "tags": {"SS": ["x", "y"]}}},
    "list": {"L": [{"NULL": True}, {"BS": [b"a"]}, {"L": [{"N": "1"}]}]},
}


@pytest.mark.parametrize(
    ("returned", "before", "after"),
    [("ALL_OLD", "1", None), ("ALL_NEW", None, "2"), ("UPDATED_OLD", "1", None), ("UPDATED_NEW", None, "2")],
)
def test_an_update_returns_its_item_before_or_after_it(
    dynamodb: Any, returned: str, before: str | None, after: str | None
) -> None:
    dynamodb_patches.install()
    dynamodb.put_item(TableName="rows", Item=NESTED)
    found = dynamodb.update_item(
        TableName="rows",
        Key={"pk": {"S": "a"}, "sk": {"S": "1"}},
        UpdateExpression="SET #list[2] = :new, #deep.#tags = :new",
        ExpressionAttributeNames={"#list": "list", "#deep": "deep", "#tags": "tags"},
        ExpressionAttributeValues={":new": {"N": "2"}},
        ReturnValues=returned,
    )["Attributes"]
    assert found["list"]["L"][-1] == ({"L": [{"N": before}]} if before else {"N": after})
    assert found["deep"]["M"]["tags"] == ({"SS": ["x", "y"]} if before else {"N": after})


def test_json_of_a_value_is_the_value_and_shares_nothing_with_it() -> None:
    value = DynamoType(NESTED["deep"])
    seen = dynamodb_patches.to_json(value)
    assert seen == NESTED["deep"]
    seen["M"]["tags"]["SS"].append("z")
    seen["M"]["list"]["L"].clear()
    assert dynamodb_patches.to_json(value) == NESTED["deep"]


@pytest.mark.usefixtures("dynamodb")
def test_of_concurrent_writes_with_a_condition_one_succeeds(monkeypatch: pytest.MonkeyPatch) -> None:
    parse: Any = moto.dynamodb.models.table.get_filter_expression

    def slowly(*arguments: Any) -> Any:
        time.sleep(0.01)  # between the reading of the item and its writing
        return parse(*arguments)

    def wrote(number: int) -> bool:
        item = {"pk": {"S": "race"}, "sk": {"S": "1"}, "amount": {"N": str(number)}}
        body = {"TableName": "rows", "Item": item, "ConditionExpression": "attribute_not_exists(pk)"}
        headers: Any = {"x-amz-target": "DynamoDB_20120810.PutItem"}
        return requests(LoopbackRequest({}, headers, json.dumps(body).encode())).status == 200

    requests = dynamodb_patches.ItemRequests(lambda _: LoopbackResponse(400))
    monkeypatch.setattr(moto.dynamodb.models.table, "get_filter_expression", slowly)
    with ThreadPoolExecutor(4) as pool:
        assert sum(pool.map(wrote, range(4))) == 1
