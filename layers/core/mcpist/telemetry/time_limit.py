"""The last limit of a request: work that no deadline has ended is interrupted, so that its answer is a typed error."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from mcpist.errors import RequestTimeout


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
