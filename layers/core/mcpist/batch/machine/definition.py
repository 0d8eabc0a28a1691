"""From the shape of a batch to a Step Functions machine that never makes a step wait for work it does not need.

A machine holds no params, no results and no secrets, only step indexes: equal shapes share one machine.
It asks the step runner to settle a step, and the answer's `go` names the steps that this settling opened.
What follows what is planned in `layout.py`; here it is put into ASL's words: https://states-language.net/spec.html.

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
from mcpist.batch.machine.layout import (
    STATES_PER_MAP,
    EnterStep,
    Fork,
    Layout,
    MachineTooLarge,
    arrange,
    count_states,
)

MAX_DEFINITION_BYTES = 1_000_000
MAX_MACHINE_NAME_CHARACTERS = 80
NAME_DIGEST_CHARACTERS = 32
MAX_CONCURRENT_ELEMENTS = 10
MACHINE_TYPE = "EXPRESS"

type Asl = dict[str, Any]
"""A part of a definition."""

type GoPaths = Mapping[int, Sequence[str]]
"""Where a state may hold the `go` of the steps that settled just before: the paths of each."""


@dataclass(frozen=True, slots=True)
class Machine:
    """The definition for one shape of batch; how many states it has, and how many steps stand on its longest path."""

    definition: Asl
    states: int
    depth: int = 0
    form: Literal["machine", "relay"] = "machine"

    @property
    def definition_json(self) -> str:
        """The definition as it is sent to AWS: compact, the same text for equal definitions."""
        return json.dumps(self.definition, separators=(",", ":"), sort_keys=True)

    def name(self, stack: str, role_arn: str) -> str:
        """Name the machine: differently as soon as the definition, its type or its role differs.

        `stack` is the stack's `stack_prefix`: the functions' roles allow them the machines whose names begin with it.
        """
        identity = json.dumps([self.definition_json, MACHINE_TYPE, role_arn])
        digest = hashlib.sha256(identity.encode()).hexdigest()[:NAME_DIGEST_CHARACTERS]
        prefix = re.sub(r"[^A-Za-z0-9_-]", "-", stack)[: MAX_MACHINE_NAME_CHARACTERS - NAME_DIGEST_CHARACTERS - 1]
        return f"{prefix}-{digest}"


def stack_prefix(stack_id: str) -> str:
    """Name a stack, by its id, for what it must name itself: a name may have 128 characters, a machine's only 80.

    The template does the same; CloudFormation cannot shorten a name, but the last part of an id has 36 characters.
    """
    return f"mcpist-{stack_id.rpartition('/')[2]}"


def build_machine(graph: Graph, step_runner: str, map_steps: Steps = frozenset()) -> Machine:
    """Generate the machine for a graph of at least one step; its Tasks invoke the function `step_runner`.

    `map_steps` are the steps with `each`. Raises MachineTooLarge where the definition would pass its limits.
    """
    layout = arrange(graph, map_steps)
    writer = _AslWriter(step_runner, graph.reduced.needs, map_steps)
    built = Machine(writer.write_scope(layout, {}), count_states(layout), graph.depth)
    # The request carries the definition as a JSON string, with its quotes escaped, and AWS counts the request.
    if (size := len(json.dumps(built.definition_json))) > MAX_DEFINITION_BYTES:
        raise MachineTooLarge(f"{size} bytes, {MAX_DEFINITION_BYTES} allowed")
    return built


def build_relay(graph: Graph, step_runner: str) -> Machine:
    """Describe how a graph runs on the template's `Relay`, whose definition is the same for all graphs."""
    return Machine(_AslWriter(step_runner).write_relay(), STATES_PER_MAP + 1, graph.depth, "relay")


# -- what a Task may meet ---------------------------------------------------------------------------------

RETRY_BUSY = {
    "ErrorEquals": ["StepBusy"],
    "IntervalSeconds": 1,
    "BackoffRate": 1.5,
    "MaxDelaySeconds": 5,
    "MaxAttempts": 20,
}
"""Another execution runs the step now: its claim ends at the latest with the function's timeout; 88 s outlast it."""

JITTER = {"BackoffRate": 2, "MaxDelaySeconds": 16, "JitterStrategy": "FULL"}

