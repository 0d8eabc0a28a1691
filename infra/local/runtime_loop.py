"""A minimal Lambda runtime, for platforms without a wheel of `awslambdaric` (macOS).

Reference: https://docs.aws.amazon.com/lambda/latest/dg/runtimes-api.html
"""

import http.client
import importlib
import json
import os
import sys
import time
import traceback
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from typing import Any

MIN_ERROR_STATUS = 300


@dataclass(frozen=True, slots=True)
class Context:
    """The handler's second argument."""

    aws_request_id: str
    invoked_function_arn: str
    deadline_ms: int
    function_name: str
    function_version: str
    memory_limit_in_mb: str
    log_group_name: str
    log_stream_name: str
    client_context: None = None
    identity: None = None

    def get_remaining_time_in_millis(self) -> int:
        """Return the milliseconds until the invocation's timeout."""
        return max(0, self.deadline_ms - int(time.time() * 1000))


def run(handler: str, api: str) -> None:
    """Serve invocations until the runtime API closes the connection."""
    host, _, prefix = api.partition("/")
    base = f"/{prefix}/2018-06-01/runtime" if prefix else "/2018-06-01/runtime"
    with closing(http.client.HTTPConnection(host)) as connection:
        _serve(connection, base, handler)


def _serve(connection: http.client.HTTPConnection, base: str, handler: str) -> None:
    try:
        function = _load_handler(handler)
    except Exception as error:  # noqa: BLE001 - any failure is reported as Lambda reports it
        _call(connection, "POST", f"{base}/init/error", _error(error, ""))
        sys.exit(1)
    while True:
        headers, body = _call(connection, "GET", f"{base}/invocation/next")
        request_id = headers["Lambda-Runtime-Aws-Request-Id"]
        try:
            answer, end = json.dumps(function(json.loads(body), _context(headers))).encode(), "response"
        except Exception as error:  # noqa: BLE001 - any failure is the function's
            traceback.print_exc()
            answer, end = _error(error, request_id), "error"
        _call(connection, "POST", f"{base}/invocation/{request_id}/{end}", answer)


def _load_handler(handler: str) -> Callable[[Any, Context], Any]:
    module, _, name = handler.rpartition(".")
    function: Callable[[Any, Context], Any] = getattr(importlib.import_module(module), name)
    if os.environ.get("AWS_LAMBDA_INITIALIZATION_TYPE") == "snap-start":
        from snapshot_restore_py import get_after_restore

        for hook, arguments, named in get_after_restore():
            hook(*arguments, **named)
    return function


def _context(headers: http.client.HTTPMessage) -> Context:
    return Context(
        aws_request_id=headers["Lambda-Runtime-Aws-Request-Id"],
        invoked_function_arn=headers["Lambda-Runtime-Invoked-Function-Arn"],
        deadline_ms=int(headers["Lambda-Runtime-Deadline-Ms"]),
        function_name=os.environ["AWS_LAMBDA_FUNCTION_NAME"],
        function_version=os.environ["AWS_LAMBDA_FUNCTION_VERSION"],
        memory_limit_in_mb=os.environ["AWS_LAMBDA_FUNCTION_MEMORY_SIZE"],
        log_group_name=os.environ["AWS_LAMBDA_LOG_GROUP_NAME"],
        log_stream_name=os.environ["AWS_LAMBDA_LOG_STREAM_NAME"],
    )


def _error(error: Exception, request_id: str) -> bytes:
    trace = traceback.format_list(traceback.extract_tb(error.__traceback__)[1:])
    body = {"errorMessage": str(error), "errorType": type(error).__name__, "requestId": request_id, "stackTrace": trace}
    return json.dumps(body).encode()


def _call(
    connection: http.client.HTTPConnection, method: str, path: str, body: bytes | None = None
) -> tuple[http.client.HTTPMessage, bytes]:
    connection.request(method, path, body, {"Content-Type": "application/json"})
    answer = connection.getresponse()
    content = answer.read()
    if answer.status >= MIN_ERROR_STATUS:
        raise ConnectionError(f"the runtime API answered {answer.status}")
    return answer.headers, content
