"""The meta-tool `batch`: plan, ask, start, wait and report; a longer batch continues as an MCP task."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mcp_types import CallToolResult

from mcp_endpoint.arguments import BatchRequest
from mcp_endpoint.batches import report
from mcp_endpoint.content.blocks import Part, content
from mcp_endpoint.elicitation.confirmation import (
    FormElicitation,
    destructive_steps,
    require_confirmation,
    with_accounts,
)
from mcp_endpoint.exchange import Exchange
from mcp_endpoint.tasks import Status, Task
from mcpist.batch.execution.plan import Plan, plan
from mcpist.batch.execution.resume import Resumption, plan_resumption
from mcpist.batch.execution.start import is_batch_id, resume, start
from mcpist.batch.language.steps import Step
from mcpist.batch.ledger import ledger
from mcpist.batch.ledger.records import Header
from mcpist.caller import Caller
from mcpist.errors import BatchNotFound, InvalidRequest, StaleConfirmation
from mcpist.polling import Polling
from mcpist.render.answer import compact_json
from mcpist.tools.permissions import Permissions
from mcpist.tools.tool import Tool

MAX_BATCH_WAIT_SECONDS = 20.0
LEDGER_POLLING = Polling(initial_seconds=0.1, max_seconds=1.0)
# How often the client of a task should poll: a tenth of the task's age, within these bounds.
MIN_POLL_INTERVAL_SECONDS, MAX_POLL_INTERVAL_SECONDS = 1.0, 10.0


@dataclass(frozen=True, slots=True)
class BatchView:
    """The state of a batch that a call answers with; clients with tasks follow an unfinished one as a task."""

    head: Header
    parts: Sequence[Part]

    def as_result(self, *, links: bool) -> CallToolResult:
        """Return the parts, and for an unfinished batch a link to its later state."""
        running = [report.resource_link(self.head.batch)] if links and not self.head.done else []
        return CallToolResult(content=content([*self.parts, *running], links=links))


@dataclass(frozen=True, slots=True)
class _BatchRun:
    """A batch that is checked and can be started."""

    plan: Plan
    runs: list[tuple[Step, Tool]]
    """The steps that will run; those of another batch that succeeded there do not."""
    resumption: Resumption | None = None

    def begin(self, permissions: Permissions, timeout: float, batch: str) -> Header:
        """Start the batch under an id, or under a new one if it is empty."""
        if self.resumption:
            return resume(self.resumption, permissions, timeout, batch)
        return start(self.plan, permissions, timeout, batch)


def run_batch(
    exchange: Exchange, permissions: Permissions, request: BatchRequest
) -> list[str] | BatchView | FormElicitation:
    """Return the plan of a dry run, the state of the batch after some seconds, or a question to ask first."""
    _check(request)
    if request.batch_id:
        return _follow(exchange, permissions, find_own(exchange.caller, request.batch_id))
    run = _prepare(exchange.caller, permissions, request)
    destructive = destructive_steps(run.runs)
    if request.dry_run:
        return [compact_json(report.describe_plan(run.plan, run.runs, with_accounts(destructive, permissions)))]
    about = compact_json([request.timeout, request.resume, request.again])
    confirmation = require_confirmation(
        exchange, permissions, run.plan, destructive, confirmed=request.confirm, about=about
    )
    if isinstance(confirmation, FormElicitation):
        return confirmation
    if confirmation.used:
        return _follow(exchange, permissions, _already_started(exchange.caller, confirmation.batch))
    return _follow(exchange, permissions, run.begin(permissions, request.timeout, confirmation.batch))


def find_own(caller: Caller, batch: str) -> Header:
    """Return a batch that this caller started, or for an administrator any of the organization."""
    if not is_batch_id(batch):
        raise BatchNotFound(batch=batch)
    head = ledger.get_header(ledger.partition_key(caller.organization, batch))
    if head.user != caller.user and caller.system_role != "admin":
        raise BatchNotFound(batch=batch)
    return ledger.close(head)


def cancel(caller: Caller, batch: str) -> None:
    """Cancel a batch; does nothing to one that is done."""
    ledger.cancel(find_own(caller, batch).pk)


def task(caller: Caller, permissions: Permissions, batch: str) -> Task:
    """Return a batch as an MCP task, with its result once it is done."""
    head = find_own(caller, batch)
    if not head.done or head.cancelled_at is not None:
        return as_task(head)
    result = BatchView(head, report.build_parts(head, permissions)).as_result(links=True)
    return as_task(head, {"result": result.model_dump(mode="json", by_alias=True, exclude_none=True)})


def as_task(head: Header, outcome: Mapping[str, Any] | None = None) -> Task:
    """Return a batch as an MCP task."""
    age = time.time() - head.started_at
    return Task(
        id=head.batch,
        status=_status(head),
        message=f"{report.describe_state(head)}: {report.count_settled(head)}",
        created_at=head.started_at,
        updated_at=head.changed_at or head.started_at,
        ttl_seconds=head.expires_at - head.started_at,
        poll_interval_seconds=min(max(age / 10, MIN_POLL_INTERVAL_SECONDS), MAX_POLL_INTERVAL_SECONDS),
        outcome=outcome or {},
    )


def wait(exchange: Exchange, head: Header) -> Header:
    """Return the header once the batch is done, or when the time for it is over."""
    seconds = min(MAX_BATCH_WAIT_SECONDS, exchange.remaining)
    return LEDGER_POLLING.wait(
        head, lambda latest: latest.done, lambda: ledger.close(ledger.get_header(head.pk)), seconds
    )


def _follow(exchange: Exchange, permissions: Permissions, head: Header) -> BatchView:
    """Wait for a batch and return its state; for a client that prefers a task, without waiting."""
    client = exchange.client
    if not (client.supports_tasks and client.prefers_task):
        head = wait(exchange, head)
    return BatchView(head, [] if client.supports_tasks and not head.done else report.build_parts(head, permissions))


def _prepare(caller: Caller, permissions: Permissions, request: BatchRequest) -> _BatchRun:
    """Check everything that is to run, before anything runs."""
    if request.resume:
        again = plan_resumption(find_own(caller, request.resume), permissions, request.again)
        return _BatchRun(again.plan, again.steps_to_run, again)
    planned = plan(request.commands, permissions)
    return _BatchRun(planned, [(step, tool) for _, step, tool in planned.steps_by_line])


def _already_started(caller: Caller, batch: str) -> Header:
    """Return the batch that an earlier request started; StaleConfirmation if its start failed."""
    try:
        return find_own(caller, batch)
    except BatchNotFound:
        raise StaleConfirmation(field="requestState") from None


def _check(request: BatchRequest) -> None:
    """Refuse arguments that exclude each other."""
    sources = [name for name in ("commands", "batch_id", "resume") if getattr(request, name)]
    if len(sources) > 1:
        raise InvalidRequest(field=sources[1], problem=f"give {sources[0]} or {sources[1]}, not both")
    if request.again and not request.resume:
        raise InvalidRequest(field="again", problem="it belongs to resume")


def _status(head: Header) -> Status:
    if not head.done:
        return "working"
    return "completed" if head.cancelled_at is None else "cancelled"
