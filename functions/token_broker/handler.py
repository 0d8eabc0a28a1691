"""The door: one typed message in, `{"result": ...}` or `{"error": {"type", "details"}}` out."""

from dataclasses import asdict
from typing import Any

from aws_lambda_powertools.utilities.typing import LambdaContext

from mcpist.aws.snapshot import prepare
from mcpist.caller import Caller
from mcpist.errors import InternalError, McpistError, to_message
from mcpist.telemetry import invocation
from token_broker import administration
from token_broker.connecting import connections
from token_broker.log import MessageLog, logger
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
    Reencrypt,
    Resolve,
    Revoke,
    Status,
    correlation_of,
    parse,
)
from token_broker.proof import authenticate
from token_broker.resolving import credentials, warrant

prepare(
    services=("dynamodb", "kms", "ssm"),
    modules=("httpx", "token_broker.connecting.flow", "token_broker.connecting.offers"),
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
    """Answer one message; every error leaves as a typed one."""
    with invocation.begin("token_broker", logger, correlation_of(event) or context.aws_request_id):
        message_log = MessageLog(context.aws_request_id, event)
        try:
            message = parse(event)
            message_log.add(message)
            return message_log.end({"result": perform(message, context.aws_request_id)})
        except McpistError as error:
            return message_log.end({"error": to_message(error)}, error)
        except Exception as defect:  # noqa: BLE001
            return message_log.end({"error": to_message(InternalError(request_id=context.aws_request_id))}, defect)
