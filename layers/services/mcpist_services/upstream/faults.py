"""What breaks below the SDK, carried through it to the request that it belongs to.

The SDK speaks JSON-RPC errors. So a fault of the wire becomes one, whose message is a token that stands for our own
typed error: an upstream cannot guess it, and nothing that an upstream writes is taken for a fault of the wire.
"""

import asyncio
import re
from collections.abc import Callable, Iterable
from secrets import token_hex

from mcp import MCPError
from mcp_types import (
    CONNECTION_CLOSED,
    INTERNAL_ERROR,
    PARSE_ERROR,
    REQUEST_TIMEOUT,
    ErrorData,
    JSONRPCError,
    RequestId,
)

from mcpist.errors import AnswerTooLarge, Timeout, ToolExecutionError, UpstreamUnavailable
from mcpist.running.error_messages import error_message
from mcpist.running.refusals import Failure

MAX_STORED_FAILURES = 1_000

_TOKEN = re.compile(r"fault-[0-9a-f]{32}")


class Faults:
    """The faults of one connection.

    `closed` is set once nothing more can come of it, `draining` is true when no further request is taken;
    `is_fresh` asks a child process, whose end is otherwise noticed a moment later.
    """

    def __init__(self, service: str, secrets: Iterable[str] = ()) -> None:
        self.service = service
        self.closed = asyncio.Event()
        self.is_fresh: Callable[[], bool] = lambda: True
        self.draining = False
        self.secrets = tuple(part for secret in secrets for part in (secret, secret.rpartition(" ")[2]))
        self._failures: dict[str, Failure] = {}
        self._close_failure: Failure | None = None

    def store(self, failure: Failure) -> str:
        """A token that stands for a failure."""
        if len(self._failures) >= MAX_STORED_FAILURES:  # of requests that nobody waits for any more
            self._failures.clear()
        token = f"fault-{token_hex(16)}"
        self._failures[token] = failure
        return token

    def error_response(self, request: RequestId | None, failure: Failure) -> JSONRPCError:
        """The JSON-RPC error that brings a failure to a request."""
        return JSONRPCError(
            jsonrpc="2.0", id=request, error=ErrorData(code=INTERNAL_ERROR, message=self.store(failure))
        )

    def close(self, failure: Failure) -> None:
        """The connection is gone; all that wait for an answer are told so."""
        self._close_failure = self._close_failure or failure
        self.closed.set()

    def drain(self) -> None:
        """The connection takes no further requests; what waits for an answer may still get it."""
        self.draining = True

    def from_exception(self, error: Exception, seconds: float = 0) -> Failure:
        """What an exception of the SDK means; `seconds` is how long was waited."""
        if isinstance(error, BaseExceptionGroup):
            return self.from_exception(_first_exception(error), seconds)
        if isinstance(error, MCPError):
            return self._from_mcp_error(error, seconds)
        if isinstance(error, TimeoutError):
            return Failure(Timeout(service=self.service, seconds=round(seconds, 1)))
        if self._close_failure is not None:
            return self._lost_connection()
        if isinstance(error, OSError):
            return self.unavailable(f"its command does not run here ({error.strerror or error})")
        return self.unavailable(f"its answer is no MCP ({type(error).__name__})")

    def unavailable(self, problem: str, *, safe_to_retry: bool = False) -> Failure:
        """The server is out of order in these words, which tell no secret."""
        return Failure(
            UpstreamUnavailable(service=self.service, problem=self.redact(problem)), safe_to_retry=safe_to_retry
        )

    def too_large(self, limit: int) -> Failure:
        """The answer is over the server's limit."""
        return Failure(AnswerTooLarge(service=self.service, limit_bytes=limit))

    def redact(self, text: str) -> str:
        """An upstream's words, bounded and without our secrets."""
        return error_message(text, self.secrets)

    def _from_mcp_error(self, error: MCPError, seconds: float) -> Failure:
        code, message = error.error.code, error.error.message
        token = _TOKEN.search(message)
        if token and (failure := self._failures.pop(token[0], None)):
            return failure
        if code == REQUEST_TIMEOUT:
            return Failure(Timeout(service=self.service, seconds=round(seconds, 1)))
        if code == CONNECTION_CLOSED:
            return self._lost_connection()
        if code == PARSE_ERROR:  # the SDK's text quotes the answer
            return self.unavailable("its answer is no JSON-RPC message")
        problem = self.redact(message) or "no readable message"
        return Failure(ToolExecutionError(service=self.service, http_status=code, problem=problem))

    def _lost_connection(self) -> Failure:
        """Why the connection ended, for one of those who waited: each gets an error of its own to add to."""
        if self._close_failure is None:
            return self.unavailable("the connection ended before the answer")
        error = self._close_failure.error
        return Failure(type(error)(**error.details))


def _first_exception(group: BaseExceptionGroup[BaseException]) -> Exception:
    """The fault within the groups of the SDK's tasks."""
    for error in group.exceptions:
        if isinstance(error, BaseExceptionGroup):
            return _first_exception(error)
        if isinstance(error, Exception):
            return error
    return RuntimeError("cancelled")
