"""Options: how patiently one tool is run."""

from random import SystemRandom
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

BACKOFF_FACTOR = 2.0
JITTER = 0.5

# Sandboxes that come from one snapshot would share a seed.
_random = SystemRandom()


class RunOptions(BaseModel):
    """Seconds for each request, how often a failed one is sent again, and the seconds before that."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    timeout: Annotated[float, Field(ge=1, le=30)] = 30
    retry: Annotated[int, Field(ge=0, le=3)] = 0
    retry_delay: Annotated[float, Field(ge=0, le=10)] = 1

    def backoff(self, retries: int) -> float:
        """The seconds before one more request after so many retries: each longer, no two sandboxes in step."""
        return self.retry_delay * BACKOFF_FACTOR**retries * _random.uniform(1, 1 + JITTER)


DEFAULT_OPTIONS = RunOptions()
