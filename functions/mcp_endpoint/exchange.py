"""One HTTP request under way: who asks, under which id, and until when."""

import time
from dataclasses import dataclass

from mcpist.caller import Caller


@dataclass(frozen=True, slots=True)
class Exchange:
    """What a request's handlers share; `deadline` is on the monotonic clock."""

    caller: Caller
    request: str
    deadline: float

    @property
    def remaining(self) -> float:
        """The seconds until the invocation ends."""
        return self.deadline - time.monotonic()
