"""What a step with `each` comes to."""

import json
from dataclasses import replace
from typing import Any

import pytest

from mcpist.batch.ledger import map_results
from mcpist.batch.ledger.items import unpack
from mcpist.batch.ledger.map_results import MapResult, gather_results, map_status
from mcpist.batch.ledger.records import Entry, Header, Status
from mcpist.errors import InternalError, ToolExecutionError, from_message, to_message

STEP = Entry(0, "a", "shop", "create_item", "writes", {}, output=False, raw_output=False, line=3, each="${b.items}")
HEAD = Header("acme#b_1", "acme", "b_1", "uma", "", "uma", (), "", ("a",), (frozenset(),), 0, 0, 0)


def ended(*statuses: Status, **fields: Any) -> list[Entry]:
    return [replace(STEP, element=number, status=status, **fields) for number, status in enumerate(statuses)]


def gather(found: list[Entry]) -> MapResult:
    return gather_results(HEAD, STEP, found, lambda one: json.dumps({"n": one.element}).encode())


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
def test_how_a_step_ends_by_its_elements(statuses: list[Status], strict: Status, lenient: Status) -> None:
    assert map_status(ended(*statuses), continue_on_error=False) == strict
    assert map_status(ended(*statuses), continue_on_error=True) == lenient


def test_the_list_keeps_the_order_and_has_null_for_what_did_not_succeed() -> None:
    found = gather(ended("succeeded", "failed", "succeeded", "skipped"))
    assert json.loads(found.content or b"") == [{"n": 0}, None, {"n": 2}, None]
    assert [one["status"] for one in unpack(found.statuses)] == ["succeeded", "failed", "succeeded", "skipped"]
    assert json.loads(gather([]).content or b"") == []


def test_a_failed_step_has_its_first_elements_error_with_its_place() -> None:
    refused = [to_message(ToolExecutionError(service="shop", http_status=409, problem="x" * 999))]
    first, second = ended("failed", "failed")
    found = gather([first, replace(second, error=refused[0])])
    assert found.status == "failed"
    assert from_message(found.error or {}).details["element"] == 1
    told = unpack(found.statuses)[1]["error"]
    assert told["code"] == "TOOL_EXECUTION_ERROR"
    assert len(told["message"]) == map_results.MAX_ERROR_MESSAGE_CHARACTERS


def test_a_step_that_succeeded_has_no_error_though_elements_have() -> None:
    lost = to_message(InternalError(request_id="r1"))
    assert gather([*ended("succeeded"), replace(ended("failed")[0], error=lost)]).error is None


def test_how_to_go_on_with_lists_that_were_cut_is_told_of_the_first_few() -> None:
    found = gather(ended(*["succeeded"] * 9, more="Go on with page 2."))
    assert found.more.splitlines()[0] == "element 0: Go on with page 2."
    assert len(found.more.splitlines()) == map_results.MAX_NOTES


def test_more_than_a_sandbox_can_hold_fails_the_step_and_keeps_the_statuses() -> None:
    part = b" " * (map_results.MAX_LIST_BYTES // 2)
    found = gather_results(HEAD, STEP, ended("succeeded", "succeeded", "succeeded"), lambda _: part)
    assert (found.status, found.content) == ("failed", None)
    error = from_message(found.error or {})
    assert (error.code, error.details["line"], error.details["id"]) == ("PAYLOAD_TOO_LARGE", 3, "a")
    assert len(unpack(found.statuses)) == 3
