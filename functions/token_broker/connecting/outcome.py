"""Outcome of a connection: the account and tokens are stored, confirmed by the person, or discarded.

An account other than the connected one, or a person's account for a role, needs a confirmation. Tokens that are not
stored are revoked at the provider.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from mcpist.audit import record as audit
from mcpist.caller import Caller
from mcpist.errors import Conflict, IntegrityError, McpistError, NotConfigured, StaleConnection
from mcpist.telemetry import invocation
from mcpist.telemetry.metrics import CONNECT_FAILURES
from token_broker.connecting import pending
from token_broker.connecting.pending import ConnectionIntent, ObtainedGrant, Pending
from token_broker.grants import grants
from token_broker.grants.grant import GrantedAccount, StoredGrant
from token_broker.providers import find, find_with_app, oauth
from token_broker.resolving.refresh import AuditContext

REVOKE_TIMEOUT_SECONDS = 4.0
# How often a grant may change while we store.
MAX_STORE_ATTEMPTS = 3
# Per person.
MAX_PENDING_CONNECTIONS = 10
# Unanswered questions that one request discards: each needs a request to its provider.
MAX_CLEARED_QUESTIONS = 2


def store_or_ask(
    caller: Caller, connection: Pending, obtained: ObtainedGrant, *, agreed: bool = False
) -> dict[str, Any]:
    """Store the account and tokens, or ask first; an agreement covers only the account that was shown as replaced."""
    intent = connection.intent
    for _ in range(MAX_STORE_ATTEMPTS):
        existing = grants.read(intent.organization, intent.provider, intent.slot)
        replaced_account_id = existing.account.account_id if existing else None
        obtained = _current_first(obtained, replaced_account_id)
        reasons = _confirmation_reasons(intent, obtained, replaced_account_id)
        reasons = ["several"] * bool(obtained.choices) + reasons
        if reasons and not (
            agreed and replaced_account_id in {None, obtained.replaced_account_id, obtained.account.account_id}
        ):
            return _ask_for_confirmation(
                connection, replace(obtained, replaced_account_id=replaced_account_id), existing, reasons
            )
        try:
            grant = grants.save(
                intent.organization,
                intent.provider,
                intent.slot,
                account=obtained.account,
                tokens=obtained.tokens,
                replaces=existing.version if existing else 0,
            )
        except Conflict:
            continue
        return _finish_connection(caller, connection, obtained, grant, existing)
    revoke_if_unneeded(caller, intent, obtained)
    raise Conflict(what="the connection")


def _finish_connection(
    caller: Caller,
    connection: Pending,
    obtained: ObtainedGrant,
    grant: StoredGrant,
    replaced: StoredGrant | None,
) -> dict[str, Any]:
    """Delete the pending connection; if it was revoked meanwhile, remove the new grant as well."""
    if not pending.remove(connection):
        grants.remove(grant)
        revoke_if_unneeded(caller, connection.intent, obtained)
        raise StaleConnection
    if replaced:
        _revoke_replaced(caller, connection.intent, replaced, obtained)
    record_audit(caller, "connect", connection.intent, grant.name, "succeeded")
    return outcome("connected", connection.intent)


def _confirmation_reasons(
    intent: ConnectionIntent, obtained: ObtainedGrant, replaced_account_id: str | None
) -> list[str]:
    """Return why the person must confirm; empty: no confirmation is needed."""
    replaces = replaced_account_id not in {None, obtained.account.account_id}
    personal = intent.role is not None and obtained.account.kind == "person"
    return ["replaces"] * replaces + ["personal"] * personal


def _current_first(obtained: ObtainedGrant, connected: str | None) -> ObtainedGrant:
    """Return it with the connected account first, if the person can choose that again."""
    accounts = sorted((obtained.account, *obtained.choices), key=lambda account: account.account_id != connected)
    return replace(obtained, account=accounts[0], choices=tuple(accounts[1:]))


def _ask_for_confirmation(
    connection: Pending, obtained: ObtainedGrant, existing: StoredGrant | None, reasons: list[str]
) -> dict[str, Any]:
    """Return `{question, reasons, role, old, new, choices}`: the question for `confirm`, and its accounts.

    `choices` are the accounts of which `confirm` names one; none where there is only the new one.
    """
    choices = (obtained.account, *obtained.choices) if obtained.choices else ()
    return {
        **outcome("asks", connection.intent),
        "question": pending.store_question(connection, obtained),
        "reasons": reasons,
        "old": _account_view(existing.account) if existing and "replaces" in reasons else None,
        "new": _account_view(obtained.account),
        "choices": [_account_view(one) for one in choices],
    }


def _revoke_replaced(caller: Caller, intent: ConnectionIntent, replaced: StoredGrant, obtained: ObtainedGrant) -> None:
    """Revoke the replaced tokens, unless the provider would end the new ones of the same account with them.

    Replaced tokens that cannot be opened cannot be revoked; the new ones are valid all the same.
    """
    same = replaced.account.account_id == obtained.account.account_id
    if same and not find(intent.provider, caller).revokes_single_token:
        return
    try:
        tokens = replaced.tokens()
    except McpistError:
        return
    if tokens.access_token != obtained.tokens.access_token:
        revoke_if_unneeded(caller, intent, ObtainedGrant(replaced.account, tokens))


def revoke_if_unneeded(caller: Caller, intent: ConnectionIntent, obtained: ObtainedGrant) -> None:
    """Revoke tokens, unless a grant may depend on them: some providers end all of an account's tokens with one.

    An unknown account may be any. A pasted key has no client, and remains the person's.
    """
    account = obtained.account
    if not account.client_id or is_account_in_use(caller, intent.provider, account):
        return
    try:
        provider, app = find_with_app(intent.provider, caller)
    except NotConfigured:
        return
    if app.identity != account.client_id:
        return
    result = oauth.revoke(provider, app, obtained.tokens, seconds=REVOKE_TIMEOUT_SECONDS)
    record_audit(caller, "revoke", intent, account.account_name, result)


def is_account_in_use(caller: Caller, provider: str, account: GrantedAccount) -> bool:
    """Whether revoking an account's token may end those of a stored grant."""
    is_single = find(provider, caller).revokes_single_token
    return not is_single and bool(grants.find_by_account(caller.organization, provider, account))


