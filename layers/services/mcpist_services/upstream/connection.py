"""One live connection to an upstream server, and the event loop in a thread of its own that connections live in."""

import asyncio
import logging
import os
import threading
import time
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from typing import Any

import mcp_types
from mcp import MCPError
from mcp.client import Client
from mcp_types import CONNECTION_CLOSED, REQUEST_TIMEOUT, Implementation
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from pydantic import ValidationError

from mcpist.programs.messages import ServerDeclaration
from mcpist.running.refusals import Failure
from mcpist_services.upstream.configuration import UpstreamServer
from mcpist_services.upstream.faults import Faults
from mcpist_services.upstream.listing import check_lists

HANDSHAKE_TIMEOUT_SECONDS = 30.0
PING_TIMEOUT_SECONDS = 2.0
# After so long a silence the stream may be dead, for instance since the sandbox was frozen.
MAX_SILENCE_SECONDS = 60.0
CLIENT_INFO = Implementation(name="mcpist", version="1")
# Coroutines keep their own deadlines; this is for a loop that is too busy to end them.
DEADLINE_GRACE_SECONDS = 1.0
JOIN_TIMEOUT_SECONDS = 8.0

type Request[T] = Callable[[Client], Awaitable[T]]
type OpenTransport = Callable[[Faults, AsyncExitStack], Awaitable[AbstractAsyncContextManager[Any]]]
"""Opens what carries the messages to a server; the stack ends with the connection."""


