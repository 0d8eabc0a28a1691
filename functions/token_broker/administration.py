"""Administration: list, revoke and kill connections, with a proof for each, and reseal them.

Pending connections are dropped first: if one becomes a grant meanwhile, the request that stores it removes it again. A
pending connection without tokens costs one write, so that any number of them does not keep a kill from the grants.
Then the grant is deleted: from then on no token of it can be resolved, and cached ones expire in all doors within a
minute. Only then the provider is asked to revoke the tokens, which may be slow or fail.
"""

import time
from collections.abc import Iterable
from dataclasses import asdict, replace
from functools import partial
from itertools import islice
from typing import Any, Literal

from mcpist.audit import record as audit
from mcpist.caller import MAIN_ACCOUNT, Caller
from mcpist.errors import AccountNotChosen, AuthorizationError, Conflict, McpistError
from mcpist.oauth.module_app import ModuleApp
from mcpist.oauth.provider import Tokens
from mcpist.people import directory
from mcpist.people.provisioning import directory_caller, is_expired
from mcpist.running.broker import CREDENTIAL_CACHE_SECONDS
from mcpist.telemetry.invocation import with_context
from mcpist_services import provider_name
from token_broker.connecting import pending
from token_broker.connecting.connections import grant_owner
from token_broker.connecting.pending import Pending
from token_broker.grants import grants, permits
from token_broker.grants.grant import GrantedAccount, StoredGrant, slot_of
from token_broker.message import ChooseDefault, EndPermit, Kill, ListGrants, ListPermits, Reencrypt, Revoke
from token_broker.resolving.credentials import labels_of, named
from token_broker.resolving.refresh import AuditContext

# Killed in parallel, since each may wait for its provider for ten seconds and an invocation lasts 29.
MAX_KILLED_GRANTS = 16
MAX_LISTED_GRANTS = 500
MAX_REENCRYPTED_GRANTS = 50
# How often a refresh may store a newer version while we delete.
MAX_DELETE_ATTEMPTS = 5

# `kept`: another grant uses the same account, and its provider would end all of the account's tokens with this one.
type RevocationOutcome = Literal["revoked", "unsupported", "failed", "kept"]


def revoke(caller: Caller, message: Revoke) -> dict[str, Any]:
    """Return `{revoked, kept, proof}`: whether there was a grant, and the services that it still serves."""
    owner = grant_owner(caller, message.service, message.role)
    slot = slot_of(owner, message.account or _only_label(_serving(caller, message, owner), message.service))
    provider = provider_name(message.service)
    connections = pending.find(caller.organization, provider=provider)
    _drop_all_pending(caller, [connection for connection in connections if connection.intent.slot == slot])
    for _ in range(MAX_DELETE_ATTEMPTS):
        grant = grants.read(caller.organization, provider, slot)
        if grant is None or message.service not in grant.account.services:
            return {"revoked": False, "kept": [], "proof": None}
        remaining = [service for service in grant.account.services if service != message.service]
        try:
            if not remaining:
                proof = _delete_and_revoke(grant, caller, "revoke")
                return {"revoked": True, "kept": [], "proof": proof}
            grants.set_services(grant, remaining)
        except Conflict:
            continue
        AuditContext(caller, message.service).record("revoke", grant.name, "succeeded")
        return {"revoked": True, "kept": remaining, "proof": None}
    raise Conflict(what=f"the {message.service} connection")


def choose_default(caller: Caller, message: ChooseDefault) -> dict[str, Any]:
    """Make one of an owner's accounts the one that acts unless a call names another; return its row."""
    owner = grant_owner(caller, message.service, message.role)
    grant = named(_serving(caller, message, owner), message.service, message.account)
    grants.choose_default(grant)
    with audit.best_effort():
        audit.record_change(caller, action="grants.default", target=f"grants.{message.service}", account=grant.name)
    return {"service": message.service, **grant.view(), "default": True}


def list_grants(caller: Caller, message: ListGrants) -> dict[str, Any]:
    """Return `{grants, cursor}`, sorted by owner and provider, without secrets; `cursor` is empty on the last page."""
    _check_may_administer(caller, message)
    page, cursor = _page(_find_grants(caller, message), message.cursor, MAX_LISTED_GRANTS)
    found = grants.with_defaults(page)
    return {"grants": [{**_grant_row(grant), "default": found.is_default(grant)} for grant in page], "cursor": cursor}


def list_permits(caller: Caller, message: ListPermits) -> dict[str, Any]:
    """Return `{permits}`: what acts for a user while they are away, without secrets."""
    rows = permits.of_user(caller.organization, _permit_user(caller, message))
    return {"permits": [asdict(row) for row in rows]}


