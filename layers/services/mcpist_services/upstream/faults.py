"""Transport failures below the SDK, carried through it to the request that they belong to.

The SDK knows only JSON-RPC errors. So a transport failure becomes one, whose message is a random token for our own
typed error: an upstream cannot guess it, so nothing that an upstream sends is taken for a transport failure.
"""

import asyncio
import re
from collections.abc import Callable, Iterable
from secrets import token_hex

import mcp_types
from mcp import MCPError

from mcpist.errors import AnswerTooLarge, ProgramUnavailable, Timeout, ToolExecutionError, UpstreamUnavailable
from mcpist.running.refusals import Failure, error_message

MAX_STORED_FAILURES = 1_000

_TOKEN = re.compile(r"fault-[0-9a-f]{32}")


class Faults:
    """The transport failures of one connection.

    `closed` is set once the connection has ended, `draining` is true when it takes no further requests, while those
    under way may still be answered; `is_fresh` asks a child process, whose end is otherwise noticed a moment later.
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
        """Store a failure and return its token."""
        if len(self._failures) >= MAX_STORED_FAILURES:  # left by requests that nobody waits for
            self._failures.clear()
        token = f"fault-{token_hex(16)}"
        self._failures[token] = failure
        return token

    def error_response(self, request: mcp_types.RequestId | None, failure: Failure) -> mcp_types.JSONRPCError:
        """Return the JSON-RPC error that carries a failure to a request."""
        error = mcp_types.ErrorData(code=mcp_types.INTERNAL_ERROR, message=self.store(failure))
        return mcp_types.JSONRPCError(jsonrpc="2.0", id=request, error=error)

    def close(self, failure: Failure) -> None:
        """Mark the connection as ended, and fail all requests that wait."""
        self._close_failure = self._close_failure or failure
        self.closed.set()

    def from_exception(self, error: Exception, seconds: float = 0) -> Failure:
        """Return the failure that an exception of the SDK means; `seconds` is how long the request waited."""
        if isinstance(error, BaseExceptionGroup):
            return self.from_exception(_first_exception(error), seconds)
        if isinstance(error, MCPError):
            return self._from_mcp_error(error, seconds)
        if isinstance(error, ProgramUnavailable):
            return Failure(error)
        if isinstance(error, TimeoutError):
            return Failure(Timeout(service=self.service, seconds=round(seconds, 1)))
        if self._close_failure is not None:
            return self._lost_connection()
        if isinstance(error, OSError):
            return self.unavailable(f"its command does not run here ({error.strerror or error})")
        return self.unavailable(f"its answer is no MCP ({type(error).__name__})")

    def unavailable(self, problem: str, *, safe_to_retry: bool = False) -> Failure:
        """Return a failure of the server with this problem, which holds no secret."""
        return Failure(
            UpstreamUnavailable(service=self.service, problem=self.redact(problem)), safe_to_retry=safe_to_retry
        )

    def too_large(self, limit: int) -> Failure:
        """Return the failure for a response over the server's limit."""
        return Failure(AnswerTooLarge(service=self.service, limit_bytes=limit))

    def redact(self, text: str) -> str:
        """Bound an upstream's text, and remove our secrets from it."""
        return error_message(text, self.secrets)

    def _from_mcp_error(self, error: MCPError, seconds: float) -> Failure:
        code, message = error.error.code, error.error.message
        token = _TOKEN.search(message)
        if token and (failure := self._failures.pop(token[0], None)):
            return failure
        if code == mcp_types.REQUEST_TIMEOUT:
            return Failure(Timeout(service=self.service, seconds=round(seconds, 1)))
        if code == mcp_types.CONNECTION_CLOSED:
            return self._lost_connection()
        if code == mcp_types.PARSE_ERROR:  # the SDK's text quotes the answer
            return self.unavailable("its answer is no JSON-RPC message")
        problem = self.redact(message) or "no readable message"
        return Failure(ToolExecutionError(service=self.service, http_status=code, problem=problem))

    def _lost_connection(self) -> Failure:
        """Return why the connection ended, as an error of its own for each waiting request."""
        if self._close_failure is None:
            return self.unavailable("the connection ended before the answer")
        error = self._close_failure.error
        return Failure(type(error)(**error.details))


def _first_exception(group: BaseExceptionGroup[BaseException]) -> Exception:
    """Return the first exception within the groups of the SDK's tasks."""
    for error in group.exceptions:
        if isinstance(error, BaseExceptionGroup):
            return _first_exception(error)
        if isinstance(error, Exception):
            return error
    return RuntimeError("cancelled")
