"""The settlement of a connection: what was found at the provider is stored, asked about, or given up.

Another account than before, or a person's account for a role, is asked about first. Tokens that are not stored in the
end are revoked at the provider.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from mcpist.caller import Caller
from mcpist.errors import Conflict, IntegrityError, McpistError, NotConfigured, StaleConnection
from mcpist.telemetry import audit, invocation
from mcpist.telemetry.metrics import CONNECT_FAILURES
from token_broker.connecting import pending
from token_broker.connecting.pending import Found, Pending, Wish
from token_broker.grants import grants
from token_broker.grants.grant import Account, Grant
from token_broker.providers import find, oauth
from token_broker.providers.apps import app_of

REVOKE_SECONDS = 4.0
# How often a grant may change under our hands.
MOST_CHANGES = 3
# How many pending connections a person has at most.
MOST_PENDING = 10
# How many unanswered questions are cleared away at once: each asks its provider.
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
    if replaced:
        _give_up_old(caller, begun.wish, replaced, found, request)
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


def _give_up_old(caller: Caller, wish: Wish, replaced: Grant, found: Found, request: str) -> None:
    """Tokens of the same account may be one grant to the provider: then the new ones would end with the old.

    Tokens that cannot be opened are lost to us as well: what is new stands all the same.
    """
    same = replaced.account.account_id == found.account.account_id
    if same and not find(wish.provider).revokes_one:
        return
    try:
        tokens = replaced.tokens()
    except McpistError:
        return
    if tokens.access_token != found.tokens.access_token:
        give_up(caller, wish, Found(replaced.account, tokens), request)


def give_up(caller: Caller, wish: Wish, found: Found, request: str) -> None:
    """Revoke tokens, unless a grant may need them: some providers end all of an account's tokens with one of them.

    An account that is not known may be any. A key that a person pasted has no client, and stays the person's.
    """
    account = found.account
    if not account.client_id or is_needed(wish.organization, wish.provider, account):
        return
    try:
        provider, app = find(wish.provider), app_of(wish.provider)
    except NotConfigured:
        return
    answered = oauth.revoke(provider, app, found.tokens, seconds=REVOKE_SECONDS)
    note(caller, "revoke", wish, account.account_name, answered, request)


def is_needed(organization: str, provider: str, account: Account) -> bool:
    """Whether revoking an account's token may end those of a grant that stands."""
    return not find(provider).revokes_one and bool(grants.standing_on(organization, provider, account))


def clear(caller: Caller, request: str) -> None:
    """Make room for one more: give up what the caller never came back to, and the oldest of too many."""
    newest = sorted(pending.find(caller.organization, user=caller.user), key=lambda one: one.until, reverse=True)
    fresh = [one for one in newest if one.until > time.time()]
    gone = [*fresh[MOST_PENDING - 1 :], *(one for one in newest if one.until <= time.time())]
    for one in gone:
        if not one.has_found:
            pending.remove(one)
    for one in [one for one in gone if one.has_found][-MOST_CLEARED:]:
        try:
            found = one.found
        except IntegrityError:  # lost to us as well
            found = None
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
        with audit.afterwards():
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


@contextmanager
def noting_failure(caller: Caller, wish: Wish, request: str) -> Iterator[None]:
    """One row more, and one in the count, if what is done inside fails."""
    try:
        yield
    except McpistError as error:
        invocation.count(CONNECT_FAILURES)
        note(caller, "failure", wish, "", error.code, request)
        raise
