"""Flights: what several threads of this process ask for at the same time is done once, for all of them."""

from collections.abc import Callable, Hashable
from concurrent.futures import Future
from threading import Lock


class Flights[Key: Hashable, Result]:
    """Works under way; who asks for one of them joins it."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._flying: dict[Key, Future[Result]] = {}

    def share(self, key: Key, work: Callable[[], Result]) -> Result:
        """The result of the work, or what it raised: ours, or that of whoever was faster."""
        with self._lock:
            joined = self._flying.get(key)
            future = joined or self._flying.setdefault(key, Future())
        if joined is None:
            self._fly(key, future, work)
        return future.result()

    def _fly(self, key: Key, future: Future[Result], work: Callable[[], Result]) -> None:
        try:
            future.set_result(work())
        except BaseException as error:
            future.set_exception(error)
            raise
        finally:
            with self._lock:
                del self._flying[key]
