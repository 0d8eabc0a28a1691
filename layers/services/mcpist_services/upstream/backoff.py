"""For how long a server that cannot be reached is not tried again."""

import time
from collections.abc import Callable
from random import SystemRandom

MIN_DELAY_SECONDS = 0.5
GROWTH_FACTOR = 2.0
MAX_DELAY_SECONDS = 30.0

# Sandboxes of one snapshot would share a seed.
_random = SystemRandom()


class Backoff:
    """Pauses that double with each failure up to a maximum, with jitter between sandboxes."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._failures = 0
        self._retry_at = 0.0

    def failed(self) -> None:
        """Count a failed attempt."""
        delay = min(MAX_DELAY_SECONDS, MIN_DELAY_SECONDS * GROWTH_FACTOR**self._failures)
        self._failures += 1
        self._retry_at = self._clock() + delay * _random.uniform(0.5, 1)

    def succeeded(self) -> None:
        """Reset after a successful attempt."""
        self._failures = 0
        self._retry_at = 0.0

    def remaining_seconds(self) -> float:
        """Return the seconds until the next attempt may be made."""
        return max(0.0, self._retry_at - self._clock())
