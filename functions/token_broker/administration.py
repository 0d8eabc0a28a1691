"""Administration: taking connections away, one or many, with proof of what became of each; and sealing them anew.

Connections under way are dropped first: one that becomes a grant meanwhile is taken back by who stores it. However many
people begin, a kill goes on to the grants: what the provider has given nothing to costs one write. Then the grant is
deleted: nobody can get a token of it from then on, and what the memories of all doors still hold ends within a
minute. Only then its provider is asked to revoke what was deleted, which may take long or fail.
"""

import time
from collections.abc import Iterable
from functools import partial
from itertools import islice
from typing import Any, Literal

from mcpist.caller import Caller
from mcpist.errors import AuthorizationError, Conflict, McpistError
from mcpist.oauth.provider import Tokens
from mcpist.running.broker import CREDENTIAL_CACHE_SECONDS
from mcpist.telemetry.invocation import with_context
from mcpist_services import provider_name
from token_broker.connecting import pending
from token_broker.connecting.pending import Pending
from token_broker.grants import grants
from token_broker.grants.grant import Grant
from token_broker.message import Kill, ListGrants, Reencrypt, Revoke
from token_broker.resolving.refresh import AuditContext

# At once, since each may wait for its provider for ten seconds and an invocation lasts 29.
MAX_KILLED_GRANTS = 16
MAX_LISTED_GRANTS = 500
MAX_REENCRYPTED_GRANTS = 50
# How often a refresh may put a newer version under our hands.
MAX_DELETE_ATTEMPTS = 5

# `kept` where another grant stands on the same account: some providers end all of an account's tokens with one of them.
type RevocationOutcome = Literal["revoked", "unsupported", "failed", "kept"]


def revoke(caller: Caller, message: Revoke, request_id: str) -> dict[str, Any]:
    """`{revoked, kept, proof}`: whether there was a grant to forget, and for which other services it is kept."""
    owner = grants.personal_owner(caller.user)
    if message.role is not None:
        _require_administrator(caller, f"the shared {message.service} account")
        owner = grants.shared_owner(message.role)
    provider = provider_name(message.service)
    begun = pending.find(caller.organization, provider=provider)
    _drop_all_pending([one for one in begun if one.intent.owner == owner])
    for _ in range(MAX_DELETE_ATTEMPTS):
        grant = grants.read(caller.organization, provider, owner)
        if grant is None or message.service not in grant.account.services:
            return {"revoked": False, "kept": [], "proof": None}
        kept = [service for service in grant.account.services if service != message.service]
        try:
            if not kept:
                proof = _delete_and_revoke(grant, caller, request_id, "revoke")
                return {"revoked": True, "kept": [], "proof": proof}
            grants.set_services(grant, kept)
        except Conflict:
            continue
        AuditContext(caller, message.service, request_id).record("revoke", grant, "succeeded")
        return {"revoked": True, "kept": kept, "proof": None}
    raise Conflict(what=f"the {message.service} connection")


def list_grants(caller: Caller, message: ListGrants) -> dict[str, Any]:
    """`{grants, cursor}`: connections by owner and provider, without secrets; `cursor` is empty on the last page."""
    _check_may_administer(caller, message)
    found = [_grant_row(grant) for grant in _find_grants(caller, message)]
    rows = sorted((row for row in found if _row_sort_key(row) > message.cursor), key=_row_sort_key)
    return {
        "grants": rows[:MAX_LISTED_GRANTS],
        "cursor": _row_sort_key(rows[MAX_LISTED_GRANTS - 1]) if len(rows) > MAX_LISTED_GRANTS else "",
    }


def kill(caller: Caller, message: Kill, request_id: str) -> dict[str, Any]:
    """`{killed, dropped, more}`: the proof of each grant, how many begun connections were dropped, if more stand."""
    from concurrent.futures import ThreadPoolExecutor

    _check_may_administer(caller, message)
    begun = sorted(_find_pending(caller, message), key=lambda one: one.has_tokens)
    reached = begun[: sum(not one.has_tokens for one in begun) + MAX_KILLED_GRANTS]
    dropped = _drop_all_pending(reached)
    with ThreadPoolExecutor(MAX_KILLED_GRANTS) as pool:
        existing = list(islice(_find_grants(caller, message), MAX_KILLED_GRANTS + 1))
        killed = list(
            pool.map(
                with_context(partial(_kill_grant, caller=caller, request_id=request_id)), existing[:MAX_KILLED_GRANTS]
            )
        )
    more = (
        len(begun) > len(reached) or len(existing) > MAX_KILLED_GRANTS or not all(proof["deleted"] for proof in killed)
    )
    return {"killed": killed, "dropped": dropped, "more": more}


def reencrypt(caller: Caller, message: Reencrypt) -> dict[str, Any]:
    """`{resealed, failed, cursor}`: some of the organization's grants under a new data key of the present VaultKey."""
    _require_administrator(caller, "the organization's connections")
    found = sorted(grants.find(caller.organization), key=_grant_sort_key)
    rest = [grant for grant in found if _grant_sort_key(grant) > message.cursor]
    failed = [
        {**_grant_row(grant), "code": code}
        for grant in rest[:MAX_REENCRYPTED_GRANTS]
        if (code := _reencrypt_grant(grant))
    ]
    cursor = _grant_sort_key(rest[MAX_REENCRYPTED_GRANTS - 1]) if len(rest) > MAX_REENCRYPTED_GRANTS else ""
    return {"resealed": len(rest[:MAX_REENCRYPTED_GRANTS]) - len(failed), "failed": failed, "cursor": cursor}


