"""How long a server that cannot be reached is left alone."""

import time
from collections.abc import Callable
from random import SystemRandom

FIRST_SECONDS = 0.5
GROWTH = 2.0
CEILING_SECONDS = 30.0

# Sandboxes that come from one snapshot would share a seed.
_random = SystemRandom()


class Backoff:
    """Pauses that double with each failure up to a ceiling; no two sandboxes come back together."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._failures = 0
        self._until = 0.0

    def failed(self) -> None:
        """One more attempt brought nothing."""
        pause = min(CEILING_SECONDS, FIRST_SECONDS * GROWTH**self._failures)
        self._failures += 1
        self._until = self._clock() + pause * _random.uniform(0.5, 1)

    def succeeded(self) -> None:
        """The server is back."""
        self._failures = 0
        self._until = 0.0

    def left(self) -> float:
        """The seconds until the next attempt may be made."""
        return max(0.0, self._until - self._clock())
