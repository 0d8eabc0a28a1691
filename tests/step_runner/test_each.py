"""A step that runs for each element of a list: its entry, its elements, and their gathering."""

import json
import secrets
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import Any

import boto3
import pytest
from botocore.exceptions import EndpointConnectionError

from mcpist.aws.clients import client
from mcpist.aws.table import ledger_table
from mcpist.batch.execution.attempts import StepBusy
from mcpist.batch.ledger import ledger, transitions
from mcpist.batch.ledger.records import Ending
from mcpist.batch.ledger.transitions import MAX_ELEMENTS
from mcpist.caller import Role
from mcpist.errors import AnswerWithheld
from mcpist.running.destructive_use import digest_of
from mcpist.settings import settings
from mcpist.spending import Spending
from mcpist_services.rag.document_store import DocumentStore
from tests import members
from tests.audit_items import audit_items
from tests.lambda_context import Context
from tests.lost_rows import demand_rows, lose_rows
from tests.step_runner.ledger_batch import PK, Write, claim_by, elements, enter, entry, error_of, has_settled, outcome

WHEN = ("before", "after")
SEARCH = ("search_docs", {"query": "${each.q}"}, {0})


@pytest.fixture
def fan(write: Write) -> Any:
    """Write a step over the result of another one, and a step that needs it."""

    def fan(found: Any, tool: Any = SEARCH, **options: Any) -> None:
        made = {name: options.pop(name) for name in ("effect", "closes_in", "lenient") if name in options}
        each = {"each": "${step0.raw}", **options}
        write(("list_docs", {}, set()), tool, ("list_docs", {}, {1}), step1=each, **made)
        has_settled(0, json.dumps(found).encode())

    return fan


def run(*numbers: int | list[int], **changes: Any) -> None:
    for number in numbers:
        assert enter("element", element=number, **changes) == {"batch": PK, "go": {}}


def test_a_step_with_each_returns_its_elements_and_is_gathered_after_them(fan: Any) -> None:
    fan([{"q": "a"}, {"q": "b"}])
    assert enter(step=1) == {"batch": PK, "go": {}, "each": [0, 1]}
    run(1, 0)
    assert enter("gather") == {"batch": PK, "go": {"s2": True}}
    assert outcome(1) == "succeeded"
    assert len(ledger.load_json(ledger.get_header(PK), entry(1).result)) == 2
    assert [element.status for element in elements(1)] == ["succeeded", "succeeded"]


def test_each_element_has_its_row_in_the_audit(fan: Any, aws: list[str]) -> None:
    fan([{"q": "a"}, {"q": "b"}])
    enter(step=1)
    aws.clear()
    run(0, 1, 1)
    assert aws.count("PutItem") == 2


def test_a_step_with_each_replays_when_it_is_entered_again(fan: Any) -> None:
    fan([{"q": "a"}, {"q": "b"}])
    enter(step=1)
    run(0)
    assert enter(step=1, request="request-2") == {"batch": PK, "go": {}, "each": [1]}
    before = elements(1)[0]
    run(0, request="request-3")
    assert elements(1)[0] == before
    run(1)
    gathered = enter("gather")
    assert enter("gather", request="request-4") == gathered
    assert enter(step=1) == gathered
    assert len(ledger.get_header(PK).seq) == 2


def test_a_large_list_is_read_once_by_a_sandbox_however_many_elements_it_runs(fan: Any) -> None:
    fan([{"q": "a", "text": secrets.token_hex(3_000_000)}, {"q": "b"}, {"q": "c"}])
    enter(step=1)
    run(0)
    bucket = boto3.resource("s3").Bucket(settings().files_bucket)
    bucket.objects.filter(Prefix="files/").delete()
    run(1, 2)
    assert [element.status for element in elements(1)] == ["succeeded"] * 3


def test_an_element_reads_little_of_its_step_however_long_the_list_is(fan: Any) -> None:
    fan([{"q": secrets.token_hex(10)} for _ in range(900)], each_limit=1_000)
    enter(step=1)
    (item,) = boto3.client("dynamodb").query(
        TableName=settings().ledger_table,
        KeyConditionExpression="pk = :pk AND sk = :sk",
        ExpressionAttributeValues={":pk": {"S": PK}, ":sk": {"S": "step#001"}},
    )["Items"]
    assert len(str(item)) < 4_096
    run(899)
    assert elements(1)[899].status == "succeeded"


