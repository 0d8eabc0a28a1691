"""A batch that begins with the results of another one."""

import json
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest

from mcpist.batch.execution.plan import plan
from mcpist.batch.execution.resume import Resumption, plan_resumption
from mcpist.batch.execution.start import start
from mcpist.batch.ledger import ledger, transitions
from mcpist.batch.ledger.records import Claim, Ending, Header, Status
from mcpist.caller import Role
from mcpist.errors import AlreadyResumed, AuthorizationError, BatchNotFound, InvalidRequest, McpistError, UnknownStep
from mcpist.settings import settings
from mcpist.tools.access.permissions import Permissions
from mcpist_services.catalogue import CATALOGUE
from tests.core.sample import caller

# Its module calls no service, so no batch needs a warrant.
SHELF = Permissions(caller(Role("writer", modules=("rag",), allow=("rag.*",))), CATALOGUE)
FIND = {"id": "find", "module": "rag", "tool": "list_docs", "output": True}
MAKE = {"id": "make", "module": "rag", "tool": "put_doc", "params": {"path": "${find.items[0].path}", "content": "a"}}
LAST = {"id": "last", "module": "rag", "tool": "list_docs", "after": ["make"], "timeout": 5}
EACH = {
    "id": "make",
    "module": "rag",
    "tool": "put_doc",
    "params": {"path": "${each.path}", "content": "a"},
    "each": "${find.items}",
}


def begun(*lines: dict[str, Any]) -> Header:
    """Write a batch that no machine runs."""
    return start(plan(list(lines), SHELF), SHELF)


def ends(head: Header, id_: str, status: Status, content: bytes | None = None) -> None:
    """End and settle a step."""
    step = head.ids.index(id_)
    transitions.finish(head, ledger.get_entries(head.pk, [step])[0], None, Ending(status), content)
    transitions.settle(head.pk, step, status)


def spread(head: Header, id_: str, *elements: tuple[Status, bytes | None]) -> None:
    """End the elements of a step with `each` and gather it."""
    (entry,) = ledger.get_entries(head.pk, [head.ids.index(id_)])
    transitions.count_elements(head, entry.index, len(elements))
    entry = transitions.store_list(head, entry, [{"path": str(number)} for number in range(len(elements))])
    for element, (status, content) in zip(ledger.get_elements(head.pk, entry), elements, strict=True):
        transitions.finish(head, element, None, Ending(status), content)
    gathered = ledger.finish_gathered(head, entry, ledger.gather(head, entry))
    assert gathered.status
    transitions.settle(head.pk, entry.index, gathered.status)


def resume(found: Resumption, permissions: Permissions) -> Header:
    return start(found.plan, permissions, resumption=found)


def again(head: Header, *named: str, of: Permissions = SHELF) -> Resumption:
    return plan_resumption(ledger.get_header(head.pk), of, named)


def refusal(head: Header, *named: str, of: Permissions = SHELF) -> McpistError:
    with pytest.raises(McpistError) as refused:
        again(head, *named, of=of)
    return refused.value


@pytest.fixture(autouse=True)
def _stack(aws: list[str]) -> None:
    """Provide the tables, and a Step Functions that executes nothing."""


def test_steps_that_succeeded_are_carried_over_and_the_others_run_again() -> None:
    old = begun(FIND, MAKE, LAST)
    ends(old, "find", "succeeded", b'{"results": [{"name": "a"}]}')
    ends(old, "make", "failed")
    ends(old, "last", "skipped")
    found = again(old)
    assert [step.id for step, _ in found.steps_to_run] == ["make", "last"]
    head = ledger.get_header(resume(found, SHELF).pk)
    assert head.batch != old.batch
    assert (head.resumes, head.outcome, head.seq) == (old.batch, {0: "succeeded"}, {0: 0})
    find, make, last = ledger.get_entries(head.pk)
    assert ledger.load_json(head, find.result) == {"results": [{"name": "a"}]}
    assert (make.status, make.step.params, last.step.timeout) == (None, MAKE["params"], 5)
    assert ledger.get_header(old.pk).outcome == {0: "succeeded", 1: "failed", 2: "skipped"}


