"""The values of the ledger: a batch's header, its steps, their elements and claims.

The ledger stores these fields as they are declared here, with `mcpist.aws.attributes`. Times are seconds since 1970.
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from graphlib import TopologicalSorter
from typing import Any, Literal

from mcpist.aws.attributes import unpack
from mcpist.batch.language.graph import opened
from mcpist.batch.language.steps import Step
from mcpist.batch.options import DEFAULT_OPTIONS, BatchOptions
from mcpist.caller import NO_CLIENT, ClientInfo, PolicyLevel, Subject

MIN_STEP_SECONDS = 0.05  # from the settling of a step to that of one that waits for it, which the machine enters

type Status = Literal["succeeded", "failed", "skipped", "cancelled", "unknown"]
BatchState = Literal["running", "done", "cancelling", "cancelled"]  # no `type`: the REST document would name it


def partition_key(organization: str, batch: str) -> str:
    """Return the key of all items of a batch, which is also the only thing that a machine knows."""
    return f"{organization}#{batch}"


@dataclass(frozen=True, slots=True)
class Opening:
    """A time in which an administrator, given by its id, may read the results of another user's batch."""

    by: str
    reason: str
    at: int
    until: int


@dataclass(frozen=True, slots=True)
class Header:
    """A batch as all its readers see it: what is fixed when it starts, and what has settled since."""

    organization: str
    batch: str
    user: str
    subject: Subject
    """The user at the identity provider, as whom the steps run."""
    roles: tuple[str, ...]
    """The roles with which the caller started the batch."""
    warrant: str = field(repr=False)
    """The broker's permission to use the caller's grants; empty where no step needs one."""
    ids: tuple[str, ...]
    """The id of each step."""
    needs: tuple[frozenset[int], ...]
    """For each step the steps that it waits for."""
    started_at: float
    closes_at: float
    """After this time no step starts, and any reader settles what has not settled."""
    expires_at: float
    """After this time the batch does not exist."""
    map_steps: frozenset[int] = frozenset()
    """The steps with `each`."""
    continue_on_error: frozenset[int] = frozenset()
    """The steps whose dependents run however they end."""
    form: Literal["machine", "relay"] = "machine"
    resumes: str = ""
    """The id of the batch whose results this one began with, if any."""
    correlation: str = ""
    """The id of the request that started the batch."""
    traceparent: str = ""
    """The W3C trace of that request."""
    client: ClientInfo = NO_CLIENT
    """The program with which the caller started the batch."""
    reading_only: bool = False
    """Whether its steps may only read."""
    depth: int = 0
    """How many automations led to it; 0 for the batch of a person or a program."""
    pins: tuple[str, ...] = ()
    """The accounts that acted when it began, to which it keeps whatever the defaults become."""
    heard: str = ""
    """The event type whose fields are among its arguments."""
    options: BatchOptions = DEFAULT_OPTIONS
    openings: tuple[Opening, ...] = ()
    """The administrators who opened the results, each time they did."""
    cancelled_at: float | None = None
    changed_at: float | None = None
    undone_by: str | None = None
    """The id of the batch that takes back what succeeded, since a step failed; empty where nothing can be."""
    seq: Mapping[int, int] = field(default_factory=dict)
    """For each settled step its place in the order of settling."""
    outcome: Mapping[int, Status] = field(default_factory=dict)
    """For each settled step how it ended."""
    elements: Mapping[int, int] = field(default_factory=dict)
    """For each step with `each` whose list is known the number of its elements."""

    @property
    def pk(self) -> str:
        """The partition key of the batch's items."""
        return partition_key(self.organization, self.batch)

    @property
    def done(self) -> bool:
        """Whether every step has settled."""
        return len(self.seq) == len(self.ids)

    @property
    def state(self) -> BatchState:
        """Whether it runs or is done; once cancelled it is `cancelling` until what was running has ended."""
        if self.cancelled_at is not None:
            return "cancelled" if self.done else "cancelling"
        return "done" if self.done else "running"

    @property
    def awaits_undo(self) -> bool:
        """Whether a step failed of a batch that wants to be undone then, and nobody has begun or declined that yet.

        A batch that was cancelled, or whose time was over, is left as it is.
        """
        ended = set(self.outcome.values())
        has_failed = not ended.isdisjoint({"failed", "unknown"}) and "cancelled" not in ended
        return self.options.on_failure == "undo" and self.done and has_failed and self.undone_by is None

    @property
    def is_stopped(self) -> bool:
        """Whether no further step may start: the batch was cancelled, or its time is over."""
        return self.cancelled_at is not None or time.time() >= self.closes_at

    @property
    def open_steps(self) -> list[int]:
        """The steps that have not settled."""
        return [step for step in range(len(self.ids)) if step not in self.seq]

    @property
    def min_open_seconds(self) -> float:
        """The least time in which all steps settle that have not: that of the longest path of them."""
        needs = {step: self.needs[step] - self.seq.keys() for step in self.open_steps}
        ends: dict[int, float] = {}
        for step in TopologicalSorter(needs).static_order():
            ends[step] = MIN_STEP_SECONDS + max((ends[need] for need in needs[step]), default=0)
        return max(ends.values(), default=0)

    def opened_by(self, step: int) -> list[int]:
        """Return the steps that settling `step` opened."""
        return opened(self.needs, self.seq, step)

    def is_ready(self, step: int) -> bool:
        """Return whether all needs of the step have settled."""
        return self.needs[step] <= self.seq.keys()

    def failed_needs(self, step: int) -> list[str]:
        """Return the ids of the needs that did not succeed and because of which the step is skipped."""
        required = sorted(self.needs[step] - self.continue_on_error)
        return [self.ids[need] for need in required if self.outcome.get(need) != "succeeded"]