def end_permit(caller: Caller, message: EndPermit) -> dict[str, Any]:
    """Return `{ended}`: whether there was such a permit; nothing is resolved with it any more."""
    user = _permit_user(caller, message)
    ended = permits.delete(caller.organization, user, message.permit)
    with audit.best_effort():
        audit.record_change(caller, action="permits.end", target=f"permits.{user}")
    return {"ended": ended}


def _permit_user(caller: Caller, message: ListPermits | EndPermit) -> str:
    """Return the user whose permits a message is about; AuthorizationError for another's, unless to administrators."""
    user = message.user or caller.user
    if user != caller.user and caller.system_role != "admin":
        raise AuthorizationError(name="permits of other users")
    return user


def kill(caller: Caller, message: Kill) -> dict[str, Any]:
    """Return `{killed, dropped, more}`: the grants' proofs, the number of dropped pending ones, whether more remain."""
    _check_may_administer(caller, message)
    connections = sorted(_find_pending(caller, message), key=lambda connection: connection.has_tokens)
    dropping = connections[: sum(not connection.has_tokens for connection in connections) + MAX_KILLED_GRANTS]
    dropped = _drop_all_pending(caller, dropping)
    selected = list(islice(_find_grants(caller, message), MAX_KILLED_GRANTS + 1))
    killed = _kill_grants(caller, selected)
    more = (
        len(connections) > len(dropping)
        or len(selected) > MAX_KILLED_GRANTS
        or not all(proof["deleted"] for proof in killed)
    )
    return {"killed": killed, "dropped": dropped, "more": more}


def expire(organization: str) -> dict[str, Any]:
    """Return `{ended, left, killed}`: how many accounts were ended, how many are left, and what providers said.

    They are those of deactivated users; in an organization without users, which is being deleted, all of them.
    """
    found = directory.find(organization)
    now = time.time()
    users = {user.id for user in found.users.values() if is_expired(found, user, now)} if found else set()
    is_deleted = found is not None and not found.users
    if not found or not (users or is_deleted):
        return {"ended": 0, "left": 0, "killed": []}
    caller = replace(directory_caller(organization), modules=tuple(found.modules.values()))
    connections = [one for one in pending.find(organization) if is_deleted or one.intent.user in users]
    _drop_all_pending(caller, connections)
    owners = {grants.personal_owner(user) for user in users}
    expired = [grant for grant in grants.find(organization) if is_deleted or grant.owner in owners]
    killed = _kill_grants(caller, expired)
    ended = sum(proof["deleted"] for proof in killed)
    said = [
        {name: proof[name] for name in ("owner", "provider", "at_provider")} for proof in killed if proof["deleted"]
    ]
    return {"ended": ended, "left": len(expired) - ended, "killed": said}


def reencrypt(caller: Caller, message: Reencrypt) -> dict[str, Any]:
    """Return `{resealed, failed, cursor}` after resealing a page of the organization's grants under the current key."""
    _require_administrator(caller, "the organization's connections")
    page, cursor = _page(grants.find(caller.organization), message.cursor, MAX_REENCRYPTED_GRANTS)
    failed = [{**_grant_row(grant), "code": code} for grant in page if (code := _reencrypt_grant(grant))]
    return {"resealed": len(page) - len(failed), "failed": failed, "cursor": cursor}


def _serving(caller: Caller, message: Revoke | ChooseDefault, owner: str) -> list[StoredGrant]:
    """Return an owner's grants for a service."""
    owned = grants.read_owned(caller.organization, provider_name(message.service), owner)
    return [grant for grant in owned if message.service in grant.account.services]


def _only_label(owned: list[StoredGrant], service: str) -> str:
    """Return the label of an owner's only account; AccountNotChosen where the request must name one of several."""
    if len(owned) > 1:
        raise AccountNotChosen(field="account", service=service, known=labels_of(owned))
    return owned[0].label if owned else MAIN_ACCOUNT


def _check_may_administer(caller: Caller, message: ListGrants | Kill) -> None:
    """Raise AuthorizationError for grants that are not the user's own, unless an administrator asks."""
    if message.user != caller.user:
        _require_administrator(caller, "the organization's connections")


def _find_grants(caller: Caller, message: ListGrants | Kill) -> Iterable[StoredGrant]:
    """Return the grants that a message selects."""
    provider = provider_name(message.service) if message.service else None
    return grants.find(caller.organization, owner=_owner(message), provider=provider)


def _find_pending(caller: Caller, message: Kill) -> list[Pending]:
    """Return the pending connections that a message selects."""
    provider = provider_name(message.service) if message.service else ""
    connections = pending.find(caller.organization, user=message.user or "", provider=provider)
    shared = grants.shared_owner(message.role) if message.role else None
    return [connection for connection in connections if shared in {None, connection.intent.owner}]


def _owner(message: ListGrants | Kill) -> str | None:
    if message.user:
        return grants.personal_owner(message.user)
    return grants.shared_owner(message.role) if message.role else None


