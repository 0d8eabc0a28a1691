from typing import Any

import pytest
from botocore.exceptions import ClientError, EndpointConnectionError

from mcpist.aws import stores
from mcpist.aws.stores import Table, client, is_aws_error, store_errors
from mcpist.errors import StoreUnavailable
from mcpist.settings import settings

pytestmark = pytest.mark.usefixtures("aws")


@pytest.fixture
def table() -> Table:
    return Table(settings().ledger_table, "ledger")


def failure(code: str) -> ClientError:
    return ClientError({"Error": {"Code": code, "Message": "no"}}, "PutItem")


def answering(operation: str, *answers: dict[str, Any]) -> None:
    """Let DynamoDB answer an operation so, one answer after the other; then as it is."""
    left = list(answers)

    def answer(**_: Any) -> Any:
        return (type("Response", (), {"status_code": 200}), left.pop(0)) if left else None

    client("dynamodb").meta.events.register(f"before-call.dynamodb.{operation}", answer)


def test_values_come_back_as_they_went_in(table: Table) -> None:
    item = {"pk": "a", "sk": "b", "n": 1, "t": "ü", "b": b"\x00", "l": [1, None, {"x": True}], "m": {}}
    table.put(item)
    assert table.get("a", "b") == item
    assert table.get("a", "c") is None


def test_a_query_reads_all_pages_of_what_begins_so(table: Table) -> None:
    table.put_many([{"pk": "a", "sk": f"x#{n:03}", "text": "t" * 30_000} for n in range(60)])
    table.put({"pk": "a", "sk": "y"})
    assert [item["sk"] for item in table.query("a", "x#")] == [f"x#{n:03}" for n in range(60)]
    assert len(table.query("a")) == 61


def test_a_failed_condition_is_told_from_other_failures(table: Table) -> None:
    table.put({"pk": "a", "sk": "b"})
    with pytest.raises(ClientError) as failed:
        table.put({"pk": "a", "sk": "b"}, condition="attribute_not_exists(pk)")
    assert is_aws_error(failed.value)
    assert not is_aws_error(failure("AccessDeniedException"))
    assert not is_aws_error(ValueError())


def test_an_update_names_what_it_changes(table: Table) -> None:
    table.put({"pk": "a", "sk": "b", "status": "old"})
    after = table.update(
        "a", "b", "SET #status = :new", values={":new": "x", ":old": "old"}, condition="#status = :old"
    )
    assert after["status"] == "x"


def test_many_are_written_25_a_request_and_read_in_one(table: Table, aws: list[str]) -> None:
    table.put_many([{"pk": "a", "sk": str(n)} for n in range(51)])
    assert len(table.get_many([("a", str(n)) for n in range(60)])) == 51
    assert table.get_many([]) == []
    assert aws == ["BatchWriteItem"] * 3 + ["BatchGetItem"]


def test_what_dynamodb_left_unprocessed_is_asked_for_again(table: Table) -> None:
    item = {"pk": {"S": "a"}, "sk": {"S": "b"}}
    answering("BatchWriteItem", {"UnprocessedItems": {table.name: [{"PutRequest": {"Item": item}}]}})
    table.put_many([{"pk": "a", "sk": "b"}])
    answering("BatchGetItem", {"Responses": {}, "UnprocessedKeys": {table.name: {"Keys": [item]}}})
    assert table.get_many([("a", "b")]) == [{"pk": "a", "sk": "b"}]


def test_what_stays_unprocessed_is_an_outage(monkeypatch: pytest.MonkeyPatch, table: Table) -> None:
    monkeypatch.setattr(stores, "RETRY_DELAYS_SECONDS", (0.0, 0.0))
    item = {"pk": {"S": "a"}, "sk": {"S": "b"}}
    answering("BatchWriteItem", *[{"UnprocessedItems": {table.name: [{"PutRequest": {"Item": item}}]}}] * 2)
    with pytest.raises(StoreUnavailable):
        table.put_many([{"pk": "a", "sk": "b"}])
    answering("BatchGetItem", *[{"Responses": {}, "UnprocessedKeys": {table.name: {"Keys": [item]}}}] * 2)
    with pytest.raises(StoreUnavailable):
        table.get_many([("a", "b")])


@pytest.mark.parametrize("code", ["ThrottlingException", "ProvisionedThroughputExceededException", "SlowDown", "503"])
def test_a_store_that_is_down_is_unavailable(code: str) -> None:
    with pytest.raises(StoreUnavailable), store_errors("ledger"):
        raise failure(code)
    with pytest.raises(StoreUnavailable), store_errors("ledger"):
        raise EndpointConnectionError(endpoint_url="https://x")


def test_a_refusal_stays_what_it_is() -> None:
    with pytest.raises(ClientError), store_errors("ledger"):
        raise failure("AccessDeniedException")


def test_a_removal_says_whether_it_was_there(table: Table) -> None:
    table.put({"pk": "a", "sk": "b"})
    assert table.delete("a", "b")
    assert not table.delete("a", "b")
