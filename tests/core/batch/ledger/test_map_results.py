"""The result of a step with `each` after its elements have ended."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from secrets import token_hex
from typing import Any

import pytest

from mcpist.batch.language.steps import Step
from mcpist.batch.ledger import gathering
from mcpist.batch.ledger.gathering import Gathering, map_status
from mcpist.batch.ledger.records import Ending, Entry, Header, Status
from mcpist.caller import Subject
from mcpist.errors import InternalError, ToolExecutionError, from_message, to_message

STEP = Step(line=3, id="a", has_explicit_id=True, module="shop", tool="create_item", each="${b.items}")
ENTRY = Entry(0, STEP, "writes")
HEAD = Header("acme", "b_1", "uma", Subject("", "uma"), (), "", ("a",), (frozenset(),), 0, 0, 0)


def ended(*statuses: Status, **fields: Any) -> list[Entry]:
    return [replace(ENTRY, element=number, ending=Ending(status, **fields)) for number, status in enumerate(statuses)]


def json_of(element: Entry) -> bytes:
    return json.dumps({"n": element.element}).encode()


def gather(found: list[Entry], load: Callable[[Entry], bytes] = json_of) -> tuple[Ending, bytes | None]:
    gathered = Gathering()
    for element in found:
        gathered.add(element, load)
    return gathered.ending(HEAD, ENTRY)


def statuses_of(ending: Ending) -> Sequence[Mapping[str, Any]]:
    return replace(ENTRY, ending=ending).statuses or ()


@pytest.mark.parametrize(
    ("statuses", "strict", "lenient"),
    [
        ([], "succeeded", "succeeded"),
        (["succeeded", "failed", "skipped"], "succeeded", "succeeded"),
        (["skipped", "skipped"], "succeeded", "succeeded"),
        (["failed", "skipped"], "failed", "failed"),
        (["failed", "failed"], "failed", "failed"),
        (["succeeded", "unknown"], "unknown", "succeeded"),
        (["failed", "unknown"], "unknown", "unknown"),
        (["cancelled", "cancelled"], "cancelled", "cancelled"),
        (["cancelled", "skipped"], "cancelled", "cancelled"),
        (["cancelled", "succeeded"], "succeeded", "succeeded"),
        (["cancelled", "failed"], "failed", "failed"),
    ],
)
def test_the_status_of_a_step_follows_from_those_of_its_elements(
    statuses: list[Status], strict: Status, lenient: Status
) -> None:
    assert map_status({*statuses}, continue_on_error=False) == strict
    assert map_status({*statuses}, continue_on_error=True) == lenient


def test_the_list_keeps_the_order_and_has_null_for_elements_that_did_not_succeed() -> None:
    ending, content = gather(ended("succeeded", "failed", "succeeded", "skipped"))
    assert json.loads(content or b"") == [{"n": 0}, None, {"n": 2}, None]
    assert [one["status"] for one in statuses_of(ending)] == ["succeeded", "failed", "succeeded", "skipped"]
    assert gather([])[1] == b"[]"


def test_a_failed_step_has_the_error_of_its_first_failed_element_with_its_place() -> None:
    error = to_message(ToolExecutionError(service="shop", http_status=409, problem="x" * 999))
    first, second = ended("failed", "failed")
    ending, _ = gather([first, replace(second, ending=Ending("failed", error=error))])
    assert ending.status == "failed"
    assert from_message(ending.error or {}).details["element"] == 1
    shown = statuses_of(ending)[1]["error"]
    assert shown["code"] == "TOOL_EXECUTION_ERROR"
    assert len(shown["message"]) == gathering.MAX_ERROR_MESSAGE_CHARACTERS


def test_a_step_that_succeeded_has_no_error_although_elements_failed() -> None:
    lost = to_message(InternalError(request_id="r1"))
    assert gather([*ended("succeeded"), *ended("failed", error=lost)])[0].error is None


def test_only_the_first_few_notes_about_cut_lists_are_kept() -> None:
    ending, _ = gather(ended(*["succeeded"] * 9, more="Go on with page 2."))
    assert ending.more.splitlines()[0] == "element 0: Go on with page 2."
    assert len(ending.more.splitlines()) == gathering.MAX_NOTES


def test_a_list_that_exceeds_the_memory_fails_the_step_and_keeps_the_statuses() -> None:
    part = b" " * (gathering.MAX_GATHERED_BYTES // 2)
    ending, content = gather(ended("succeeded", "succeeded", "succeeded"), lambda _: part)
    assert (ending.status, content) == ("failed", None)
    error = from_message(ending.error or {})
    assert (error.code, error.details["line"], error.details["id"]) == ("PAYLOAD_TOO_LARGE", 3, "a")
    assert len(statuses_of(ending)) == 3


def test_statuses_of_a_release_before_they_were_packed_are_read() -> None:
    old = Ending("succeeded", statuses=[{"status": "succeeded"}])
    assert statuses_of(old) == [{"status": "succeeded"}]


def test_a_thousand_different_errors_fit_into_the_item_of_their_step_without_their_messages() -> None:
    errors = [to_message(ToolExecutionError(service="shop", http_status=409, problem=token_hex(90))) for _ in range(9)]
    few = [replace(one, ending=Ending("failed", error=errors[i])) for i, one in enumerate(ended(*["failed"] * 9))]
    assert all(len(one["error"]["message"]) > 100 for one in statuses_of(gather(few)[0]))
    details = [errors[0]["details"] | {"problem": token_hex(90)} for _ in range(1_000)]
    many = [
        replace(one, ending=Ending("failed", error=errors[0] | {"details": details[i]}))
        for i, one in enumerate(ended(*["failed"] * 1_000))
    ]
    ending, _ = gather(many)
    assert len(ending.packed_statuses or b"") <= gathering.MAX_STATUSES_BYTES
    assert {one["error"]["code"] for one in statuses_of(ending)} == {"TOOL_EXECUTION_ERROR"}


def test_nothing_is_loaded_after_an_element_that_has_not_ended() -> None:
    gathered, loaded = Gathering(), []
    for element in (*ended("succeeded"), replace(ENTRY, element=1), *ended("succeeded")):
        gathered.add(element, lambda one: loaded.append(one.element) or b"1")
    assert ([one.element for one in gathered.pending], loaded) == ([1], [0])
