"""moto's Step Functions: programs of machines kept by their definitions, and Tasks that invoke in this process.

moto parses a definition when its machine is created and at each start of an execution, at seconds of CPU for a large
one, and a path each time a state reads it. Both are the same for all executions: what belongs to one is in moto's
`Environment`. For each Task it makes a boto3 client, at a fifth of the CPU that a batch takes.
"""

import http.client
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from http import HTTPStatus
from io import BytesIO
from typing import Any
from urllib.parse import quote, urlencode

from botocore.exceptions import ClientError
from moto.stepfunctions.parser.asl.component.state.exec.state_task import lambda_eval_utils
from moto.stepfunctions.parser.asl.parse.asl_parser import AmazonStateLanguageParser
from moto.stepfunctions.parser.asl.utils import json_path

from infra.local.server import App, LoopbackRequest

MAX_PROGRAMS, MAX_PATHS = 16, 4_096

_parse = AmazonStateLanguageParser.parse
_paths: Any = json_path  # it does not export the name that is replaced
_parse_path = _paths.parse
LOOPBACK = "127.0.0.1"
_utils: Any = lambda_eval_utils  # it does not export the name that is replaced


def install() -> None:
    """Let moto keep programs and paths, in this process."""
    _paths.parse = lru_cache(MAX_PATHS)(_parse_path)
    # It keeps no error, so an invalid definition is refused each time.
    AmazonStateLanguageParser.parse = lru_cache(MAX_PROGRAMS)(_parse)  # type: ignore[method-assign]


@dataclass(frozen=True)
class TaskClient:
    """The part of boto3's Lambda client that moto uses."""

    serve: App

    def invoke(self, *, FunctionName: str, Payload: bytes = b"", Qualifier: str = "") -> dict[str, Any]:  # noqa: N803
        """Return the response to an Invoke request, as boto3 does; ClientError where it is refused."""
        environ = {
            "REQUEST_METHOD": "POST",
            "RAW_URI": f"/2015-03-31/functions/{quote(FunctionName, safe='')}/invocations",
            "QUERY_STRING": urlencode({"Qualifier": Qualifier}) if Qualifier else "",
            "REMOTE_ADDR": LOOPBACK,
        }
        response = self.serve(LoopbackRequest(environ, http.client.HTTPMessage(), Payload))
        headers = {name.lower(): value for name, value in response.headers}
        if response.status >= HTTPStatus.MULTIPLE_CHOICES:
            raise _refusal(response.status, headers, response.body)
        error = {"FunctionError": headers["x-amz-function-error"]} if "x-amz-function-error" in headers else {}
        return {
            "StatusCode": response.status,
            "ExecutedVersion": headers.get("x-amz-executed-version", ""),
            "Payload": BytesIO(response.body),
            **error,
        }


def _refusal(status: int, headers: dict[str, str], body: bytes) -> ClientError:
    error: Any = {
        "Error": {"Code": headers.get("x-amzn-errortype", str(status)), "Message": body.decode(errors="replace")},
        "ResponseMetadata": {"HTTPStatusCode": status, "RequestId": headers.get("x-amzn-requestid", "")},
    }
    return ClientError(error, "Invoke")


@contextmanager
def tasks_invoking(serve: App) -> Iterator[None]:
    """Let the Tasks of moto's machines send their Invoke requests to `serve`."""
    client, before = TaskClient(serve), _utils.boto_client_for
    _utils.boto_client_for = lambda **_: client
    try:
        yield
    finally:
        _utils.boto_client_for = before
