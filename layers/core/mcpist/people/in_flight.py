"""Requests, steps and batches in flight: how many a user and an organization may have, in all sandboxes together.

An organization has one item of the ledger, under `pk` ORGANIZATION#quota and `sk` in_flight. Each lease is an attribute
of it, named after its kind, the user and the sandbox; its value is the second in which it ends. A sandbox serves one
request or step at a time, so an organization has at most as many in flight as sandboxes have leases. The organization's
limit is for requests and steps of batches together, the user's for requests alone: so a user's batch never refuses the
user's own requests.

The only lease that a user has of a kind is kept for a minute where the organization has less than half of its limit,
and few leases: the next requests or steps of the user in that sandbox ask the store nothing. With many leases the item
would be large, and each write costs its whole size. Other leases are released at the end. A kept lease counts although
nothing may be in flight: so a user's limit may refuse one request too early, and an organization's from its half on.

A batch has a lease from its start until its last step settles, in an item of its own (`sk` batches): a user may have as
many batches running as requests in flight, and an organization too.
"""

import logging
import secrets
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from hashlib import sha256

from mcpist.aws.clients import AwsError
from mcpist.aws.table import ledger_table
from mcpist.caller import Caller
from mcpist.errors import StoreUnavailable, TooManyBatches, TooManyInFlight
from mcpist.memory import Clock, Memory, on_forget, wall_clock
from mcpist.settings import settings

MAX_REQUEST_SECONDS, MAX_STEP_SECONDS = 30, 60
KEPT_LEASE_SECONDS = 60
STALE_SECONDS = 60  # after its end a lease may be removed: no clock is wrong by so much
MAX_STALE_LEASES = 16
MAX_KEPT_LEASES = 30  # of an organization: about 1 KB
REFUSAL_SECONDS = 1
BATCH_REFUSAL_SECONDS = 10
BATCHES_RETENTION_SECONDS = 8 * 86_400  # longer than any batch runs
MAX_USERS = 1_000
_REQUEST, _STEP, _BATCH = "lease_", "step_", "batch_"
_REQUESTS_ITEM, _BATCHES_ITEM = "in_flight", "batches"
_PREFIXES, _USER_DIGITS = (_REQUEST, _STEP), 6

logger = logging.getLogger(__name__)


class InFlight:
    """The leases of one sandbox for what it serves: requests, or steps of batches."""

    def __init__(self, clock: Clock = wall_clock, prefix: str = _REQUEST, seconds: int = MAX_REQUEST_SECONDS) -> None:
        self._clock, self._prefix, self._seconds = clock, prefix, seconds
        self._kept: Memory[tuple[str, str], str] = Memory(KEPT_LEASE_SECONDS, MAX_USERS, clock)
        self._refused: Memory[tuple[str, str], int] = Memory(REFUSAL_SECONDS, MAX_USERS, clock)
        self._sandbox = ""
        on_forget(self.clear)

    def clear(self) -> None:
        """Become another sandbox: one that starts from a snapshot must not share the name of its siblings."""
        self._sandbox = ""

    @contextmanager
    def counted(self, caller: Caller) -> Iterator[None]:
        """Count a request as in flight until the context ends; TooManyInFlight where there are too many already."""
        lease = self._acquire(caller) if settings().user_concurrency else ""
        try:
            yield
        finally:
            if lease:
                _remove(caller.organization, _REQUESTS_ITEM, [lease])

    def _acquire(self, caller: Caller) -> str:
        """Return the lease that the request's end releases; an empty text where a lease is kept or none was needed."""
        key = (caller.organization, caller.user)
        if limit := self._refused.get(key):
            raise TooManyInFlight(limit=limit, retry_after=REFUSAL_SECONDS)
        if self._kept.get(key):
            return ""
        self._sandbox = self._sandbox or secrets.token_hex(4)
        lease, now = f"{self._prefix}{_user_digits(caller.user)}{self._sandbox}", int(self._clock())
        try:
            ends = now + KEPT_LEASE_SECONDS + self._seconds
            item = ledger_table().set(f"{caller.organization}#quota", _REQUESTS_ITEM, {lease: ends, "expires_at": ends})
        except StoreUnavailable:
            logger.warning("request not counted", extra={"organization": caller.organization, "user": caller.user})
            return ""
        leases = {name: ends for name, ends in item.items() if name.startswith(_PREFIXES)}
        stale = [name for name, ends in leases.items() if ends + STALE_SECONDS < now]
        if limit := _exceeded_limit(leases, lease, now):
            _remove(caller.organization, _REQUESTS_ITEM, [lease, *stale])
            raise TooManyInFlight(limit=self._refused.put(key, limit), retry_after=REFUSAL_SECONDS)
        if len(stale) > MAX_STALE_LEASES:
            _remove(caller.organization, _REQUESTS_ITEM, stale)
        if not _is_quiet(leases, lease, now):
            return lease
        self._kept.put(key, lease, since=now)
        return ""


