"""The door: one typed message in, `{"result": ...}` or `{"error": {"type", "details"}}` out."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from aws_lambda_powertools.utilities.typing import LambdaContext

from mcpist.aws.snapshot import prepare
from mcpist.caller import Caller
from mcpist.errors import to_message
from mcpist.telemetry import invocation
from mcpist.telemetry.door import Door
from mcpist_services import dialect_modules
from token_broker import administration
from token_broker.connecting import connections
from token_broker.message import (
    OPERATIONS,
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
    Reencrypt,
    Resolve,
    Revoke,
    Status,
    correlation_of,
    parse,
)
from token_broker.proof import authenticate
from token_broker.resolving import credentials, warrant

# Who sends a message counts its errors; the message of an exception may quote a secret.
DOOR = Door("token_broker", counts_errors=False, logs_messages=False)
prepare(
    services=("dynamodb", "kms", "ssm"),
    modules=("httpx", "token_broker.connecting.flow", "token_broker.connecting.offers", *dialect_modules()),
)


def perform(message: Message, request_id: str) -> dict[str, Any]:
    """Check who asks, then do what the message asks for, in the request of this id."""
    caller = authenticate(message)
    match message:
        case Resolve():
            return asdict(credentials.resolve(caller, message.service, refused=message.refused, request_id=request_id))
        case IssueWarrant():
            return warrant.issue(caller, message.services, message.expires_at)
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
        case Login() | Offer() | Begin() | Finish() | Paste() | Confirm():
            return _connect(caller, message, request_id)


def _connect(
    caller: Caller, message: Login | Offer | Begin | Finish | Paste | Confirm, request_id: str
) -> dict[str, Any]:
    """What a person's browser asks for; most sandboxes never do this, and do without the imports."""
    from token_broker.connecting import flow, offers, session

    match message:
        case Login():
            return session.issue(caller)
        case Offer():
            return offers.offer(caller, message.services)
        case Begin():
            return flow.begin(caller, message, request_id)
        case Finish():
            return flow.finish(caller, message, request_id)
        case Paste():
            return flow.paste(caller, message, request_id)
        case Confirm():
            return flow.confirm(caller, message, request_id)


def handler(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    """Answer one message; every error is answered as a typed one."""
    named = event.get("operation") if isinstance(event, dict) else None
    operation = named if named in OPERATIONS else "unknown"
    return DOOR.answer(
        context,
        lambda: {"result": perform(_parse(event), context.aws_request_id)},
        lambda error: {"error": to_message(error)},
        correlation=correlation_of(event),
        operation=operation,
    )


def _parse(event: Mapping[str, Any]) -> Message:
    """Parse the message; only fields that passed its model are logged."""
    message = parse(event)
    service = getattr(message, "service", None) or getattr(message, "provider", None)
    services = getattr(message, "services", None) or tuple(filter(None, [service]))
    invocation.add_fields(operation=message.operation, organization=message.organization, services=services)
    return message