RETRY_THROTTLED = {
    "ErrorEquals": ["Lambda.TooManyRequestsException"],
    "IntervalSeconds": 1,
    "MaxAttempts": 24,
    **JITTER,
}
"""Nothing ran yet; a new account may have only 10 concurrent executions, so waiting may take minutes."""

RETRY_FAULT = {"ErrorEquals": ["States.ALL"], "IntervalSeconds": 1, "MaxAttempts": 11, **JITTER}
"""A fault of Lambda or a store, a crash, a timeout, under whatever name: the step's claim makes every retry safe.

Full jitter waits half of each delay on average: 63 s in all, which outlasts a sandbox of which nothing is heard.
"""

RETRY = [RETRY_BUSY, RETRY_THROTTLED, RETRY_FAULT]

RETRY_LOST = [
    {"ErrorEquals": ["States.ALL"], "IntervalSeconds": 1, "BackoffRate": 2, "MaxDelaySeconds": 8, "MaxAttempts": 12}
]
"""Settling a lost step is quick and repeatable, so anything is tried again, for 79 s: that outlasts a claim, too."""

STOP_STATE = {"Type": "Pass", "Parameters": {"batch.$": "$.batch", "go": {}}, "End": True}
"""The end of a branch whose next step another branch enters, or whose last one nobody could settle."""

PAYLOAD_OUTPUT = {"OutputPath": "$.Payload"}
"""What the step runner answers becomes the whole state: `{batch, go}`."""

EXECUTION_CONTEXT = {
    "retry.$": "$$.State.RetryCount",
    "execution.$": "$$.Execution.Id",
    "started.$": "$$.Execution.StartTime",
    "machine.$": "$$.StateMachine.Id",
}
"""What the step runner wants to know of the execution that calls it."""

COLLECT_GO = {"ResultSelector": {"branches.$": "$[*].go"}, "ResultPath": "$.go"}
"""After a fork: every branch ends with a `go`, so its place in this list is the branch's."""


