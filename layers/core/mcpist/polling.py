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

    def wait[T](self, value: T, is_done: Callable[[T], bool], read: Callable[[], T], seconds: float) -> T:
        """Read a value again until it is done, and return the last one when the next delay would exceed `seconds`."""
        deadline = self.clock() + seconds
        for delay in self.delays():
            if is_done(value) or self.clock() + delay >= deadline:
                break
            self.sleep(delay)
            value = read()
        return value
