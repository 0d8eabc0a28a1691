from typing import Any

import pytest
from botocore.exceptions import ClientError, EndpointConnectionError

from mcpist.aws import table as table_module
from mcpist.aws.clients import AwsError, ConditionFailed, ResourceExists, ResourceMissing, client, store_errors
from mcpist.aws.table import Table, ledger_table
from mcpist.errors import StoreUnavailable

pytestmark = pytest.mark.usefixtures("aws")


@pytest.fixture
def table() -> Table:
    return ledger_table()


def failure(code: str) -> ClientError:
    return ClientError({"Error": {"Code": code, "Message": "no"}}, "PutItem")


def answering(operation: str, *answers: dict[str, Any]) -> None:
    """Let DynamoDB give these answers to an operation, in turn, and real ones afterwards."""
    left = list(answers)

    def answer(**_: Any) -> Any:
        return (type("Response", (), {"status_code": 200}), left.pop(0)) if left else None

    client("dynamodb").meta.events.register(f"before-call.dynamodb.{operation}", answer)


def test_values_are_read_as_they_were_written(table: Table) -> None:
    item = {"pk": "a", "sk": "b", "n": 1, "t": "ü", "b": b"\x00", "l": [1, None, {"x": True}], "m": {}}
    table.put(item)
    assert table.get("a", "b") == item
    assert table.get("a", "c") is None


def test_a_query_reads_all_pages_of_a_sort_key_prefix(table: Table) -> None:
    table.put_many([{"pk": "a", "sk": f"x#{n:03}", "text": "t" * 30_000} for n in range(60)])
    table.put({"pk": "a", "sk": "y"})
    assert [item["sk"] for item in table.query("a", "x#")] == [f"x#{n:03}" for n in range(60)]
    assert len(table.query("a")) == 61


@pytest.mark.parametrize(("pk", "sk"), [("a", ""), ("a", "é" * 513), ("é" * 1025, "b")])
def test_a_key_that_no_item_can_have_is_asked_of_nobody(table: Table, aws: list[str], pk: str, sk: str) -> None:
    aws.clear()
    assert table.get(pk, sk) is None
    assert aws == []


def test_a_range_that_ends_before_it_begins_has_no_items_and_is_asked_of_nobody(table: Table, aws: list[str]) -> None:
    table.put({"pk": "a", "sk": "b"})
    aws.clear()
    assert table.query_page("pk", "a", ("c", "a")) == ([], "")
    assert aws == []
    assert table.query_page("pk", "a", ("b", "b"))[0] == [{"pk": "a", "sk": "b"}]


def test_a_condition_that_does_not_hold_is_a_typed_error_and_changes_nothing(table: Table) -> None:
    table.put({"pk": "a", "sk": "b"})
    with pytest.raises(ConditionFailed):
        table.put({"pk": "a", "sk": "b"}, condition="attribute_not_exists(pk)")
    assert table.get("a", "b") == {"pk": "a", "sk": "b"}


def test_an_update_names_what_it_changes(table: Table) -> None:
    table.put({"pk": "a", "sk": "b", "status": "old"})
    after = table.update(
        "a", "b", "SET #status = :new", values={":new": "x", ":old": "old"}, condition="#status = :old"
    )
    assert after["status"] == "x"


def test_attributes_are_set_and_others_removed(table: Table) -> None:
    table.put({"pk": "a", "sk": "b", "old": 1, "kept": 2})
    assert table.set("a", "b", {"new": 3}, remove=["old"]) == {"pk": "a", "sk": "b", "kept": 2, "new": 3}


def test_a_write_whose_answer_was_lost_succeeds_when_it_is_sent_again_and_another_does_not(table: Table) -> None:
    class SendingTwice(Table):
        def update(self, *keys: str, **options: Any) -> dict[str, Any]:
            super().update(*keys, **options)
            return super().update(*keys, **options)

    condition = "attribute_not_exists(#n)"
    first = SendingTwice(table.name, table.label).set_once("a", "b", {"n": 1}, condition=condition)
    assert first["n"] == 1
    with pytest.raises(ConditionFailed):
        table.set_once("a", "b", {"n": 2}, condition=condition)
    assert table.get("a", "b") == first


def test_items_are_written_25_in_a_request_and_read_in_one(table: Table, aws: list[str]) -> None:
    table.put_many([{"pk": "a", "sk": str(n)} for n in range(51)])
    assert len(table.get_many([("a", str(n)) for n in range(60)])) == 51
    assert table.get_many([]) == []
    assert aws == ["BatchWriteItem"] * 3 + ["BatchGetItem"]


def test_items_that_dynamodb_left_unprocessed_are_requested_again(table: Table) -> None:
    item = {"pk": {"S": "a"}, "sk": {"S": "b"}}
    answering("BatchWriteItem", {"UnprocessedItems": {table.name: [{"PutRequest": {"Item": item}}]}})
    table.put_many([{"pk": "a", "sk": "b"}])
    answering("BatchGetItem", {"Responses": {}, "UnprocessedKeys": {table.name: {"Keys": [item]}}})
    assert table.get_many([("a", "b")]) == [{"pk": "a", "sk": "b"}]


def test_items_that_stay_unprocessed_are_an_outage(monkeypatch: pytest.MonkeyPatch, table: Table) -> None:
    monkeypatch.setattr(table_module, "RETRY_DELAYS_SECONDS", (0.0, 0.0))
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


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("AccessDeniedException", AwsError),
        ("ConditionalCheckFailedException", ConditionFailed),
        ("ConditionalRequestConflict", ConditionFailed),
        ("404", ResourceMissing),
        ("ExecutionAlreadyExists", ResourceExists),
    ],
)
def test_a_refusal_has_a_class_and_its_code(code: str, kind: type[AwsError]) -> None:
    with pytest.raises(AwsError, match=rf"\({code}\)") as refused, store_errors("ledger"):
        raise failure(code)
    assert type(refused.value) is kind
    assert refused.value.code == code


@pytest.mark.parametrize(("reason", "kind"), [("TransactionConflict", ConditionFailed), ("ValidationError", AwsError)])
def test_a_transaction_that_met_another_one_failed_its_condition(reason: str, kind: type[AwsError]) -> None:
    cancelled = failure("TransactionCanceledException")
    cancelled.response["CancellationReasons"] = [{"Code": "None"}, {"Code": reason}]
    with pytest.raises(AwsError) as refused, store_errors("ledger"):
        raise cancelled
    assert type(refused.value) is kind


def test_a_removal_returns_whether_the_item_existed(table: Table) -> None:
    table.put({"pk": "a", "sk": "b"})
    assert table.delete("a", "b")
    assert not table.delete("a", "b")
