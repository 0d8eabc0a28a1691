"""moto's Step Functions: programs of machines kept by their definitions, and Tasks that invoke in this process.

moto parses a definition when its machine is created and at each start of an execution, at seconds of CPU for a large
one, and a path each time a state reads it. Both are the same for all executions: what belongs to one is in moto's
`Environment`. For each Task it makes a boto3 client, at a fifth of the CPU that a batch takes. It starts all executions
at once; here they take turns.
"""

import http.client
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from http import HTTPStatus
from io import BytesIO
from math import inf
from typing import Any
from urllib.parse import quote, urlencode

from botocore.exceptions import ClientError
from moto.stepfunctions.parser.asl.component.state.exec.state_task import lambda_eval_utils
from moto.stepfunctions.parser.asl.parse.asl_parser import AmazonStateLanguageParser
from moto.stepfunctions.parser.asl.utils import json_path
from moto.stepfunctions.parser.backend.execution_worker import ExecutionWorker
from moto.stepfunctions.parser.utils import TMP_THREADS

from infra.local.execution_queue import ExecutionQueue, branches_of, organization_of
from infra.local.fair_queue import FairQueue
from infra.local.server import App, LoopbackRequest

MAX_PROGRAMS, MAX_PATHS = 16, 4_096
MAX_WAIT_SECONDS = 3_600  # longer than any batch runs

_parse = AmazonStateLanguageParser.parse
_paths: Any = json_path  # it does not export the name that is replaced
_parse_path = _paths.parse
LOOPBACK = "127.0.0.1"
_utils: Any = lambda_eval_utils  # it does not export the name that is replaced


class Program:
    """A definition, which is parsed once, however many executions need it at the same moment.

    No error is kept, so an invalid definition is refused each time.
    """

    def __init__(self, definition: str) -> None:
        self._definition = definition
        self._lock = threading.Lock()
        self._parsed: Any = None

    def parsed(self) -> Any:
        """Return moto's form of it."""
        with self._lock:
            if self._parsed is None:
                self._parsed = _parse(self._definition)
            return self._parsed


_program = lru_cache(MAX_PROGRAMS)(Program)


def install() -> None:
    """Let moto keep programs and paths, in this process."""
    _paths.parse = lru_cache(MAX_PATHS)(_parse_path)
    AmazonStateLanguageParser.parse = lambda definition: _program(definition).parsed()  # type: ignore[method-assign]


@dataclass(frozen=True)
class TaskClient:
    """The part of boto3's Lambda client that moto uses, with turns of the organizations whose steps it runs."""

    serve: App
    turns: FairQueue = field(default_factory=FairQueue)

    def invoke(self, *, FunctionName: str, Payload: bytes = b"", Qualifier: str = "") -> dict[str, Any]:  # noqa: N803
        """Return the response to an Invoke request, as boto3 does; ClientError where it is refused."""
        environ = {
            "REQUEST_METHOD": "POST",
            "RAW_URI": f"/2015-03-31/functions/{quote(FunctionName, safe='')}/invocations",
            "QUERY_STRING": urlencode({"Qualifier": Qualifier}) if Qualifier else "",
            "REMOTE_ADDR": LOOPBACK,
        }
        with self.turns.turn(organization_of(json.loads(Payload or b"{}")).encode(), MAX_WAIT_SECONDS):
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
def tasks_invoking(serve: App, steps_at_once: float = inf) -> Iterator[None]:
    """Let the Tasks of moto's machines send their Invoke requests to `serve`, and executions take turns.

    So many are sent at once, in equal parts for the organizations that have any. A step that waits here asks no sandbox
    for a place again and again.
    """
    turns = FairQueue(at_once=steps_at_once, shared=steps_at_once, max_waiting=inf, spacing_seconds=0)
    client, before, queue = TaskClient(serve, turns), _utils.boto_client_for, ExecutionQueue()

    def start(worker: Any) -> None:
        # moto remembers each thread for ever, and so the memory of its stack: after 32,000 branches there is none left.
        TMP_THREADS.clear()
        details = worker._evaluation_details  # noqa: SLF001 - moto gives no other way to them
        branches = branches_of(details.state_machine_details.definition)
        queue.submit(organization_of(details.execution_details.inpt), branches, worker._execution_logic)  # noqa: SLF001

    start_at_once = ExecutionWorker.start
    _utils.boto_client_for = lambda **_: client
    ExecutionWorker.start = start  # type: ignore[method-assign]
    try:
        yield
    finally:
        queue.close()
        ExecutionWorker.start = start_at_once  # type: ignore[method-assign]
        _utils.boto_client_for = before
