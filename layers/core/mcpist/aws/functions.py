"""Messages to our own functions: `{"result": ...}` or `{"error": {"type", "details"}}` is what they answer.

Every failure becomes one of our own errors, which quotes neither the message nor the response.
"""

import json
from collections.abc import Mapping
from typing import Any

from mcpist.aws.clients import AwsError, client, store_errors
from mcpist.errors import ExecutionsExhausted, InternalError, McpistError, UpstreamUnavailable, from_message

THROTTLE_RETRY_SECONDS = 1


def invoke(function: str, name: str, message: Mapping[str, Any], *, seconds: float, attempts: int) -> dict[str, Any]:
    """Send a message to a function, which errors call `name`, and return its result or raise its typed error."""
    return result_of(exchange(function, name, message, seconds=seconds, attempts=attempts))


def exchange(
    function: str, name: str, message: Mapping[str, Any], *, seconds: float, attempts: int
) -> dict[str, Any] | McpistError:
    """Send a message to a function, and return its result or its typed error; raise an error of the way to it."""
    try:
        with store_errors(name):
            answer = client("lambda", read_seconds=seconds, attempts=attempts).invoke(
                FunctionName=function, Payload=json.dumps(message)
            )
            body = answer["Payload"].read()
    except AwsError as error:
        if error.code == "TooManyRequestsException":
            raise ExecutionsExhausted(retry_after=THROTTLE_RETRY_SECONDS) from error
        raise UpstreamUnavailable(service=name, problem=f"it cannot be asked ({error.code})") from error
    request_id = answer["ResponseMetadata"].get("RequestId", "unknown")
    if "FunctionError" in answer:
        raise UpstreamUnavailable(service=name, problem=f"it failed in request {request_id}")
    try:
        payload = json.loads(body)
        if isinstance(payload, dict) and isinstance(result := payload.get("result"), dict):
            return result
        message = payload["error"]
    except (ValueError, TypeError, KeyError):
        raise UpstreamUnavailable(service=name, problem=f"no answer in request {request_id}") from None
    try:
        return from_message(message)
    except (AttributeError, IndexError, KeyError, TypeError, ValueError):
        # The error of another release, which this one does not know, is a defect.
        return InternalError(request_id=request_id)


def result_of(answer: dict[str, Any] | McpistError) -> dict[str, Any]:
    """Return a result; raise an error."""
    if isinstance(answer, McpistError):
        raise answer
    return answer
