"""Leases: one refresh of a grant at a time, in all sandboxes, without comparing clocks.

Items (`pk`, `sk`): those of the grant, with `lease#` before the `sk`, so that only new tokens change a grant's item.
The holder increments `beat` from a thread of its own while it waits for the provider. A waiter takes over when the beat
has not changed for a whole lease by its own monotonic clock, on the condition that it still has not. The item also
keeps the last failure, and until when no sandbox may retry.
"""

import math
import random
import threading
import time
from dataclasses import asdict, dataclass
from types import TracebackType
from typing import Any, Self

from mcpist.aws.attributes import Item
from mcpist.aws.clients import AwsError, ConditionFailed
from mcpist.errors import (
    McpistError,
    RateLimitExceeded,
    StoreUnavailable,
    UpstreamUnavailable,
    from_message,
    to_message,
)
from token_broker.grants import grants
from token_broker.grants.grant import StoredGrant

LEASE_RETENTION_SECONDS = 86_400
MAX_REFRESH_BACKOFF_SECONDS = 300
MAX_BACKOFF_DOUBLINGS = 9
# Sandboxes of one snapshot would share a seed.
_random = random.SystemRandom()


@dataclass(frozen=True, slots=True)
class LeaseTiming:
    """The times of leases, in seconds."""

    lease: float = 8.0
    """The time for which a lease is valid after its holder's last beat."""
    beat: float = 1.0
    """The interval between beats."""
    margin: float = 6.5
    """The end of a lease in which nothing is sent: long enough to connect to a provider, 3 s for TCP and 3 for TLS."""
    wait: float = 11.0
    """The time after which a waiter gives up."""


DEFAULT_LEASE_TIMING = LeaseTiming()


@dataclass(frozen=True, slots=True)
class RefreshFailure:
    """The last failed refresh of a version."""

    version: int
    failures: int
    """The number of failures in a row."""
    until: float
    """The end of the backoff (epoch seconds)."""
    error: dict[str, Any]
    """The error as `to_message` returns it."""


@dataclass(frozen=True, slots=True)
class LeaseState:
    """The state in a lease's item; without a holder the lease is free."""

    holder: str = ""
    beat: int = 0
    trouble: RefreshFailure | None = None

    @classmethod
    def from_item(cls, item: Item) -> Self:
        """Return the state of an item."""
        trouble = RefreshFailure(**item["trouble"]) if "trouble" in item else None
        return cls(item.get("holder", ""), item.get("beat", 0), trouble)

    def raise_if_backing_off(self, grant: StoredGrant) -> None:
        """Raise the last failure of this version during its backoff."""
        if self.holder or self.trouble is None or self.trouble.version != grant.version:
            return
        # A writer whose clock is ahead must not extend the backoff beyond its maximum.
        rest = self.trouble.until - time.time()
        if 0 < rest <= MAX_REFRESH_BACKOFF_SECONDS:
            error = _parse_recorded_error(self.trouble.error, grant.provider)
            raise error.with_details(retry_after=max(1, round(rest))) if isinstance(error, RateLimitExceeded) else error


class LeaseWatch:
    """A waiter's observation of a lease: since when, by its own clock, the beat has not changed."""

    def __init__(self, pace: LeaseTiming) -> None:
        self._pace = pace
        self._seen: tuple[str, int] | None = None
        self._since = 0.0

    def is_free(self, state: LeaseState) -> bool:
        """Whether the lease has no holder, or its holder missed all beats of a whole lease."""
        seen = state.holder, state.beat
        if seen != self._seen:
            self._seen, self._since = seen, time.monotonic()
        return not state.holder or time.monotonic() - self._since >= self._pace.lease


