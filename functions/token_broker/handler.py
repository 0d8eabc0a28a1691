"""The broker's handler: one typed message in, `{"result": ...}` or `{"error": {"type", "details"}}` out.

Each message is checked for who sends it, and then performed.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from mcpist.audit import record as audit
from mcpist.aws.snapshot import prepare
from mcpist.caller import Caller
from mcpist.errors import AuthorizationError, to_message
from mcpist.running import notification_address
from mcpist.telemetry import invocation
from mcpist.telemetry.door import Door
from mcpist_services import dialect_modules
from token_broker import administration, kept_secrets, proof
from token_broker import message as messages
from token_broker.connecting import connections
from token_broker.grants.grant import AccountChoice
from token_broker.resolving import credentials

if TYPE_CHECKING:
    from aws_lambda_powertools.utilities.typing import LambdaContext

# The sender of a message counts its errors; the message of an exception may quote a secret.
DOOR = Door("token_broker", counts_errors=False, logs_messages=False)
prepare(
    services=("kms", "ssm"),
    modules=("mcpist.bounded_http.client", "token_broker.connecting.flow", *dialect_modules()),
)


def perform(event: Mapping[str, Any]) -> dict[str, Any]:
    """Return the result of a message; raises a typed error for one that is malformed or not permitted."""
    message = messages.parse(event)
    # Only fields that passed the model of the message are logged.
    service = getattr(message, "service", None) or getattr(message, "provider", None)
    services = getattr(message, "services", None) or tuple(filter(None, [service]))
    invocation.add_fields(operation=message.operation, organization=message.organization, services=services)
    if isinstance(message, messages.Expire):
        return administration.expire(message.organization)
    if isinstance(message, messages.Mac):
        return kept_secrets.mac(message)
    caller = proof.authenticate(message)
    with _refusals_audited(caller, message):
        if isinstance(message, messages.AppMessage):
            return _perform_on_app(caller, message)
        return _stand(caller, message) if isinstance(message, messages.PermitMessage) else _perform(caller, message)


def _perform(caller: Caller, message: messages.GrantMessage | messages.PageMessage) -> dict[str, Any]:
    match message:
        case messages.Resolve():
            choice = AccountChoice(message.service, message.account, message.pins)
            return asdict(credentials.resolve(caller, choice, refused=message.refused))
        case messages.ResolveSender():
            sender, service = notification_address.sender(caller)
            return asdict(credentials.resolve(sender, AccountChoice(service)))
        case messages.IssueWarrant():
            warrant = proof.issue_warrant(caller, message.services, message.expires_at)
            return {**warrant, "pins": credentials.pins_of(caller, message.services)}
        case messages.Revoke():
            return administration.revoke(caller, message)
        case messages.ChooseDefault():
            return administration.choose_default(caller, message)
        case messages.ListGrants():
            return administration.list_grants(caller, message)
        case messages.Kill():
            return administration.kill(caller, message)
        case messages.Reencrypt():
            return administration.reencrypt(caller, message)
        case messages.Status():
            return connections.status(caller, message.services)
        case _:
            return _connect(caller, message)


def _perform_on_app(caller: Caller, message: messages.AppMessage) -> dict[str, Any]:
    """Perform a message about the app of a registered module."""
    from token_broker.connecting import module_apps

    match message:
        case messages.SetApp():
            return module_apps.set_app(caller, message)
        case messages.ShowApp():
            return module_apps.show_app(caller, message)
        case messages.RemoveApp():
            return module_apps.remove_app(caller, message)


def _stand(caller: Caller, message: messages.PermitMessage) -> dict[str, Any]:
    """Perform a message about what goes on while the caller is away."""
    match message:
        case messages.IssuePermit():
            return proof.issue_permit(caller, message.services, message.purpose)
        case messages.KeepSecret():
            return kept_secrets.keep(caller, message.owner, message.secret)
        case messages.ListPermits():
            return administration.list_permits(caller, message)
        case messages.EndPermit():
            return administration.end_permit(caller, message)


@contextmanager
def _refusals_audited(caller: Caller, message: messages.ProvenMessage) -> Iterator[None]:
    """Write an audit row for an operation on grants that the caller may not perform."""
    try:
        yield
    except AuthorizationError as error:
        with audit.best_effort():
            audit.record_change(
                caller,
                action=f"grants.{message.operation}",
                target=f"grants.{getattr(message, 'service', None) or 'all'}",
                request=invocation.request_id(),
                outcome=error.code,
            )
        raise


def _connect(caller: Caller, message: messages.PageMessage) -> dict[str, Any]:
    """Perform a message of the pages for people; the flow is imported late, since most sandboxes never need it."""
    from token_broker.connecting import flow

    match message:
        case messages.Login():
            return proof.issue_session(caller)
        case messages.ReadSession():
            return proof.read_session(message.proof.value, message.organization)
        case messages.Offer():
            return connections.offer(caller, message.services)
        case messages.Begin():
            return flow.begin(caller, message)
        case messages.Finish():
            return flow.finish(caller, message)
        case messages.Paste():
            return flow.paste(caller, message)
        case messages.Confirm():
            return flow.confirm(caller, message)


def handler(event: dict[str, Any], context: "LambdaContext") -> dict[str, Any]:
    """Answer one message; every error is answered as a typed one."""
    named = event.get("operation") if isinstance(event, dict) else None
    operation = named if named in messages.OPERATIONS else "unknown"
    return DOOR.answer(
        context,
        lambda: {"result": perform(event)},
        lambda error: {"error": to_message(error)},
        correlation=messages.carried_of(event, "correlation"),
        traceparent=messages.carried_of(event, "traceparent"),
        operation=operation,
    )
