"""The credentials that a sandbox has opened."""

from dataclasses import replace

from mcpist.caller import Caller
from mcpist.memory import Memory
from mcpist.running.broker import CREDENTIAL_CACHE_SECONDS, Credential
from mcpist_services import provider_name
from token_broker.grants.grant import AccountChoice, StoredGrant

SANDBOX_CACHE_SECONDS = 30
MAX_OPENED_CREDENTIALS = 1_000
type CredentialKey = tuple[str, str, tuple[str, ...], AccountChoice]

opened_credentials: Memory[CredentialKey, tuple[Credential, float]] = Memory(
    SANDBOX_CACHE_SECONDS, MAX_OPENED_CREDENTIALS
)
"""Credentials, and when their grants were read (epoch seconds)."""


def cached_credential(caller: Caller, choice: AccountChoice) -> Credential | None:
    """Return the caller's cached credential with the seconds left of its minute; None where there is none."""
    if cached := opened_credentials.get(_key(caller, choice)):
        credential, read_at = cached
        return replace(credential, keep_seconds=remaining_cache_seconds(read_at))
    return None


def cache_credential(
    caller: Caller, choice: AccountChoice, grant: StoredGrant, credential: Credential, *, read_at: float
) -> None:
    """Cache a grant's credential, until its access token is about to expire at the latest."""
    opened_credentials.put(_key(caller, choice), (credential, read_at), since=read_at, until=grant.refresh_at)


def remaining_cache_seconds(read_at: float) -> float:
    """Return the rest of the minute for which all caches together may keep a credential that was read then."""
    rest = read_at + CREDENTIAL_CACHE_SECONDS - opened_credentials.clock()
    return round(max(0.0, min(CREDENTIAL_CACHE_SECONDS, rest)), 1)


def forget_credentials(organization: str, provider: str) -> None:
    """Drop the credentials of these grants."""
    opened_credentials.drop(lambda key, _: key[0] == organization and provider_name(key[3].service) == provider)


def _key(caller: Caller, choice: AccountChoice) -> CredentialKey:
    return caller.organization, caller.user, caller.role_names, choice