def _check_may_administer(caller: Caller, message: ListGrants | Kill) -> None:
    """A user may name only their own."""
    if message.user != caller.user:
        _require_administrator(caller, "the organization's connections")


def _find_grants(caller: Caller, message: ListGrants | Kill) -> Iterable[Grant]:
    """The grants that a message names."""
    provider = provider_name(message.service) if message.service else None
    return grants.find(caller.organization, owner=_owner(message), provider=provider)


def _find_pending(caller: Caller, message: Kill) -> list[Pending]:
    """The connections that are under way, of whom and where the message says."""
    provider = provider_name(message.service) if message.service else ""
    found = pending.find(caller.organization, user=message.user or "", provider=provider)
    return [one for one in found if not message.role or one.intent.owner == grants.shared_owner(message.role)]


def _owner(message: ListGrants | Kill) -> str | None:
    if message.user:
        return grants.personal_owner(message.user)
    return grants.shared_owner(message.role) if message.role else None


def _kill_grant(grant: Grant, caller: Caller, request_id: str) -> dict[str, Any]:
    """The proof of one grant's end, whatever version a refresh has made of it meanwhile."""
    now: Grant | None = grant
    for _ in range(MAX_DELETE_ATTEMPTS):
        if now is None:
            return _proof(grant, "unsupported", deleted=True)
        try:
            return _delete_and_revoke(now, caller, request_id, "kill")
        except Conflict:
            now = grants.read(grant.organization, grant.provider, grant.owner)
    return _proof(grant, "failed", deleted=False)


def _delete_and_revoke(
    grant: Grant, caller: Caller, request_id: str, event: Literal["revoke", "kill"]
) -> dict[str, Any]:
    """Delete a grant, then ask its provider to revoke it; Conflict where another version stands there.

    Whether others need it is looked up after that: of two that go at once, the last one sees that nobody does.
    """
    try:
        tokens = grant.tokens()
    except McpistError:  # what cannot be opened must go all the more
        tokens = None
    grants.remove(grant)
    answer = _revoke_at_provider(grant.provider, tokens, deleted_grant=grant if event == "revoke" else None)
    for service in grant.account.services:
        AuditContext(caller, service, request_id).record(event, grant, answer)
    return _proof(grant, answer, deleted=True)


def _drop_all_pending(begun: list[Pending]) -> int:
    """Drop them at once, since each may wait for its provider; how many still stood."""
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(MAX_KILLED_GRANTS) as pool:
        return sum(pool.map(with_context(_drop_pending), begun))


def _drop_pending(begun: Pending) -> bool:
    """Take away what a browser has begun, and revoke what its provider has given already."""
    try:
        found = begun.obtained
    except McpistError:
        found = None
    existed = pending.remove(begun)
    if existed and found:
        _revoke_at_provider(begun.intent.provider, found.tokens)
    return existed


def _revoke_at_provider(name: str, tokens: Tokens | None, *, deleted_grant: Grant | None = None) -> RevocationOutcome:
    """What the provider says to our wish to revoke, if it is not `kept` for those who stand beside the grant."""
    from token_broker import providers
    from token_broker.connecting import outcome
    from token_broker.providers import apps, oauth

    try:
        if deleted_grant and outcome.is_account_in_use(deleted_grant.organization, name, deleted_grant.account):
            return "kept"
        if tokens is None:
            return "failed"
        return oauth.revoke(providers.find(name), apps.get_app(name), tokens)
    except McpistError:
        return "failed"


def _reencrypt_grant(grant: Grant) -> str:
    """The code of what went wrong; a grant that has changed meanwhile has been sealed anew by that."""
    try:
        grants.reencrypt(grant)
    except Conflict:
        return ""
    except McpistError as error:
        return error.code
    return ""


def _proof(grant: Grant, answer: RevocationOutcome, *, deleted: bool) -> dict[str, Any]:
    """What became of a grant; by `forgotten_by` (epoch seconds) no memory holds its token any more."""
    return {
        "owner": grant.owner,
        "provider": grant.provider,
        "services": list(grant.account.services),
        "account_id": grant.account.account_id,
        "account_name": grant.account.account_name,
        "at_provider": answer,
        "deleted": deleted,
        "forgotten_by": int(time.time()) + CREDENTIAL_CACHE_SECONDS,
    }


def _grant_row(grant: Grant) -> dict[str, Any]:
    account = grant.account
    return {
        "owner": grant.owner,
        "provider": grant.provider,
        "services": list(account.services),
        "account_id": account.account_id,
        "account_name": account.account_name,
        "kind": account.kind,
        "scopes": list(account.scopes),
        "open_to": list(account.open_to),
        "works": grant.is_usable,
        "expires_at": account.expires_at,
        "version": grant.version,
        "created_at": grant.created_at,
        "updated_at": grant.updated_at,
    }


def _row_sort_key(row: dict[str, Any]) -> str:
    """What rows are sorted by: the keys of their grants."""
    return f"{row['owner']} {row['provider']}"


def _grant_sort_key(grant: Grant) -> str:
    return f"{grant.owner} {grant.provider}"


def _require_administrator(caller: Caller, name: str) -> None:
    if caller.system_role != "admin":
        raise AuthorizationError(name=name)
