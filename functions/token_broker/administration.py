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
from mcpist.running.broker import CACHE_SECONDS
from mcpist.telemetry.invocation import carried
from token_broker.connecting import pending
from token_broker.connecting.pending import Pending
from token_broker.grants import grants
from token_broker.grants.grant import Grant, Tokens
from token_broker.message import Kill, Listing, Reencrypt, Revoke
from token_broker.resolving.refresh import Occasion

# At once, since each may wait for its provider for ten seconds and an invocation lasts 29.
MOST_KILLED = 16
MOST_LISTED = 500
MOST_RESEALED = 50
# How often a refresh may put a newer version under our hands.
MOST_CHANGES = 5

# `kept` where another grant stands on the same account: some providers end all of an account's tokens with one of them.
type AtProvider = Literal["revoked", "unsupported", "failed", "kept"]


def revoke(caller: Caller, asked: Revoke, request: str) -> dict[str, Any]:
    """`{revoked, kept, proof}`: whether there was a grant to forget, and for which other services it is kept."""
    owner = grants.personal(caller.user)
    if asked.role is not None:
        _require_administrator(caller, f"the shared {asked.service} account")
        owner = grants.shared(asked.role)
    provider = grants.provider_name(asked.service)
    begun = pending.find(caller.organization, provider=provider)
    _drop_all([one for one in begun if one.wish.owner == owner])
    for _ in range(MOST_CHANGES):
        grant = grants.read(caller.organization, provider, owner)
        if grant is None or asked.service not in grant.account.services:
            return {"revoked": False, "kept": [], "proof": None}
        kept = [service for service in grant.account.services if service != asked.service]
        try:
            if not kept:
                proof = _end(grant, caller, request, "revoke")
                return {"revoked": True, "kept": [], "proof": proof}
            grants.keep_services(grant, kept)
        except Conflict:
            continue
        Occasion(caller, asked.service, request).note("revoke", grant, "succeeded")
        return {"revoked": True, "kept": kept, "proof": None}
    raise Conflict(what=f"the {asked.service} connection")


def listed(caller: Caller, asked: Listing) -> dict[str, Any]:
    """`{grants, cursor}`: connections by owner and provider, without secrets; `cursor` is empty on the last page."""
    _check(caller, asked)
    found = [_row(grant) for grant in _named(caller, asked)]
    rows = sorted((row for row in found if _key(row) > asked.cursor), key=_key)
    return {"grants": rows[:MOST_LISTED], "cursor": _key(rows[MOST_LISTED - 1]) if len(rows) > MOST_LISTED else ""}


def kill(caller: Caller, asked: Kill, request: str) -> dict[str, Any]:
    """`{killed, dropped, more}`: the proof of each grant, how many begun connections were dropped, if more stand."""
    from concurrent.futures import ThreadPoolExecutor

    _check(caller, asked)
    begun = sorted(_begun(caller, asked), key=lambda one: one.has_found)
    reached = begun[: sum(not one.has_found for one in begun) + MOST_KILLED]
    dropped = _drop_all(reached)
    with ThreadPoolExecutor(MOST_KILLED) as pool:
        standing = list(islice(_named(caller, asked), MOST_KILLED + 1))
        killed = list(pool.map(carried(partial(_kill, caller=caller, request=request)), standing[:MOST_KILLED]))
    more = len(begun) > len(reached) or len(standing) > MOST_KILLED or not all(proof["deleted"] for proof in killed)
    return {"killed": killed, "dropped": dropped, "more": more}


def reencrypt(caller: Caller, asked: Reencrypt) -> dict[str, Any]:
    """`{resealed, failed, cursor}`: some of the organization's grants under a new data key of the present VaultKey."""
    _require_administrator(caller, "the organization's connections")
    found = sorted(grants.find(caller.organization), key=_place)
    rest = [grant for grant in found if _place(grant) > asked.cursor]
    failed = [{**_row(grant), "code": code} for grant in rest[:MOST_RESEALED] if (code := _reseal(grant))]
    cursor = _place(rest[MOST_RESEALED - 1]) if len(rest) > MOST_RESEALED else ""
    return {"resealed": len(rest[:MOST_RESEALED]) - len(failed), "failed": failed, "cursor": cursor}


def _check(caller: Caller, asked: Listing | Kill) -> None:
    """A user may name only their own."""
    if asked.user != caller.user:
        _require_administrator(caller, "the organization's connections")


