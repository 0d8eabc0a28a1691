"""Cache of one sandbox: opened credentials, for half a minute at most.

The other doors cache a credential for the rest of the minute in which it was read, so a deleted grant is unusable
everywhere a minute later. A change by this sandbox drops its cached credentials at once.
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
    """A credential, and the grants that it was read from."""

    credential: Credential
    read_at: float
    """The time at which its grant was read (epoch seconds)."""
    organization: str
    provider: str


opened: Memory[CredentialKey, CachedCredential] = Memory(SANDBOX_CACHE_SECONDS, MAX_OPENED_CREDENTIALS)


def find(caller: Caller, service: str) -> Credential | None:
    """Return the caller's cached credential with the seconds left of its minute; None where there is none."""
    cached = opened.get(_key(caller, service))
    if cached is None:
        return None
    return replace(cached.credential, keep_seconds=remaining_cache_seconds(cached.read_at))


def keep(caller: Caller, service: str, grant: Grant, credential: Credential, *, read_at: float) -> None:
    """Cache a grant's credential, until its access token is about to expire at the latest."""
    cached = CachedCredential(credential, read_at, grant.organization, grant.provider)
    opened.put(_key(caller, service), cached, since=read_at, until=grant.refresh_at)


def remaining_cache_seconds(read_at: float) -> float:
    """Return the rest of the minute for which all caches together may keep a credential that was read then."""
    return round(max(0.0, min(CREDENTIAL_CACHE_SECONDS, read_at + CREDENTIAL_CACHE_SECONDS - opened.clock())), 1)


def forget(organization: str, provider: str) -> None:
    """Drop the credentials of these grants."""
    opened.drop(lambda _, cached: (cached.organization, cached.provider) == (organization, provider))


def _key(caller: Caller, service: str) -> CredentialKey:
    return caller.organization, caller.user, caller.role_names, service
