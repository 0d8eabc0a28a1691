"""The front that all HTTP doors share: an exchange with its deadline, the limits of its caller, headers of errors."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mcpist.audit import record as audit
from mcpist.caller import Caller
from mcpist.errors import McpistError, MethodNotAllowed, RateLimitExceeded, TooManyInFlight, UserLimitReached
from mcpist.http.bearer import challenge
from mcpist.http.request import HttpRequest, HttpResponse, response_headers
from mcpist.memory import Clock, Memory, wall_clock
from mcpist.people.in_flight import in_flight
from mcpist.people.quota import request_quota
from mcpist.telemetry.door import Door

if TYPE_CHECKING:
    from aws_lambda_powertools.utilities.typing import LambdaContext

RESPONSE_RESERVE_SECONDS = 3.0
ROW_SECONDS = 60
MAX_USERS = 1_000
# The module of a row's tool, and the tool by the limit.
LIMITS = "limits"
_TOOLS: dict[type[RateLimitExceeded], str] = {UserLimitReached: "requests", TooManyInFlight: "in_flight"}


@dataclass(frozen=True)
class Exchange:
    """One request that is being answered; each door adds what its functions share."""

    request_id: str
    deadline: float
    """On the monotonic clock, in seconds."""

    @property
    def remaining(self) -> float:
        """The seconds that are left for the work, so that the response is sent before the deadline."""
        return self.deadline - time.monotonic() - RESPONSE_RESERVE_SECONDS


def serve(
    door: Door,
    request: HttpRequest,
    context: "LambdaContext",
    respond: Callable[[Exchange], HttpResponse],
    refuse: Callable[[McpistError], HttpResponse],
    **logged: Any,
) -> HttpResponse:
    """Return the response of a door to a request, or what `refuse` makes of its error; both log lines have `logged`."""
    exchange = Exchange(context.aws_request_id, time.monotonic() + context.get_remaining_time_in_millis() / 1000)
    return door.answer(context, lambda: respond(exchange), refuse, traceparent=request.traceparent, **logged)


def serve_programs(
    door: Door,
    request: HttpRequest,
    context: "LambdaContext",
    respond: Callable[[Exchange], HttpResponse],
    refuse: Callable[[McpistError], HttpResponse],
) -> HttpResponse:
    """Serve programs, pages of allowed origins among them."""
    response = serve(door, request, context, respond, refuse, path=request.path)
    added = response_headers(request.headers) | request.transport_headers
    varies = [named for headers in (response["headers"], added) if (named := headers.pop("vary", ""))]
    response["headers"] |= added | ({"vary": ", ".join(varies)} if varies else {})
    return response


def error_headers(request: HttpRequest, error: McpistError) -> dict[str, str]:
    """Return the headers that tell a program how or when to continue after an error."""
    headers = challenge(error, request.asked_url)
    if "retry_after" in error.details:
        headers["retry-after"] = str(error.details["retry_after"])
    if isinstance(error, MethodNotAllowed):
        headers["allow"] = error.details["allowed"]
    return headers


class RefusedRequests:
    """The requests that one sandbox refused: each user and limit has an audit row a minute, so that none fill it."""

    def __init__(self, clock: Clock = wall_clock) -> None:
        self._recorded: Memory[tuple[str, str, str], bool] = Memory(ROW_SECONDS, MAX_USERS, clock)

    @contextmanager
    def audited(self, caller: Caller, request: str) -> Iterator[None]:
        """Write a row for a request that is refused in this context, unless the user has one of this minute."""
        try:
            yield
        except tuple(_TOOLS) as error:
            tool = _TOOLS[type(error)]
            key = (caller.organization, caller.user, tool)
            if not self._recorded.get(key):
                self._recorded.put(key, True)
                with audit.best_effort():
                    audit.record_use(caller, LIMITS, tool, outcome=error.code, request=request)
            raise


refused_requests = RefusedRequests()


@contextmanager
def limited(caller: Caller, request_id: str, *, may_wait: bool = True) -> Iterator[None]:
    """Count a request against the limits of its caller while it is answered.

    Only one that may wait, for another server or a store, takes a place among those in flight.
    """
    with refused_requests.audited(caller, request_id):
        request_quota.count(caller)
        with in_flight.counted(caller) if may_wait else nullcontext():
            yield
