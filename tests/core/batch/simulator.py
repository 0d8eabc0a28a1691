"""A small interpreter of the Amazon States Language on a virtual clock: what our machines use, and nothing else."""

import json
import re
from collections import Counter, deque
from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush
from itertools import count
from typing import Any

type Json = dict[str, Any]
type Process = Generator[Any, Any, Any]
"""Yields the seconds to sleep, or ParallelProcesses, whose results it is sent."""

MAX_CHARACTERS = 262_144
FIELDS = {
    "Task": {"Resource", "Parameters", "ResultSelector", "OutputPath", "Retry", "Catch"},
    "Parallel": {"Branches", "ResultSelector", "ResultPath"},
    "Map": {"ItemsPath", "MaxConcurrency", "ItemSelector", "ItemProcessor", "ResultSelector", "ResultPath", "Catch"},
    "Choice": {"Choices", "Default"},
    "Pass": {"Parameters", "Result", "ResultPath"},
}
FLOW_FIELDS = {"Type", "Next", "End"}


class StateError(Exception):
    """An error with the name by which Retry and Catch match it."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name


@dataclass(slots=True, eq=False)
class ParallelProcesses:
    """Processes to run in parallel, at most `limit` at once, in their order."""

    processes: Sequence[Process]
    limit: int = 1_000_000


@dataclass(slots=True, eq=False)
class Running:
    """A process, and the parent that waits for it."""

    process: Process
    parent: "Running | None" = None
    children: "list[Running]" = field(default_factory=list)
    waiting: "deque[Running]" = field(default_factory=deque)
    ended: bool = False
    result: Any = None


class Clock:
    """Runs processes; time passes only while all of them sleep."""

    def __init__(self) -> None:
        self.now = 0.0
        self._turns = count()
        self._queue: list[tuple[float, int, Running, Any]] = []

    def run(self, process: Process) -> Any:
        """Return the result of a process once it and all that it started have ended."""
        first = self.start(process)
        while self._queue:
            self.now, _, running, value = heappop(self._queue)
            self._advance(running, value)
        assert first.ended
        return first.result

    def start(self, process: Process) -> Running:
        """Start a process now that no other waits for."""
        running = Running(process)
        self._wake(running)
        return running

    def _wake(self, running: Running, seconds: float = 0, value: Any = None) -> None:
        heappush(self._queue, (self.now + seconds, next(self._turns), running, value))

    def _advance(self, running: Running, value: Any) -> None:
        try:
            yielded = running.process.send(value)
        except StopIteration as end:
            running.ended, running.result = True, end.value
            if running.parent:
                self._notify(running.parent)
            return
        if not isinstance(yielded, ParallelProcesses):
            self._wake(running, yielded)
            return
        running.children = [Running(process, running) for process in yielded.processes]
        running.waiting = deque(running.children[yielded.limit :])
        for child in running.children[: yielded.limit]:
            self._wake(child)
        if not running.children:
            self._wake(running, value=[])

    def _notify(self, parent: Running) -> None:
        if parent.waiting:
            self._wake(parent.waiting.popleft())
        elif all(child.ended for child in parent.children):
            self._wake(parent, value=[child.result for child in parent.children])


class Interpreter:
    """Runs a definition; its Tasks invoke `function`, a process that ends with the answer or raises StateError."""

    def __init__(self, function: Callable[[Json], Process], execution: Json, machine: str = "machine") -> None:
        self._function = function
        self._context = {"Execution": execution, "StateMachine": {"Id": machine}}

    def scope(self, definition: Json, state: Any) -> Process:
        """Run a whole machine or one part of a Parallel or Map, from StartAt to an End."""
        name = definition["StartAt"]
        while True:
            asl = definition["States"][name]
            assert asl.keys() <= FIELDS[asl["Type"]] | FLOW_FIELDS, f"{name} uses what this interpreter does not know"
            following, state = yield from getattr(self, f"_{asl['Type'].lower()}")(asl, state)
            assert len(json.dumps(state)) <= MAX_CHARACTERS, f"after {name} the state is too large"
            if following is None:
                return state
            name = following

    def _task(self, asl: Json, state: Any) -> Process:
        assert asl["Resource"] == "arn:aws:states:::lambda:invoke"
        used = Counter[int]()
        while True:
            context = {**self._context, "State": {"RetryCount": used.total()}}
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
            result = {"Payload": answer, "StatusCode": 200}
            selected = _fill(asl["ResultSelector"], result, {}) if "ResultSelector" in asl else result
            return asl.get("Next"), _resolve_path(asl.get("OutputPath", "$"), selected, {})

    def _parallel(self, asl: Json, state: Any) -> Process:
        results = yield ParallelProcesses([self.scope(branch, state) for branch in asl["Branches"]])
        assert asl["ResultPath"] == "$.go"
        return asl.get("Next"), {**state, "go": _fill(asl["ResultSelector"], results, {})}

    def _map(self, asl: Json, state: Any) -> Process:
        assert asl["ItemProcessor"]["ProcessorConfig"] == {"Mode": "INLINE"}
        selected = [
            _fill(asl["ItemSelector"], state, {**self._context, "Map": {"Item": {"Index": index, "Value": value}}})
            for index, value in enumerate(_resolve_path(asl["ItemsPath"], state, {}))
        ]
        runs = [self.scope(asl["ItemProcessor"], item) for item in selected]
        results = yield ParallelProcesses(runs, asl["MaxConcurrency"])
        selected = _fill(asl["ResultSelector"], results, {}) if "ResultSelector" in asl else results
        return asl.get("Next"), {**state, _field(asl["ResultPath"]): selected}

    def _choice(self, asl: Json, state: Any) -> Process:
        yield 0
        assert asl["Choices"]
        for rule in asl["Choices"]:
            try:
                value = _resolve_path(rule["Variable"], state, {})
            except LookupError:
                continue
            if rule.get("IsPresent") or rule["NumericEquals"] == value:
                return rule["Next"], state
        return asl["Default"], state

    def _pass(self, asl: Json, state: Any) -> Process:
        yield 0
        if "Result" in asl:
            return asl.get("Next"), {**state, _field(asl["ResultPath"]): asl["Result"]}
        return asl.get("Next"), _fill(asl["Parameters"], state, {}) if "Parameters" in asl else state


def _fill(template: Any, state: Any, context: Json) -> Any:
    """Return a payload template with its `.$` fields resolved."""
    if not isinstance(template, dict):
        return template
    return {
        key.removesuffix(".$"): _resolve_path(value, state, context)
        if key.endswith(".$")
        else _fill(value, state, context)
        for key, value in template.items()
    }


def _resolve_path(path: str, state: Any, context: Json) -> Any:
    """Return the value of `$.a[0].b` in the state or `$$.a.b` in the context object; `$[*].a` has all that exist."""
    if path.startswith("$[*]."):
        return [item[path[5:]] for item in state if path[5:] in item]
    root, *parts = re.findall(r"\$+|\w+", path)
    found = {"$": state, "$$": context}[root]
    for part in parts:
        if isinstance(found, list) != part.isdigit() or not isinstance(found, list | dict):
            raise KeyError(path)
        found = found[int(part) if part.isdigit() else part]
    return found


def _field(path: str) -> str:
    """Return the name in a path to a field of the state."""
    assert re.fullmatch(r"\$\.\w+", path)
    return path[2:]


def _matches(rule: Json, error: str) -> bool:
    return error in rule["ErrorEquals"] or rule["ErrorEquals"] == ["States.ALL"]


def _retry(retriers: Iterable[Json], error: str, used: Counter[int]) -> float | None:
    """Return the most seconds until the next attempt; None when the first retrier for this error is exhausted."""
    for k, retrier in enumerate(retriers):
        if _matches(retrier, error):
            if used[k] == retrier["MaxAttempts"]:
                return None
            delay = retrier["IntervalSeconds"] * retrier["BackoffRate"] ** used[k]
            used[k] += 1
            return float(min(delay, retrier["MaxDelaySeconds"]))
    return None