class _AslWriter:
    """Writes plans as states, with names that occur once in the whole definition."""

    def __init__(self, step_runner: str, needs: Sequence[Steps] = (), map_steps: Steps = frozenset()) -> None:
        partition = step_runner.split(":")[1]
        self._invoke = f"arn:{partition}:states:::lambda:invoke"
        self._step_runner = step_runner
        self._needs = needs
        self._map_steps = map_steps
        self._name_counts = Counter[str]()

    def write_scope(self, layout: Layout, go_paths: GoPaths) -> Asl:
        """Write a layout as a machine of its own, or as one branch of a Parallel that begins with what is in sight."""
        names = [self._unique_name(f"s{part.step}" if isinstance(part, EnterStep) else "fork") for part in layout]
        starts = [_entry_state(part, name) for part, name in zip(layout, names, strict=True)]
        stop = self._unique_name("stop") if any(isinstance(part, EnterStep) for part in layout) else ""
        asl_states: Asl = {}
        for part, name, next_state in zip(layout, names, [*starts[1:], None], strict=True):
            transition = {"Next": next_state} if next_state else {"End": True}
            match part:
                case Fork(branches):
                    asl_states[name] = {
                        "Type": "Parallel",
                        "Branches": [self.write_scope(branch, go_paths) for branch in branches],
                        **COLLECT_GO,
                        **transition,
                    }
                case EnterStep(step, guarded):
                    if guarded:
                        asl_states[_entry_state(part, name)] = self._guard_state(step, name, stop, go_paths)
                    asl_states |= self._step({"step": step}, name, transition, stop, is_map=step in self._map_steps)
            go_paths = _find_go_paths(part)
        if stop:
            asl_states[stop] = STOP_STATE
        return {"StartAt": starts[0], "States": asl_states}

    def write_relay(self) -> Asl:
        """Write the machine of one step, whose number stands in the execution's input."""
        step = {"step.$": "$$.Execution.Input.step", "relay": True}
        asl_states = self._step(step, "step", {"End": True}, "stop", is_map=True)
        return {"StartAt": "step", "States": {**asl_states, "stop": STOP_STATE}}

    def _step(self, step: Asl, name: str, transition: Asl, stop: str, *, is_map: bool) -> Asl:
        """Write the states of one step; whichever ends it answers what that opened.

        No field is null: CloudFormation takes none in a template, and `Relay` stands in ours.
        """
        lost = f"{name} lost"
        settled = PAYLOAD_OUTPUT | transition
        entered = PAYLOAD_OUTPUT | {"Next": f"{name} each"} if is_map else settled
        asl_states = {
            name: self._task_state(step, entered, lost),
            lost: self._task_state({**step, "lost": True}, settled, stop),
        }
        if is_map:
            asl_states |= self._map_states(step, name, transition)
        return asl_states

    def _map_states(self, step: Asl, name: str, transition: Asl) -> Asl:
        """Write what follows the Task of a step with `each`: its elements, if they must run, and their gathering."""
        among = {"Variable": "$.each", "IsPresent": True, "Next": f"{name} elements"}
        elements = {
            "Type": "Map",
            "ItemsPath": "$.each",
            "MaxConcurrency": MAX_CONCURRENT_ELEMENTS,
            "ItemSelector": {"batch.$": "$.batch", **step, "element.$": "$$.Map.Item.Value"},
            "ItemProcessor": self._element(step, f"{name} element"),
            "ResultPath": "$.each",
            "Catch": [_catch(f"{name} lost")],
            "Next": f"{name} gather",
        }
        return {
            f"{name} each": {"Type": "Choice", "Choices": [among], "Default": f"{name} settled"},
            f"{name} settled": {"Type": "Pass", **transition},
            f"{name} elements": elements,
            f"{name} gather": self._task_state({**step, "gather": True}, PAYLOAD_OUTPUT | transition, f"{name} lost"),
        }

    def _element(self, step: Asl, name: str) -> Asl:
        """Write the machine of one element; it ends with nothing, so that the results of a thousand stay small."""
        sent = step | {"element.$": "$.element"}
        ending = {"ResultSelector": {}, "End": True}
        asl_states = {
            name: self._task_state(sent, ending, f"{name} lost"),
            f"{name} lost": self._task_state({**sent, "lost": True}, ending, f"{name} stop"),
            f"{name} stop": {"Type": "Pass", "Parameters": {}, "End": True},
        }
        return {"ProcessorConfig": {"Mode": "INLINE"}, "StartAt": name, "States": asl_states}

    def _guard_state(self, step: int, name: str, default_state: str, go_paths: GoPaths) -> Asl:
        """Go on to a step only if what has settled just before opened it."""
        paths = [path for need in sorted(self._needs[step]) for path in go_paths.get(need, ())]
        rules = [{"Variable": f"{path}.s{step}", "IsPresent": True, "Next": name} for path in paths]
        return {"Type": "Choice", "Choices": rules, "Default": default_state}

    def _task_state(self, payload: Asl, ending: Asl, default_state: str) -> Asl:
        """Call the step runner."""
        return {
            "Type": "Task",
            "Resource": self._invoke,
            "Parameters": {
                "FunctionName": self._step_runner,
                "Payload": {"batch.$": "$.batch", **payload, **EXECUTION_CONTEXT},
            },
            "Retry": RETRY_LOST if "lost" in payload else RETRY,
            "Catch": [_catch(default_state)],
            **ending,
        }

    def _unique_name(self, base: str) -> str:
        """Give a name for one use: `s3`, `s3 again 2`, `s3 again 3`, ..."""
        self._name_counts[base] += 1
        return base if self._name_counts[base] == 1 else f"{base} again {self._name_counts[base]}"


def _entry_state(part: EnterStep | Fork, name: str) -> str:
    """Name the state in which a part begins."""
    return f"{name} if opened" if isinstance(part, EnterStep) and part.guarded else name


def _find_go_paths(part: EnterStep | Fork, path: str = "$.go") -> dict[int, list[str]]:
    """Find where the state holds the `go` of each step that a part ends with.

    A branch that a guard ended early says nothing there, and need not: a step that others in its branch follow is not
    the last to settle of what anything behind the fork waits for.
    """
    if isinstance(part, EnterStep):
        return {part.step: [path]}
    found: dict[int, list[str]] = {}
    for place, branch in enumerate(part.branches):
        for step, paths in _find_go_paths(branch[-1], f"{path}.branches[{place}]").items():
            found.setdefault(step, []).extend(paths)
    return found


def _catch(next_state: str) -> Asl:
    return {"ErrorEquals": ["States.ALL"], "ResultPath": "$.lost", "Next": next_state}
