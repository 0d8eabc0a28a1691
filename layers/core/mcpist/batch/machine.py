"""From the shape of a batch to a Step Functions machine that never makes a step wait for work it does not need.

A machine holds no params, no results and no secrets, only step indexes: equal shapes share one machine.
It asks the step runner to settle a step, and the answer's `go` names the steps that this settling opened.

    part          when                                                      in the machine
    ----          ----                                                      --------------
    components    no need connects them                                     branches of a Parallel
    series        each step of one needs all of the one before              a sequence: the barrier is free
    the rest      steps share some needs, but not all (the N shape)         a branch for each step that can begin

In the rest, a step with needs in several branches (a join) stands in each of them behind a Choice on `$.go`.
Only the branch of the need that settled last finds it there, so it runs once, and at the earliest moment.
"""

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from itertools import accumulate, chain
from typing import Any

from mcpist.batch.graph import Graph, Steps, components, series
from mcpist.errors import GraphTooLarge

MAX_DEFINITION_BYTES = 1_000_000
MAX_STATES = 2_500
MAX_NAME_CHARACTERS = 80
TYPE = "EXPRESS"

type Asl = dict[str, Any]
"""A part of a definition: https://states-language.net/spec.html."""


@dataclass(frozen=True, slots=True)
class Machine:
    """The definition for one shape of batch, and the number of its states."""

    definition: Asl
    states: int

    @property
    def definition_json(self) -> str:
        """The definition as it is sent to AWS: compact, the same text for equal definitions."""
        return json.dumps(self.definition, separators=(",", ":"), sort_keys=True)

    def name(self, stack: str, role_arn: str) -> str:
        """Name the machine: differently as soon as the definition, its type or its role differs."""
        identity = json.dumps([self.definition_json, TYPE, role_arn])
        digest = hashlib.sha256(identity.encode()).hexdigest()[:32]
        prefix = re.sub(r"[^A-Za-z0-9_-]", "-", stack)[: MAX_NAME_CHARACTERS - len(digest) - 1]
        return f"{prefix}-{digest}"


def machine(graph: Graph, step_runner: str) -> Machine:
    """Generate the machine for a graph of at least one step; its Tasks invoke the function `step_runner`.

    Raises GraphTooLarge, soon, where the definition would pass its budget: each join is copied into the
    branches of its needs, so badly tangled graphs grow exponentially.
    """
    plan = arrange(graph)
    if (states := _states(plan)) > MAX_STATES:
        raise GraphTooLarge(states=states, limit=MAX_STATES)
    made = Machine(_Writer(step_runner).scope(plan), states)
    # The request carries the definition as a JSON string, with its quotes escaped, and AWS counts the request.
    if (size := len(json.dumps(made.definition_json))) > MAX_DEFINITION_BYTES:
        raise GraphTooLarge(states=states, bytes=size, limit=MAX_DEFINITION_BYTES)
    return made


# -- the plan: what follows what --------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class Enter:
    """Settle a step; guarded: only if the step settled just before has opened it, else the sequence ends."""

    step: int
    guarded: bool


@dataclass(frozen=True, slots=True, eq=False)
class Fork:
    """Run plans side by side and wait for all of them; `states` counts the states that it becomes."""

    branches: "tuple[Plan, ...]"
    states: int


type Plan = tuple[Enter | Fork, ...]
"""A sequence: each part begins when the one before has ended."""


def arrange(graph: Graph) -> Plan:
    """Plan a graph so that every step runs once, and as soon as its needs have settled."""
    return _Planner(graph).lay(graph.steps, frozenset())


