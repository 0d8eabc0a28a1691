"""Turns of Step Functions' executions: few run their branches at once, and no organization takes all places of another.

moto runs each branch of an execution in up to three threads: 45 batches of 60 branches took nearly five thousand.
"""

import json
import threading
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

MAX_BRANCHES = 120
MAX_BRANCHES_PER_ORGANIZATION = MAX_BRANCHES // 2
DEFAULT_MAP_BRANCHES = 40  # of a Map without MaxConcurrency: AWS runs about as many


class ExecutionQueue:
    """The executions that run, and those that wait, by their organizations."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: Counter[str] = Counter()
        self._turns = 0
        self._last_turns: Counter[str] = Counter()
        self._waiting: defaultdict[str, deque[tuple[int, Callable[[], None]]]] = defaultdict(deque)

    def submit(self, organization: str, branches: int, run: Callable[[], None]) -> None:
        """Run an execution in a thread of its own, now or when the running ones leave it room."""
        with self._lock:
            self._waiting[organization].append((branches, run))
        self._start_next()

    def close(self) -> None:
        """Start none of those that wait."""
        with self._lock:
            self._waiting.clear()

    def _start_next(self) -> None:
        """Start the executions whose turn it is, while they fit; all others wait for one that does not."""
        with self._lock:
            while (organization := self._next()) is not None:
                waiting = self._waiting[organization]
                branches = waiting[0][0]
                if self._running and self._running.total() + branches > MAX_BRANCHES:
                    return
                _, run = waiting.popleft()
                if not waiting:
                    del self._waiting[organization]
                self._running[organization] += branches
                self._turns += 1
                self._last_turns[organization] = self._turns
                arguments = (organization, branches, run)
                threading.Thread(target=self._run, args=arguments, name="execution", daemon=True).start()

    def _next(self) -> str | None:
        """Return the organization whose turn it is: with the fewest branches, then with the earliest last turn.

        An execution that is wider than the share of its organization runs beside no other of it.
        """
        within = [
            name
            for name, waiting in self._waiting.items()
            if not self._running[name] or self._running[name] + waiting[0][0] <= MAX_BRANCHES_PER_ORGANIZATION
        ]
        return min(within, key=lambda name: (self._running[name], self._last_turns[name]), default=None)

    def _run(self, organization: str, branches: int, run: Callable[[], None]) -> None:
        try:
            run()
        finally:
            with self._lock:
                self._running[organization] -= branches
                self._running += Counter()  # drops those that have none
            self._start_next()


def organization_of(execution_input: Any) -> str:
    """Return the organization whose batch an execution runs; empty for another machine."""
    batch = execution_input.get("batch") if isinstance(execution_input, dict) else None
    return batch.partition("#")[0] if isinstance(batch, str) else ""


@lru_cache(maxsize=256)
def branches_of(definition: str) -> int:
    """Return how many branches of a machine can run at once."""
    return _width(json.loads(definition)["States"])


def _width(states: Mapping[str, Any]) -> int:
    return max(map(_width_of, states.values()))


def _width_of(state: Mapping[str, Any]) -> int:
    if state["Type"] == "Parallel":
        return sum(_width(branch["States"]) for branch in state["Branches"])
    if state["Type"] == "Map":
        inner = state.get("ItemProcessor") or state["Iterator"]
        return int(state.get("MaxConcurrency") or DEFAULT_MAP_BRANCHES) * _width(inner["States"])
    return 1
