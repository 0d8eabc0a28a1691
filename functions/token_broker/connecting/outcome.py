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
from token_broker.connecting.pending import ConnectionIntent, ObtainedGrant, Pending
from token_broker.grants import grants
from token_broker.grants.grant import Account, Grant
from token_broker.providers import find, oauth
from token_broker.providers.apps import get_app

REVOKE_TIMEOUT_SECONDS = 4.0
# How often a grant may change under our hands.
MAX_STORE_ATTEMPTS = 3
# How many pending connections a person has at most.
MAX_PENDING_CONNECTIONS = 10
# How many unanswered questions are cleared away at once: each asks its provider.
MAX_CLEARED_QUESTIONS = 2


def store_or_ask(
    caller: Caller, begun: Pending, found: ObtainedGrant, request_id: str, *, agreed: bool = False
) -> dict[str, Any]:
    """Store what was found, or ask; the person agreed to it only in the place of the account that was shown."""
    intent = begun.intent
    for _ in range(MAX_STORE_ATTEMPTS):
        existing = grants.read(intent.organization, intent.provider, intent.owner)
        replaced_account_id = existing.account.account_id if existing else None
        reasons = _confirmation_reasons(intent, found, replaced_account_id)
        if reasons and not (
            agreed and replaced_account_id in {None, found.replaced_account_id, found.account.account_id}
        ):
            return _ask_for_confirmation(
                begun, replace(found, replaced_account_id=replaced_account_id), existing, reasons
            )
        try:
            grant = grants.save(
                intent.organization,
                intent.provider,
                intent.owner,
                account=found.account,
                tokens=found.tokens,
                replaces=existing.version if existing else 0,
            )
        except Conflict:
            continue
        return _finish_connection(caller, begun, found, grant, existing, request_id)
    revoke_if_unneeded(caller, intent, found, request_id)
    raise Conflict(what="the connection")


def _finish_connection(
    caller: Caller, begun: Pending, found: ObtainedGrant, grant: Grant, replaced: Grant | None, request_id: str
) -> dict[str, Any]:
    """The end of it, unless it was taken away meanwhile: who revokes takes pending connections first, then grants."""
    if not pending.remove(begun):
        grants.remove(grant)
        revoke_if_unneeded(caller, begun.intent, found, request_id)
        raise StaleConnection
    if replaced:
        _revoke_replaced(caller, begun.intent, replaced, found, request_id)
    record_audit(caller, "connect", begun.intent, found.account.account_name, "succeeded", request_id)
    return outcome("connected", begun.intent)


def _confirmation_reasons(intent: ConnectionIntent, found: ObtainedGrant, replaced_account_id: str | None) -> list[str]:
    """Why the person is asked first."""
    replaces = replaced_account_id not in {None, found.account.account_id}
    personal = intent.role is not None and found.account.kind == "person"
    return ["replaces"] * replaces + ["personal"] * personal


def _ask_for_confirmation(
    begun: Pending, found: ObtainedGrant, existing: Grant | None, reasons: list[str]
) -> dict[str, Any]:
    """`{question, reasons, role, old, new}`: what `confirm` answers, and the accounts that it is about."""
    return {
        **outcome("asks", begun.intent),
        "question": pending.store_question(begun, found),
        "reasons": reasons,
        "old": _account_view(existing.account) if existing and "replaces" in reasons else None,
        "new": _account_view(found.account),
    }


def _revoke_replaced(
    caller: Caller, intent: ConnectionIntent, replaced: Grant, found: ObtainedGrant, request_id: str
) -> None:
    """Tokens of the same account may be one grant to the provider: then the new ones would end with the old.

    Tokens that cannot be opened are lost to us as well: what is new stands all the same.
    """
    same = replaced.account.account_id == found.account.account_id
    if same and not find(intent.provider).revokes_single_token:
        return
    try:
        tokens = replaced.tokens()
    except McpistError:
        return
    if tokens.access_token != found.tokens.access_token:
        revoke_if_unneeded(caller, intent, ObtainedGrant(replaced.account, tokens), request_id)


def revoke_if_unneeded(caller: Caller, intent: ConnectionIntent, found: ObtainedGrant, request_id: str) -> None:
    """Revoke tokens, unless a grant may need them: some providers end all of an account's tokens with one of them.

    An account that is not known may be any. A key that a person pasted has no client, and stays the person's.
    """
    account = found.account
    if not account.client_id or is_account_in_use(intent.organization, intent.provider, account):
        return
    try:
        provider, app = find(intent.provider), get_app(intent.provider)
    except NotConfigured:
        return
    answered = oauth.revoke(provider, app, found.tokens, seconds=REVOKE_TIMEOUT_SECONDS)
    record_audit(caller, "revoke", intent, account.account_name, answered, request_id)


def is_account_in_use(organization: str, provider: str, account: Account) -> bool:
    """Whether revoking an account's token may end those of a grant that stands."""
    return not find(provider).revokes_single_token and bool(grants.find_by_account(organization, provider, account))


def remove_stale_pending(caller: Caller, request_id: str) -> None:
    """Make room for one more: give up what the caller never came back to, and the oldest of too many."""
    newest = sorted(pending.find(caller.organization, user=caller.user), key=lambda one: one.until, reverse=True)
    fresh = [one for one in newest if one.until > time.time()]
    stale = [*fresh[MAX_PENDING_CONNECTIONS - 1 :], *(one for one in newest if one.until <= time.time())]
    for one in stale:
        if not one.has_tokens:
            pending.remove(one)
    for one in [one for one in stale if one.has_tokens][-MAX_CLEARED_QUESTIONS:]:
        try:
            found = one.obtained
        except IntegrityError:  # lost to us as well
            found = None
        if pending.remove(one) and found:
            revoke_if_unneeded(caller, one.intent, found, request_id)


def outcome(outcome: str, intent: ConnectionIntent) -> dict[str, Any]:
    """What came of a wish, as the door reads it."""
    return {"outcome": outcome, "service": intent.services[0], "provider": intent.provider, "role": intent.role or ""}


def _account_view(account: Account) -> dict[str, str]:
    return {"id": account.account_id, "name": account.account_name}


def record_audit(
    caller: Caller, event: audit.Event, intent: ConnectionIntent, account: str, outcome: str, request_id: str
) -> None:
    """One row for each service; a lost one is counted, since what happened has happened."""
    for service in intent.services:
        with audit.best_effort():
            audit.append_row(
                organization=caller.organization,
                user=caller.user,
                roles=caller.role_names,
                event=event,
                service=service,
                account=account,
                outcome=outcome,
                request=request_id,
            )


@contextmanager
def recording_failure(caller: Caller, intent: ConnectionIntent, request_id: str) -> Iterator[None]:
    """One row more, and one in the count, if what is done inside fails."""
    try:
        yield
    except McpistError as error:
        invocation.count(CONNECT_FAILURES)
        record_audit(caller, "failure", intent, "", error.code, request_id)
        raise
