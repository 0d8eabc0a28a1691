"""The memory of one sandbox: opened credentials, for half a minute at most.

The other doors remember what they are told for the rest of a minute, so a grant that is gone is forgotten everywhere
a minute later. What this sandbox itself changes, it forgets at once.
"""

import time
from dataclasses import dataclass, replace

from mcpist.caller import Caller
from mcpist.running.broker import CACHE_SECONDS, Credential
from token_broker.grants.grant import Grant

SECONDS = 30
MOST_CREDENTIALS = 1_000

type Key = tuple[str, str, tuple[str, ...], str]


@dataclass(frozen=True, slots=True)
class Kept:
    """A credential, when it was read, and whose it is."""

    credential: Credential
    read_at: float
    until: float
    organization: str
    provider: str


_kept: dict[Key, Kept] = {}


def find(caller: Caller, service: str) -> Credential | None:
    """What was resolved for the caller lately, with what is left of its minute."""
    kept = _kept.get(_key(caller, service))
    now = time.time()
    if kept is None or not kept.read_at <= now < kept.until:
        return None
    return replace(kept.credential, keep_seconds=left(kept.read_at))


def keep(caller: Caller, service: str, grant: Grant, credential: Credential, *, read_at: float) -> None:
    """Remember a grant's credential as it was read from the table then, until its access token is about to end."""
    if len(_kept) >= MOST_CREDENTIALS:
        _kept.clear()
    until = min(read_at + SECONDS, grant.good_until)
    _kept[_key(caller, service)] = Kept(credential, read_at, until, grant.organization, grant.provider)


def left(read_at: float) -> float:
    """The rest of the minute for which all memories together may keep what was read from the table then."""
    return round(max(0.0, min(CACHE_SECONDS, read_at + CACHE_SECONDS - time.time())), 1)


def forget(organization: str, provider: str) -> None:
    """Drop what may stand on any of these grants."""
    for key, kept in list(_kept.items()):
        if (kept.organization, kept.provider) == (organization, provider):
            _kept.pop(key, None)


def _key(caller: Caller, service: str) -> Key:
    return caller.organization, caller.user, caller.role_names, service