class _Planner:
    """Plans the parts of one graph; equal parts are planned once, so the time stays small where the plan explodes."""

    def __init__(self, graph: Graph) -> None:
        self._needs = graph.reduced.needs
        self._ancestors = graph.ancestors
        self.lay = cache(self._lay)

    def _lay(self, members: Steps, known: Steps) -> Plan:
        """Plan `members` for a moment when all of `known` has settled.

        A member with an ancestor in neither set also waits for another branch: it is, or follows, a guarded join.
        """
        if not members:
            return ()
        if len(parts := components(self._needs, members)) > 1:
            return _fork(self.lay(part, known) for part in parts)
        if len(stages := self._stages(members, known)) > 1:
            settled = accumulate(stages, frozenset.union, initial=known)
            return tuple(chain.from_iterable(map(self.lay, stages, settled)))
        if len(groups := self._beginnings(members, known)) > 1:
            return _fork(self.lay(self._onward(group, members), known) for group in groups)
        (i,) = groups[0]
        after = self.lay(members - {i}, known | self._ancestors[i] | {i})
        return (Enter(i, guarded=not self._needs[i] <= known), *after)

    def _stages(self, members: Steps, known: Steps) -> list[Steps]:
        """Cut `members` where a barrier delays nobody, and nobody right behind it waits for another branch too."""
        first, *later = series(self._ancestors, members)
        stages = [first]
        for part in later:
            if all(self._ancestors[i] <= members | known for i in self._sources(part)):
                stages.append(part)
            else:
                stages[-1] |= part
        return stages

    def _beginnings(self, members: Steps, known: Steps) -> list[Steps]:
        """Group the sources of `members` into branches: each alone, or with those that a free cut soon unites.

        What follows that cut stands once then, not once for each of them.
        """
        sources = alone = self._sources(members)
        united: list[Steps] = []
        for group in sorted(
            {self._ancestors[i] & sources for i in members}, key=lambda group: (len(group), *sorted(group))
        ):
            soon = self._onward(group, members)
            if 1 < len(group) < len(sources) and group <= alone and len(self._stages(soon, known)) > 1:
                alone -= group
                united.append(group)
        return sorted([*united, *(frozenset({i}) for i in alone)], key=min)

    def _sources(self, members: Steps) -> Steps:
        """Find those that need none of the others."""
        return frozenset(i for i in members if self._needs[i].isdisjoint(members))

    def _onward(self, group: Steps, members: Steps) -> Steps:
        """Find a group of `members` and all of them that follow from it."""
        return group.union(i for i in members if not self._ancestors[i].isdisjoint(group))


def _fork(plans: Iterable[Plan]) -> Plan:
    """Put plans side by side; a fork that is all of a branch gives its branches to the fork around it."""
    branches: list[Plan] = []
    for plan in plans:
        match plan:
            case (Fork(inner),):
                branches.extend(inner)
            case _:
                branches.append(plan)
    if len(branches) == 1:
        return branches[0]
    states = 1 + sum(_states(branch) for branch in branches)
    if states > MAX_STATES:
        raise GraphTooLarge(states=states, limit=MAX_STATES)
    return (Fork(tuple(branches), states),)


def _states(plan: Plan) -> int:
    """Count the states that a plan becomes: two a step, a Choice where it is guarded, and one to stop in."""
    entered = [part for part in plan if isinstance(part, Enter)]
    forked = [part for part in plan if isinstance(part, Fork)]
    return sum(2 + part.guarded for part in entered) + bool(entered) + sum(part.states for part in forked)


# -- the definition: the plan in ASL's words --------------------------------------------------------------

BUSY = {"ErrorEquals": ["StepBusy"], "IntervalSeconds": 1, "BackoffRate": 1.5, "MaxDelaySeconds": 5, "MaxAttempts": 20}
"""Another execution runs the step now: its claim ends at the latest with the function's timeout; 88 s outlast it."""

JITTER = {"BackoffRate": 2, "MaxDelaySeconds": 8, "JitterStrategy": "FULL"}

THROTTLED = {"ErrorEquals": ["Lambda.TooManyRequestsException"], "IntervalSeconds": 1, "MaxAttempts": 30, **JITTER}
"""Nothing ran yet; a new account may have only 10 concurrent executions, so waiting may take minutes."""