def _named(caller: Caller, asked: Listing | Kill) -> Iterable[Grant]:
    """The grants that a message names."""
    provider = grants.provider_name(asked.service) if asked.service else None
    return grants.find(caller.organization, owner=_owner(asked), provider=provider)


def _begun(caller: Caller, asked: Kill) -> list[Pending]:
    """The connections that are under way, of whom and where the message says."""
    provider = grants.provider_name(asked.service) if asked.service else ""
    found = pending.find(caller.organization, user=asked.user or "", provider=provider)
    return [one for one in found if not asked.role or one.wish.owner == grants.shared(asked.role)]


def _owner(asked: Listing | Kill) -> str | None:
    if asked.user:
        return grants.personal(asked.user)
    return grants.shared(asked.role) if asked.role else None


def _kill(grant: Grant, caller: Caller, request: str) -> dict[str, Any]:
    """The proof of one grant's end, whatever version a refresh has made of it meanwhile."""
    now: Grant | None = grant
    for _ in range(MOST_CHANGES):
        if now is None:
            return _proof(grant, "unsupported", deleted=True)
        try:
            return _end(now, caller, request, "kill")
        except Conflict:
            now = grants.read(grant.organization, grant.provider, grant.owner)
    return _proof(grant, "failed", deleted=False)


def _end(grant: Grant, caller: Caller, request: str, event: Literal["revoke", "kill"]) -> dict[str, Any]:
    """Delete a grant, then ask its provider to revoke it; Conflict where another version stands there.

    Whether others need it is looked up after that: of two that go at once, the last one sees that nobody does.
    """
    try:
        tokens = grant.tokens()
    except McpistError:  # what cannot be opened must go all the more
        tokens = None
    grants.remove(grant)
    answer = _at_provider(grant.provider, tokens, spares=grant if event == "revoke" else None)
    for service in grant.account.services:
        Occasion(caller, service, request).note(event, grant, answer)
    return _proof(grant, answer, deleted=True)


def _drop_all(begun: list[Pending]) -> int:
    """Drop them at once, since each may wait for its provider; how many still stood."""
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(MOST_KILLED) as pool:
        return sum(pool.map(carried(_drop), begun))


def _drop(begun: Pending) -> bool:
    """Take away what a browser has begun, and revoke what its provider has given already."""
    try:
        found = begun.found
    except McpistError:
        found = None
    stood = pending.remove(begun)
    if stood and found:
        _at_provider(begun.wish.provider, found.tokens)
    return stood


def _at_provider(name: str, tokens: Tokens | None, *, spares: Grant | None = None) -> AtProvider:
    """What the provider says to our wish to revoke, if it is not `kept` for those who stand beside the grant."""
    from token_broker import providers
    from token_broker.connecting import completion
    from token_broker.providers import apps, oauth

    try:
        if spares and completion.is_needed(spares.organization, name, spares.account):
            return "kept"
        if tokens is None:
            return "failed"
        return oauth.revoke(providers.find(name), apps.app_of(name), tokens)
    except McpistError:
        return "failed"


def _reseal(grant: Grant) -> str:
    """The code of what went wrong; a grant that has changed meanwhile has been sealed anew by that."""
    try:
        grants.reseal(grant)
    except Conflict:
        return ""
    except McpistError as error:
        return error.code
    return ""


def _proof(grant: Grant, answer: AtProvider, *, deleted: bool) -> dict[str, Any]:
    """What became of a grant; by `forgotten_by` (epoch seconds) no memory holds its token any more."""
    return {
        "owner": grant.owner,
        "provider": grant.provider,
        "services": list(grant.account.services),
        "account_id": grant.account.account_id,
        "account_name": grant.account.account_name,
        "at_provider": answer,
        "deleted": deleted,
        "forgotten_by": int(time.time()) + CACHE_SECONDS,
    }


def _row(grant: Grant) -> dict[str, Any]:
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
        "works": grant.works,
        "expires_at": account.expires_at,
        "version": grant.version,
        "created_at": grant.created_at,
        "updated_at": grant.updated_at,
    }


def _key(row: dict[str, Any]) -> str:
    """What rows are sorted by: the keys of their grants."""
    return f"{row['owner']} {row['provider']}"


def _place(grant: Grant) -> str:
    return f"{grant.owner} {grant.provider}"


def _require_administrator(caller: Caller, name: str) -> None:
    if caller.system_role != "admin":
        raise AuthorizationError(name=name)
