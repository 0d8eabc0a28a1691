"""Requests, steps and batches in flight: how many a user and an organization may have, in all sandboxes together.

An organization has one item of the ledger, under `pk` ORGANIZATION#quota and `sk` in_flight. Each lease is an attribute
of it, named after its kind, the user and the sandbox; its value is the second in which it ends. A sandbox serves one
request or step at a time, so an organization has at most as many in flight as sandboxes have leases. The organization's
limit is for requests and steps of batches together, the user's for requests alone: so a user's batch never refuses the
user's own requests.

A sandbox asks the store seldom. The only lease of an organization is kept for a minute. Beside others a user's lease is
replaced at the end of a quick request by one of the sandbox (`kept_`), for a minute: in it quick requests of all users
need no lease. At most half of an organization's places are kept for requests, and a quarter for steps. Most of them are
idle, so two count as one in flight for the organization, and none for a user: an organization with at most five eighths
of its places in use is never refused, and never has more than three eighths above its limit. That, and a user's
requests above the user's own limit, can only be in sandboxes with kept leases, once: after a slow request a user needs
an own lease there for the next minute.

A batch has a lease from its start until its last step settles, in an item of its own (`sk` batches): a user may have as
many batches running as requests in flight, and an organization too.
"""

import logging
import secrets
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
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
MAX_KEPT_LEASES = 150  # of an organization's requests: about 4 KB, as for its steps
MAX_QUICK_SECONDS = 2
REFUSAL_SECONDS = 1
BATCH_REFUSAL_SECONDS = 10
BATCHES_RETENTION_SECONDS = 8 * 86_400  # longer than any batch runs
MAX_USERS = 1_000
_REQUEST, _STEP, _KEPT, _BATCH = "lease_", "step_", "kept_", "batch_"
_REQUESTS_ITEM, _BATCHES_ITEM = "in_flight", "batches"
_PREFIXES, _USER_DIGITS, _SANDBOX_DIGITS = (_REQUEST, _STEP, _KEPT), 6, 8
_ANYONE = ""

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Lease:
    """The lease of one request or step, which its end releases."""

    name: str
    may_be_kept: bool
    """Whether the sandbox may have one of its own instead, as the organization is far below its limit."""


@dataclass(frozen=True, slots=True)
class _Counts:
    """The requests and steps in flight, by the leases that one more sees when it begins."""

    of_user: int
    """The requests of the user, or the steps."""
    of_users: int
    """The sandboxes with a lease that is not kept."""
    kept: int
    """The sandboxes with a kept lease alone, most of which are idle."""
    of_kind: int
    """The sandboxes with a lease, kept or not, for a request, or for a step."""


