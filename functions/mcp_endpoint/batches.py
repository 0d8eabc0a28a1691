"""The meta-tool `batch`: plan, agree, start, wait, and show; a batch that takes longer goes on as a task."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mcp_types import CallToolResult

from mcp_endpoint import report
from mcp_endpoint.arguments import Batch
from mcp_endpoint.blocks import Part, content
from mcp_endpoint.confirmation import Question, destructions, settle, with_accounts
from mcp_endpoint.exchange import Exchange
from mcp_endpoint.tasks import Status, Task
from mcpist.batch.execution.plan import Plan, plan
from mcpist.batch.execution.resume import Resumption, resumption
from mcpist.batch.execution.start import is_id, resume, start
from mcpist.batch.language.steps import Step
from mcpist.batch.ledger import ledger
from mcpist.batch.ledger.records import Header
from mcpist.caller import Caller
from mcpist.errors import BatchNotFound, InvalidRequest, StaleConfirmation
from mcpist.render.answer import minified
from mcpist.tools.permissions import Sieve
from mcpist.tools.tool import Tool

BUDGET_SECONDS = 20.0
FIRST_POLL_SECONDS = 0.1
SLOWEST_POLL_SECONDS = 1.0
POLL_GROWTH = 1.3
# How often a task's client shall ask: a tenth of its age so far, within these bounds.
SOONEST_ASK_SECONDS, LATEST_ASK_SECONDS = 1.0, 10.0


@dataclass(frozen=True, slots=True)
class Shown:
    """A batch as it is when the answer goes out; a client that takes tasks follows one that is not done as a task."""

    head: Header
    parts: Sequence[Part]

    def as_result(self, *, links: bool) -> CallToolResult:
        """The parts; and where it is still under way, a link to what they will be."""
        running = [report.link(self.head.batch)] if links and not self.head.done else []
        return CallToolResult(content=content([*self.parts, *running], links=links))


@dataclass(frozen=True, slots=True)
class _Wish:
    """A batch that is to run: its plan, the steps of it that will, and what it goes on from if it resumes another."""

    plan: Plan
    runs: list[tuple[Step, Tool]]
    again: Resumption | None = None

    def begin(self, sieve: Sieve, timeout: float, batch: str) -> Header:
        """Start it."""
        if self.again:
            return resume(self.again, sieve, timeout, batch)
        return start(self.plan, sieve, timeout, batch)


def answer(exchange: Exchange, sieve: Sieve, asked: Batch) -> list[str] | Shown | Question:
    """The plan of a dry run, a batch as it is after some seconds, or a question that comes before it."""
    _check(asked)
    if asked.batch_id:
        return _follow(exchange, sieve, own(exchange.caller, asked.batch_id))
    wish = _wish(exchange.caller, sieve, asked)
    found = destructions(wish.runs)
    if asked.dry_run:
        return [minified(report.plan(wish.plan, wish.runs, with_accounts(found, sieve)))]
    about = minified([asked.timeout, asked.resume, asked.again])
    leave = settle(exchange, sieve, wish.plan, found, confirmed=asked.confirm, about=about)
    if isinstance(leave, Question):
        return leave
    if leave.used:
        return _follow(exchange, sieve, _started(exchange.caller, leave.batch))
    return _follow(exchange, sieve, wish.begin(sieve, asked.timeout, leave.batch))


def own(caller: Caller, batch: str) -> Header:
    """A batch that this caller started, or any of the organization for an administrator."""
    if not is_id(batch):
        raise BatchNotFound(batch=batch)
    head = ledger.header(ledger.partition(caller.organization, batch))
    if head.user != caller.user and caller.system_role != "admin":
        raise BatchNotFound(batch=batch)
    return ledger.close(head)


def cancel(caller: Caller, batch: str) -> None:
    """Stop a batch; one that is done stays as it is."""
    ledger.cancel(own(caller, batch).pk)


def task(caller: Caller, sieve: Sieve, batch: str) -> Task:
    """A batch as the task that it is to a client, with its answer once it is done."""
    head = own(caller, batch)
    if not head.done or head.cancelled_at is not None:
        return as_task(head)
    result = Shown(head, report.parts(head, sieve)).as_result(links=True)
    return as_task(head, {"result": result.model_dump(mode="json", by_alias=True, exclude_none=True)})


def as_task(head: Header, outcome: Mapping[str, Any] | None = None) -> Task:
    """A batch as the task that it is to a client."""
    age = time.time() - head.started_at
    return Task(
        id=head.batch,
        status=_status(head),
        says=f"{report.state(head)}: {report.settled(head)}",
        created_at=head.started_at,
        updated_at=head.changed_at or head.started_at,
        lives_seconds=head.expires_at - head.started_at,
        poll_seconds=min(max(age / 10, SOONEST_ASK_SECONDS), LATEST_ASK_SECONDS),
        outcome=outcome or {},
    )


def wait(exchange: Exchange, head: Header) -> Header:
    """The header once the batch is done, or when the time budget is spent."""
    until = time.monotonic() + min(BUDGET_SECONDS, exchange.remaining)
    pause = FIRST_POLL_SECONDS
    while not head.done and time.monotonic() + pause < until:
        time.sleep(pause)
        head = ledger.close(ledger.header(head.pk))
        pause = min(pause * POLL_GROWTH, SLOWEST_POLL_SECONDS)
    return head


def _follow(exchange: Exchange, sieve: Sieve, head: Header) -> Shown:
    """The batch once it is done, or at the end of the time for it: at once for a client that asked for a task."""
    client = exchange.client
    if not (client.tasks and client.at_once):
        head = wait(exchange, head)
    return Shown(head, [] if client.tasks and not head.done else report.parts(head, sieve))


def _wish(caller: Caller, sieve: Sieve, asked: Batch) -> _Wish:
    """What is to run, checked; raises before anything does."""
    if asked.resume:
        again = resumption(own(caller, asked.resume), sieve, asked.again)
        return _Wish(again.plan, again.runs, again)
    planned = plan(asked.commands, sieve)
    return _Wish(planned, [(step, tool) for _, step, tool in planned.lines])


def _started(caller: Caller, batch: str) -> Header:
    """The batch that an answer has started before; where its start failed, it must be asked about anew."""
    try:
        return own(caller, batch)
    except BatchNotFound:
        raise StaleConfirmation(field="requestState") from None


def _check(asked: Batch) -> None:
    """Refuse arguments that belong to different wishes."""
    wishes = [name for name in ("commands", "batch_id", "resume") if getattr(asked, name)]
    if len(wishes) > 1:
        raise InvalidRequest(field=wishes[1], problem=f"give {wishes[0]} or {wishes[1]}, not both")
    if asked.again and not asked.resume:
        raise InvalidRequest(field="again", problem="it belongs to resume")


def _status(head: Header) -> Status:
    if not head.done:
        return "working"
    return "completed" if head.cancelled_at is None else "cancelled"
