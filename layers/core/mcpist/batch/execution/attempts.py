"""Attempts at a step: what an invocation is asked for, and what came of it."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from mcpist.batch.ledger.records import Claim, Header
from mcpist.settings import settings

CLAIM_MARGIN_SECONDS = 2
SETTLE_RESERVE_SECONDS = 5.0
"""What an invocation keeps for storing how its work ended."""


class StepWaits(Exception):  # Step Functions retries by this name
    """The organization has as many requests and steps in flight as it may: try again later, nothing has run."""


class StepBusy(Exception):  # Step Functions retries by this name
    """Another sandbox holds a live claim on the step: try again later."""


@dataclass(frozen=True, slots=True)
class StepAttempt:
    """One invocation for a step or for some elements of it."""

    pk: str
    step: int
    execution: str
    retry: int
    """The number of earlier attempts of the same Task."""
    request_id: str
    remaining_seconds: float
    """The time until the invocation's own deadline when it began."""
    age_seconds: float = 0
    """The time since its execution began."""
    lost: bool = False
    """Whether all earlier attempts failed, so that this one only settles."""
    elements: tuple[int, ...] = ()
    """The numbers of the elements to run; none for a whole step."""
    gather: bool = False
    """Whether the elements have run, and their results are to be put together."""
    groups: bool = False
    """Whether the machine takes groups of elements, and again those that are left after gathering."""
    began: float = field(default_factory=time.monotonic)
    """The moment on the monotonic clock when the invocation began."""

    @property
    def left_seconds(self) -> float:
        """The time until the invocation's own deadline now."""
        return self.remaining_seconds - (time.monotonic() - self.began)

    @property
    def is_execution_expiring(self) -> bool:
        """Whether its execution may end before a step that begins now, so that the batch continues in another one."""
        return self.age_seconds > settings().continue_seconds

    def claim(self) -> Claim:
        """Return this invocation's claim, which ends some seconds after its own deadline."""
        until = time.time() + self.left_seconds + CLAIM_MARGIN_SECONDS
        return Claim(owner=self.request_id, execution=self.execution, retry=self.retry, until=until)


@dataclass(frozen=True, slots=True)
class AttemptResult:
    """The batch after an attempt."""

    head: Header
    """The header afterwards; it says which steps the attempt opened."""
    pending_groups: Sequence[Sequence[int]] | None = None
    """The elements that must run before the step can be gathered, those of an invocation together."""
    must_continue: bool = False
    """Whether nothing was done, because the batch must continue in another execution."""
    replayed: bool = False
    """Whether the step had settled before."""