class Lease:
    """A lease that we hold: it beats while the context lasts, and is released at its end."""

    def __init__(
        self, grant: StoredGrant, holder: str, began: float, trouble: RefreshFailure | None, pace: LeaseTiming
    ) -> None:
        self._grant = grant
        self._holder = holder
        self._pace = pace
        self._last_failure = trouble
        self._failed = False
        self._last_beat_at = began
        self._stop = threading.Event()
        self._heartbeat_thread = threading.Thread(target=self._keep_beating, daemon=True)

    def __enter__(self) -> Self:
        self._heartbeat_thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set()
        self._heartbeat_thread.join(self._pace.beat)
        self._release()

    @property
    def may_send(self) -> bool:
        """Whether a request that is sent now arrives before another sandbox can take over."""
        return time.monotonic() < self._last_beat_at + self._pace.lease - self._pace.margin

    def record_failure(self, error: McpistError) -> None:
        """Start a backoff for all sandboxes: exponential, with jitter, five minutes at most."""
        before = (
            self._last_failure if self._last_failure and self._last_failure.version == self._grant.version else None
        )
        failures = before.failures + 1 if before else 1
        pause = 2 ** min(failures, MAX_BACKOFF_DOUBLINGS) * _random.uniform(0.5, 1)
        requested = error.details.get("retry_after", 0)
        until = time.time() + min(MAX_REFRESH_BACKOFF_SECONDS, max(requested, pause))
        self._last_failure = RefreshFailure(self._grant.version, failures, until, to_message(error))
        self._failed = True

    def _keep_beating(self) -> None:
        while not self._stop.wait(self._pace.beat):
            began = time.monotonic()
            try:
                _update_held(self._grant, self._holder, "SET #beat = #beat + :one", {":one": 1})
            except StoreUnavailable:
                continue
            except AwsError:
                self._last_beat_at = -math.inf  # another sandbox took over: send nothing any more
                return
            self._last_beat_at = began

    def _release(self) -> None:
        """Release the lease, best effort: one that cannot be released is taken over."""
        try:
            if self._failed and self._last_failure:
                trouble = asdict(self._last_failure)
                _update_held(self._grant, self._holder, "SET #trouble = :trouble REMOVE #holder", {":trouble": trouble})
            else:
                grants.table().delete(
                    *_key(self._grant), condition="#holder = :holder", values={":holder": self._holder}
                )
        except (AwsError, StoreUnavailable):
            return


def read_with_grant(grant: StoredGrant) -> tuple[StoredGrant | None, LeaseState]:
    """Return the grant and its lease by one consistent request."""
    items = {item["sk"]: item for item in grants.table().get_many([grant.key, _key(grant)])}
    item, lease = items.get(grant.slot), items.get(_key(grant)[1])
    return grants.grant_from_item(item) if item else None, LeaseState.from_item(lease) if lease else LeaseState()


def acquire(grant: StoredGrant, state: LeaseState, pace: LeaseTiming) -> Lease | None:
    """Take the lease if it is still in this state; None if another sandbox was faster."""
    began = time.monotonic()
    stale = {":stale": state.holder, ":seen": state.beat} if state.holder else {}
    try:
        item = grants.table().set_once(
            *_key(grant),
            {"beat": 0, "expires_at": int(time.time()) + LEASE_RETENTION_SECONDS},
            writer="holder",
            values=stale,
            condition="#holder = :stale AND #beat = :seen" if stale else "attribute_not_exists(#holder)",
        )
    except ConditionFailed:
        return None
    return Lease(grant, item["holder"], began, LeaseState.from_item(item).trouble, pace)


def _parse_recorded_error(message: Item, provider: str) -> McpistError:
    """Return a recorded error; one that this release does not know counts as an outage."""
    try:
        return from_message(message)
    except (KeyError, TypeError):
        return UpstreamUnavailable(service=provider, problem="its last answer was of no use")


def _update_held(grant: StoredGrant, holder: str, expression: str, values: Item) -> None:
    grants.table().update(*_key(grant), expression, values={**values, ":holder": holder}, condition="#holder = :holder")


def _key(grant: StoredGrant) -> tuple[str, str]:
    pk, slot = grant.key
    return pk, f"lease#{slot}"
