"""From the shape of a batch to a Step Functions machine that never makes a step wait for work it does not need.

A machine holds no params, no results and no secrets, only step indexes: equal shapes share one machine.
It asks the step runner to settle a step, and the answer's `go` names the steps that this settling opened.
What follows what is planned in `arrange.py`; here it is put into ASL's words: https://states-language.net/spec.html.

    a step               Task -> Task for a lost one, if the first fails for good
    a step with `each`   Task -> are there elements? -> Map of a Task for each -> Task that gathers them
    a guard              Choice: did what has just settled open this step?
    a fork               Parallel; afterwards the state's `go` lists those that its branches ended with

`Relay` is the one machine for graphs that have none: it runs one step, and the step runner starts it anew for each that
this opened. So it is as exact, for every graph, at the price of an execution for each step.
"""

import hashlib
import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from mcpist.batch.language.graph import Graph, Steps
from mcpist.batch.machine.arrange import STATES_OF_A_FAN, Enter, Fork, Plan, arrange, states
from mcpist.errors import GraphTooLarge

MAX_DEFINITION_BYTES = 1_000_000
MAX_NAME_CHARACTERS = 80
DIGEST_CHARACTERS = 32
CONCURRENT_ELEMENTS = 10
TYPE = "EXPRESS"

type Asl = dict[str, Any]
"""A part of a definition."""

type Sight = Mapping[int, Sequence[str]]
"""Where a state may hold the `go` of the steps that settled just before: the paths of each."""


@dataclass(frozen=True, slots=True)
class Machine:
    """The definition for one shape of batch; how many states it has, and how many steps stand on its longest path."""

    definition: Asl
    states: int
    depth: int = 0
    form: Literal["machine", "relay"] = "machine"

    @property
    def exact(self) -> bool:
        """Whether every step begins the moment all that it needs has settled: both forms keep that."""
        return True

    @property
    def definition_json(self) -> str:
        """The definition as it is sent to AWS: compact, the same text for equal definitions."""
        return json.dumps(self.definition, separators=(",", ":"), sort_keys=True)

    def name(self, stack: str, role_arn: str) -> str:
        """Name the machine: differently as soon as the definition, its type or its role differs.

        `stack` is the stack's `own_name`: the functions' roles allow them the machines whose names begin with it.
        """
        identity = json.dumps([self.definition_json, TYPE, role_arn])
        digest = hashlib.sha256(identity.encode()).hexdigest()[:DIGEST_CHARACTERS]
        prefix = re.sub(r"[^A-Za-z0-9_-]", "-", stack)[: MAX_NAME_CHARACTERS - DIGEST_CHARACTERS - 1]
        return f"{prefix}-{digest}"


def own_name(stack_id: str) -> str:
    """Name a stack, by its id, for what it must name itself: a name may have 128 characters, a machine's only 80.

    The template does the same; CloudFormation cannot shorten a name, but the last part of an id has 36 characters.
    """
    return f"mcpist-{stack_id.rpartition('/')[2]}"


def machine(graph: Graph, step_runner: str, fans: Steps = frozenset()) -> Machine:
    """Generate the machine for a graph of at least one step; its Tasks invoke the function `step_runner`.

    `fans` are the steps with `each`. Raises GraphTooLarge where the definition would pass its budget.
    """
    plan = arrange(graph, fans)
    writer = _Writer(step_runner, graph.reduced.needs, fans)
    made = Machine(writer.scope(plan, {}), states(plan), graph.depth)
    # The request carries the definition as a JSON string, with its quotes escaped, and AWS counts the request.
    if (size := len(json.dumps(made.definition_json))) > MAX_DEFINITION_BYTES:
        raise GraphTooLarge(states=made.states, bytes=size, limit=MAX_DEFINITION_BYTES)
    return made


def relay(graph: Graph, step_runner: str) -> Machine:
    """Describe how a graph runs on the template's `Relay`, whose definition is the same for all graphs."""
    return Machine(_Writer(step_runner).relay(), STATES_OF_A_FAN + 1, graph.depth, "relay")


# -- what a Task may meet ---------------------------------------------------------------------------------

