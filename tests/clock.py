"""A clock that a test moves."""


class Clock:
    """Seconds that pass only when a test says so."""

    def __init__(self, now: float = 1_800_000_000.0) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now

    def advance(self, seconds: float) -> None:
        """Let some seconds pass; a negative number puts the clock back."""
        self.now += seconds