FAILED = {"ErrorEquals": ["States.ALL"], "IntervalSeconds": 1, "MaxAttempts": 4, **JITTER}
"""A fault of Lambda, a crash, a timeout, under whatever name: the step's claim makes every retry safe."""

UNSETTLED = {
    "ErrorEquals": ["States.ALL"],
    "IntervalSeconds": 1,
    "BackoffRate": 2,
    "MaxDelaySeconds": 8,
    "MaxAttempts": 12,
}
"""Settling a lost step is quick and repeatable, so anything is tried again, for 79 s."""

STOP = {"Type": "Pass", "Parameters": {"batch.$": "$.batch", "go": {}}, "End": True}
"""The end of a branch whose next step another branch enters, or whose last one nobody could settle."""


class _Writer:
    """Writes plans as states, with names that occur once in the whole definition."""

    def __init__(self, step_runner: str) -> None:
        self._step_runner = step_runner
        self._uses = Counter[str]()

    def scope(self, plan: Plan) -> Asl:
        """Write a plan as a machine of its own, or as one branch of a Parallel."""
        names = [self._name(f"s{part.step}" if isinstance(part, Enter) else "fork") for part in plan]
        starts = [_start(part, name) for part, name in zip(plan, names, strict=True)]
        stop = self._name("stop") if any(isinstance(part, Enter) for part in plan) else ""
        states: Asl = {}
        for part, name, following in zip(plan, names, [*starts[1:], None], strict=True):
            then = {"Next": following} if following else {"End": True}
            match part:
                case Fork(branches):
                    states[name] = {"Type": "Parallel", "Branches": [*map(self.scope, branches)], "ResultPath": None}
                    states[name] |= then
                case Enter(step, guarded):
                    if guarded:
                        states[_start(part, name)] = _choice(step, name, stop)
                    states |= self._settle(step, name, then, stop)
        if stop:
            states[stop] = STOP
        return {"StartAt": starts[0], "States": states}

    def _settle(self, step: int, name: str, then: Asl, stop: str) -> Asl:
        """Write the Task of a step and the one that settles it where it was lost; each answers what that opened."""
        lost = f"{name} lost"
        return {
            name: self._task({"step": step, "retry.$": "$$.State.RetryCount"}, [BUSY, THROTTLED, FAILED], lost) | then,
            lost: self._task({"step": step, "lost": True}, [UNSETTLED], stop) | then,
        }

    def _task(self, payload: Asl, retry: list[Asl], otherwise: str) -> Asl:
        """Call the step runner; its answer becomes the whole state, `{batch, go}`."""
        sent = {"batch.$": "$.batch", **payload, "execution.$": "$$.Execution.Name"}
        return {
            "Type": "Task",
            "Resource": "arn:aws:states:::lambda:invoke",
            "Parameters": {"FunctionName": self._step_runner, "Payload": sent},
            "OutputPath": "$.Payload",
            "Retry": retry,
            "Catch": [{"ErrorEquals": ["States.ALL"], "ResultPath": "$.lost", "Next": otherwise}],
        }

    def _name(self, base: str) -> str:
        """Give a name for one use: `s3`, `s3 again 2`, `s3 again 3`, ..."""
        self._uses[base] += 1
        return base if self._uses[base] == 1 else f"{base} again {self._uses[base]}"


def _start(part: Enter | Fork, name: str) -> str:
    """Name the state in which a part begins."""
    return f"{name} if opened" if isinstance(part, Enter) and part.guarded else name


def _choice(step: int, name: str, otherwise: str) -> Asl:
    """Go on to a step only if the one settled just before has opened it."""
    return {
        "Type": "Choice",
        "Choices": [{"Variable": f"$.go.s{step}", "IsPresent": True, "Next": name}],
        "Default": otherwise,
    }
