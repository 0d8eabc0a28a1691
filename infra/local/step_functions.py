"""moto's Step Functions: programs of machines kept by their definitions, and Tasks that invoke in this process.

moto parses a definition when its machine is created and at each start of an execution, at seconds of CPU for a large
one, and a path each time a state reads it. Both are the same for all executions: what belongs to one is in moto's
`Environment`. For each Task it makes a boto3 client, at a fifth of the CPU that a batch takes. It starts all executions
at once, each branch in up to three threads, nearly five thousand for 45 batches of 60 branches: here few run their
branches at once, and no organization takes all places of another.
"""

import http.client
import json
import threading
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterator, Mapping
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


MAX_BRANCHES = 120
MAX_BRANCHES_PER_ORGANIZATION = MAX_BRANCHES // 2
DEFAULT_MAP_BRANCHES = 40  # of a Map without MaxConcurrency: AWS runs about as many


class ExecutionQueue:
    """The executions that run, and those that wait, by their organizations."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: Counter[str] = Counter()
        self._turns = 0
        self._last_turns: Counter[str] = Counter()
        self._waiting: defaultdict[str, deque[tuple[int, Callable[[], None]]]] = defaultdict(deque)

    def submit(self, organization: str, branches: int, run: Callable[[], None]) -> None:
        """Run an execution in a thread of its own, now or when the running ones leave it room."""
        with self._lock:
            self._waiting[organization].append((branches, run))
        self._start_next()

    def close(self) -> None:
        """Start none of those that wait."""
        with self._lock:
            self._waiting.clear()

    def _start_next(self) -> None:
        """Start the executions whose turn it is, while they fit; all others wait for one that does not."""
        with self._lock:
            while (organization := self._next()) is not None:
                waiting = self._waiting[organization]
                branches = waiting[0][0]
                if self._running and self._running.total() + branches > MAX_BRANCHES:
                    return
                _, run = waiting.popleft()
                if not waiting:
                    del self._waiting[organization]
                self._running[organization] += branches
                self._turns += 1
                self._last_turns[organization] = self._turns
                arguments = (organization, branches, run)
                threading.Thread(target=self._run, args=arguments, name="execution", daemon=True).start()

    def _next(self) -> str | None:
        """Return the organization whose turn it is: with the fewest branches, then with the earliest last turn.

        An execution that is wider than the share of its organization runs beside no other of it.
        """
        within = [
            name
            for name, waiting in self._waiting.items()
            if not self._running[name] or self._running[name] + waiting[0][0] <= MAX_BRANCHES_PER_ORGANIZATION
        ]
        return min(within, key=lambda name: (self._running[name], self._last_turns[name]), default=None)

    def _run(self, organization: str, branches: int, run: Callable[[], None]) -> None:
        try:
            run()
        finally:
            with self._lock:
                self._running[organization] -= branches
                self._running += Counter()  # drops those that have none
            self._start_next()


def organization_of(execution_input: Any) -> str:
    """Return the organization whose batch an execution runs; empty for another machine."""
    batch = execution_input.get("batch") if isinstance(execution_input, dict) else None
    return batch.partition("#")[0] if isinstance(batch, str) else ""


@lru_cache(maxsize=256)
def branches_of(definition: str) -> int:
    """Return how many branches of a machine can run at once."""
    return _width(json.loads(definition)["States"])


def _width(states: Mapping[str, Any]) -> int:
    return max(map(_width_of, states.values()))


def _width_of(state: Mapping[str, Any]) -> int:
    if state["Type"] == "Parallel":
        return sum(_width(branch["States"]) for branch in state["Branches"])
    if state["Type"] == "Map":
        inner = state.get("ItemProcessor") or state["Iterator"]
        return int(state.get("MaxConcurrency") or DEFAULT_MAP_BRANCHES) * _width(inner["States"])
    return 1
