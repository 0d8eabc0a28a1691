"""Quick reads, which the request that starts their batch runs itself, one after the other.

They need no machine and no claim: nothing is stored before they have ended, and a read may happen twice. So a request
that is lost meanwhile leaves rows of the audit and no batch, as a call does. What has not ended is left to the batch's
machine: the reads for which the time is over, and those that a store, a limit or a defect stopped.
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace

from mcpist.batch.execution.advancing import read
from mcpist.batch.execution.attempts import SETTLE_RESERVE_SECONDS, StepAttempt
from mcpist.batch.execution.plan import Plan
from mcpist.batch.execution.step_work import ToolStepWork
from mcpist.batch.ledger.items import now
from mcpist.batch.ledger.records import Entry, Header
from mcpist.errors import McpistError, RateLimitExceeded, Timeout, from_message
from mcpist.spending import spending
from mcpist.telemetry import invocation
from mcpist.telemetry.door import typed_errors
from mcpist.telemetry.metrics import BATCH_STEPS
from mcpist.tools.access.permissions import Permissions

MAX_START_SECONDS = 5.0
"""After this time no further read begins."""
MIN_READ_SECONDS = 2.0
"""A read does not begin with less time than this."""


def are_all(plan: Plan, permissions: Permissions) -> bool:
    """Whether a batch only reads, and no step would wait for another one's service: in a row, or in our own stores."""
    if plan.map_steps or not all(tool.reads for tool in plan.tools):
        return False
    modules = [permissions.catalogue.module(tool.module) for tool in plan.tools]
    return plan.graph.depth == len(modules) or all(
        one.open_store and one.kind == "service" and not one.host for one in modules
    )


def run(head: Header, entries: Sequence[Entry], permissions: Permissions, seconds: float) -> tuple[Header, list[Entry]]:
    """Return a new batch with the reads that a request has run within some seconds."""
    began, steps = time.monotonic(), {entry.index: entry for entry in entries}
    while not (head.done or head.is_stopped):
        left = seconds - (time.monotonic() - began)
        if left < max(MIN_READ_SECONDS, seconds - MAX_START_SECONDS):
            break
        step = next(step for step in head.open_steps if head.is_ready(step))
        try:
            spending.check(head.organization, "steps")
            with typed_errors():
                steps[step] = _read(head, steps, step, permissions, left)
        except McpistError:
            break
        head = _settled(head, steps[step])
    return head, list(steps.values())


def _read(head: Header, steps: Mapping[int, Entry], step: int, permissions: Permissions, seconds: float) -> Entry:
    """Return a step after its end; an error where it needs more time than the request has."""
    until = time.monotonic() + seconds
    attempt = StepAttempt(head.pk, step, "", 0, invocation.request_id(), seconds + SETTLE_RESERVE_SECONDS)
    work = ToolStepWork(
        attempt, lambda _: permissions, lambda _, *tool: permissions.catalogue.shows(*tool), unsaved=steps
    )
    ended = read(attempt, head, steps[step], work)
    error = from_message(ended.error) if ended.error else None
    if isinstance(error, RateLimitExceeded) or (isinstance(error, Timeout) and time.monotonic() >= until):
        raise error  # the machine has more time for it
    return ended


def _settled(head: Header, entry: Entry) -> Header:
    """Return the header with a step that has ended as the next in the order of settling."""
    if entry.status is None:
        raise TypeError(f"step {entry.index} has not ended")
    spending.add(head.organization, "steps")
    invocation.count(BATCH_STEPS, by=entry.status)
    seq, outcome = {**head.seq, entry.index: len(head.seq)}, {**head.outcome, entry.index: entry.status}
    return replace(head, seq=seq, outcome=outcome, changed_at=now())
