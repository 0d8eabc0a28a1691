"""The settlement of a connection: what was found at the provider is stored, asked about, or given up.

Another account than before, or a person's account for a role, is asked about first. Tokens that are not stored in the
end are revoked at the provider.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from mcpist import audit
from mcpist.caller import Caller
from mcpist.errors import Conflict, McpistError, NotConfigured, StaleConnection, StoreUnavailable

from . import grants, oauth, pending
from .apps import app_of
from .grant import Account, Grant
from .log import logger
from .pending import Found, Pending, Wish
from .providers import find

REVOKE_SECONDS = 4.0
# How often a grant may change under our hands.
MOST_CHANGES = 3
# How many abandoned questions are cleared away at once: each asks its provider.
MOST_CLEARED = 2


def settle(caller: Caller, begun: Pending, found: Found, request: str, *, agreed: bool = False) -> dict[str, Any]:
    """Store what was found, or ask; the person agreed to it only in the place of the account that was shown."""
    wish = begun.wish
    for _ in range(MOST_CHANGES):
        standing = grants.read(wish.organization, wish.provider, wish.owner)
        over = standing.account.account_id if standing else None
        reasons = _reasons(wish, found, over)
        if reasons and not (agreed and over in {None, found.over, found.account.account_id}):
            return _question(begun, replace(found, over=over), standing, reasons)
        try:
            grant = grants.save(
                wish.organization,
                wish.provider,
                wish.owner,
                account=found.account,
                tokens=found.tokens,
                replaces=standing.version if standing else 0,
            )
        except Conflict:
            continue
        return _stored(caller, begun, found, grant, standing, request)
    give_up(caller, wish, found, request)
    raise Conflict(what="the connection")


def _stored(
    caller: Caller, begun: Pending, found: Found, grant: Grant, replaced: Grant | None, request: str
) -> dict[str, Any]:
    """The end of it, unless it was taken away meanwhile: who revokes takes pending connections first, then grants."""
    if not pending.remove(begun):
        grants.remove(grant)
        give_up(caller, begun.wish, found, request)
        raise StaleConnection
    if replaced and replaced.account.account_id != found.account.account_id:
        _give_up_old(caller, begun.wish, replaced, request)
    note(caller, "connect", begun.wish, found.account.account_name, "succeeded", request)
    return outcome("connected", begun.wish)


def _reasons(wish: Wish, found: Found, over: str | None) -> list[str]:
    """Why the person is asked first."""
    replaces = over not in {None, found.account.account_id}
    personal = wish.role is not None and found.account.kind == "person"
    return ["replaces"] * replaces + ["personal"] * personal


def _question(begun: Pending, found: Found, standing: Grant | None, reasons: list[str]) -> dict[str, Any]:
    """`{question, reasons, role, old, new}`: what `confirm` answers, and the accounts that it is about."""
    return {
        **outcome("asks", begun.wish),
        "question": pending.ask(begun, found),
        "reasons": reasons,
        "old": _shown(standing.account) if standing and "replaces" in reasons else None,
        "new": _shown(found.account),
    }


def _give_up_old(caller: Caller, wish: Wish, replaced: Grant, request: str) -> None:
    """Tokens that cannot be opened are lost to us as well: the new account stands all the same."""
    try:
        tokens = replaced.tokens()
    except McpistError:
        return
    give_up(caller, wish, Found(replaced.account, tokens), request)


def give_up(caller: Caller, wish: Wish, found: Found, request: str) -> None:
    """Revoke tokens, unless a grant may need them: some providers end all of an account's tokens with one of them.

    An account that is not known may be any. A key that a person pasted has no client, and stays the person's.
    """
    account = found.account
    others = grants.find(wish.organization, provider=wish.provider) if account.client_id else ()
    needed = any(
        other.account.client_id == account.client_id and account.account_id in {"", other.account.account_id}
        for other in others
    )
    if needed or not account.client_id:
        return
    try:
        provider, app = find(wish.provider), app_of(wish.provider)
    except NotConfigured:
        return
    answered = oauth.revoke(provider, app, found.tokens, seconds=REVOKE_SECONDS)
    note(caller, "revoke", wish, account.account_name, answered, request)


def clear(caller: Caller, request: str) -> None:
    """Give up what the caller was asked about and never answered."""
    abandoned = [one for one in pending.find(caller.organization, user=caller.user) if one.until <= time.time()]
    for one in abandoned[:MOST_CLEARED]:
        found = one.found
        if pending.remove(one) and found:
            give_up(caller, one.wish, found, request)


def outcome(outcome: str, wish: Wish) -> dict[str, Any]:
    """What came of a wish, as the door reads it."""
    return {"outcome": outcome, "service": wish.services[0], "provider": wish.provider, "role": wish.role or ""}


def _shown(account: Account) -> dict[str, str]:
    return {"id": account.account_id, "name": account.account_name}


def note(caller: Caller, event: audit.Event, wish: Wish, account: str, outcome: str, request: str) -> None:
    """One row for each service; a lost one is counted, since what happened has happened."""
    for service in wish.services:
        try:
            audit.note(
                organization=caller.organization,
                user=caller.user,
                roles=caller.role_names,
                event=event,
                service=service,
                account=account,
                outcome=outcome,
                request=request,
            )
        except StoreUnavailable:
            logger.error("audit row lost", extra={"metric": "AuditRowsLost"})


@contextmanager
def noting_failure(caller: Caller, wish: Wish, request: str) -> Iterator[None]:
    """One row more if what is done inside fails."""
    try:
        yield
    except McpistError as error:
        note(caller, "failure", wish, "", error.code, request)
        raise