def test_a_resumed_batch_keeps_to_the_accounts_of_the_first() -> None:
    old = begun(FIND)
    ends(old, "find", "failed")
    pins = ("github#user#uma#work",)
    resumption = again(old)
    resumption = replace(resumption, old=replace(resumption.old, pins=pins))
    assert ledger.get_header(resume(resumption, SHELF).pk).pins == pins


def test_a_write_in_doubt_is_repeated_only_by_name() -> None:
    old = begun(FIND, MAKE, LAST)
    ends(old, "find", "succeeded", b"[]")
    ends(old, "make", "unknown")
    ends(old, "last", "skipped")
    resumed = ledger.get_header(resume(again(old), SHELF).pk)
    assert resumed.outcome == {0: "succeeded", 1: "unknown"}
    ends(resumed, "last", "skipped")
    assert [step.id for step, _ in again(resumed, "make").steps_to_run] == ["make", "last"]
    assert ledger.get_header(resume(again(resumed, "make"), SHELF).pk).outcome == {0: "succeeded"}


def test_a_batch_with_all_steps_carried_over_is_done_at_once(aws: list[str]) -> None:
    old = begun(FIND)
    ends(old, "find", "succeeded", b"[]")
    aws.clear()
    assert resume(again(old), SHELF).done
    assert "StartExecution" not in aws


def test_elements_that_succeeded_are_carried_over_when_their_step_runs_again() -> None:
    old = begun(FIND, EACH, LAST)
    ends(old, "find", "succeeded", b'{"results": []}')
    spread(old, "make", ("succeeded", b'{"id": 1}'), ("unknown", None), ("failed", None))
    ends(old, "last", "skipped")
    assert ledger.get_header(old.pk).outcome[1] == "unknown"
    resumed = resume(again(old), SHELF)
    assert ledger.get_header(resumed.pk).outcome == {0: "succeeded", 1: "unknown"}
    assert [element.status for element in ledger.get_elements(resumed.pk, ledger.get_entries(resumed.pk, [1])[0])] == [
        "succeeded",
        "unknown",
        "failed",
    ]
    ends(resumed, "last", "skipped")
    head = resume(again(resumed, "make"), SHELF)
    (entry,) = ledger.get_entries(head.pk, [1])
    assert entry.map_items
    assert ledger.load_json(head, entry.map_items.values) == [{"path": "0"}, {"path": "1"}, {"path": "2"}]
    assert [element.status for element in ledger.get_elements(head.pk, entry)] == ["succeeded", None, None]
    assert ledger.get_header(head.pk).elements == {1: 3}


def test_elements_in_doubt_run_again_where_their_step_is_named() -> None:
    old = begun(FIND, {**EACH, "on_error": "continue"})
    ends(old, "find", "succeeded", b'{"results": []}')
    spread(old, "make", ("unknown", None), ("cancelled", None))
    (entry,) = ledger.get_entries(old.pk, [1])
    assert entry.status == "unknown"
    head = resume(again(old, "make"), SHELF)
    assert [element.status for element in ledger.get_elements(head.pk, ledger.get_entries(head.pk, [1])[0])] == [
        None,
        None,
    ]


def test_a_carried_over_step_settles_after_a_need_that_runs_again() -> None:
    old = begun({**FIND, "on_error": "continue"}, {**LAST, "id": "make", "after": ["find"]}, LAST)
    ends(old, "find", "failed")
    ends(old, "make", "succeeded", b"[7]")
    ends(old, "last", "failed")
    head = resume(again(old), SHELF)
    assert ledger.get_header(head.pk).seq == {}
    (make,) = ledger.get_entries(head.pk, [1])
    assert (make.status, ledger.load_json(head, make.result)) == ("succeeded", [7])


