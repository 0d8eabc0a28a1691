"""Generate a Step Functions machine from a graph, in which no step waits for work that it does not need.

A machine holds no params, no results and no secrets, only step indexes, so that equal graphs share one machine.
It calls the step runner to settle a step; `go` in the response names the steps that this opened.
The layout of the steps comes from `layout.py`; this file writes it in ASL: https://states-language.net/spec.html.

    a step               Task -> a Task that settles it as lost, if the first fails for good
    a step with `each`   Task -> Choice: are there elements? -> Map of a Task for each group of them
                         -> Task that gathers them -> the same Choice: is any left, since its group's time was over?
    a guard              Choice: did the steps that have just settled open this step?
    a fork               Parallel; afterwards the state's `go` lists the `go` of each branch
    a wide fork          Pass with the branches' numbers -> Map over them: Choice by the number -> the branch

A fork is wide if its branches are more than the steps of a batch that may run at once (`places`): then a branch begins
when another has ended. So no step is started that its organization has no place for, and none waits beside a free one.

`Relay` is the one machine for graphs that have none: it runs one step, and the step runner starts it again for each
step that this opened. It is as exact, for every graph, and costs an execution for each step.
"""

import hashlib
import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from mcpist.batch.language.graph import Graph, Steps
from mcpist.batch.machine import states
from mcpist.batch.machine.layout import STATES_PER_MAP, EnterStep, Fork, Layout, MachineTooLarge, arrange, count_states
from mcpist.batch.machine.states import PAYLOAD_OUTPUT, Asl

MAX_DEFINITION_BYTES = 1_000_000
MAX_MACHINE_NAME_CHARACTERS = 80
NAME_DIGEST_CHARACTERS = 32
MAX_CONCURRENT_GROUPS = 10
MACHINE_TYPE = "EXPRESS"

type GoPaths = Mapping[int, Sequence[str]]
"""For each step that has just settled the paths at which a state may hold its `go`."""


@dataclass(frozen=True, slots=True)
class Machine:
    """The definition for one shape of batch."""

    definition: Asl
    states: int
    """The number of its states."""
    depth: int = 0
    """The number of steps on the longest path of the graph."""
    form: Literal["machine", "relay"] = "machine"

    @property
    def definition_json(self) -> str:
        """The definition as it is sent to AWS: compact, and the same text for equal definitions."""
        return json.dumps(self.definition, separators=(",", ":"), sort_keys=True)

    def name(self, stack: str, role_arn: str) -> str:
        """Return a name that differs as soon as the definition, its type or its role differs.

        `stack` is the stack's `stack_prefix`: the functions' roles allow machines whose names begin with it.
        """
        identity = json.dumps([self.definition_json, MACHINE_TYPE, role_arn])
        digest = hashlib.sha256(identity.encode()).hexdigest()[:NAME_DIGEST_CHARACTERS]
        prefix = re.sub(r"[^A-Za-z0-9_-]", "-", stack)[: MAX_MACHINE_NAME_CHARACTERS - NAME_DIGEST_CHARACTERS - 1]
        return f"{prefix}-{digest}"


def stack_prefix(stack_id: str) -> str:
    """Return the prefix of the names of a stack's machines, from its id.

    A stack's name may have 128 characters, a machine's only 80. The template uses the same prefix: CloudFormation
    cannot shorten a name, but the last part of an id has 36 characters.
    """
    return f"mcpist-{stack_id.rpartition('/')[2]}"


def build_machine(graph: Graph, step_runner: str, map_steps: Steps = frozenset(), places: int = 0) -> Machine:
    """Generate the machine for a graph of at least one step; its Tasks invoke the function `step_runner`.

    `map_steps` are the steps with `each`, `places` how many steps and elements may run at once (0: any number).
    Raises MachineTooLarge where the definition would pass its limits.
    """
    layout = arrange(graph, map_steps)
    writer = _AslWriter(step_runner, graph.reduced.needs, map_steps)
    definition = writer.write_scope(layout, {}, places)
    built = Machine(definition, count_states(layout) + writer.added_states, graph.depth)
    # The request contains the definition as a JSON string with escaped quotes, and AWS limits the request.
    if (size := len(json.dumps(built.definition_json))) > MAX_DEFINITION_BYTES:
        raise MachineTooLarge(f"{size} bytes, {MAX_DEFINITION_BYTES} allowed")
    return built


def build_relay(graph: Graph, step_runner: str) -> Machine:
    """Return the template's `Relay`, whose definition is the same for all graphs, with this graph's depth."""
    return Machine(_AslWriter(step_runner).write_relay(), STATES_PER_MAP + 1, graph.depth, "relay")