class InFlight:
    """The leases of one sandbox for what it serves: requests, or steps of batches."""

    def __init__(self, clock: Clock = wall_clock, prefix: str = _REQUEST, seconds: int = MAX_REQUEST_SECONDS) -> None:
        self._clock, self._prefix, self._seconds = clock, prefix, seconds
        self._kept: Memory[tuple[str, str], bool] = Memory(KEPT_LEASE_SECONDS, MAX_USERS, clock)
        self._slow: Memory[tuple[str, str], bool] = Memory(KEPT_LEASE_SECONDS, MAX_USERS, clock)
        self._refused: Memory[tuple[str, str], int] = Memory(REFUSAL_SECONDS, MAX_USERS, clock)
        self._sandbox = ""
        on_forget(self.clear)

    def clear(self) -> None:
        """Become another sandbox: one that starts from a snapshot must not share the name of its siblings."""
        self._sandbox = ""

    @contextmanager
    def counted(self, caller: Caller) -> Iterator[None]:
        """Count a request as in flight until the context ends; TooManyInFlight where there are too many already."""
        if not settings().user_concurrency:
            yield
            return
        lease, began = self._acquire(caller), self._clock()
        try:
            yield
        finally:
            self._end(caller, lease, self._clock() - began)

    def _acquire(self, caller: Caller) -> _Lease | None:
        """Return the lease that the request's end releases; None where a lease is kept or none was needed."""
        key = (caller.organization, caller.user)
        if limit := self._refused.get(key):
            raise TooManyInFlight(limit=limit, retry_after=REFUSAL_SECONDS)
        if self._kept.get(key) or (self._kept.get((caller.organization, _ANYONE)) and not self._slow.get(key)):
            return None
        self._sandbox = self._sandbox or secrets.token_hex(_SANDBOX_DIGITS // 2)
        lease, now = f"{self._prefix}{_user_digits(caller.user)}{self._sandbox}", int(self._clock())
        try:
            ends = now + KEPT_LEASE_SECONDS + self._seconds
            item = ledger_table().set(f"{caller.organization}#quota", _REQUESTS_ITEM, {lease: ends, "expires_at": ends})
        except StoreUnavailable:
            logger.warning("request not counted", extra={"organization": caller.organization, "user": caller.user})
            return None
        leases = {name: ends for name, ends in item.items() if name.startswith(_PREFIXES)}
        stale = [name for name, ends in leases.items() if ends + STALE_SECONDS < now]
        counts = _count([name for name, ends in leases.items() if ends >= now], lease)
        is_step = self._prefix == _STEP
        if limit := _exceeded_limit(counts.of_user, counts.of_users, counts.kept, is_step=is_step):
            _remove(caller.organization, _REQUESTS_ITEM, [lease, *stale])
            raise TooManyInFlight(limit=self._refused.put(key, limit), retry_after=REFUSAL_SECONDS)
        if len(stale) > MAX_STALE_LEASES:
            _remove(caller.organization, _REQUESTS_ITEM, stale)
        if len(leases) - len(stale) == 1:
            self._kept.put(key, True, since=now)
            return None
        return _Lease(lease, _may_keep(counts, is_step=is_step))

    def _end(self, caller: Caller, lease: _Lease | None, seconds: float) -> None:
        """Release a lease, or keep one for the sandbox instead; a user who was slow needs one the next time."""
        if is_slow := seconds >= MAX_QUICK_SECONDS:
            self._slow.put((caller.organization, caller.user), True)
        if lease is None:
            return
        kept: dict[str, int] = {}
        if lease.may_be_kept and not is_slow:
            now = int(self._clock())
            kept = {f"{_KEPT}{self._prefix}{self._sandbox}": now + KEPT_LEASE_SECONDS + self._seconds}
            self._kept.put((caller.organization, _ANYONE), True, since=now)
        _remove(caller.organization, _REQUESTS_ITEM, [lease.name], kept)


in_flight = InFlight()
steps_in_flight = InFlight(prefix=_STEP, seconds=MAX_STEP_SECONDS)


def begin_batch(organization: str, user: str, batch: str, closes_at: float, now: float) -> None:
    """Count a batch as running until it ends, or its time is over; TooManyBatches where there are too many already."""
    if not settings().user_concurrency:
        return
    lease, ends = f"{_BATCH}{_user_digits(user)}{batch}", int(closes_at) + 1
    change = {lease: ends, "expires_at": int(now) + BATCHES_RETENTION_SECONDS}
    item = ledger_table().set(f"{organization}#quota", _BATCHES_ITEM, change)
    leases = {name: ends for name, ends in item.items() if name.startswith(_BATCH)}
    running = [name for name, ends in leases.items() if ends >= now]
    of_user = sum(name.startswith(f"{_BATCH}{_user_digits(user)}") for name in running)
    stale = [name for name in leases if name not in running]
    if limit := _exceeded_limit(of_user, len(running)):
        _remove(organization, _BATCHES_ITEM, [lease, *stale])
        raise TooManyBatches(limit=limit, retry_after=BATCH_REFUSAL_SECONDS)
    if stale:
        _remove(organization, _BATCHES_ITEM, stale)


def end_batch(organization: str, user: str, batch: str) -> None:
    """Count a batch no longer as running."""
    if settings().user_concurrency:
        _remove(organization, _BATCHES_ITEM, [f"{_BATCH}{_user_digits(user)}{batch}"])


def steps_at_once() -> int:
    """Return how many steps of one batch may run at once where its organization runs nothing else; 0 for no limit."""
    places = settings().organization_concurrency if settings().user_concurrency else 0
    return max(1, places // 2) if places else 0


def _exceeded_limit(of_user: int, of_users: int, kept: int = 0, *, is_step: bool = False) -> int:
    """Return the limit that a request, a step or a batch exceeds which is among these counts; 0 where it may run.

    The last places of an organization are for those of its users who have none of the kind.
    """
    per_user, per_organization = settings().user_concurrency, settings().organization_concurrency
    if not is_step and of_user > per_user:
        return per_user
    free = per_organization - of_users
    return per_organization if per_organization and (kept // 2 > free or 1 < of_user > free + 1) else 0


def _may_keep(counts: _Counts, *, is_step: bool) -> bool:
    """Whether a lease may be kept: the organization is far below its limits."""
    per_organization = settings().organization_concurrency
    places = per_organization // (4 if is_step else 2) if per_organization else settings().user_concurrency
    return counts.of_kind <= min(places, MAX_KEPT_LEASES)


def _count(valid: Iterable[str], lease: str) -> _Counts:
    """Count what leases say of a user, whose lease is among them, and of the organization.

    What a user has beyond the limit is about to be refused, and takes no place from the others.
    """
    leases = list(valid)
    by_user = Counter(name[:-_SANDBOX_DIGITS] for name in leases)
    requests = [count for owner, count in by_user.items() if owner.startswith(_REQUEST)]
    excess = sum(max(0, count - settings().user_concurrency) for count in requests)
    of_users = {name[-_SANDBOX_DIGITS:] for name in leases if not name.startswith(_KEPT)}
    kind, _, user = lease[:-_SANDBOX_DIGITS].partition("_")
    return _Counts(
        of_user=by_user[f"{kind}_{user}"],
        of_users=len(of_users) - excess,
        kept=len({name[-_SANDBOX_DIGITS:] for name in leases} - of_users),
        of_kind=len({name[-_SANDBOX_DIGITS:] for name in leases if f"{kind}_" in name}),
    )


def _remove(organization: str, item: str, leases: Iterable[str], kept: Mapping[str, int] | None = None) -> None:
    """Remove leases, and add one that is kept instead; one that cannot be removed ends by itself."""
    try:
        if kept:
            ledger_table().set(f"{organization}#quota", item, dict(kept), remove=leases)
        else:
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
