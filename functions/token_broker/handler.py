"""The door: one typed message in, `{"result": ...}` or `{"error": {"type", "details"}}` out."""

from dataclasses import asdict
from typing import Any

from aws_lambda_powertools.utilities.typing import LambdaContext

from mcpist.errors import InternalError, McpistError, to_message
from mcpist.snapshot import prepare

from . import connections, credentials, warrant
from .log import Line
from .message import IssueWarrant, Message, Put, Resolve, Revoke, Status, parse
from .proof import prove

prepare(services=("dynamodb", "kms"))


def perform(message: Message) -> dict[str, Any]:
    """Check who asks, then do what the message asks for."""
    caller = prove(message)
    match message:
        case Resolve():
            return asdict(credentials.resolve(caller, message.service))
        case IssueWarrant():
            return warrant.issue(caller, message.services, message.expires_at)
        case Put():
            return connections.put(caller, message)
        case Revoke():
            return connections.revoke(caller, message.service, message.role)
        case Status():
            return connections.status(caller, message.services)


def handler(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    """Answer one message; every error leaves as a typed one."""
    line = Line(context.aws_request_id, event)
    try:
        message = parse(event)
        line.add(message)
        return line.end({"result": perform(message)})
    except McpistError as error:
        return line.end({"error": to_message(error)}, error)
    except Exception as defect:  # noqa: BLE001
        return line.end({"error": to_message(InternalError(request_id=context.aws_request_id))}, defect)
