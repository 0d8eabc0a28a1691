"""The broker's handler: one typed message in, `{"result": ...}` or `{"error": {"type", "details"}}` out."""

from typing import TYPE_CHECKING, Any

from mcpist.aws.snapshot import prepare
from mcpist.errors import to_message
from mcpist.telemetry.door import Door
from mcpist_services import dialect_modules
from token_broker.message import OPERATIONS, carried_of
from token_broker.operations import perform

if TYPE_CHECKING:
    from aws_lambda_powertools.utilities.typing import LambdaContext

# The sender of a message counts its errors; the message of an exception may quote a secret.
DOOR = Door("token_broker", counts_errors=False, logs_messages=False)
prepare(
    services=("kms", "ssm"),
    modules=(
        "mcpist.bounded_http.client",
        "token_broker.connecting.flow",
        *dialect_modules(),
    ),
)


def handler(event: dict[str, Any], context: "LambdaContext") -> dict[str, Any]:
    """Answer one message; every error is answered as a typed one."""
    named = event.get("operation") if isinstance(event, dict) else None
    operation = named if named in OPERATIONS else "unknown"
    return DOOR.answer(
        context,
        lambda: {"result": perform(event)},
        lambda error: {"error": to_message(error)},
        correlation=carried_of(event, "correlation"),
        traceparent=carried_of(event, "traceparent"),
        operation=operation,
    )
