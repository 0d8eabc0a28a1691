"""The time that reading one description may take: seconds of the process's CPU, so that a busy machine refuses none."""

import time
from collections.abc import Callable

from mcpist_services.definitions import refuse

MAX_IMPORT_SECONDS = 60.0
"""Of each part: a GraphQL schema's conversion, and the proposal of the tools."""


class ImportBudget:
    """The time of one part of an import, from now on."""

    def __init__(self, seconds: float = MAX_IMPORT_SECONDS, clock: Callable[[], float] = time.process_time) -> None:
        self._seconds = seconds
        self._clock = clock
        self._end = clock() + seconds

    def check(self) -> None:
        """Raise InvalidRequest once the time is over."""
        if self._clock() > self._end:
            problem = f"reading it takes more than {self._seconds:g} seconds: choose a part of it by its operations"
            raise refuse("description", problem)
