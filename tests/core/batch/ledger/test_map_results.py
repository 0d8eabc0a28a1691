"""The result of a step with `each` after its elements have ended."""

import json
from dataclasses import replace
from typing import Any

import pytest

from mcpist.batch.language.steps import Step
from mcpist.batch.ledger import transitions
from mcpist.batch.ledger.records import Ending, Entry, Header, Status
from mcpist.batch.ledger.transitions import gather_results, map_status
from mcpist.caller import Subject
from mcpist.errors import InternalError, ToolExecutionError, from_message, to_message

STEP = Step(line=3, id="a", has_explicit_id=True, module="shop", tool="create_item", each="${b.items}")
ENTRY = Entry(0, STEP, "writes")
HEAD = Header("acme", "b_1", "uma", Subject("", "uma"), (), "", ("a",), (frozenset(),), 0, 0, 0)


def ended(*statuses: Status, **fields: Any) -> list[Entry]:
    return [replace(ENTRY, element=number, ending=Ending(status, **fields)) for number, status in enumerate(statuses)]


def gather(found: list[Entry]) -> tuple[Ending, bytes | None]:
    return gather_results(HEAD, ENTRY, found, lambda one: json.dumps({"n": one.element}).encode())


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
    assert map_status(ended(*statuses), continue_on_error=False) == strict
    assert map_status(ended(*statuses), continue_on_error=True) == lenient


def test_the_list_keeps_the_order_and_has_null_for_elements_that_did_not_succeed() -> None:
    ending, content = gather(ended("succeeded", "failed", "succeeded", "skipped"))
    assert json.loads(content or b"") == [{"n": 0}, None, {"n": 2}, None]
    assert [one["status"] for one in ending.statuses or ()] == ["succeeded", "failed", "succeeded", "skipped"]
    assert gather([])[1] == b"[]"


def test_a_failed_step_has_the_error_of_its_first_failed_element_with_its_place() -> None:
    error = to_message(ToolExecutionError(service="shop", http_status=409, problem="x" * 999))
    first, second = ended("failed", "failed")
    ending, _ = gather([first, replace(second, ending=Ending("failed", error=error))])
    assert ending.status == "failed"
    assert from_message(ending.error or {}).details["element"] == 1
    shown = (ending.statuses or ())[1]["error"]
    assert shown["code"] == "TOOL_EXECUTION_ERROR"
    assert len(shown["message"]) == transitions.MAX_ERROR_MESSAGE_CHARACTERS


def test_a_step_that_succeeded_has_no_error_although_elements_failed() -> None:
    lost = to_message(InternalError(request_id="r1"))
    assert gather([*ended("succeeded"), *ended("failed", error=lost)])[0].error is None


def test_only_the_first_few_notes_about_cut_lists_are_kept() -> None:
    ending, _ = gather(ended(*["succeeded"] * 9, more="Go on with page 2."))
    assert ending.more.splitlines()[0] == "element 0: Go on with page 2."
    assert len(ending.more.splitlines()) == transitions.MAX_NOTES


def test_a_list_that_exceeds_the_memory_fails_the_step_and_keeps_the_statuses() -> None:
    part = b" " * (transitions.MAX_GATHERED_BYTES // 2)
    ending, content = gather_results(HEAD, ENTRY, ended("succeeded", "succeeded", "succeeded"), lambda _: part)
    assert (ending.status, content) == ("failed", None)
    error = from_message(ending.error or {})
    assert (error.code, error.details["line"], error.details["id"]) == ("PAYLOAD_TOO_LARGE", 3, "a")
    assert len(ending.statuses or ()) == 3
