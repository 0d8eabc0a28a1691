"""Settling: how a step of a batch happens once, however often it is entered."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from mcpist.batch import ledger
from mcpist.batch.records import Claim, Entry, Header
from mcpist.errors import InternalError, McpistError, to_message
from mcpist.running.run import Brought

CLAIM_MARGIN_SECONDS = 2


class StepBusy(Exception):  # Step Functions retries on this name
    """Another sandbox holds a live claim on the step: come back later."""


@dataclass(frozen=True, slots=True)
class Entrance:
    """One invocation that enters a step; `remaining` are the seconds until its own deadline."""

    pk: str
    step: int
    execution: str
    retry: int
    request: str
    remaining: float
    lost: bool = False

    def claim(self) -> Claim:
        """This invocation's claim, which ends some seconds after its own deadline."""
        until = time.time() + self.remaining + CLAIM_MARGIN_SECONDS
        return Claim(owner=self.request, execution=self.execution, retry=self.retry, until=until)


type Run = Callable[[Header, Entry], Brought]


def enter(entrance: Entrance, run: Run) -> Header:
    """Bring a step to its end and settle it; the header afterwards says what that opened.

    A step that is entered before all that it needs has settled is left alone: somebody else will open it.
    `run` does the step's work and gives what it brought, or raises the McpistError that it failed with.
    """
    head, entry = ledger.enter(entrance.pk, entrance.step)
    if entrance.step in head.seq or not head.ready(entrance.step):
        return head
    if entry.status is None:
        entry = _end(entrance, head, entry, run)
    if entry.status is None:
        raise StepBusy(f"step {entrance.step}")
    return ledger.settle(entrance.pk, entrance.step, entry.status)


def _end(entrance: Entrance, head: Header, entry: Entry, run: Run) -> Entry:
    """The step's item after this invocation did what it may."""
    match _standing(entrance, entry):
        case "busy":
            return entry
        case "dead" if entrance.lost or entry.effect != "reads":
            return ledger.finish(head, entry, _owner(entry), ledger.verdict(entry, "failed"), error=_lost(entrance))
        case "free" if entrance.lost:
            return ledger.finish(head, entry, None, "failed", error=_lost(entrance))
        case "free" if time.time() >= head.closes_at:
            return ledger.finish(head, entry, None, "cancelled")
        case "free" if head.failed_needs(entrance.step):
            return ledger.finish(head, entry, None, "skipped")
    if not ledger.claim(entrance.pk, entry, entrance.claim()):
        return ledger.entries(entrance.pk, [entrance.step])[0]
    return _work(entrance, head, entry, run)


def _work(entrance: Entrance, head: Header, entry: Entry, run: Run) -> Entry:
    try:
        brought = run(head, entry)
    except McpistError as error:
        return ledger.finish(head, entry, entrance.request, "failed", error=to_message(error))
    return ledger.finish(head, entry, entrance.request, "succeeded", raw=brought.json, more=brought.more)


def _standing(entrance: Entrance, entry: Entry) -> Literal["free", "busy", "dead"]:
    """Whether the step is unclaimed, or its claim lives or is dead.

    A claim is dead past its end, or when the same execution has come back with a later retry: Step Functions
    retries only after it has seen the former invocation end.
    """
    claim = entry.claim
    if claim is None:
        return "free"
    ended = claim.execution == entrance.execution and (claim.retry < entrance.retry or entrance.lost)
    return "dead" if ended or claim.until < time.time() else "busy"


def _lost(entrance: Entrance) -> dict[str, Any]:
    return to_message(InternalError(request_id=entrance.request))


def _owner(entry: Entry) -> str | None:
    return entry.claim.owner if entry.claim else None