in_flight = InFlight()
steps_in_flight = InFlight(prefix=_STEP, seconds=MAX_STEP_SECONDS)


def begin_batch(organization: str, user: str, batch: str, closes_at: float, now: float) -> None:
    """Count a batch as running until it ends, or its time is over; TooManyBatches where there are too many already.

    The last places of an organization are for those of its users who have no batch running.
    """
    per_user, per_organization = settings().user_concurrency, settings().organization_concurrency
    if not per_user:
        return
    lease, ends = f"{_BATCH}{_user_digits(user)}{batch}", int(closes_at) + 1
    change = {lease: ends, "expires_at": int(now) + BATCHES_RETENTION_SECONDS}
    item = ledger_table().set(f"{organization}#quota", _BATCHES_ITEM, change)
    leases = {name: ends for name, ends in item.items() if name.startswith(_BATCH)}
    running = [name for name, ends in leases.items() if ends >= now]
    of_user = sum(name.startswith(f"{_BATCH}{_user_digits(user)}") for name in running)
    free = per_organization - len(running)
    stale = [name for name in leases if name not in running]
    if of_user > per_user or (per_organization and (free < 0 or 1 < of_user > free + 1)):
        _remove(organization, _BATCHES_ITEM, [lease, *stale])
        limit = per_user if of_user > per_user else per_organization
        raise TooManyBatches(limit=limit, retry_after=BATCH_REFUSAL_SECONDS)
    if stale:
        _remove(organization, _BATCHES_ITEM, stale)


def end_batch(organization: str, user: str, batch: str) -> None:
    """Count a batch no longer as running."""
    if settings().user_concurrency:
        _remove(organization, _BATCHES_ITEM, [f"{_BATCH}{_user_digits(user)}{batch}"])


def _exceeded_limit(leases: Mapping[str, int], lease: str, now: int) -> int:
    """Return the limit that a request or a step exceeds whose lease is among the leases; 0 where it may run.

    The last places of an organization are for those of its users who have no request in flight; a step leaves them to
    users who have neither.
    """
    requests, steps, of_organization = _count(leases, lease, now)
    per_user, per_organization = settings().user_concurrency, settings().organization_concurrency
    is_step = lease.startswith(_STEP)
    if not is_step and requests > per_user:
        return per_user
    free, of_user = per_organization - of_organization, requests + steps if is_step else requests
    return per_organization if per_organization and (free < 0 or 1 < of_user > free + 1) else 0


def _is_quiet(leases: Mapping[str, int], lease: str, now: int) -> bool:
    """Whether a lease may be kept: it is its user's only one, and the organization is far below its limits."""
    if sum(ends >= now for ends in leases.values()) > MAX_KEPT_LEASES:
        return False
    requests, steps, of_organization = _count(leases, lease, now)
    return (steps if lease.startswith(_STEP) else requests) == 1 and 2 * of_organization <= (
        settings().organization_concurrency or 2 * of_organization
    )


def _count(leases: Mapping[str, int], lease: str, now: int) -> tuple[int, int, int]:
    """Return how many sandboxes serve the user's requests, how many the user's steps, and how many the organization.

    What a user has beyond the limit is about to be refused, and takes no place from the others.
    """
    valid = [name.partition("_") for name, ends in leases.items() if ends >= now]
    by_user = Counter((kind, owner[:_USER_DIGITS]) for kind, _, owner in valid)
    requests = [count for (kind, _), count in by_user.items() if kind == "lease"]
    excess = sum(max(0, count - settings().user_concurrency) for count in requests)
    sandboxes = len({(kind, owner[_USER_DIGITS:]) for kind, _, owner in valid})
    user = lease.partition("_")[2][:_USER_DIGITS]
    return by_user["lease", user], by_user["step", user], sandboxes - excess


def _remove(organization: str, item: str, leases: Iterable[str]) -> None:
    """Remove leases; one that cannot be removed ends by itself."""
    try:
        names = ", ".join(f"#{lease}" for lease in leases)
        ledger_table().update(f"{organization}#quota", item, f"REMOVE {names}", values={})
    except (StoreUnavailable, AwsError):
        logger.warning("lease not released", extra={"organization": organization})


def release_all(organization: str) -> None:
    """Release all leases of an organization, where no sandbox is left that could hold one."""
    ledger_table().delete(f"{organization}#quota", "in_flight")


def _user_digits(user: str) -> str:
    """Return a short name for a user; two users with the same one share a limit."""
    return sha256(user.encode()).hexdigest()[:_USER_DIGITS]