def test_a_batch_that_still_runs_is_not_resumed() -> None:
    error = refusal(begun(FIND))
    assert isinstance(error, InvalidRequest)
    assert "still running" in error.text().message


def test_another_users_batch_is_not_found_even_for_an_administrator() -> None:
    old = begun(FIND)
    ends(old, "find", "failed")
    other = Permissions(replace(SHELF.caller, user="ada", system_role="admin"), SHELF.catalogue)
    assert isinstance(refusal(old, of=other), BatchNotFound)


def test_again_must_name_steps_in_doubt() -> None:
    old = begun(FIND, MAKE)
    ends(old, "find", "succeeded", b"[]")
    ends(old, "make", "unknown")
    unknown = refusal(old, "mak")
    assert isinstance(unknown, UnknownStep)
    assert "make" in unknown.text().hint
    assert "find has succeeded" in refusal(old, "find").text().message


def test_a_resumption_checks_the_present_roles() -> None:
    old = begun(FIND, MAKE)
    ends(old, "find", "succeeded", b"[]")
    ends(old, "make", "failed")
    assert isinstance(
        refusal(old, of=Permissions(caller(Role("reader", modules=("rag",))), CATALOGUE)), AuthorizationError
    )


def test_a_resumed_batch_may_be_resumed() -> None:
    old = begun(FIND, MAKE)
    ends(old, "find", "succeeded", b"[1]")
    ends(old, "make", "failed")
    head = resume(again(old), SHELF)
    (entry,) = ledger.get_entries(head.pk, [1])
    claimed = transitions.claim(head, entry, Claim("sandbox", "execution", 0, time.time() + 60))
    transitions.finish(head, claimed, "sandbox", Ending("failed"))
    transitions.settle(head.pk, 1, "failed")
    third = resume(again(head), SHELF)
    assert (third.resumes, ledger.load_json(third, ledger.get_entries(third.pk, [0])[0].result)) == (head.batch, [1])


@pytest.mark.parametrize(("days", "renewed"), [("0", True), ("7", False)])
def test_a_large_result_is_kept_as_long_as_the_batch_that_takes_it_over(
    aws: list[str], monkeypatch: pytest.MonkeyPatch, days: str, renewed: bool
) -> None:
    monkeypatch.setenv("FILE_DAYS", days)
    settings.cache_clear()
    old = begun(FIND, LAST | {"after": ["find"]})
    ends(old, "find", "succeeded", json.dumps([{"path": f"{n * 7919 % 104729}"} for n in range(20_000)]).encode())
    ends(old, "last", "failed")
    aws.clear()
    head = resume(again(old), SHELF)
    assert ("CopyObject" in aws) == renewed
    assert len(ledger.load_json(head, ledger.get_entries(head.pk)[0].result)) == 20_000


def test_of_concurrent_resumptions_one_starts(aws: list[str]) -> None:
    old = begun(FIND, MAKE)
    ends(old, "find", "succeeded", b'{"results": []}')
    ends(old, "make", "failed")
    found, together = again(old), threading.Barrier(4)
    aws.clear()

    def resumed(_: int) -> str:
        together.wait()
        try:
            return resume(found, SHELF).batch
        except AlreadyResumed as error:
            return f"not {error.details['by']}"

    with ThreadPoolExecutor(4) as pool:
        answers = sorted(pool.map(resumed, range(4)))
    (started,) = {answer.removeprefix("not ") for answer in answers}
    assert answers == [started, *[f"not {started}"] * 3]
    assert aws.count("StartExecution") == 1
    assert [head.batch for head in ledger.list_recent("acme")[0]] == [started, old.batch]


def test_a_resumption_that_loses_the_race_takes_nothing_from_the_quota(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BATCH_STEPS", "6")
    settings.cache_clear()
    old = begun(FIND, MAKE)
    ends(old, "find", "failed")
    ends(old, "make", "skipped")
    found = again(old)
    resume(found, SHELF)
    with pytest.raises(AlreadyResumed):
        resume(found, SHELF)
    assert begun(FIND, MAKE)