def _kill_grants(caller: Caller, selected: list[StoredGrant]) -> list[dict[str, Any]]:
    """Kill the first grants at once, since each may wait for its provider; return their proofs."""
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(MAX_KILLED_GRANTS) as pool:
        return list(pool.map(with_context(partial(_kill_grant, caller)), selected[:MAX_KILLED_GRANTS]))


def _kill_grant(caller: Caller, grant: StoredGrant) -> dict[str, Any]:
    """Delete one grant and return its proof, whatever version a refresh stores meanwhile."""
    current: StoredGrant | None = grant
    for _ in range(MAX_DELETE_ATTEMPTS):
        if current is None:
            return _proof(grant, "unsupported", deleted=True)
        try:
            return _delete_and_revoke(current, caller, "kill")
        except Conflict:
            current = grants.read(grant.organization, grant.provider, grant.slot)
    return _proof(grant, "failed", deleted=False)


def _delete_and_revoke(grant: StoredGrant, caller: Caller, event: Literal["revoke", "kill"]) -> dict[str, Any]:
    """Delete a grant, then ask its provider to revoke it; Conflict if another version is stored.

    Other grants of the account are read after the deletion: of two that are deleted at once, the last finds none.
    """
    try:
        tokens = grant.tokens()
    except McpistError:  # deleted all the same
        tokens = None
    grants.remove(grant)
    revocation = _revoke_at_provider(caller, grant.provider, grant.account, tokens, spares_others=event == "revoke")
    for service in grant.account.services:
        AuditContext(caller, service).record(event, grant.name, revocation)
    return _proof(grant, revocation, deleted=True)


def _drop_all_pending(caller: Caller, connections: list[Pending]) -> int:
    """Drop pending connections in parallel, since each may wait for its provider; return how many existed."""
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(MAX_KILLED_GRANTS) as pool:
        return sum(pool.map(with_context(partial(_drop_pending, caller)), connections))


def _drop_pending(caller: Caller, connection: Pending) -> bool:
    """Delete a pending connection, and revoke the tokens that its provider issued."""
    try:
        obtained = connection.obtained
    except McpistError:
        obtained = None
    existed = pending.remove(connection)
    if existed and obtained:
        _revoke_at_provider(caller, connection.intent.provider, obtained.account, obtained.tokens)
    return existed


def _revoke_at_provider(
    caller: Caller, name: str, account: GrantedAccount, tokens: Tokens | None, *, spares_others: bool = False
) -> RevocationOutcome:
    """Ask the provider to revoke tokens; with `spares_others` not where other grants depend on them."""
    from token_broker import providers
    from token_broker.connecting import outcome
    from token_broker.providers import oauth

    try:
        if spares_others and outcome.is_account_in_use(caller, name, account):
            return "kept"
        if tokens is None:
            return "failed"
        provider, app = providers.find_with_app(name, caller)
        if isinstance(app, ModuleApp) and app.identity != account.client_id:
            return "unsupported" if not account.client_id else "failed"  # they are no tokens of this server's
        return oauth.revoke(provider, app, tokens)
    except McpistError:
        return "failed"


def _reencrypt_grant(grant: StoredGrant) -> str:
    """Return the error's code, empty for success; a grant that changed meanwhile was resealed by that change."""
    try:
        grants.reencrypt(grant)
    except Conflict:
        return ""
    except McpistError as error:
        return error.code
    return ""


def _proof(grant: StoredGrant, revocation: RevocationOutcome, *, deleted: bool) -> dict[str, Any]:
    """Return the proof of a grant's end; after `forgotten_by` (epoch seconds) no cache holds its token."""
    return {
        "owner": grant.owner,
        "label": grant.label,
        "provider": grant.provider,
        "services": list(grant.account.services),
        "account_id": grant.account.account_id,
        "account_name": grant.account.account_name,
        "at_provider": revocation,
        "deleted": deleted,
        "forgotten_by": int(time.time()) + CREDENTIAL_CACHE_SECONDS,
    }


def _grant_row(grant: StoredGrant) -> dict[str, Any]:
    account = grant.account
    own = {"provider": grant.provider, "services": list(account.services), "kind": account.kind}
    return {**grant.view(), **own, "works": grant.is_usable}


def _page(found: Iterable[StoredGrant], cursor: str, size: int) -> tuple[list[StoredGrant], str]:
    """Return the grants after a cursor, sorted, and the cursor of the next page; empty on the last one."""
    rest = sorted((grant for grant in found if _sort_key(grant) > cursor), key=_sort_key)
    return rest[:size], _sort_key(rest[size - 1]) if len(rest) > size else ""


def _sort_key(grant: StoredGrant) -> str:
    return f"{grant.slot} {grant.provider}"


def _require_administrator(caller: Caller, name: str) -> None:
    if caller.system_role != "admin":
        raise AuthorizationError(name=name)