def test_the_list_is_evaluated_once(fan: Any) -> None:
    fan([{"q": "a"}])
    enter(step=1)
    head, found = ledger.get_header(PK), entry(1)
    again = transitions.store_list(head, found, ["other"])
    assert again.map_items
    assert ledger.load_json(head, again.map_items.values) == [{"q": "a"}]
    assert transitions.count_elements(head, 1, 500) is None
    assert ledger.get_header(PK).elements == {1: 1}


def test_an_empty_list_succeeds_at_once_with_an_empty_result(fan: Any) -> None:
    fan([])
    assert enter(step=1) == {"batch": PK, "go": {"s2": True}}
    assert outcome(1) == "succeeded"
    assert ledger.load_json(ledger.get_header(PK), entry(1).result) == []


@pytest.mark.parametrize(
    ("found", "kind"), [({}, "object"), ("text", "string"), (7, "number"), (None, "null"), (True, "boolean")]
)
def test_an_each_that_is_no_list_fails_with_its_line_and_reference(fan: Any, found: Any, kind: str) -> None:
    fan(found)
    assert enter(step=1) == {"batch": PK, "go": {"s2": True}}
    error = error_of(entry(1))
    assert error.text().message == f"Line 2: each: ${{step0.raw}} is of the type {kind}, not a list."
    assert error.details["id"] == "step1"


def test_a_list_over_the_limit_fails_before_anything_runs(fan: Any) -> None:
    fan([{"q": "a"}] * 101)
    enter(step=1)
    error = error_of(entry(1))
    assert error.text().message == "Line 2: each: ${step0.raw} has 101 elements; at most 100 are allowed."
    assert outcome(1) == "failed"
    fan([{"q": "a"}] * 10_001, each_limit=10_000)
    enter(step=1)
    assert error_of(entry(1)).details["limit"] == 10_000


def test_a_batch_has_ten_thousand_elements_in_all(write: Write) -> None:
    each = {"each": "${step0.raw}", "each_limit": 10_000}
    write(("list_docs", {}, set()), SEARCH, SEARCH, SEARCH, step1=each, step2=each, step3=each)
    has_settled(0, json.dumps([{"q": "a"}] * 6_000).encode())
    assert len(enter(step=1)["each"]) == 6_000
    enter(step=2)
    assert error_of(entry(2)).details["limit"] == MAX_ELEMENTS - 6_000
    assert "each" in enter(step=1)


def used() -> int:
    """Return how many steps the organization has run today."""
    items = ledger_table().query("acme#quota")
    return sum(item.get("steps", 0) for item in items)