BUSY = {"ErrorEquals": ["StepBusy"], "IntervalSeconds": 1, "BackoffRate": 1.5, "MaxDelaySeconds": 5, "MaxAttempts": 20}
"""Another execution runs the step now: its claim ends at the latest with the function's timeout; 88 s outlast it."""

JITTER = {"BackoffRate": 2, "MaxDelaySeconds": 16, "JitterStrategy": "FULL"}

THROTTLED = {"ErrorEquals": ["Lambda.TooManyRequestsException"], "IntervalSeconds": 1, "MaxAttempts": 24, **JITTER}
"""Nothing ran yet; a new account may have only 10 concurrent executions, so waiting may take minutes."""

FAULT = {"ErrorEquals": ["States.ALL"], "IntervalSeconds": 1, "MaxAttempts": 11, **JITTER}
"""A fault of Lambda or a store, a crash, a timeout, under whatever name: the step's claim makes every retry safe.

Full jitter waits half of each delay on average: 63 s in all, which outlasts a sandbox of which nothing is heard.
"""

RETRY = [BUSY, THROTTLED, FAULT]

RETRY_LOST = [
    {"ErrorEquals": ["States.ALL"], "IntervalSeconds": 1, "BackoffRate": 2, "MaxDelaySeconds": 8, "MaxAttempts": 12}
]
"""Settling a lost step is quick and repeatable, so anything is tried again, for 79 s: that outlasts a claim, too."""

STOP = {"Type": "Pass", "Parameters": {"batch.$": "$.batch", "go": {}}, "End": True}
"""The end of a branch whose next step another branch enters, or whose last one nobody could settle."""

ANSWER = {"OutputPath": "$.Payload"}
"""What the step runner answers becomes the whole state: `{batch, go}`."""

CONTEXT = {
    "retry.$": "$$.State.RetryCount",
    "execution.$": "$$.Execution.Id",
    "started.$": "$$.Execution.StartTime",
    "machine.$": "$$.StateMachine.Id",
}
"""What the step runner wants to know of the execution that calls it."""

GOES = {"ResultSelector": {"branches.$": "$[*].go"}, "ResultPath": "$.go"}
"""After a fork: every branch ends with a `go`, so its place in this list is the branch's."""


