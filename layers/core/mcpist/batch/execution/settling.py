"""Settling: how a step of a batch happens once, however often it is entered.

A step is entered, ends (its item has a status then), and settles (the header has its place in the order then). One with
`each` is entered, runs once for each element of its list, and is gathered: then it ends. An element is entered and ends
as a step does, under a claim of its own.
"""

import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, Protocol

from mcpist.batch.ledger import facts, ledger
from mcpist.batch.ledger.records import Claim, Entry, Header
from mcpist.errors import InternalError, McpistError, StoreUnavailable, TooManyElements, to_message
from mcpist.running.run import Brought
from mcpist.settings import settings
from mcpist.telemetry.invocation import count
from mcpist.telemetry.metrics import ERRORS

CLAIM_MARGIN_SECONDS = 2
STORE_ATTEMPTS = 3


class StepBusy(Exception):  # Step Functions retries on this name
    """Another sandbox holds a live claim on the step: come back later."""


@dataclass(frozen=True, slots=True)
class Entrance:
    """One invocation that enters a step, an `element` of it, or `gather`s its elements.

    `remaining` are the seconds until its own deadline, `age` those since its execution began. It is `lost` where all
    earlier attempts came to nothing.
    """

    pk: str
    step: int
    execution: str
    retry: int
    request: str
    remaining: float
    age: float = 0
    lost: bool = False
    element: int | None = None
    gather: bool = False

    @property
    def late(self) -> bool:
        """Whether its execution may end before a step that begins now: then the batch goes on in another one."""
        return self.age > settings().continue_seconds

    def claim(self) -> Claim:
        """This invocation's claim, which ends some seconds after its own deadline."""
        until = time.time() + self.remaining + CLAIM_MARGIN_SECONDS
        return Claim(owner=self.request, execution=self.execution, retry=self.retry, until=until)


@dataclass(frozen=True, slots=True)
class Entered:
    """What an entrance came to: the header afterwards, which says what it opened.

    `each` are the elements that must run before the step can be gathered. `late` says that nothing was done, since the
    batch must go on in another execution, and `replayed` that the step had settled before.
    """

    head: Header
    each: tuple[int, ...] | None = None
    late: bool = False
    replayed: bool = False


class Work(Protocol):
    """What a step's work needs to know that the ledger does not: tools, and whom they run for."""

    def enters(self, head: Header) -> None:
        """Hear first of all whose batch it is."""

    def is_wanted(self, head: Header, entry: Entry) -> bool:
        """Whether the `when` of the step, or of the element, holds."""

    def list(self, head: Header, entry: Entry) -> list[Any]:
        """The list that a step with `each` runs over; a McpistError if it is none."""

    def prepare(self, head: Header, entry: Entry) -> Callable[[], Brought]:
        """The work with all it needs at hand, not begun; a McpistError if it cannot be done."""


def enter(entrance: Entrance, work: Work) -> Entered:
    """Bring a step, or an element, as far as it may be brought now.

    A step that is entered before all that it needs has settled is left alone: somebody else will open it.
    """
    if entrance.element is not None:
        return _enter_element(entrance, entrance.element, work)
    head, entry = ledger.enter(entrance.pk, entrance.step)
    work.enters(head)
    if entrance.step in head.seq:
        return Entered(head, replayed=True)
    if not head.ready(entrance.step):
        return Entered(head)
    if entry.status is None and not entry.fan and not entrance.gather:
        if _goes_on_elsewhere(entrance, head, entry):
            return Entered(head, late=True)
        entry = _end(entrance, head, entry, work)
    if entry.status is None and entry.fan:
        return _enter_fan(entrance, head, entry)
    return _settle(entrance, head, entry)


def _settle(entrance: Entrance, head: Header, entry: Entry) -> Entered:
    """Settle a step that has ended; who gathers one that has not even begun has come too early."""
    if entry.status is not None:
        return Entered(facts.settle(head.pk, entry.index, entry.status))
    if entrance.gather and not entry.fan:
        return Entered(head)
    raise StepBusy(f"step {entry.index}")


def _enter_fan(entrance: Entrance, head: Header, entry: Entry) -> Entered:
    """Say which elements must run; once they have, end the step and settle it."""
    elements = ledger.elements(head.pk, entry)
    still = tuple(one.element for one in elements if one.status is None and one.element is not None)
    if still and _goes_on_elsewhere(entrance, head, entry):
        return Entered(head, late=True)
    if not (entrance.gather or entrance.lost):
        return Entered(head, each=still)
    return _settle(entrance, head, _gather(entrance, head, entry, elements))


def _enter_element(entrance: Entrance, number: int, work: Work) -> Entered:
    """Bring an element to its end; one that the step's list does not have is left alone."""
    head, entry, element = ledger.enter_element(entrance.pk, entrance.step, number)
    work.enters(head)
    if entrance.step in head.seq or entry.fan is None or number >= entry.fan.count or element.status is not None:
        return Entered(head, replayed=True)
    if _goes_on_elsewhere(entrance, head, element):
        return Entered(head, late=True)
    if _end(entrance, head, element, work).status is None:
        raise StepBusy(f"step {entrance.step}, element {number}")
    return Entered(head)


