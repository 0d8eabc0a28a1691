"""How long a server that cannot be reached is left alone."""

import time
from collections.abc import Callable
from random import SystemRandom

MIN_DELAY_SECONDS = 0.5
GROWTH_FACTOR = 2.0
MAX_DELAY_SECONDS = 30.0

# Sandboxes that come from one snapshot would share a seed.
_random = SystemRandom()


class Backoff:
    """Pauses that double with each failure up to a ceiling; no two sandboxes come back together."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._failures = 0
        self._retry_at = 0.0

    def failed(self) -> None:
        """One more attempt brought nothing."""
        delay = min(MAX_DELAY_SECONDS, MIN_DELAY_SECONDS * GROWTH_FACTOR**self._failures)
        self._failures += 1
        self._retry_at = self._clock() + delay * _random.uniform(0.5, 1)

    def succeeded(self) -> None:
        """The server is back."""
        self._failures = 0
        self._retry_at = 0.0

    def remaining_seconds(self) -> float:
        """The seconds until the next attempt may be made."""
        return max(0.0, self._retry_at - self._clock())