def test_elements_count_once_against_the_daily_quota(fan: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BATCH_STEPS", "10")
    settings.cache_clear()
    fan([{"q": "a"}] * 4)
    for request in ("request-1", "request-2"):
        assert len(enter(step=1, request=request)["each"]) == 4
    assert transitions.count_elements(ledger.get_header(PK), 1, 4) is None
    assert used() == 4


def test_a_list_that_exceeds_the_daily_quota_fails_before_any_element_runs(
    fan: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BATCH_STEPS", "5")
    settings.cache_clear()
    Spending().reserve_steps("acme", 2, time.time())
    fan([{"q": "a"}] * 4)
    assert enter(step=1) == {"batch": PK, "go": {"s2": True}}
    error = error_of(entry(1))
    assert (error.code, error.details["steps"], error.details["used"]) == ("RATE_LIMIT_EXCEEDED", 4, 2)
    assert outcome(1) == "failed"
    assert used() == 2
    assert ledger.get_header(PK).elements == {}  # so another attempt does not assume that they were counted


def test_a_long_list_is_stored_in_a_file_and_each_element_reads_its_value(fan: Any) -> None:
    fan([{"q": "a", "noise": [number * place * 7919 % 104729 for place in range(200)]} for number in range(100)])
    enter(step=1)
    found = entry(1).map_items
    assert found
    assert found.values.content is None
    run(99)
    assert elements(1)[99].status == "succeeded"


def test_a_step_succeeds_with_one_element_and_has_the_status_of_each(fan: Any) -> None:
    fan([{"q": "a"}, {}, {"q": "c"}])
    enter(step=1)
    run(0, 1, 2)
    enter("gather")
    assert outcome(1) == "succeeded"
    raw = ledger.load_json(ledger.get_header(PK), entry(1).result)
    assert [element is None for element in raw] == [False, True, False]
    statuses = entry(1).statuses or ()
    assert [element["status"] for element in statuses] == ["succeeded", "failed", "succeeded"]
    assert statuses[1]["error"]["code"] == "VALIDATION_ERROR"
    assert statuses[1]["error"]["message"].startswith("Line 2: params.query: ${each.q} does not resolve")


def test_a_step_fails_with_all_its_elements_and_has_the_first_error(fan: Any) -> None:
    fan([{}, {}])
    enter(step=1)
    run(0, 1)
    assert enter("gather") == {"batch": PK, "go": {"s2": True}}
    assert outcome(1) == "failed"
    assert error_of(entry(1)).details["element"] == 0


def test_a_when_with_each_skips_elements_and_any_other_skips_the_step(fan: Any) -> None:
    condition = {"equals": ["${each.on}", True]}
    fan([{"q": "a", "on": True}, {"q": "b"}], when=condition)
    enter(step=1)
    run(0, 1)
    enter("gather")
    assert [element.status for element in elements(1)] == ["succeeded", "skipped"]
    assert outcome(1) == "succeeded"
    fan([{"q": "a"}], when={"exists": "${step0.raw[1]}"})
    assert enter(step=1) == {"batch": PK, "go": {"s2": True}}
    assert outcome(1) == "skipped"


def test_a_gathering_waits_for_elements_that_have_not_ended(fan: Any) -> None:
    fan([{"q": "a"}, {"q": "b"}])
    enter(step=1)
    run(0)
    with pytest.raises(StepBusy):
        enter("gather")
    claim_by("living sandbox", elements(1)[1])
    with pytest.raises(StepBusy):
        enter("gather", lost=True)


def test_a_lost_gathering_ends_elements_that_no_sandbox_runs(fan: Any) -> None:
    fan([{"q": "a"}, {"q": "b"}, {"q": "c"}], effect="writes")
    enter(step=1)
    run(0)
    claim_by("dead sandbox", elements(1)[1], ttl_seconds=-1)
    assert enter("gather", lost=True) == {"batch": PK, "go": {"s2": True}}
    assert [element.status for element in elements(1)] == ["succeeded", "unknown", "failed"]
    assert outcome(1) == "unknown"


@pytest.mark.parametrize(("effect", "status"), [("reads", "succeeded"), ("writes", "unknown")])
def test_a_dead_claim_on_an_element_counts_as_one_on_a_step(fan: Any, effect: str, status: str) -> None:
    fan([{"q": "a"}], effect=effect)
    enter(step=1)
    claim_by("dead sandbox", elements(1)[0], ttl_seconds=-1)
    run(0)
    enter("gather")
    assert (elements(1)[0].status, outcome(1)) == (status, status)


def test_a_live_claim_on_an_element_is_busy(fan: Any) -> None:
    fan([{"q": "a"}])
    enter(step=1)
    claim_by("living sandbox", elements(1)[0])
    with pytest.raises(StepBusy):
        run(0)


def test_a_step_that_may_fail_succeeds_although_an_element_is_in_doubt(fan: Any) -> None:
    fan([{"q": "a"}, {"q": "b"}], effect="writes", lenient=frozenset({1}))
    enter(step=1)
    run(0)
    claim_by("dead sandbox", elements(1)[1], ttl_seconds=-1)
    run(1)
    enter("gather")
    assert outcome(1) == "succeeded"


def test_an_element_that_the_list_does_not_have_does_not_run(fan: Any) -> None:
    fan([{"q": "a"}])
    run(0)
    assert entry(1).map_items is None
    enter(step=1)
    run(7)
    assert [element.status for element in elements(1)] == [None]


def test_a_gathering_before_the_step_was_entered_changes_nothing(fan: Any) -> None:
    fan([{"q": "a"}])
    assert enter("gather") == {"batch": PK, "go": {}}
    assert enter(step=1)["each"] == [0]


def test_a_cancelled_batch_runs_no_further_element_and_lets_writes_end(fan: Any) -> None:
    fan([{"q": "a"}, {"q": "b"}, {"q": "c"}], effect="writes")
    enter(step=1)
    run(0)
    claim_by("living sandbox", elements(1)[1])
    head = ledger.cancel(PK)
    assert 1 not in head.seq
    run(2)
    transitions.finish(head, elements(1)[1], "living sandbox", Ending("succeeded"), b"1")
    enter("gather")
    assert [element.status for element in elements(1)] == ["succeeded", "succeeded", "cancelled"]
    assert outcome(1) == "succeeded"


def test_cancelling_ends_a_reading_step_at_once(fan: Any) -> None:
    fan([{"q": "a"}, {"q": "b"}])
    enter(step=1)
    claim_by("living sandbox", elements(1)[0])
    assert ledger.cancel(PK).done
    assert [element.status for element in elements(1)] == ["cancelled", "cancelled"]
    late = transitions.finish(ledger.get_header(PK), elements(1)[0], "living sandbox", Ending("succeeded"), b"1")
    assert late.status == "cancelled"


def test_after_its_time_a_batch_is_closed_with_its_elements(fan: Any) -> None:
    fan([{"q": "a"}, {"q": "b"}, {"q": "c"}], effect="writes")
    enter(step=1)
    run(0)
    claim_by("dead sandbox", elements(1)[1], ttl_seconds=-1)
    head = replace(ledger.get_header(PK), closes_at=time.time() - 1)
    assert ledger.close(head).outcome == {0: "succeeded", 1: "unknown", 2: "cancelled"}
    assert [element.status for element in elements(1)] == ["succeeded", "unknown", "cancelled"]


def test_dependents_of_a_step_with_each_can_use_its_rows_and_statuses(write: Write) -> None:
    params = {"query": "${step1.elements[*].status} ${step1.items[*].path}"}
    write(("list_docs", {}, set()), SEARCH, ("search_docs", params, {1}), step1={"each": "${step0.raw}"})
    has_settled(0, b'[{"q": "a"}, {}]')
    enter(step=1)
    run(0, 1)
    enter("gather")
    enter(step=2)
    assert outcome(2) == "succeeded"


def test_a_list_that_is_stored_between_reading_and_cancelling_is_kept(fan: Any) -> None:
    fan([{"q": "a"}], effect="writes")
    seen = entry(1)
    enter(step=1)
    assert transitions.finish(ledger.get_header(PK), seen, None, Ending("cancelled")).status is None
    run(0)
    assert enter("gather") == {"batch": PK, "go": {"s2": True}}


def test_elements_that_the_person_never_saw_are_not_destroyed(fan: Any) -> None:
    members.put_role("acme", Role("members", modules=("rag",), allow=("rag.*",), destructive=True))
    paths = [f"d/{number}.md" for number in range(8)]
    fan([{"path": path} for path in paths], ("delete_doc", {"path": "${each.path}"}, {0}), effect="destroys")
    shown = [digest_of({"path": path}) for path in paths[:7]]
    ledger_table().set(PK, "step#001", {"shown": shown})
    store = DocumentStore.of("acme")
    for path in paths:
        store.write(path, "# Old", None)
    enter(step=1)
    run(*range(8))
    enter("gather")
    assert list(store.index(refresh=True).entries) == ["d/7.md"]
    assert [element.status for element in elements(1)] == [*["succeeded"] * 7, "failed"]
    assert error_of(elements(1)[7]).code == "CONFIRMATION_REQUIRED"
    assert audit_items("acme")[-1]["outcome"] == "CONFIRMATION_REQUIRED"
    assert outcome(1) == "succeeded"


def test_a_list_that_nobody_has_seen_destroys_nothing(fan: Any) -> None:
    members.put_role("acme", Role("members", modules=("rag",), allow=("rag.*",), destructive=True))
    fan([{"path": "a.md"}], ("delete_doc", {"path": "${each.path}"}, {0}), effect="destroys")
    ledger_table().set(PK, "step#001", {"shown": []})
    enter(step=1)
    run(0)
    assert error_of(elements(1)[0]).code == "CONFIRMATION_REQUIRED"


# -- groups -----------------------------------------------------------------------------------------------


def grouped(fan: Any, count: int, tool: Any = SEARCH, **options: Any) -> list[list[int]]:
    """Write a step over so many elements, and return its groups."""
    fan([{"q": "a", "path": f"d/{number}.md"} for number in range(count)], tool, each_limit=10_000, **options)
    groups: list[list[int]] = enter(step=1, groups=True)["each"]
    return groups


@pytest.mark.parametrize(("count", "groups", "size"), [(1, 1, 1), (20, 20, 1), (21, 11, 2), (1_000, 40, 25)])
def test_a_short_list_is_divided_evenly_and_a_long_one_into_groups_of_one_invocation(
    fan: Any, count: int, groups: int, size: int
) -> None:
    found = grouped(fan, count)
    assert [number for group in found for number in group] == [*range(count)]
    assert (len(found), len(found[0])) == (groups, size)


def test_a_group_of_reads_takes_three_requests_and_has_a_row_for_each(fan: Any, aws: list[str]) -> None:
    grouped(fan, 75)
    run([*range(25)])
    aws.clear()
    run([*range(25, 50)])
    assert Counter(aws) == {"BatchGetItem": 1, "UpdateItem": 1, "TransactWriteItems": 1}
    rows = [row for row in audit_items("acme") if row["tool"] == "rag.search_docs"]
    assert [(row["outcome"], row["batch"]) for row in rows] == [("succeeded", "b_0123456789abcdef")] * 50
    assert [element.status for element in elements(1)] == ["succeeded"] * 50 + [None] * 25


@contextmanager
def failing(moment: str) -> Iterator[None]:
    """Let the store fail before or after each transaction."""

    def hook(**_: Any) -> None:
        raise EndpointConnectionError(endpoint_url="ledger")

    client("dynamodb").meta.events.register(f"{moment}-call.dynamodb.TransactWriteItems", hook)
    try:
        yield
    finally:
        client("dynamodb").meta.events.unregister(f"{moment}-call.dynamodb.TransactWriteItems", hook)


@pytest.mark.parametrize("moment", ["before", "after"])
def test_reads_end_once_with_one_row_each_although_their_transaction_seems_to_fail(fan: Any, moment: str) -> None:
    (group, *_) = grouped(fan, 40)
    with failing(moment):
        run(group)
    assert [element.status for element in elements(1)[:3]] == ["succeeded", "succeeded", None]
    assert [row["outcome"] for row in audit_items("acme")] == ["succeeded"] * 2


def test_no_element_of_a_group_ends_without_its_row_where_the_owner_demands_rows(
    fan: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    demand_rows(monkeypatch)
    (group, *_) = grouped(fan, 40)
    lose_rows()
    with pytest.raises(AnswerWithheld):
        run(group)
    assert [element.status for element in elements(1)[:3]] == [None] * 3


class Killed(BaseException):
    """The sandbox is killed at this moment."""


@pytest.mark.parametrize("number", range(4))
def test_no_element_has_ended_without_its_row_whenever_the_sandbox_of_its_group_is_killed(
    fan: Any, number: int
) -> None:
    (group, *_) = grouped(fan, 60)
    moments = iter(range(99))

    def hook(**_: Any) -> None:
        if next(moments) == number:
            raise Killed

    events = client("dynamodb").meta.events
    names = [f"{when}-call.dynamodb.{write}" for write in ("UpdateItem", "TransactWriteItems") for when in WHEN]
    for name in names:
        events.register(name, hook)
    with suppress(Killed):
        run(group)
    for name in names:
        events.unregister(name, hook)
    ended = [element for element in elements(1) if element.status]
    assert len(ended) <= len(audit_items("acme"))
    run(group, retry=1, request="request-2")
    assert [element.status for element in elements(1)[:3]] == ["succeeded"] * 3
    assert len(audit_items("acme")) == 3


def test_a_group_of_an_older_machine_is_one_element(fan: Any) -> None:
    fan([{"q": "a"}] * 30)
    assert enter(step=1)["each"] == [*range(30)]
    run(29)
    assert elements(1)[29].status == "succeeded"
    with pytest.raises(StepBusy):
        enter("gather")


def test_elements_for_which_the_time_is_over_run_after_another_gathering(fan: Any) -> None:
    (first, *_) = grouped(fan, 60, effect="writes")
    assert first == [0, 1, 2]
    run(first, context=Context(40))
    assert [element.status for element in elements(1)[:3]] == ["succeeded", None, None]
    left = enter("gather", groups=True)["each"]
    assert [number for group in left for number in group] == [*range(1, 60)]
    run(*left)
    assert enter("gather", groups=True) == {"batch": PK, "go": {"s2": True}}
    assert outcome(1) == "succeeded"


def test_a_group_is_busy_while_another_sandbox_runs_one_of_it(fan: Any) -> None:
    (group, *_) = grouped(fan, 40)
    claim_by("living sandbox", elements(1)[group[0]])
    with pytest.raises(StepBusy):
        run(group)
    assert [element.status for element in elements(1)[:2]] == [None, None]


def test_each_element_of_a_group_has_its_own_params_although_they_come_from_one_list(fan: Any) -> None:
    grouped(fan, 40, ("search_docs", {"query": "${each.path} ${step0.raw[3].path}"}, {0}))
    run([7, 8])
    assert [element.status for element in elements(1)[7:9]] == ["succeeded"] * 2


def test_an_element_that_is_skipped_or_refused_ends_with_its_group(fan: Any) -> None:
    fan([{"q": "a", "on": True}, {"on": True}, {"q": "c"}], when={"equals": ["${each.on}", True]})
    enter(step=1, groups=True)
    run([0, 1, 2])
    enter("gather", groups=True)
    assert [element.status for element in elements(1)] == ["succeeded", "failed", "skipped"]


def test_cancelling_ends_a_hundred_elements_with_a_request(fan: Any, aws: list[str]) -> None:
    grouped(fan, 150)
    aws.clear()
    assert ledger.cancel(PK).done
    assert Counter(aws)["TransactWriteItems"] == 2
    assert len(aws) < 20
