"""Single-flight: concurrent threads that need the same result share one execution."""

from collections.abc import Callable, Hashable
from concurrent.futures import Future
from threading import Lock


class SingleFlight[Key: Hashable, Result]:
    """The executions in progress by their key."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._in_flight: dict[Key, Future[Result]] = {}

    def run(self, key: Key, work: Callable[[], Result]) -> Result:
        """Return the result of the work or raise its error; join an execution that is already in progress."""
        with self._lock:
            joined = self._in_flight.get(key)
            future = joined or self._in_flight.setdefault(key, Future())
        if joined is None:
            self._execute(key, future, work)
        return future.result()

    def _execute(self, key: Key, future: Future[Result], work: Callable[[], Result]) -> None:
        try:
            future.set_result(work())
        except BaseException as error:
            future.set_exception(error)
            raise
        finally:
            with self._lock:
                del self._in_flight[key]
