"""Poll with delays that grow: the only place that says how."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Polling:
    """How often something is polled."""

    initial_seconds: float
    """The delay before the second look."""
    max_seconds: float
    growth: float = 1.3
    """The factor by which each delay exceeds the one before."""
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep

    def delays(self) -> Iterator[float]:
        """Yield the seconds to wait before each next look, without end."""
        delay = self.initial_seconds
        while True:
            yield delay
            delay = min(delay * self.growth, self.max_seconds)

    def wait[T](
        self,
        value: T,
        is_done: Callable[[T], bool],
        read: Callable[[], T],
        seconds: float,
        min_delay: Callable[[T], float] = lambda _: 0.0,
    ) -> T:
        """Read a value again until it is done, and return the last one when the next delay would exceed `seconds`.

        The delays begin anew when the value has changed; `min_delay` says how long a value stays as it is at least.
        """
        deadline, delays = self.clock() + seconds, self.delays()
        while not is_done(value):
            delay = max(next(delays), min(min_delay(value), self.max_seconds))
            if self.clock() + delay >= deadline:
                break
            self.sleep(delay)
            before, value = value, read()
            if value != before:
                delays = self.delays()
        return value
