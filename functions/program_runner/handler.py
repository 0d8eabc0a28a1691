"""The program runner's handler: one typed message in, `{"result": ...}` or `{"error": {"type", "details"}}` out."""

from typing import TYPE_CHECKING, Any

from mcpist.errors import to_message
from mcpist.telemetry.door import Door
from program_runner.operations import perform
from program_runner.process import forbid_inspection

if TYPE_CHECKING:
    from aws_lambda_powertools.utilities.typing import LambdaContext

# The sender of a message counts its errors; the message of an exception may quote a secret.
DOOR = Door("program_runner", counts_errors=False, logs_messages=False)
forbid_inspection()


def handler(event: dict[str, Any], context: "LambdaContext") -> dict[str, Any]:
    """Answer one message; every error is answered as a typed one."""
    carried = event if isinstance(event, dict) else {}
    correlation, traceparent = (carried.get(name) for name in ("correlation", "traceparent"))
    return DOOR.answer(
        context,
        lambda: {"result": perform(event)},
        lambda error: {"error": to_message(error)},
        correlation=correlation if isinstance(correlation, str) else "",
        traceparent=traceparent if isinstance(traceparent, str) else "",
    )
