"""A clock that a test moves, and the bound of what never ends."""

# Only a test that hangs waits for so long: a machine that is busy with other work is no failure.
HANGING_SECONDS = 600


class Clock:
    """Seconds that pass only when a test says so."""

    def __init__(self, now: float = 1_800_000_000.0) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now

    def advance(self, seconds: float) -> None:
        """Let some seconds pass; a negative number puts the clock back."""
        self.now += seconds
