"""An event loop in a thread of its own, for synchronous code that needs asynchronous clients."""

import asyncio
import os
import threading
import time
from collections.abc import Coroutine
from typing import Any

# Coroutines keep their own deadlines; this is for a loop that is too busy to end them.
DEADLINE_GRACE_SECONDS = 1.0
JOIN_TIMEOUT_SECONDS = 8.0


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
