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
from mcpist.running.messages import words
from mcpist.running.refusals import Failure

MOST_KEPT = 1_000

_TOKEN = re.compile(r"fault-[0-9a-f]{32}")


class Faults:
    """The faults of one connection.

    `over` is set once nothing more can come of it, `worn` is true where only the answers that are waited for still may;
    `lives` asks a child process, whose end is otherwise noticed a moment later.
    """

    def __init__(self, service: str, secrets: Iterable[str] = ()) -> None:
        self.service = service
        self.over = asyncio.Event()
        self.lives: Callable[[], bool] = lambda: True
        self.worn = False
        self.secrets = tuple(part for secret in secrets for part in (secret, secret.rpartition(" ")[2]))
        self._kept: dict[str, Failure] = {}
        self._last: Failure | None = None

    def keep(self, failure: Failure) -> str:
        """A token that stands for a failure."""
        if len(self._kept) >= MOST_KEPT:  # of requests that nobody waits for any more
            self._kept.clear()
        token = f"fault-{token_hex(16)}"
        self._kept[token] = failure
        return token

    def answer(self, request: RequestId | None, failure: Failure) -> JSONRPCError:
        """The JSON-RPC error that brings a failure to a request."""
        return JSONRPCError(jsonrpc="2.0", id=request, error=ErrorData(code=INTERNAL_ERROR, message=self.keep(failure)))

    def end(self, failure: Failure) -> None:
        """The connection is gone; all that wait for an answer are told so."""
        self._last = self._last or failure
        self.over.set()

    def wear(self) -> None:
        """The connection takes no further requests; what waits for an answer may still get it."""
        self.worn = True

    def of(self, error: Exception, seconds: float = 0) -> Failure:
        """What an exception of the SDK means; `seconds` is how long was waited."""
        if isinstance(error, BaseExceptionGroup):
            return self.of(_first(error), seconds)
        if isinstance(error, MCPError):
            return self._of_answer(error, seconds)
        if isinstance(error, TimeoutError):
            return Failure(Timeout(service=self.service, seconds=round(seconds, 1)))
        if self._last is not None:
            return self._lost()
        if isinstance(error, OSError):
            return self.unavailable(f"its command does not run here ({error.strerror or error})")
        return self.unavailable(f"its answer is no MCP ({type(error).__name__})")

    def unavailable(self, problem: str, *, harmless: bool = False) -> Failure:
        """The server is out of order in these words, which tell no secret."""
        return Failure(UpstreamUnavailable(service=self.service, problem=self.said(problem)), harmless=harmless)

    def too_large(self, limit: int) -> Failure:
        """The answer is over the server's limit."""
        return Failure(AnswerTooLarge(service=self.service, limit_bytes=limit))

    def said(self, text: str) -> str:
        """An upstream's words, bounded and without our secrets."""
        return words(text, self.secrets)

    def _of_answer(self, error: MCPError, seconds: float) -> Failure:
        code, message = error.error.code, error.error.message
        token = _TOKEN.search(message)
        if token and (kept := self._kept.pop(token[0], None)):
            return kept
        if code == REQUEST_TIMEOUT:
            return Failure(Timeout(service=self.service, seconds=round(seconds, 1)))
        if code == CONNECTION_CLOSED:
            return self._lost()
        if code == PARSE_ERROR:  # the SDK's text quotes the answer
            return self.unavailable("its answer is no JSON-RPC message")
        problem = self.said(message) or "no readable message"
        return Failure(ToolExecutionError(service=self.service, http_status=code, problem=problem))

    def _lost(self) -> Failure:
        """Why the connection ended, for one of those who waited: each gets an error of its own to add to."""
        if self._last is None:
            return self.unavailable("the connection ended before the answer")
        known = self._last.error
        return Failure(type(known)(**known.details))


def _first(group: BaseExceptionGroup[BaseException]) -> Exception:
    """The fault within the groups of the SDK's tasks."""
    for error in group.exceptions:
        if isinstance(error, BaseExceptionGroup):
            return _first(error)
        if isinstance(error, Exception):
            return error
    return RuntimeError("cancelled")
