"""The broker's handler: one typed message in, `{"result": ...}` or `{"error": {"type", "details"}}` out.

Each message is checked for who sends it, and then performed.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from pkgutil import resolve_name
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

type Performer = Callable[[Caller, Any], dict[str, Any]]
"""Performs a message of the caller, and returns its result."""

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
        return PERFORMERS[type(message)](caller, message)


def _resolve(caller: Caller, message: messages.Resolve) -> dict[str, Any]:
    choice = AccountChoice(message.service, message.account, message.pins)
    return asdict(credentials.resolve(caller, choice, refused=message.refused))


def _resolve_sender(caller: Caller, _: messages.ResolveSender) -> dict[str, Any]:
    sender, service = notification_address.sender(caller)
    return asdict(credentials.resolve(sender, AccountChoice(service)))


def _issue_warrant(caller: Caller, message: messages.IssueWarrant) -> dict[str, Any]:
    warrant = proof.issue_warrant(caller, message.services, message.expires_at)
    return {**warrant, "pins": credentials.pins_of(caller, message.services)}


def _late(name: str) -> Performer:
    """Return a function of `connecting`, which is imported at its first use: most sandboxes never need it."""

    def perform(caller: Caller, message: Any) -> dict[str, Any]:
        performed: dict[str, Any] = resolve_name(f"token_broker.connecting.{name}")(caller, message)
        return performed

    return perform


PERFORMERS: Mapping[type[messages.BaseMessage], Performer] = {
    messages.Resolve: _resolve,
    messages.ResolveSender: _resolve_sender,
    messages.IssueWarrant: _issue_warrant,
    messages.Status: lambda caller, message: connections.status(caller, message.services),
    messages.Revoke: administration.revoke,
    messages.ChooseDefault: administration.choose_default,
    messages.ListGrants: administration.list_grants,
    messages.Kill: administration.kill,
    messages.Reencrypt: administration.reencrypt,
    messages.IssuePermit: lambda caller, message: proof.issue_permit(caller, message.services, message.purpose),
    messages.KeepSecret: lambda caller, message: kept_secrets.keep(caller, message.owner, message.secret),
    messages.ListPermits: administration.list_permits,
    messages.EndPermit: administration.end_permit,
    messages.Login: lambda caller, _: proof.issue_session(caller),
    messages.ReadSession: lambda _, message: proof.read_session(message.proof.value, message.organization),
    messages.Offer: lambda caller, message: connections.offer(caller, message.services),
    messages.Begin: _late("flow:begin"),
    messages.Finish: _late("flow:finish"),
    messages.Paste: _late("flow:paste"),
    messages.Confirm: _late("flow:confirm"),
    messages.SetApp: _late("module_apps:set_app"),
    messages.ShowApp: _late("module_apps:show_app"),
    messages.RemoveApp: _late("module_apps:remove_app"),
}
"""For each message with a proof the function that performs it for its caller."""


@contextmanager
def _refusals_audited(caller: Caller, message: messages.ProvenMessage) -> Iterator[None]:
    """Write an audit row for an operation on grants that the caller may not perform."""
    try:
        yield
    except AuthorizationError as error:
        with audit.best_effort():
            action, service = f"grants.{message.operation}", getattr(message, "service", None) or "all"
            audit.record_change(caller, action=action, target=f"grants.{service}", outcome=error.code)
        raise


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
