"""What the ledger knows of a batch, as values: the header, its steps, their elements and claims.

Times are seconds since the epoch.
"""

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from mcpist.batch.language.graph import opened

type Status = Literal["succeeded", "failed", "skipped", "cancelled", "unknown"]
type ExecutionForm = Literal["machine", "relay"]


@dataclass(frozen=True, slots=True)
class Header:
    """A batch as all its readers see it; `seq[i]` is step i's place in the order of settling.

    `map_steps` are the steps that run for each element of a list, `elements` how many they have, once that is known.
    What needs only `continue_on_error` steps runs however they end.
    `resumes` is the batch whose results this one began with,
    `correlation` the id of the request that started it.
    """

    pk: str
    organization: str
    batch: str
    user: str
    issuer: str
    sub: str
    roles: tuple[str, ...]
    warrant: str = field(repr=False)
    ids: tuple[str, ...]
    needs: tuple[frozenset[int], ...]
    started_at: float
    closes_at: float
    expires_at: float
    map_steps: frozenset[int] = frozenset()
    continue_on_error: frozenset[int] = frozenset()
    form: ExecutionForm = "machine"
    resumes: str = ""
    correlation: str = ""
    cancelled_at: float | None = None
    changed_at: float | None = None
    seq: Mapping[int, int] = field(default_factory=dict)
    outcome: Mapping[int, Status] = field(default_factory=dict)
    elements: Mapping[int, int] = field(default_factory=dict)

    @property
    def done(self) -> bool:
        """Whether every step has settled."""
        return len(self.seq) == len(self.ids)

    @property
    def is_stopped(self) -> bool:
        """Whether no further step may start: it was cancelled, or its time is over."""
        return self.cancelled_at is not None or time.time() >= self.closes_at

    @property
    def open_steps(self) -> list[int]:
        """The steps that have not settled."""
        return [step for step in range(len(self.ids)) if step not in self.seq]

    def opened_by(self, step: int) -> list[int]:
        """The steps that this step's settling opened."""
        return opened(self.needs, self.seq, step)

    def is_ready(self, step: int) -> bool:
        """Whether all that the step needs has settled."""
        return self.needs[step] <= self.seq.keys()

    def failed_needs(self, step: int) -> list[str]:
        """The ids of the steps that it needs and that did not succeed: for these it is skipped."""
        needed = sorted(self.needs[step] - self.continue_on_error)
        return [self.ids[need] for need in needed if self.outcome.get(need) != "succeeded"]


@dataclass(frozen=True, slots=True)
class Claim:
    """A sandbox's word that it runs a step or an element, until a moment in seconds since the epoch."""

    owner: str
    execution: str
    retry: int
    until: float

    @property
    def is_live(self) -> bool:
        """Whether that moment is still to come."""
        return self.until >= time.time()


@dataclass(frozen=True, slots=True)
class MapItems:
    """The list that a step with `each` runs over, as it was evaluated once: its length, and its JSON or file."""

    count: int
    content: bytes | None = field(default=None, repr=False)
    file: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Entry:
    """A step, or one `element` of it: what it was asked for, who runs it, and how it ended.

    It ends with a result, a file or an error message. `more` is how to go on with a result that is a list and was cut;
    `account` the name of the account that acted.
    A step with `each` has its `map_items` once it has begun, and at the end `statuses`: packed, for each element
    `{"status"}`, with `"error"` where it failed; its result is the list of its elements' results.
    """

    index: int
    id: str
    module: str
    tool: str
    effect: str
    params: dict[str, Any]
    output: bool
    raw_output: bool
    line: int = 0
    each: str = ""
    each_limit: int = 0
    when: Mapping[str, Any] | None = None
    timeout: float | None = None
    element: int | None = None
    claim: Claim | None = None
    map_items: MapItems | None = None
    status: Status | None = None
    content: bytes | None = field(default=None, repr=False)
    file: Mapping[str, Any] | None = None
    statuses: bytes | None = field(default=None, repr=False)
    more: str = ""
    account: str = ""
    error: Mapping[str, Any] | None = None
    started_at: float | None = None
    ended_at: float | None = None

    @property
    def reads(self) -> bool:
        """Whether its tool changes nothing."""
        return self.effect == "reads"
