"""A step runner without work: it settles like the real one, each step after its duration, and records the times."""

import heapq
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from mcpist.batch.language.graph import Graph, opened
from mcpist.batch.machine.definition import MAX_CONCURRENT_GROUPS
from tests.core.batch.simulator import Clock, Interpreter, Json, Process, StateError

type Seconds = float | Sequence[float]
"""How long a step takes; for one with `each`, its elements."""


class StepRunner:
    """Settles the steps of one batch.

    `faults` are the errors of a step's first attempts; `dead` steps also fail when they are reported lost, and
    so do `dead_elements` always; for `late_elements` the first invocation has no time, so that they are named again;
    at `pauses_at` no new step starts any more, as when an execution grows too old.
    """

    def __init__(
        self,
        graph: Graph,
        seconds: Sequence[Seconds],
        *,
        faults: Mapping[int, Sequence[str]] | None = None,
        dead: frozenset[int] = frozenset(),
        dead_elements: Collection[tuple[int, int]] = (),
        late_elements: Collection[tuple[int, int]] = (),
        pauses_at: float | None = None,
    ) -> None:
        self.needs = graph.needs
        self.seconds = seconds
        self.faults = {step: list(errors) for step, errors in (faults or {}).items()}
        self.dead = dead
        self.dead_elements = dead_elements
        self.late_elements = {*late_elements}
        self.pauses_at = pauses_at
        self.clock = Clock()
        self.seq: dict[int, int] = {}
        self.began: dict[int, float] = {}
        self.ended: dict[int, float] = {}
        self.elements: dict[tuple[int, int], float] = {}
        self.payloads: list[Json] = []
        self.most_at_once = 0
        self._running = 0
        self._relay: Json = {}
        self._executions: set[str] = set()

    def run(self, definition: Json, execution: str = "run-1") -> Any:
        """Run one execution of a machine to its end."""
        self.clock = Clock()
        return self.clock.run(self._execution(definition, execution, {"batch": "b1"}))

    def relay(self, definition: Json) -> None:
        """Run the batch on the machine of one step."""
        self._relay = definition
        self.clock = Clock()
        self.clock.run(self._execution(definition, "run-1", {"batch": "b1", "step": -1}))

    def entries(self) -> list[int]:
        """Return the steps in the order in which the machine entered them, with repeated attempts, without elements."""
        return [payload["step"] for payload in self.payloads if not {"element", "gather"} & payload.keys()]

    def settle(self, payload: Json) -> Process:
        """Answer one invocation, and count those that run at once."""
        self._running += 1
        self.most_at_once = max(self.most_at_once, self._running)
        try:
            return (yield from self._settle(payload))
        finally:
            self._running -= 1

    def _settle(self, payload: Json) -> Process:
        i = payload["step"]
        self.payloads.append(payload)
        if i == -1:
            return self._answer(payload, [j for j, needs in enumerate(self.needs) if not needs])
        if "lost" not in payload and self.faults.get(i):
            yield 1
            raise StateError(self.faults[i].pop(0))
        if "lost" in payload and i in self.dead:
            raise StateError("Lambda.Unknown")
        if "element" in payload:
            yield from self._element(i, payload["element"])
            return {"batch": "b1", "go": {}}
        if i not in self.seq and self._may_begin(i):
            self.began.setdefault(i, self.clock.now)
            duration = self.seconds[i]
            if isinstance(duration, int | float):
                yield duration
            elif duration and "gather" not in payload and "lost" not in payload:
                return {"batch": "b1", "go": {}, "each": [*range(len(duration))]}
            elif left := [one for one in self._left(i) if "gather" in payload]:
                return {"batch": "b1", "go": {}, "each": left}
            self.ended[i] = self.clock.now
            self.seq[i] = len(self.seq) + 1
        return self._answer(payload, opened(self.needs, self.seq, i))

    def _execution(self, definition: Json, name: str, state_input: Json) -> Process:
        execution = {"Id": name, "StartTime": "2026-11-21T00:00:00Z", "Input": state_input}
        return Interpreter(self.settle, execution).scope(definition, state_input)

    def _element(self, i: int, element: int) -> Process:
        duration = self.seconds[i]
        assert not isinstance(duration, int | float)
        if (i, element) in self.dead_elements:
            raise StateError("Lambda.Unknown")
        if (i, element) in self.late_elements:
            self.late_elements.remove((i, element))
        elif (i, element) not in self.elements:
            yield duration[element]
            self.elements[i, element] = self.clock.now

    def _left(self, i: int) -> list[int]:
        """Return the elements of a step that have not run, and will."""
        duration = self.seconds[i]
        assert not isinstance(duration, int | float)
        return [n for n in range(len(duration)) if not {(i, n)} & {*self.elements, *self.dead_elements}]

    def _answer(self, payload: Json, steps: Sequence[int]) -> Json:
        if "relay" not in payload:
            return {"batch": "b1", "go": {f"s{j}": True for j in steps}}
        for j in steps:
            name = f"b1-{j}"
            if name not in self._executions:
                self._executions.add(name)
                self.clock.start(self._execution(self._relay, name, {"batch": "b1", "step": j}))
        return {"batch": "b1", "go": {}}

    def _may_begin(self, i: int) -> bool:
        in_time = self.pauses_at is None or self.clock.now < self.pauses_at or i in self.began
        return in_time and self.needs[i] <= self.seq.keys()


def ideal_times(graph: Graph, seconds: Sequence[Seconds]) -> tuple[dict[int, float], dict[int, float]]:
    """Return when each step begins and ends at best: it begins as soon as its needs have ended."""
    began: dict[int, float] = {}
    ended: dict[int, float] = {}
    for i in graph.order:
        began[i] = max((ended[k] for k in graph.needs[i]), default=0)
        ended[i] = began[i] + step_seconds(seconds[i])
    return began, ended


def step_seconds(duration: Seconds) -> float:
    """Return how long a step takes by itself; elements begin in their order, with limited concurrency."""
    if isinstance(duration, int | float):
        return duration
    hands = [0.0] * MAX_CONCURRENT_GROUPS
    for element in duration:
        heapq.heappush(hands, heapq.heappop(hands) + element)
    return max(hands)
