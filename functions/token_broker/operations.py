"""The operations of the broker: each message is checked for who sends it, and then performed."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from typing import Any

from mcpist.audit import record as audit
from mcpist.caller import Caller
from mcpist.errors import AuthorizationError
from mcpist.telemetry import invocation
from token_broker import administration, proof
from token_broker.connecting import connections
from token_broker.message import (
    Begin,
    Confirm,
    Finish,
    IssueWarrant,
    Kill,
    ListGrants,
    Login,
    Message,
    Offer,
    Paste,
    ReadSession,
    Reencrypt,
    Resolve,
    Revoke,
    Status,
    parse,
)
from token_broker.resolving import credentials


def perform(event: Mapping[str, Any], request_id: str) -> dict[str, Any]:
    """Return the result of a message; raises a typed error for one that is malformed or not permitted."""
    message = parse(event)
    _log(message)
    caller = proof.authenticate(message)
    with _refusals_audited(caller, message, request_id):
        return _perform(caller, message, request_id)


def _perform(caller: Caller, message: Message, request_id: str) -> dict[str, Any]:
    match message:
        case Resolve():
            return asdict(credentials.resolve(caller, message.service, refused=message.refused, request_id=request_id))
        case IssueWarrant():
            return proof.issue_warrant(caller, message.services, message.expires_at)
        case Revoke():
            return administration.revoke(caller, message, request_id)
        case ListGrants():
            return administration.list_grants(caller, message)
        case Kill():
            return administration.kill(caller, message, request_id)
        case Reencrypt():
            return administration.reencrypt(caller, message)
        case Status():
            return connections.status(caller, message.services)
        case Login() | ReadSession() | Offer() | Begin() | Finish() | Paste() | Confirm():
            return _connect(caller, message, request_id)


@contextmanager
def _refusals_audited(caller: Caller, message: Message, request_id: str) -> Iterator[None]:
    """Write an audit row for an operation on grants that the caller may not perform."""
    try:
        yield
    except AuthorizationError as error:
        with audit.best_effort():
            audit.record_change(
                caller,
                action=f"grants.{message.operation}",
                target=f"grants.{getattr(message, 'service', None) or 'all'}",
                request=request_id,
                outcome=error.code,
            )
        raise


def _log(message: Message) -> None:
    """Add to the log what the message is about; only fields that passed its model are logged."""
    service = getattr(message, "service", None) or getattr(message, "provider", None)
    services = getattr(message, "services", None) or tuple(filter(None, [service]))
    invocation.add_fields(operation=message.operation, organization=message.organization, services=services)


def _connect(
    caller: Caller, message: Login | ReadSession | Offer | Begin | Finish | Paste | Confirm, request_id: str
) -> dict[str, Any]:
    """Perform a message of the pages for people; the flow is imported late, since most sandboxes never need it."""
    from token_broker.connecting import flow

    match message:
        case Login():
            return proof.issue_session(caller)
        case ReadSession():
            return proof.read_session(message.proof.value, message.organization)
        case Offer():
            return connections.offer(caller, message.services)
        case Begin():
            return flow.begin(caller, message, request_id)
        case Finish():
            return flow.finish(caller, message, request_id)
        case Paste():
            return flow.paste(caller, message, request_id)
        case Confirm():
            return flow.confirm(caller, message, request_id)