def remove_stale_pending(caller: Caller) -> None:
    """Discard the caller's expired pending connections, and the oldest of too many."""
    newest = sorted(
        pending.find(caller.organization, user=caller.user), key=lambda connection: connection.until, reverse=True
    )
    fresh = sum(connection.until > time.time() for connection in newest)
    # With the one that the caller begins now there are at most so many.
    stale = newest[min(fresh, MAX_PENDING_CONNECTIONS - 1) :]
    for connection in stale:
        if not connection.has_tokens:
            pending.remove(connection)
    for connection in [connection for connection in stale if connection.has_tokens][-MAX_CLEARED_QUESTIONS:]:
        try:
            obtained = connection.obtained
        except IntegrityError:  # it cannot be revoked without its tokens
            obtained = None
        if pending.remove(connection) and obtained:
            revoke_if_unneeded(caller, connection.intent, obtained)


def outcome(outcome: str, intent: ConnectionIntent) -> dict[str, Any]:
    """Return the outcome of an intent as the door reads it."""
    about = {"service": intent.services[0], "provider": intent.provider, "role": intent.role or ""}
    return {"outcome": outcome, **about, "label": intent.label}


def _account_view(account: GrantedAccount) -> dict[str, str]:
    return {"id": account.account_id, "name": account.account_name, "url": account.site_url}


def record_audit(caller: Caller, event: audit.Event, intent: ConnectionIntent, account: str, outcome: str) -> None:
    """Write one row for each service."""
    for service in intent.services:
        AuditContext(caller, service).record(event, account, outcome)


@contextmanager
def recording_failure(caller: Caller, intent: ConnectionIntent) -> Iterator[None]:
    """Write an audit row and count a failure if the block raises an error."""
    try:
        yield
    except McpistError as error:
        invocation.count(CONNECT_FAILURES)
        record_audit(caller, "failure", intent, "", error.code)
        raise
