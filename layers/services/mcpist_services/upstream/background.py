"""An event loop in a thread of its own, which goes on while the sandbox's own code is synchronous."""

import asyncio
import os
import threading
import time
from collections.abc import Coroutine
from typing import Any

# What runs in the loop keeps its own time; this is for a loop that is too busy to.
LATE_SECONDS = 1.0
END_SECONDS = 8.0


class Background:
    """Runs coroutines; the thread starts with the first, and in a forked process anew."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._process = 0
        self._thread: threading.Thread | None = None

    def run[T](self, work: Coroutine[Any, Any, T], until: float) -> T:
        """The result of a coroutine that ends by itself before a moment; raises TimeoutError a little after it."""
        future = asyncio.run_coroutine_threadsafe(work, self._running())
        try:
            return future.result(max(0.0, until - time.monotonic()) + LATE_SECONDS)
        except TimeoutError:
            future.cancel()
            raise

    def begin(self, work: Coroutine[Any, Any, None]) -> None:
        """Start a coroutine that nobody waits for."""
        asyncio.run_coroutine_threadsafe(work, self._running())

    @property
    def started(self) -> bool:
        """Whether the thread lives in this process."""
        return self._loop is not None and self._process == os.getpid()

    def stop(self) -> None:
        """End the loop, its tasks and the thread."""
        with self._lock:
            loop, thread, self._loop, self._thread = self._loop, self._thread, None, None
            mine = self._process == os.getpid()
        if loop is None or thread is None or not mine:
            return
        loop.call_soon_threadsafe(loop.stop)
        thread.join(END_SECONDS)

    def _running(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._loop is None or self._process != os.getpid():
                self._loop, self._process = asyncio.new_event_loop(), os.getpid()
                self._thread = threading.Thread(target=_serve, args=[self._loop], name="upstreams", daemon=True)
                self._thread.start()
            return self._loop


def _serve(loop: asyncio.AbstractEventLoop) -> None:
    """Run the loop until it is stopped, then end what still runs in it."""
    with asyncio.Runner(loop_factory=lambda: loop) as runner:
        runner.get_loop().run_forever()