class _AslWriter:
    """Writes layouts as states, with names that are unique in the whole definition."""

    def __init__(self, step_runner: str, needs: Sequence[Steps] = (), map_steps: Steps = frozenset()) -> None:
        partition = step_runner.split(":")[1]
        self._invoke = f"arn:{partition}:states:::lambda:invoke"
        self._step_runner = step_runner
        self._needs = needs
        self._map_steps = map_steps
        self._name_counts = Counter[str]()
        self.added_states = 0
        """Those of wide forks, which the layout does not know."""

    def write_scope(self, layout: Layout, go_paths: GoPaths, places: int) -> Asl:
        """Write a layout as a whole machine, or as a branch of a Parallel whose input has the `go` at these paths."""
        names = [self._unique_name(f"s{part.step}" if isinstance(part, EnterStep) else "fork") for part in layout]
        starts = [_entry_state(part, name) for part, name in zip(layout, names, strict=True)]
        stop = self._unique_name("stop") if any(isinstance(part, EnterStep) for part in layout) else ""
        asl_states: Asl = {}
        for part, name, next_state in zip(layout, names, [*starts[1:], None], strict=True):
            transition = {"Next": next_state} if next_state else {"End": True}
            match part:
                case Fork(branches):
                    asl_states |= self._fork(branches, name, go_paths, places, transition)
                case EnterStep(step, guarded):
                    if guarded:
                        asl_states[_entry_state(part, name)] = self._guard_state(step, name, stop, go_paths)
                    elements = _at_most(places) if step in self._map_steps else 0
                    asl_states |= self._step({"step": step}, name, transition, stop, elements)
            go_paths = _find_go_paths(part)
        if stop:
            asl_states[stop] = states.STOP_STATE
        return {"StartAt": starts[0], "States": asl_states}

    def write_relay(self) -> Asl:
        """Write the machine of one step, whose number is in the execution's input."""
        step = {"step.$": "$$.Execution.Input.step", "relay": True}
        asl_states = self._step(step, "step", {"End": True}, "stop", MAX_CONCURRENT_GROUPS)
        return {"StartAt": "step", "States": {**asl_states, "stop": states.STOP_STATE}}

    def _fork(
        self, branches: Sequence[Layout], name: str, go_paths: GoPaths, places: int, transition: Asl
    ) -> dict[str, Asl]:
        """Write a fork, in which at most so many branches run at once as there are places."""
        shares = self._shares(branches, places)
        scopes = [self.write_scope(branch, go_paths, share) for branch, share in zip(branches, shares, strict=True)]
        end = states.COLLECT_GO | transition
        if not 0 < places < len(branches):
            return {name: {"Type": "Parallel", "Branches": scopes, **end}}
        self.added_states += 2
        numbers = list(range(len(branches)))
        branch_of = {"Type": "Choice", "Choices": [_rule_of(number, scope) for number, scope in enumerate(scopes)]}
        known = {"batch.$": "$.batch", "branch.$": "$$.Map.Item.Value"} | ({"go.$": "$.go"} if go_paths else {})
        processor = {f"{name} branch": branch_of | {"Default": scopes[-1]["StartAt"]}}
        for scope in scopes:
            processor |= scope["States"]
        return {
            name: {"Type": "Pass", "Result": numbers, "ResultPath": "$.branches", "Next": f"{name} branches"},
            f"{name} branches": {
                "Type": "Map",
                "ItemsPath": "$.branches",
                "MaxConcurrency": places,
                "ItemSelector": known,
                "ItemProcessor": _inline(f"{name} branch", processor),
                **end,
            },
        }

    def _shares(self, branches: Sequence[Layout], places: int) -> list[int]:
        """Divide places: one for a branch that enters one step at a time, the rest in equal parts for the others."""
        if not places or len(branches) >= places:
            return [min(places, 1)] * len(branches)
        wide = [any(isinstance(part, Fork) or part.step in self._map_steps for part in branch) for branch in branches]
        share = (places - wide.count(False)) // max(1, wide.count(True))
        return [share if is_wide else 1 for is_wide in wide]

    def _step(self, step: Asl, name: str, transition: Asl, stop: str, elements: int) -> Asl:
        """Write the states of one step; the one that ends it returns the steps that it opened.

        Of a step with `each` so many groups of `elements` run at once; 0 for another step.

        No field is null: CloudFormation accepts no null in a template, and ours contains `Relay`.
        """
        lost = f"{name} lost"
        settled = PAYLOAD_OUTPUT | transition
        entered = PAYLOAD_OUTPUT | {"Next": f"{name} each"} if elements else settled
        asl_states = {
            name: self._task_state({**step, "groups": True} if elements else step, entered, lost),
            lost: self._task_state({**step, "lost": True}, settled, stop),
        }
        if elements:
            asl_states |= self._map_states(step, name, transition, elements)
        return asl_states

    def _map_states(self, step: Asl, name: str, transition: Asl, at_once: int) -> Asl:
        """Write the states after the Task of a step with `each`: its elements while any must run, their gathering."""
        has_elements = {"Variable": "$.each", "IsPresent": True, "Next": f"{name} elements"}
        elements = {
            "Type": "Map",
            "ItemsPath": "$.each",
            "MaxConcurrency": at_once,
            "ItemSelector": {"batch.$": "$.batch", **step, "element.$": "$$.Map.Item.Value"},
            "ItemProcessor": self._element(step, f"{name} element"),
            "ResultPath": "$.each",
            "Catch": [states.catch(f"{name} lost")],
            "Next": f"{name} gather",
        }
        return {
            f"{name} each": {"Type": "Choice", "Choices": [has_elements], "Default": f"{name} settled"},
            f"{name} settled": {"Type": "Pass", **transition},
            f"{name} elements": elements,
            f"{name} gather": self._task_state(
                {**step, "gather": True, "groups": True}, PAYLOAD_OUTPUT | {"Next": f"{name} each"}, f"{name} lost"
            ),
        }

    def _element(self, step: Asl, name: str) -> Asl:
        """Write the machine of a group of elements; its output is empty, so that those of ten thousand stay small."""
        sent = step | {"element.$": "$.element"}
        ending = {"ResultSelector": {}, "End": True}
        asl_states = {
            name: self._task_state(sent, ending, f"{name} lost"),
            f"{name} lost": self._task_state({**sent, "lost": True}, ending, f"{name} stop"),
            f"{name} stop": {"Type": "Pass", "Parameters": {}, "End": True},
        }
        return _inline(name, asl_states)

    def _guard_state(self, step: int, name: str, default_state: str, go_paths: GoPaths) -> Asl:
        """Write a Choice that continues with a step only if the steps that have just settled opened it."""
        paths = [path for need in sorted(self._needs[step]) for path in go_paths.get(need, ())]
        rules = [{"Variable": f"{path}.s{step}", "IsPresent": True, "Next": name} for path in paths]
        return {"Type": "Choice", "Choices": rules, "Default": default_state}

    def _task_state(self, payload: Asl, ending: Asl, default_state: str) -> Asl:
        """Write a call of the step runner."""
        return {
            "Type": "Task",
            "Resource": self._invoke,
            "Parameters": {
                "FunctionName": self._step_runner,
                "Payload": {"batch.$": "$.batch", **payload, **states.EXECUTION_CONTEXT},
            },
            "Retry": states.RETRY_LOST if "lost" in payload else states.RETRY,
            "Catch": [states.catch(default_state)],
            **ending,
        }

    def _unique_name(self, base: str) -> str:
        """Return a name that is used once: `s3`, `s3 again 2`, `s3 again 3`, ..."""
        self._name_counts[base] += 1
        return base if self._name_counts[base] == 1 else f"{base} again {self._name_counts[base]}"


