"""The frame around every handler's work: its log lines, its typed errors and their count.

    DOOR = Door("connect")

    def handler(event: dict[str, Any], context: "LambdaContext") -> Response:
        return DOOR.answer(context, lambda: route(event), error_page, route=event["routeKey"])

The line `request` is logged when an invocation begins and `response` when it ends. They hold no token, header or body.
"""

import logging
import signal
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mcpist.aws.clients import AwsError
from mcpist.errors import DefectError, InternalError, McpistError, RequestTimeout
from mcpist.telemetry import invocation
from mcpist.telemetry.log_lines import LineLogger

if TYPE_CHECKING:
    from aws_lambda_powertools.utilities.typing import LambdaContext

RESPONSE_SECONDS = 2.0  # for the answer, after the work was interrupted

# At DEBUG these log requests and responses with their headers, and KMS responses with data keys in the clear.
for _library in ("boto3", "botocore", "httpcore2", "httpx2", "urllib3"):
    logging.getLogger(_library).setLevel(logging.WARNING)


@dataclass(frozen=True, slots=True)
class Door:
    """The handler of one function, apart from its work."""

    name: str
    logger: LineLogger = field(default_factory=LineLogger)
    counts_errors: bool = True
    """False where the caller of the function counts the errors that it receives."""
    logs_messages: bool = True
    """False where the message of an unexpected exception may quote a secret or a person's data."""
    answers_in_time: bool = False
    """Whether work that lasts until shortly before Lambda's timeout is interrupted, to answer with a TIMEOUT."""
    retried: tuple[type[Exception], ...] = ()
    """Exceptions that ask the caller to call again later: raised, but not logged as errors."""

    def answer[Response](
        self,
        context: "LambdaContext",
        work: Callable[[], Response],
        on_error: Callable[[McpistError], Response] | None = None,
        *,
        correlation: str | None = "",
        traceparent: str = "",
        **fields: Any,
    ) -> Response:
        """Return the result of `work`, or what `on_error` makes of its error; without `on_error` the error is raised.

        Any exception that is not an McpistError becomes an InternalError. Both log lines carry `fields`. The request's
        own id is the correlation id unless another is given; None leaves the first line to `invocation.log_request`.
        `traceparent` is the W3C trace that the request continues.
        """
        request_id, started = context.aws_request_id, time.monotonic()
        error: Exception | None = None
        with invocation.begin(
            self.name, self.logger, correlation or request_id, traceparent, request=request_id, **fields
        ):
            if correlation is not None:
                invocation.log_request()
            try:
                with time_limit(self._work_seconds(context)):
                    response = work()
            except Exception as caught:
                if on_error is None:
                    self._log_response(started, error=caught)
                    raise
                response, error = on_error(self._count(caught, request_id)), caught
            self._log_response(started, response, error)
            return response

    def _work_seconds(self, context: "LambdaContext") -> float:
        """Return the seconds after which the work is interrupted; 0 for never."""
        return context.get_remaining_time_in_millis() / 1000 - RESPONSE_SECONDS if self.answers_in_time else 0

    def _count(self, error: Exception, request_id: str) -> McpistError:
        """Return the typed error that is answered, and count it."""
        typed = error if isinstance(error, McpistError) else InternalError(request_id=request_id)
        if self.counts_errors:
            invocation.count_error(typed.code)
        return typed

    def _log_response(self, started: float, response: Any = None, error: Exception | None = None) -> None:
        """Log how the invocation ended; an unexpected exception with its traceback."""
        fields: dict[str, Any] = {
            "outcome": self._outcome(error),
            "milliseconds": round((time.monotonic() - started) * 1000),
        }
        if isinstance(response, dict) and "statusCode" in response:
            fields[invocation.STATUS_CODE] = response["statusCode"]
        if error is not None:
            fields[invocation.ERROR_TYPE] = fields["outcome"]
        unexpected = None if isinstance(error, (McpistError, *self.retried)) else error
        if unexpected and not self.logs_messages:
            fields |= _describe_without_message(unexpected)
        log = self.logger.error if unexpected or isinstance(error, DefectError) else self.logger.info
        log("response", extra=invocation.fields() | fields, exc_info=unexpected if self.logs_messages else None)

    def _outcome(self, error: Exception | None) -> str:
        if error is None:
            return "OK"
        if isinstance(error, self.retried):
            return type(error).__name__
        return error.code if isinstance(error, McpistError) else InternalError.code


@contextmanager
def typed_errors() -> Iterator[None]:
    """Log an exception that is not an McpistError, and raise an InternalError in its place."""
    try:
        yield
    except McpistError:
        raise
    except Exception:  # noqa: BLE001 - log_exception logs it
        invocation.log_exception()
        raise InternalError(request_id=invocation.request_id()) from None


def _describe_without_message(error: Exception) -> dict[str, Any]:
    """The type of an exception and where it arose."""
    frames = traceback.extract_tb(error.__traceback__)
    return {
        "defect": type(error).__name__,
        "aws_code": error.code if isinstance(error, AwsError) else None,
        "frames": [f"{Path(frame.filename).name}:{frame.lineno} {frame.name}" for frame in frames],
    }


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raise RequestTimeout in the middle of the work after some seconds; only the main thread can be interrupted."""
    if seconds <= 0 or threading.current_thread() is not threading.main_thread():
        yield
        return

    def interrupt(*_: Any) -> None:
        raise RequestTimeout(service="mcpist", seconds=round(seconds, 1), may_have_happened=True)

    before = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