@dataclass(frozen=True, slots=True)
class Claim:
    """One sandbox's exclusive right to run a step or an element until a moment."""

    owner: str
    """The request id of the invocation."""
    execution: str
    retry: int
    until: float

    @property
    def is_live(self) -> bool:
        """Whether that moment is still to come."""
        return self.until >= time.time()


@dataclass(frozen=True, slots=True)
class StoredJson:
    """A JSON text: compressed in its item, or in a file where it is large."""

    content: bytes | None = field(default=None, repr=False)
    file: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class MapItems:
    """The list that a step with `each` runs over, evaluated once."""

    count: int
    values: StoredJson


@dataclass(frozen=True, slots=True)
class Ending:
    """The ending of a step or an element."""

    status: Status
    result: StoredJson | None = None
    """The tool's JSON; of a step with `each` the list of its elements' JSON."""
    more: str = ""
    """For a list that was cut: the way to get the rest."""
    account: str = ""
    """The name of the account that acted."""
    error: Mapping[str, Any] | None = None
    statuses: Sequence[Mapping[str, Any]] | None = None
    """As releases before 2026-11-27 stored them; now they are packed."""
    packed_statuses: bytes | None = field(default=None, repr=False)
    """Of a step with `each`, for each element its `status`, and its `error` where it failed: compressed JSON."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A step, or one element of it: the request, the sandbox that runs it, and how it ended."""

    index: int
    """The number of the step in its batch."""
    step: Step
    effect: str
    """The effect of its tool: reads, writes, asks or destroys."""
    element: int | None = None
    """The place of the element in the list; None for a whole step."""
    claim: Claim | None = None
    map_items: MapItems | None = None
    """The list of a step with `each` that has begun."""
    shown: tuple[str, ...] | None = None
    """The digests of the params that it may destroy something with; None if any, as the step is written."""
    agreed: PolicyLevel = "permit"
    """Whether a person agreed to it before the batch began, or a second one."""
    started_at: float | None = None
    ended_at: float | None = None
    ending: Ending | None = None

    @property
    def reads(self) -> bool:
        """Whether its tool changes nothing."""
        return self.effect == "reads"

    @property
    def status(self) -> Status | None:
        """The status with which it ended; None before that."""
        return self.ending.status if self.ending else None

    @property
    def result(self) -> StoredJson | None:
        """The result that it ended with, if any."""
        return self.ending.result if self.ending else None

    @property
    def error(self) -> Mapping[str, Any] | None:
        """The error that it ended with, if any."""
        return self.ending.error if self.ending else None

    @property
    def statuses(self) -> Sequence[Mapping[str, Any]] | None:
        """The ending of each of its elements; None where it has none, or has not ended."""
        packed = self.ending.packed_statuses if self.ending else None
        return unpack(packed) if packed else self.ending.statuses if self.ending else None
