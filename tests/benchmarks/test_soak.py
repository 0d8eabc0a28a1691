import asyncio
from collections.abc import Awaitable, Callable
from random import Random
from typing import Any, cast

import httpx2
import pytest
from mcp.client.client import Client
from mcp.shared.exceptions import MCPError
from mcp_types import CallToolResult, TextContent

from benchmarks.clients import ClientRecord, SimulatedUser, WrongAnswer
from benchmarks.processes import Sample
from benchmarks.soak import EMBEDDED_AWS, FUNCTIONS, SoakRun, errors, growths, rows
from infra.cli.document import CommandError


def run(*, last_kb: int = 100_000, last_files: int = 10, seen: dict[str, Any] | None = None) -> SoakRun:
    """A run of eight seconds, with this many resources of each sandbox in the last quarter."""
    names = [EMBEDDED_AWS, *(f"{function}-1" for function in FUNCTIONS)]
    flat = [Sample(at, 100_000, 10, 1) for at in range(6)]
    last = [Sample(at, last_kb, last_files, 1) for at in (6, 7)]
    return SoakRun(seen or {"milliseconds": {}, "errors": {}}, {name: [*flat, *last] for name in names}, 0, 8)


def test_a_run_without_growth_has_no_error() -> None:
    assert [*growths(run(last_kb=101_500, last_files=12)), *errors(run())] == []


def test_growing_memory_and_files_are_reported_for_each_function() -> None:
    assert list(growths(run(last_kb=104_000))) == [f"the memory of the {name} grows" for name in FUNCTIONS.values()]
    assert "the open files of the broker grow" in list(growths(run(last_files=14)))


def test_memory_under_aws_runtime_client_is_shown_without_a_bound() -> None:
    grown = run(last_kb=104_000)
    assert list(growths(grown, bounds_memory=False)) == []
    assert {bound for what, _, bound in rows(grown, bounds_memory=False) if what.startswith("memory")} == {""}


def test_a_run_without_samples_is_an_error() -> None:
    nothing = SoakRun({"milliseconds": {}, "errors": {}}, {}, 0, 8)
    assert len(list(growths(nothing))) == len(FUNCTIONS)


def test_errors_are_reported_with_their_first_text() -> None:
    seen = {"milliseconds": {}, "errors": {"TIMEOUT": 2}, "examples": {"TIMEOUT": "stub did not answer"}}
    assert list(errors(run(seen=seen))) == ["TIMEOUT, 2 times: stub did not answer"]


def test_the_table_counts_answers_and_their_spread() -> None:
    seen = {"milliseconds": {"service": [10.0] * 99 + [1_000.0]}, "errors": {}}
    shown = {what: found for what, found, _ in rows(run(seen=seen))}
    assert shown["answers, each checked"] == "100, 12.5 a second"
    assert shown["errors"] == "none"
    largest = "the largest of 1 sandboxes of the broker, second and last quarter"
    assert shown[f"memory of {largest}"] == "97.7 to 97.7 MB (+0.0%)"
    assert shown[f"open files and threads, {largest}"] == "10 to 10, 1 to 1"
    assert shown["`service`: median, 95th and 99th percentile of 100"] == "10, 10, 20 ms"


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (CommandError("RATE_LIMIT_EXCEEDED", "wait"), "RATE_LIMIT_EXCEEDED"),
        (WrongAnswer("[]"), "WrongAnswer"),
        (BaseExceptionGroup("of a task group", [MCPError(1, "closed")]), "MCPError"),
    ],
)
def test_errors_of_a_client_are_counted_by_kind(error: BaseException, code: str) -> None:
    record = ClientRecord()

    async def work() -> None:
        raise error

    if isinstance(error, Exception):
        asyncio.run(record.measure("service", work()))
    else:
        record.fail(error)
    assert record.errors == {code: 1}
    assert record.milliseconds == {}


def test_a_refused_request_is_counted_by_its_status_with_its_text() -> None:
    record = ClientRecord()
    asyncio.run(record.see(httpx2.Response(503, text="Service Unavailable")))
    asyncio.run(record.see(httpx2.Response(202)))
    assert record.errors == {"HTTP 503": 1}
    assert record.examples["HTTP 503"].endswith("Service Unavailable")


def test_an_answer_is_counted_with_its_time() -> None:
    record = ClientRecord()

    async def work() -> None:
        """Done."""

    asyncio.run(record.measure("service", work()))
    assert len(record.milliseconds["service"]) == 1
    assert not record.errors


class Scripted:
    """A session that returns these answers in their order."""

    def __init__(self, *answers: str) -> None:
        self.answers = list(answers)
        self.asked: list[tuple[str, dict[str, Any]]] = []

    async def call_tool(self, tool: str, arguments: dict[str, Any]) -> CallToolResult:
        self.asked.append((tool, arguments))
        return CallToolResult(content=[TextContent(type="text", text=self.answers.pop(0))])


def ask(session: Scripted, work: Callable[[SimulatedUser], Awaitable[None]]) -> None:
    asyncio.run(work(SimulatedUser(cast("Client", session), "account-of-uma", Random(1))))  # noqa: S311


def test_an_answer_with_another_account_is_wrong() -> None:
    name = f"n{Random(1).randrange(10**9)}"  # noqa: S311
    ask(Scripted(f"{name} 0, account-of-uma"), SimulatedUser.call_service)
    with pytest.raises(WrongAnswer):
        ask(Scripted(f"{name} 0, account-of-ada"), SimulatedUser.call_service)


def test_a_batch_that_takes_longer_is_fetched_until_it_is_done() -> None:
    session = Scripted("batch b_1: running, 2 of 3 steps", "batch b_1: done, 3 of 3 steps: guide.md")
    ask(session, SimulatedUser.run_search_batch)
    assert session.asked[1:] == [("batch", {"batch_id": "b_1"})]
