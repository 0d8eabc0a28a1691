"""The meta-tool `batch`: plan, ask, start, wait and report; a longer batch continues as an MCP task."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mcp_types import CallToolResult

from mcp_endpoint import approvals, batch_report
from mcp_endpoint.arguments import BatchArguments
from mcp_endpoint.blocks import Part, content
from mcp_endpoint.elicitation import consent_of
from mcp_endpoint.exchange import McpExchange, RanCall
from mcp_endpoint.tasks import Status, Task
from mcpist.batch.execution import submission
from mcpist.batch.execution.submission import Submission
from mcpist.batch.ledger.records import BatchState, Header
from mcpist.errors import InvalidRequest
from mcpist.render.answer import compact_json

# How often the client of a task should poll: a tenth of the task's age, within these bounds.
_STATUSES: Mapping[BatchState, Status] = {
    "running": "working",
    "cancelling": "working",
    "done": "completed",
    "cancelled": "cancelled",
}
MIN_POLL_INTERVAL_SECONDS, MAX_POLL_INTERVAL_SECONDS = 1.0, 10.0


@dataclass(frozen=True, slots=True)
class BatchAnswer:
    """The state of a batch that a call answers with; clients with tasks follow an unfinished one as a task."""

    head: Header
    parts: Sequence[Part]

    def as_result(self, *, links: bool, separate: bool) -> CallToolResult:
        """Return the parts, and for an unfinished batch a link to its later state."""
        running = [batch_report.resource_link(self.head.batch)] if links and not self.head.done else []
        return CallToolResult(content=content([*self.parts, *running], links=links, separate=separate))


def run_batch(exchange: McpExchange, request: BatchArguments) -> list[str] | BatchAnswer | RanCall:
    """Return the plan of a dry run, the state of the batch after some seconds, or the call that an approval permits."""
    _check(request)
    if request.batch_id:
        found = approvals.follow(exchange, request.batch_id)
        given = request.max_tokens if "max_tokens" in request.model_fields_set else None
        return found if isinstance(found, RanCall) else _follow(exchange, found, given)
    submitted = _prepare(exchange, request)
    if request.dry_run:
        return [compact_json(submitted.describe(exchange.permissions, exchange.remaining))]
    consent = consent_of(exchange.client, claimed=request.confirm)
    left = exchange.remaining
    head = submitted.submit(exchange.permissions, consent, seconds=left, wait=left if _waits(exchange) else 0)
    return _follow(exchange, head)


def task(exchange: McpExchange, batch: str) -> Task:
    """Return a batch as an MCP task, with its result once it is done."""
    head = submission.find_own(exchange.caller, batch)
    if not head.done or head.cancelled_at is not None:
        return as_task(head)
    answer = BatchAnswer(head, batch_report.build_parts(head, exchange.permissions))
    result = answer.as_result(links=True, separate=exchange.client.separate_blocks)
    return as_task(head, {"result": result.model_dump(mode="json", by_alias=True, exclude_none=True)})


def as_task(head: Header, outcome: Mapping[str, Any] | None = None) -> Task:
    """Return a batch as an MCP task."""
    age = time.time() - head.started_at
    return Task(
        id=head.batch,
        status=_STATUSES[head.state],
        message=f"{batch_report.describe_state(head)}: {batch_report.count_settled(head)}",
        created_at=head.started_at,
        updated_at=head.changed_at or head.started_at,
        ttl_seconds=head.expires_at - head.started_at,
        poll_interval_seconds=min(max(age / 10, MIN_POLL_INTERVAL_SECONDS), MAX_POLL_INTERVAL_SECONDS),
        outcome=outcome or {},
    )


def _follow(exchange: McpExchange, head: Header, max_tokens: int | None = None) -> BatchAnswer:
    """Wait for a batch and return its state; for a client that prefers a task, without waiting."""
    if _waits(exchange):
        head = submission.wait(head, exchange.remaining)
    is_task = exchange.client.supports_tasks and not head.done
    return BatchAnswer(head, [] if is_task else batch_report.build_parts(head, exchange.permissions, max_tokens))


def _waits(exchange: McpExchange) -> bool:
    """Whether the client waits for a batch, rather than to follow it as a task."""
    return not (exchange.client.supports_tasks and exchange.client.prefers_task)


def _prepare(exchange: McpExchange, request: BatchArguments) -> Submission:
    """Check everything that is to run, before anything runs."""
    permissions, options, request_id = exchange.permissions, request.options, exchange.request_id
    if request.resume:
        return submission.prepare_resumption(permissions, request.resume, request.again, options, request_id)
    if request.undo:
        return submission.prepare_undo(permissions, request.undo, options, request_id, anyway=request.anyway)
    return submission.prepare(permissions, request.commands, options, request_id)


def _check(request: BatchArguments) -> None:
    """Refuse arguments that exclude each other."""
    sources = [name for name in ("commands", "batch_id", "resume", "undo") if getattr(request, name)]
    if len(sources) > 1:
        raise InvalidRequest(field=sources[1], problem=f"give {sources[0]} or {sources[1]}, not both")
    if request.again and not request.resume:
        raise InvalidRequest(field="again", problem="it belongs to resume")
    if request.anyway and not request.undo:
        raise InvalidRequest(field="anyway", problem="it belongs to undo")