def _goes_on_elsewhere(entrance: Entrance, head: Header, entry: Entry) -> bool:
    """Whether it is too late in this execution for what may still run; how it ended can always be told."""
    if not entrance.late or head.stopped:
        return False
    ended = entry.claim and (entrance.lost or (not entry.reads and _standing(entrance, entry) == "dead"))
    return not ended


def _end(entrance: Entrance, head: Header, entry: Entry, work: Work) -> Entry:
    """The step or element after this invocation did what it may."""
    owner = entry.claim.owner if entry.claim else None
    match _standing(entrance, entry):
        case "busy":
            return entry
        case "dead" if entrance.lost or not entry.reads:
            return facts.finish(head, entry, owner, "failed" if entry.reads else "unknown", error=_lost(entrance))
        case "free" if entrance.lost:
            return facts.finish(head, entry, None, "failed", error=_lost(entrance))
    if head.stopped:
        return facts.finish(head, entry, owner, "cancelled")
    if owner is None and head.failed_needs(entry.index):
        return facts.finish(head, entry, None, "skipped")
    return _begin(entrance, head, entry, work)


def _begin(entrance: Entrance, head: Header, entry: Entry, work: Work) -> Entry:
    """Run a step or an element, or make out the list that it runs over, unless its `when` forbids it.

    All that can be known before it is known before the claim: a fault there costs nothing, and is tried again.
    """
    owner = entry.claim.owner if entry.claim else None
    try:
        if not work.is_wanted(head, entry):
            return facts.finish(head, entry, owner, "skipped")
        if entry.each and entry.element is None:
            return _spread(head, entry, work.list(head, entry))
        run = work.prepare(head, entry)
    except McpistError as error:
        _try_again(entrance, error)
        return facts.finish(head, entry, owner, "failed", error=_told(error))
    entry = facts.claim(head, entry, entrance.claim())
    mine = entry.status is None and entry.claim is not None and entry.claim.owner == entrance.request
    return _run(entrance, head, entry, run) if mine else entry


def _run(entrance: Entrance, head: Header, entry: Entry, run: Callable[[], Brought]) -> Entry:
    """Do the work, for which this sandbox alone has the claim."""
    end: Callable[..., Entry] = partial(facts.finish, head, entry, entrance.request)
    try:
        brought = run()
    except McpistError as error:
        if entry.reads:
            _try_again(entrance, error)
        return end("failed", error=_told(error))
    try:
        content = json.dumps(brought.json, ensure_ascii=False, separators=(",", ":")).encode(errors="replace")
    except (TypeError, ValueError, RecursionError):
        return end("failed" if entry.reads else "unknown", error=_lost(entrance))
    return end("succeeded", content=content, more=brought.more, account=brought.account)


def _spread(head: Header, entry: Entry, values: list[Any]) -> Entry:
    """Store the list that a step runs over, if it is not too long; an empty one ends it."""
    if not values:
        return ledger.gather(head, entry, [])
    limit = entry.each_limit
    if len(values) <= limit:
        room = facts.count(head, entry.index, len(values))
        if room is None:
            return facts.spread(head, entry, values)
        limit = room
    place = {"line": entry.line, "id": entry.id, "field": "each", "reference": entry.each}
    error = TooManyElements(**place, elements=len(values), limit=limit)
    return facts.finish(head, entry, None, "failed", error=_told(error))


def _gather(entrance: Entrance, head: Header, entry: Entry, elements: list[Entry]) -> Entry:
    """End a step whose elements have all ended; those of a stopped batch, and those that were lost, are ended first."""
    found = [_ended(entrance, head, element) for element in elements]
    return entry if _is_open(found) else ledger.gather(head, entry, found)


def _ended(entrance: Entrance, head: Header, element: Entry) -> Entry:
    """An element after the Map that was to run it: whoever claims it still, lives outside this execution."""
    if element.status is not None or (element.claim and element.claim.lives):
        return element
    owner = element.claim.owner if element.claim else None
    if entrance.lost:
        status: Literal["unknown", "failed"] = "unknown" if element.claim and not element.reads else "failed"
        return facts.finish(head, element, owner, status, error=_lost(entrance))
    if head.stopped and not (element.claim and not element.reads):
        return facts.finish(head, element, owner, "cancelled")
    return element


def _standing(entrance: Entrance, entry: Entry) -> Literal["free", "busy", "dead"]:
    """Whether it is unclaimed, or its claim lives or is dead.

    A claim is dead past its end, or when the same execution has come back with a later retry: Step Functions
    retries only after it has seen the former invocation end.
    """
    claim = entry.claim
    if claim is None:
        return "free"
    ended = claim.execution == entrance.execution and (claim.retry < entrance.retry or entrance.lost)
    return "dead" if ended or not claim.lives else "busy"


def _try_again(entrance: Entrance, error: McpistError) -> None:
    """Raise a store's outage, a few times: Step Functions waits and comes back. What fails for good is the step's."""
    if isinstance(error, StoreUnavailable) and entrance.retry < STORE_ATTEMPTS and not entrance.lost:
        raise error


def _is_open(elements: list[Entry]) -> bool:
    return any(element.status is None for element in elements)


def _lost(entrance: Entrance) -> dict[str, Any]:
    return _told(InternalError(request_id=entrance.request))


def _told(error: McpistError) -> dict[str, Any]:
    """The error that a step or an element ends with."""
    count(ERRORS, by=error.code)
    return to_message(error)
