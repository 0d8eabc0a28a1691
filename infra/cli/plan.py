"""`mcpist plan`: check a batch and show its machine, without any server."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any

from rich.cells import cell_len
from typer import Option

from infra.cli.document import CommandResult
from infra.cli.options import BatchFile, text_of
from mcpist.visible_text import visible

# The machine is only shown, so any valid ARN does.
STEP_RUNNER = "arn:aws:lambda:us-east-1:123456789012:function:step_runner:live"


def plan_file(
    file: BatchFile = "-",
    policies: Annotated[str, Option(metavar="FILE", help="Show what these policies say of each step.")] = "",
) -> CommandResult:
    """Check a batch and show its machine, without a server."""
    planned = plan_batch(text_of(file), text_of(policies) if policies else "")
    return replace(planned, drawing=draw_plan(planned.metadata))


def plan_batch(commands: str, policies: str = "") -> CommandResult:
    """Plan a batch for a caller who may use every tool that policies permit."""
    # Late, since `mcpist batch` draws plans too, and need not wait for every service.
    from mcpist.batch.execution.plan import plan
    from mcpist.caller import Caller, Policies, Role, Subject
    from mcpist.tools.access.permissions import Permissions
    from mcpist_services import NAMES
    from mcpist_services.catalogue import CATALOGUE

    everything = Role("everything", modules=NAMES, allow=("*",), destructive=True)
    caller = Caller("local", "local", Subject("local", "local"), "admin", (everything,))
    caller = replace(caller, policies=Policies(0, policies, minutes=0)) if policies else caller
    checked = plan(commands, Permissions(caller, CATALOGUE))
    machine = checked.build_machine(STEP_RUNNER)
    return CommandResult(metadata={**checked.as_dict(machine), "machine": machine.definition})


def draw_plan(plan: Mapping[str, Any]) -> str:
    """Return a tree of the steps; one that waits for several stands below the last of these and names the others."""
    steps: Sequence[Mapping[str, Any]] = plan["steps"]
    below: dict[str, list[Mapping[str, Any]]] = {}
    for step in steps:
        below.setdefault(step["needs"][-1] if step["needs"] else "", []).append(step)
    rows = [(visible(f"{branch}{step['id']}"), step) for branch, step in _tree(below, "", "")]
    width = max((cell_len(head) for head, _ in rows), default=0)
    lines = [f"{head}{' ' * (width - cell_len(head))}  {_describe(step)}".rstrip() for head, step in rows]
    form = f"{plan['states']} states" if plan.get("form") == "machine" else plan.get("form", "")
    return "\n".join(
        [*lines, f"{len(steps)} step{'s' * (len(steps) != 1)}, at most {plan['depth']} one after the other; {form}"]
    )


def _tree(
    below: Mapping[str, Sequence[Mapping[str, Any]]], parent: str, margin: str
) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the steps below a step, each with the lines that lead to it."""
    children = below.get(parent, ())
    for number, step in enumerate(children, 1):
        last = number == len(children)
        yield f"{margin}{('└─ ' if last else '├─ ') if parent else ''}", step
        yield from _tree(below, step["id"], f"{margin}{('   ' if last else '│  ') if parent else ''}")


def _describe(step: Mapping[str, Any]) -> str:
    """Return a step's tool, its effect where it is no read, and what it waits for besides."""
    notes = [step["tool"]]
    notes += [str(step["effect"])] if step["effect"] != "reads" else []
    notes += [f"for each of {step['each']}"] if step.get("each") else []
    notes += ["if its condition holds"] if step.get("when") else []
    notes += [step["policy"]] if step.get("policy") else []
    notes += [f"also after {', '.join(step['needs'][:-1])}"] if len(step["needs"]) > 1 else []
    return visible(", ".join(notes))
