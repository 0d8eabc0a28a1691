"""A small interpreter of the Amazon States Language on a virtual clock: what our machines use, and nothing else."""

from collections import Counter
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush
from itertools import count
from typing import Any

from mcpist.batch.graph import Graph, opened

type Json = dict[str, Any]
type Process = Generator[Any, Any, Any]
"""Yields the seconds to sleep, or a list of processes to run side by side, and is sent their results."""

FIELDS = {
    "Task": {"Resource", "Parameters", "OutputPath", "Retry", "Catch"},
    "Parallel": {"Branches", "ResultPath"},
    "Choice": {"Choices", "Default"},
    "Pass": {"Parameters"},
}
FLOW = {"Type", "Next", "End"}


class StateError(Exception):
    """An error by the name that Retry and Catch know it by."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name


@dataclass(slots=True, eq=False)
class Running:
    """A process, and whom its end concerns."""

    process: Process
    parent: "Running | None" = None
    children: "list[Running]" = field(default_factory=list)
    ended: bool = False
    result: Any = None


class Clock:
    """Runs processes; time passes only while all of them sleep."""

    def __init__(self) -> None:
        self.now = 0
        self._turns = count()
        self._queue: list[tuple[int, int, Running, Any]] = []

    def run(self, process: Process) -> Any:
        """The result of a process, when it and all that it started have ended."""
        first = Running(process)
        self._wake(first)
        while self._queue:
            self.now, _, running, value = heappop(self._queue)
            self._advance(running, value)
        assert first.ended
        return first.result

    def _wake(self, running: Running, seconds: int = 0, value: Any = None) -> None:
        heappush(self._queue, (self.now + seconds, next(self._turns), running, value))

    def _advance(self, running: Running, value: Any) -> None:
        try:
            wanted = running.process.send(value)
        except StopIteration as end:
            running.ended, running.result = True, end.value
            self._tell(running.parent)
        else:
            if isinstance(wanted, int):
                self._wake(running, wanted)
            else:
                running.children = [Running(process, running) for process in wanted]
                for child in running.children:
                    self._wake(child)

    def _tell(self, parent: Running | None) -> None:
        if parent and all(child.ended for child in parent.children):
            self._wake(parent, value=[child.result for child in parent.children])


class Interpreter:
    """Runs a definition; its Tasks invoke `function`, a process that ends with the answer or raises StateError."""

    def __init__(self, function: Callable[[Json], Process], execution: str) -> None:
        self._function = function
        self._execution = execution

    def scope(self, definition: Json, state: Any) -> Process:
        """Run a whole machine or one branch of a Parallel, from StartAt to an End."""
        name = definition["StartAt"]
        while True:
            asl = definition["States"][name]
            assert asl.keys() <= FIELDS[asl["Type"]] | FLOW, f"{name} uses what this interpreter does not know"
            following, state = yield from getattr(self, f"_{asl['Type'].lower()}")(asl, state)
            if following is None:
                return state
            name = following

    def _task(self, asl: Json, state: Any) -> Process:
        assert asl["Resource"] == "arn:aws:states:::lambda:invoke"
        used = Counter[int]()
        while True:
            context = {"State": {"RetryCount": used.total()}, "Execution": {"Name": self._execution}}
            parameters = _fill(asl["Parameters"], state, context)
            try:
                answer = yield from self._function(parameters["Payload"])
            except StateError as error:
                if (delay := _retry(asl["Retry"], error.name, used)) is not None:
                    yield delay
                    continue
                catcher = next(catcher for catcher in asl["Catch"] if _matches(catcher, error.name))
                assert catcher["ResultPath"] == "$.lost"
                return catcher["Next"], {**state, "lost": {"Error": error.name, "Cause": ""}}
            return asl.get("Next"), _look(asl["OutputPath"], {"Payload": answer, "StatusCode": 200}, {})

    def _parallel(self, asl: Json, state: Any) -> Process:
        yield [self.scope(branch, state) for branch in asl["Branches"]]
        assert asl["ResultPath"] is None
        return asl.get("Next"), state

    def _choice(self, asl: Json, state: Any) -> Process:
        yield 0
        for rule in asl["Choices"]:
            assert rule["IsPresent"] is True
            try:
                _look(rule["Variable"], state, {})
            except KeyError:
                continue
            return rule["Next"], state
        return asl["Default"], state

    def _pass(self, asl: Json, state: Any) -> Process:
        yield 0
        return asl.get("Next"), _fill(asl["Parameters"], state, {})


def _fill(template: Any, state: Any, context: Json) -> Any:
    """A payload template with its `.$` fields looked up."""
    if not isinstance(template, dict):
        return template
    return {
        key.removesuffix(".$"): _look(value, state, context) if key.endswith(".$") else _fill(value, state, context)
        for key, value in template.items()
    }


def _look(path: str, state: Any, context: Json) -> Any:
    """What `$.a.b` names in the state, or `$$.a.b` in the context object."""
    root, *names = path.split(".")
    found = {"$": state, "$$": context}[root]
    for name in names:
        found = found[name]
    return found


def _matches(rule: Json, error: str) -> bool:
    return error in rule["ErrorEquals"] or rule["ErrorEquals"] == ["States.ALL"]


def _retry(retriers: Sequence[Json], error: str, used: Counter[int]) -> int | None:
    """The seconds until the next attempt, at most; None when the first retrier for this error is exhausted."""
    for k, retrier in enumerate(retriers):
        if _matches(retrier, error):
            if used[k] == retrier["MaxAttempts"]:
                return None
            delay = retrier["IntervalSeconds"] * retrier["BackoffRate"] ** used[k]
            used[k] += 1
            return int(min(delay, retrier["MaxDelaySeconds"]))
    return None


class StepRunner:
    """Settles the steps of one batch as the real one does, each after its seconds, and remembers when.

    `faults` are the errors of a step's first attempts; `dead` steps also fail when they are reported lost;
    at `pauses_at` no new step starts any more, as when an execution grows too old.
    """

    def __init__(
        self,
        graph: Graph,
        seconds: Sequence[int],
        *,
        faults: Mapping[int, Sequence[str]] | None = None,
        dead: frozenset[int] = frozenset(),
        pauses_at: int | None = None,
    ) -> None:
        self.needs = graph.needs
        self.seconds = seconds
        self.faults = {step: list(errors) for step, errors in (faults or {}).items()}
        self.dead = dead
        self.pauses_at = pauses_at
        self.clock = Clock()
        self.seq: dict[int, int] = {}
        self.began: dict[int, int] = {}
        self.ended: dict[int, int] = {}
        self.payloads: list[Json] = []

    def run(self, definition: Json, execution: str = "run-1") -> Any:
        """Run one execution of a machine to its end."""
        self.clock = Clock()
        return self.clock.run(Interpreter(self.settle, execution).scope(definition, {"batch": "b1"}))

    def settle(self, payload: Json) -> Process:
        """Answer one invocation."""
        i = payload["step"]
        self.payloads.append(payload)
        if "lost" not in payload and self.faults.get(i):
            yield 1
            raise StateError(self.faults[i].pop(0))
        if "lost" in payload and i in self.dead:
            raise StateError("Lambda.Unknown")
        if i not in self.seq and self._may_begin(i):
            self.began[i] = self.clock.now
            yield self.seconds[i]
            self.ended[i] = self.clock.now
            self.seq[i] = len(self.seq) + 1
        return {"batch": "b1", "go": {f"s{j}": True for j in opened(self.needs, self.seq, i)}}

    def entries(self) -> list[int]:
        """The steps in the order in which the machine entered them, attempts included."""
        return [payload["step"] for payload in self.payloads]

    def _may_begin(self, i: int) -> bool:
        in_time = self.pauses_at is None or self.clock.now < self.pauses_at
        return in_time and self.needs[i] <= self.seq.keys()