def _at_most(places: int) -> int:
    """Return how many groups of a step's elements run at once."""
    return min(places, MAX_CONCURRENT_GROUPS) or MAX_CONCURRENT_GROUPS


def _inline(start: str, asl_states: Asl) -> Asl:
    """Return the machine of each item of a Map."""
    return {"ProcessorConfig": {"Mode": "INLINE"}, "StartAt": start, "States": asl_states}


def _rule_of(number: int, scope: Asl) -> Asl:
    """Return the rule of a Choice by which a wide fork enters a branch."""
    return {"Variable": "$.branch", "NumericEquals": number, "Next": scope["StartAt"]}


def _entry_state(part: EnterStep | Fork, name: str) -> str:
    """Return the name of the state in which a part begins."""
    return f"{name} if opened" if isinstance(part, EnterStep) and part.guarded else name


def _find_go_paths(part: EnterStep | Fork, path: str = "$.go") -> dict[int, list[str]]:
    """Return the paths at which the state holds the `go` of each step that a part ends with.

    A branch that a guard ended early has an empty `go`. That is enough: a step that others in its branch follow is
    never the last need to settle of a step after the fork.
    """
    if isinstance(part, EnterStep):
        return {part.step: [path]}
    go_paths: dict[int, list[str]] = {}
    for place, branch in enumerate(part.branches):
        for step, paths in _find_go_paths(branch[-1], f"{path}.branches[{place}]").items():
            go_paths.setdefault(step, []).extend(paths)
    return go_paths