class UpstreamConnection:
    """A session with a server as one identity, whose secrets are in no error.

    `mode` is the protocol's era: `auto`, or `legacy`.
    """

    def __init__(
        self,
        name: str,
        server: UpstreamServer | ServerDeclaration,
        secrets: Iterable[str],
        open_transport: OpenTransport,
        mode: str = "auto",
    ) -> None:
        self.faults = Faults(name, secrets)
        self._server = server
        self._open_transport = open_transport
        self._mode = mode
        self._client: Client | None = None
        self._task: asyncio.Task[None] | None = None
        self._pending = 0
        self._last_response_at = time.time()
        self._is_suspect = False

    async def open(self) -> Failure | None:
        """Connect and agree on a version; return the failure if that does not succeed."""
        begun = time.monotonic()
        opened = asyncio.get_running_loop().create_future()
        self._task = asyncio.create_task(self._hold_open(opened))
        try:
            await asyncio.wait({self._task, opened}, return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            self._task.cancel()
            await asyncio.wait({self._task})
            raise
        if opened.done():
            self._task.add_done_callback(self._on_client_ended)
            return None
        error = self._task.exception()
        cause = error if isinstance(error, Exception) else RuntimeError()
        failed = self.faults.from_exception(cause, time.monotonic() - begun)
        return Failure(failed.error, safe_to_retry=True)

    async def send[T](self, request: Request[T], deadline: float) -> T | Failure:
        """Send a request; return the response, or the failure by the deadline or the server's own limit."""
        assert self._client is not None
        begun, self._pending = time.monotonic(), self._pending + 1
        deadline = min(deadline, begun + self._server.timeout_seconds)
        try:
            async with asyncio.timeout_at(deadline):
                answer = await request(self._client)
        except (MCPError, TimeoutError) as error:
            failed = self.faults.from_exception(error, time.monotonic() - begun)
            self._is_suspect |= isinstance(error, TimeoutError) or error.error.code == REQUEST_TIMEOUT
            return failed
        except (ValidationError, RuntimeError) as error:
            return self.faults.from_exception(error)
        else:
            self._last_response_at = time.time()
            return answer
        finally:
            self._pending -= 1
            self._close_if_drained()

    async def is_usable(self) -> bool:
        """Whether a request may be sent; after a long silence the server is pinged first."""
        if self.faults.closed.is_set() or self.faults.draining or not self.faults.is_fresh():
            return False
        if self._server.type == "http":
            return True
        silent = self._server.type == "sse" and not 0 <= time.time() - self._last_response_at < MAX_SILENCE_SECONDS
        if (self._is_suspect or silent) and not await self._ping():
            self.faults.close(self.faults.unavailable("it gives no sign of life"))
            return False
        return True

    def retire(self) -> None:
        """Take no more requests, and close after the last response."""
        self.faults.draining = True
        self._close_if_drained()

    async def close(self) -> None:
        """End the session, and the server if it is our child."""
        self.faults.close(self.faults.unavailable("the connection was closed"))
        if self._task is not None:
            await asyncio.wait({self._task})

    @property
    def is_busy(self) -> bool:
        """Whether a request waits for its response."""
        return self._pending > 0

    @property
    def is_closed(self) -> bool:
        """Whether everything of it has ended."""
        return self._task is None or self._task.done()

    @property
    def protocol_mode(self) -> str:
        """Return how to connect the next time: by handshake at once if the server knows nothing newer."""
        known = self._client.protocol_version if self._client and self._client._session else ""  # noqa: SLF001
        return "legacy" if known in HANDSHAKE_PROTOCOL_VERSIONS else "auto"

    async def _hold_open(self, opened: "asyncio.Future[None]") -> None:
        """Hold the client open until the connection ends: the SDK wants it left by the task that entered it."""
        async with AsyncExitStack() as stack:
            async with asyncio.timeout(max(HANDSHAKE_TIMEOUT_SECONDS, self._server.timeout_seconds)):
                transport = await self._open_transport(self.faults, stack)
                entered = Client(transport, mode=self._mode, cache=None, client_info=CLIENT_INFO)
                self._client = await stack.enter_async_context(entered)
                check_lists(self._client.session)
            opened.set_result(None)
            await self.faults.closed.wait()

    async def _ping(self) -> bool:
        """Whether the server answers at all, even with an unknown method."""
        assert self._client is not None
        ping = mcp_types.PingRequest()
        try:
            await self._client.session.send_request(ping, mcp_types.EmptyResult, PING_TIMEOUT_SECONDS)
        except MCPError as error:
            if error.error.code in {CONNECTION_CLOSED, REQUEST_TIMEOUT}:
                return False
        except ValidationError:
            pass
        self._is_suspect, self._last_response_at = False, time.time()
        return True

    def _close_if_drained(self) -> None:
        if self.faults.draining and not self._pending:
            self.faults.close(self.faults.unavailable("the connection was renewed"))

    def _on_client_ended(self, task: asyncio.Task[None]) -> None:
        """Close the connection after its client's task ended for any reason."""
        error = None if task.cancelled() else task.exception()
        kind = type(error).__name__ if error else ""
        logging.getLogger(__name__).debug("upstream closed", extra={"server": self.faults.service, "error": kind})
        self.faults.close(self.faults.unavailable("the connection ended"))


class BackgroundLoop:
    """Run coroutines in a thread that starts with the first one, and again in a forked process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._pid = 0
        self._thread: threading.Thread | None = None

    def run[T](self, work: Coroutine[Any, Any, T], deadline: float) -> T:
        """Return the result of a coroutine that keeps its own deadline; raise TimeoutError a little after it."""
        future = asyncio.run_coroutine_threadsafe(work, self._ensure_loop())
        try:
            return future.result(max(0.0, deadline - time.monotonic()) + DEADLINE_GRACE_SECONDS)
        except TimeoutError:
            future.cancel()
            raise

    def submit(self, work: Coroutine[Any, Any, None]) -> None:
        """Start a coroutine without waiting for it."""
        asyncio.run_coroutine_threadsafe(work, self._ensure_loop())

    @property
    def started(self) -> bool:
        """Whether the thread runs in this process."""
        return self._loop is not None and self._pid == os.getpid()

    def stop(self) -> None:
        """Stop the loop, its tasks and the thread."""
        with self._lock:
            loop, thread, self._loop, self._thread = self._loop, self._thread, None, None
            mine = self._pid == os.getpid()
        if loop is None or thread is None or not mine:
            return
        loop.call_soon_threadsafe(loop.stop)
        thread.join(JOIN_TIMEOUT_SECONDS)

    def _ensure_loop(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._loop is None or self._pid != os.getpid():
                self._loop, self._pid = asyncio.new_event_loop(), os.getpid()
                self._thread = threading.Thread(target=_run_loop, args=[self._loop], name="upstreams", daemon=True)
                self._thread.start()
            return self._loop


def _run_loop(loop: asyncio.AbstractEventLoop) -> None:
    """Run the loop until it is stopped, then cancel its remaining tasks."""
    with asyncio.Runner(loop_factory=lambda: loop) as runner:
        runner.get_loop().run_forever()
