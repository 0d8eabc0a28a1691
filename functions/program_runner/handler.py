"""The program runner's handler: one typed message in, `{"result": ...}` or `{"error": {"type", "details"}}` out."""

import sys
from base64 import b64encode
from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

from pydantic import ValidationError

from mcpist.errors import InvalidRequest, UpstreamUnavailable, to_message
from mcpist.programs.messages import MESSAGE_ADAPTER, Message, ProgramRequest, ProgramResult, ServerRequest
from mcpist.telemetry import invocation
from mcpist.telemetry.door import Door
from mcpist.validation import field_path, first_error
from program_runner.confinement.kernel import forbid_inspection
from program_runner.organizations import OrganizationEnded, Organizations
from program_runner.process import has_namespaces
from program_runner.run import run

if TYPE_CHECKING:
    from aws_lambda_powertools.utilities.typing import LambdaContext

# The sender of a message counts its errors; the message of an exception may quote a secret.
DOOR = Door("program_runner", counts_errors=False, logs_messages=False)
forbid_inspection()


def perform(event: Mapping[str, Any], *, namespaces: Callable[[], bool] = has_namespaces) -> dict[str, Any]:
    """Return the result of a message; raises a typed error.

    Without `namespaces` the sessions end that the foreign code of this message could look into.
    """
    message = parse(event)
    invocation.add_fields(organization=message.organization)
    match message:
        case ProgramRequest():
            if not namespaces():
                _end_sessions_of_all_but(None)
            return _run(message).model_dump(mode="json")
        case ServerRequest():
            if not namespaces():
                _end_sessions_of_all_but(message.organization)
            invocation.add_fields(server=message.server.name)
            return {"packed": b64encode(_ask(message)).decode()}


def _run(message: ProgramRequest) -> ProgramResult:
    invocation.add_fields(program=message.program)
    result = run(message)
    ended = result.signal or result.exit_code
    invocation.add_fields(ended=ended, outputs=len(result.outputs), isolation=list(result.isolation))
    return result


def _ask(message: ServerRequest) -> bytes:
    """Return a server's packed answer; its imports come late, since a run of a program needs none of them."""
    from program_runner.sessions import sessions

    return sessions().ask(message)


def _end_sessions_of_all_but(organization: str | None) -> None:
    servers = sys.modules.get("program_runner.sessions")
    if servers is not None:
        servers.sessions().end_all_but(organization)


def parse(event: Mapping[str, Any]) -> Message:
    """Return the typed message; InvalidRequest names the field and never its value."""
    try:
        return MESSAGE_ADAPTER.validate_python(event)
    except ValidationError as error:
        first = first_error(error)
        raise InvalidRequest(field=field_path(first["loc"][1:], "message"), problem=first["msg"]) from None


def answer(event: Any, request_id: str) -> dict[str, Any]:
    """Answer one message in this process; every error is answered as a typed one."""
    carried = event if isinstance(event, dict) else {}
    correlation, traceparent = (carried.get(name) for name in ("correlation", "traceparent"))
    return DOOR.answer(
        cast("LambdaContext", SimpleNamespace(aws_request_id=request_id)),
        lambda: {"result": perform(event)},
        lambda error: {"error": to_message(error)},
        correlation=correlation if isinstance(correlation, str) else "",
        traceparent=traceparent if isinstance(traceparent, str) else "",
    )


def _close() -> None:
    """End the servers of this process, and remove what they kept if no other sandbox shares it."""
    servers = sys.modules.get("program_runner.sessions")
    if servers is not None:
        if not has_namespaces():
            servers.sessions().end_all_but(None)
        servers.sessions().close()


ORGANIZATIONS = Organizations(answer, _close, has_namespaces)


def handler(event: dict[str, Any], context: "LambdaContext") -> dict[str, Any]:
    """Answer one message in the process of its organization."""
    organization = event.get("organization") if isinstance(event, dict) else None
    if not isinstance(organization, str):
        return answer(event, context.aws_request_id)  # it is refused before anything runs
    if event.get("operation") == "ask":
        import program_runner.sessions  # noqa: F401 - once here, so that no organization's process imports it again
    try:
        found: dict[str, Any] = ORGANIZATIONS.ask(organization, event, context.aws_request_id)
    except OrganizationEnded:
        error = UpstreamUnavailable(service="program runner", problem="the process that ran it was ended")
        return {"error": to_message(error)}
    return found
