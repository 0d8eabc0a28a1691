"""One HTTP request under way: who asks, under which id, and until when."""

import time
from dataclasses import dataclass

from mcpist.caller import Caller

ANSWER_SECONDS = 3.0
MOST_CHARACTERS = 100_000  # of an answer, over all its blocks: about 25,000 tokens


@dataclass(frozen=True, slots=True)
class Exchange:
    """What a request's handlers share; `deadline` is on the monotonic clock."""

    caller: Caller
    request: str
    deadline: float

    @property
    def remaining(self) -> float:
        """The seconds for the work, so that its answer still goes out before the invocation ends."""
        return self.deadline - time.monotonic() - ANSWER_SECONDS