class _Writer:
    """Writes plans as states, with names that occur once in the whole definition."""

    def __init__(self, step_runner: str, needs: Sequence[Steps] = (), fans: Steps = frozenset()) -> None:
        partition = step_runner.split(":")[1]
        self._invoke = f"arn:{partition}:states:::lambda:invoke"
        self._step_runner = step_runner
        self._needs = needs
        self._fans = fans
        self._uses = Counter[str]()

    def scope(self, plan: Plan, sight: Sight) -> Asl:
        """Write a plan as a machine of its own, or as one branch of a Parallel that begins with what is in sight."""
        names = [self._name(f"s{part.step}" if isinstance(part, Enter) else "fork") for part in plan]
        starts = [_start(part, name) for part, name in zip(plan, names, strict=True)]
        stop = self._name("stop") if any(isinstance(part, Enter) for part in plan) else ""
        written: Asl = {}
        for part, name, following in zip(plan, names, [*starts[1:], None], strict=True):
            then = {"Next": following} if following else {"End": True}
            match part:
                case Fork(branches):
                    written[name] = {
                        "Type": "Parallel",
                        "Branches": [self.scope(branch, sight) for branch in branches],
                        **GOES,
                        **then,
                    }
                case Enter(step, guarded):
                    if guarded:
                        written[_start(part, name)] = self._guard(step, name, stop, sight)
                    written |= self._step({"step": step}, name, then, stop, fan=step in self._fans)
            sight = _ends(part)
        if stop:
            written[stop] = STOP
        return {"StartAt": starts[0], "States": written}

    def relay(self) -> Asl:
        """Write the machine of one step, whose number stands in the execution's input."""
        step = {"step.$": "$$.Execution.Input.step", "relay": True}
        written = self._step(step, "step", {"End": True}, "stop", fan=True)
        return {"StartAt": "step", "States": {**written, "stop": STOP}}

    def _step(self, step: Asl, name: str, then: Asl, stop: str, *, fan: bool) -> Asl:
        """Write the states of one step; whichever ends it answers what that opened.

        No field is null: CloudFormation takes none in a template, and `Relay` stands in ours.
        """
        lost = f"{name} lost"
        settled = ANSWER | then
        entered = ANSWER | {"Next": f"{name} each"} if fan else settled
        written = {name: self._task(step, entered, lost), lost: self._task({**step, "lost": True}, settled, stop)}
        if fan:
            written |= self._fan(step, name, then)
        return written

    def _fan(self, step: Asl, name: str, then: Asl) -> Asl:
        """Write what follows the Task of a step with `each`: its elements, if they must run, and their gathering."""
        among = {"Variable": "$.each", "IsPresent": True, "Next": f"{name} elements"}
        elements = {
            "Type": "Map",
            "ItemsPath": "$.each",
            "MaxConcurrency": CONCURRENT_ELEMENTS,
            "ItemSelector": {"batch.$": "$.batch", **step, "element.$": "$$.Map.Item.Value"},
            "ItemProcessor": self._element(step, f"{name} element"),
            "ResultPath": "$.each",
            "Catch": [_catch(f"{name} lost")],
            "Next": f"{name} gather",
        }
        return {
            f"{name} each": {"Type": "Choice", "Choices": [among], "Default": f"{name} settled"},
            f"{name} settled": {"Type": "Pass", **then},
            f"{name} elements": elements,
            f"{name} gather": self._task({**step, "gather": True}, ANSWER | then, f"{name} lost"),
        }

    def _element(self, step: Asl, name: str) -> Asl:
        """Write the machine of one element; it ends with nothing, so that the results of a thousand stay small."""
        sent = step | {"element.$": "$.element"}
        ending = {"ResultSelector": {}, "End": True}
        written = {
            name: self._task(sent, ending, f"{name} lost"),
            f"{name} lost": self._task({**sent, "lost": True}, ending, f"{name} stop"),
            f"{name} stop": {"Type": "Pass", "Parameters": {}, "End": True},
        }
        return {"ProcessorConfig": {"Mode": "INLINE"}, "StartAt": name, "States": written}

    def _guard(self, step: int, name: str, otherwise: str, sight: Sight) -> Asl:
        """Go on to a step only if what has settled just before opened it."""
        paths = [path for need in sorted(self._needs[step]) for path in sight.get(need, ())]
        rules = [{"Variable": f"{path}.s{step}", "IsPresent": True, "Next": name} for path in paths]
        return {"Type": "Choice", "Choices": rules, "Default": otherwise}

    def _task(self, payload: Asl, ending: Asl, otherwise: str) -> Asl:
        """Call the step runner."""
        return {
            "Type": "Task",
            "Resource": self._invoke,
            "Parameters": {
                "FunctionName": self._step_runner,
                "Payload": {"batch.$": "$.batch", **payload, **CONTEXT},
            },
            "Retry": RETRY_LOST if "lost" in payload else RETRY,
            "Catch": [_catch(otherwise)],
            **ending,
        }

    def _name(self, base: str) -> str:
        """Give a name for one use: `s3`, `s3 again 2`, `s3 again 3`, ..."""
        self._uses[base] += 1
        return base if self._uses[base] == 1 else f"{base} again {self._uses[base]}"


def _start(part: Enter | Fork, name: str) -> str:
    """Name the state in which a part begins."""
    return f"{name} if opened" if isinstance(part, Enter) and part.guarded else name


def _ends(part: Enter | Fork, path: str = "$.go") -> dict[int, list[str]]:
    """Find where the state holds the `go` of each step that a part ends with.

    A branch that a guard ended early says nothing there, and need not: a step that others in its branch follow is not
    the last to settle of what anything behind the fork waits for.
    """
    if isinstance(part, Enter):
        return {part.step: [path]}
    found: dict[int, list[str]] = {}
    for place, branch in enumerate(part.branches):
        for step, paths in _ends(branch[-1], f"{path}.branches[{place}]").items():
            found.setdefault(step, []).extend(paths)
    return found


def _catch(following: str) -> Asl:
    return {"ErrorEquals": ["States.ALL"], "ResultPath": "$.lost", "Next": following}
