"""The memory of one sandbox: opened credentials, for half a minute at most.

The other doors remember what they are told for the rest of a minute, so a grant that is gone is forgotten everywhere
a minute later. What this sandbox itself changes, it forgets at once.
"""

import time
from dataclasses import dataclass, replace

from mcpist.caller import Caller
from mcpist.running.broker import CREDENTIAL_CACHE_SECONDS, Credential
from token_broker.grants.grant import Grant

SANDBOX_CACHE_SECONDS = 30
MAX_OPENED_CREDENTIALS = 1_000

type CredentialKey = tuple[str, str, tuple[str, ...], str]


@dataclass(frozen=True, slots=True)
class CachedCredential:
    """A credential, when it was read, and whose it is."""

    credential: Credential
    read_at: float
    until: float
    organization: str
    provider: str


_cache: dict[CredentialKey, CachedCredential] = {}


def find(caller: Caller, service: str) -> Credential | None:
    """What was resolved for the caller lately, with what is left of its minute."""
    cached = _cache.get(_key(caller, service))
    now = time.time()
    if cached is None or not cached.read_at <= now < cached.until:
        return None
    return replace(cached.credential, keep_seconds=remaining_cache_seconds(cached.read_at))


def keep(caller: Caller, service: str, grant: Grant, credential: Credential, *, read_at: float) -> None:
    """Remember a grant's credential as it was read from the table then, until its access token is about to end."""
    if len(_cache) >= MAX_OPENED_CREDENTIALS:
        _cache.clear()
    until = min(read_at + SANDBOX_CACHE_SECONDS, grant.refresh_at)
    _cache[_key(caller, service)] = CachedCredential(credential, read_at, until, grant.organization, grant.provider)


def remaining_cache_seconds(read_at: float) -> float:
    """The rest of the minute for which all memories together may keep what was read from the table then."""
    return round(max(0.0, min(CREDENTIAL_CACHE_SECONDS, read_at + CREDENTIAL_CACHE_SECONDS - time.time())), 1)


def forget(organization: str, provider: str) -> None:
    """Drop what may stand on any of these grants."""
    for key, cached in list(_cache.items()):
        if (cached.organization, cached.provider) == (organization, provider):
            _cache.pop(key, None)


def _key(caller: Caller, service: str) -> CredentialKey:
    return caller.organization, caller.user, caller.role_names, service
