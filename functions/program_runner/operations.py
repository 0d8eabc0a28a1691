"""The operations: a message is checked, and then performed."""

from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from mcpist.errors import InvalidRequest
from mcpist.programs.messages import MESSAGE_ADAPTER, Message, ProgramRequest, ServerRequest
from mcpist.telemetry import invocation
from mcpist.validation import field_path, first_error
from program_runner.programs.run import run


def perform(event: Mapping[str, Any]) -> dict[str, Any]:
    """Return the result of a message; raises a typed error."""
    message = parse(event)
    match message:
        case ProgramRequest():
            invocation.add_fields(organization=message.organization, program=message.program)
            result = run(message)
            ended = result.signal or result.exit_code
            invocation.add_fields(ended=ended, outputs=len(result.outputs), isolation=list(result.isolation))
            return result.model_dump(mode="json")
        case ServerRequest():
            raise InvalidRequest(field="operation", problem="no server is run here yet")


def parse(event: Mapping[str, Any]) -> Message:
    """Return the typed message; InvalidRequest names the field and never its value."""
    try:
        return MESSAGE_ADAPTER.validate_python(event)
    except ValidationError as error:
        first = first_error(error)
        raise InvalidRequest(field=field_path(first["loc"][1:], "message"), problem=first["msg"]) from None
