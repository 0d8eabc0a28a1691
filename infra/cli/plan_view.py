"""The picture of a planned batch as text: each step below the step that it waits for."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rich.cells import cell_len

from mcpist.visible_text import visible


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
    return "\n".join([*lines, f"{len(steps)} steps, at most {plan['depth']} one after the other; {form}"])


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
    notes += [f"also after {', '.join(step['needs'][:-1])}"] if len(step["needs"]) > 1 else []
    return visible(", ".join(notes))
