"""The memory of one sandbox: opened credentials, for half a minute at most.

The other doors remember what they are told for the rest of a minute, so a grant that is gone is forgotten everywhere
a minute later. What this sandbox itself changes, it forgets at once.
"""

from dataclasses import dataclass, replace

from mcpist.caller import Caller
from mcpist.memory import Memory
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
    organization: str
    provider: str


opened: Memory[CredentialKey, CachedCredential] = Memory(SANDBOX_CACHE_SECONDS, MAX_OPENED_CREDENTIALS)


def find(caller: Caller, service: str) -> Credential | None:
    """What was resolved for the caller lately, with what is left of its minute."""
    cached = opened.get(_key(caller, service))
    if cached is None:
        return None
    return replace(cached.credential, keep_seconds=remaining_cache_seconds(cached.read_at))


def keep(caller: Caller, service: str, grant: Grant, credential: Credential, *, read_at: float) -> None:
    """Remember a grant's credential as it was read from the table then, until its access token is about to end."""
    found = CachedCredential(credential, read_at, grant.organization, grant.provider)
    opened.put(_key(caller, service), found, since=read_at, until=grant.refresh_at)


def remaining_cache_seconds(read_at: float) -> float:
    """The rest of the minute for which all memories together may keep what was read from the table then."""
    return round(max(0.0, min(CREDENTIAL_CACHE_SECONDS, read_at + CREDENTIAL_CACHE_SECONDS - opened.clock())), 1)


def forget(organization: str, provider: str) -> None:
    """Drop what may stand on any of these grants."""
    opened.drop(lambda _, cached: (cached.organization, cached.provider) == (organization, provider))


def _key(caller: Caller, service: str) -> CredentialKey:
    return caller.organization, caller.user, caller.role_names, service
