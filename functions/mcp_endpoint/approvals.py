"""Approvals for MCP clients: a request waits as a task, and runs once when its client asks after the decision."""

import time
from collections.abc import Callable
from typing import Any

from mcp_types import CallToolResult

from mcp_endpoint.exchange import McpExchange, RanCall
from mcp_endpoint.tasks import Status, Task
from mcpist.batch.execution import submission
from mcpist.batch.ledger.records import Header
from mcpist.caller import Caller
from mcpist.errors import BatchNotFound, McpistError, RequestTimeout, from_message
from mcpist.people.in_flight import in_flight
from mcpist.running import approvals
from mcpist.running.approvals import Approval
from mcpist.running.confirmation import Agreement
from mcpist.running.gate import ToolResult, ToolUse

# Clients need not ask more often than people decide.
MIN_POLL_SECONDS, MAX_POLL_SECONDS = 5.0, 60.0
MAX_CALL_SECONDS = 900  # of the longest invocation: the outcome of a call that began before it is not known


def follow(exchange: McpExchange, task: str) -> Header | RanCall:
    """Return a batch, or a call with its result; what an approval with this id permits is run first, once.

    ApprovalPending if it permits nothing, or not yet; BatchNotFound if there is neither.
    """
    caller, permissions = exchange.caller, exchange.permissions
    found = approvals.find_own(caller, task)
    if found is None or (found.state == "used" and not found.is_call):
        return submission.find_own(caller, task)
    consent = Agreement(question=found.id, agreed=True, can_ask=True)
    if found.state not in {"approved", "used"}:
        raise found.refusal()
    if not found.is_call:
        prepared = submission.prepare_described(permissions, found.request, exchange.request_id)
        return prepared.submit(permissions, consent, seconds=exchange.remaining)
    use = ToolUse.of_request(found.request, exchange.request_id)
    if found.state == "approved":
        return RanCall.of(exchange, use, consent)
    kept = approvals.outcome_of(caller, found)
    if "error" in kept:
        raise from_message(kept["error"])
    if "result" not in kept:
        raise RequestTimeout(seconds=MAX_CALL_SECONDS, may_have_happened=True)
    return RanCall(permissions.tool(use.module, use.tool), use, ToolResult(**kept["result"]))


def task(
    exchange: McpExchange, approval: str, to_result: Callable[[RanCall | McpistError], CallToolResult]
) -> Task | Header:
    """Return a request that waits for a person as a task; after the approval it runs, and the task has its result.

    A batch that it starts is a task of its own.
    """
    found = _require(exchange.caller, approval)
    is_lost = time.time() - found.used_at > MAX_CALL_SECONDS
    if found.state == "waiting" or (found.state == "used" and found.is_call and not (found.outcome or is_lost)):
        return _as_task(found, "working")
    if found.state == "cancelled":
        return _as_task(found, "cancelled")
    ran: Header | RanCall | McpistError
    try:
        with in_flight.counted(exchange.caller):  # a client that asks for a task does not wait otherwise
            ran = follow(exchange, approval)
    except McpistError as error:
        ran = error
    if isinstance(ran, Header):
        return ran
    result = to_result(ran).model_dump(mode="json", by_alias=True, exclude_none=True)
    return _as_task(found, "completed", {"result": result})


def waiting(caller: Caller, approval: str) -> Task:
    """Return a request that has begun to wait as a task."""
    return _as_task(_require(caller, approval), "working")


def cancel(caller: Caller, task: str) -> None:
    """Cancel a request that waits, or the batch that it became."""
    found = approvals.find_own(caller, task)
    if found and found.is_open:
        approvals.cancel(caller, task)
    else:
        submission.cancel(caller, task)


def _require(caller: Caller, task: str) -> Approval:
    found = approvals.find_own(caller, task)
    if found is None:
        raise BatchNotFound(batch=task)
    return found


def _as_task(approval: Approval, status: Status, outcome: dict[str, Any] | None = None) -> Task:
    age, error = time.time() - approval.requested_at, approval.refusal()
    hint = f": {error.text().hint}" if approval.state == "waiting" else ""
    return Task(
        id=approval.id,
        status=status,
        message=f"{approval.state}{hint}",
        created_at=approval.requested_at,
        updated_at=approval.used_at or approval.decided_at or approval.requested_at,
        ttl_seconds=approval.until - approval.requested_at + approvals.KEPT_SECONDS,
        poll_interval_seconds=min(max(age / 10, MIN_POLL_SECONDS), MAX_POLL_SECONDS),
        outcome=outcome or {},
    )
