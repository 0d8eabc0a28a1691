"""The place of a step in its batch: what reaches its arguments, and what has run before it."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mcpist.policies.argument_types import NUMBERS, argument_type

type Steps = frozenset[int]

_NAMES = (
    (re.compile(r"(?i:(?:.*[_-])?(?:id|uuid|guid)s?_?)|.*[a-z0-9](?:Id|ID|Uuid|UUID)s?"),) * 2,
    (re.compile("(?i:to|cc|recipients?|participants?|attendees?)"), re.compile("(?i:sender|from)")),
)
"""The names of arguments, and of columns whose values go there as the service has filled them in.

An id, such as `id_`, for an `event_id`, and the sender of a message for the recipient of an answer.
"""


@dataclass(frozen=True, slots=True)
class StepPlace:
    """The place of a step, or of a call that is no step."""

    in_batch: bool = False
    reached_by: frozenset[str] = frozenset()
    """The full names of the tools whose results its arguments come from, directly or by way of others.

    A column that has labels of its own is named instead of its tool, as `tracker.list_issues:id`.
    """
    plain_of: frozenset[str] = frozenset()
    """The full names of the tools of which nothing but ids, numbers and senders reaches it, or other steps on the way.

    Such values hold no text that outsiders have written.
    """
    before: frozenset[str] = frozenset()
    """The full names of the tools that have succeeded before it, of the steps that it waits for."""
    perhaps_before: frozenset[str] = frozenset()
    """Those of which that is not known yet."""
    writes: tuple[int, int | None] = (0, 0)
    """How many steps write before it that have not run yet: at least and at most, None where that is not known."""
    destroys: tuple[int, int | None] = (0, 0)
    uses: tuple[int, int | None] = (0, 0)
    """Those that use the same module, whatever they do."""


NO_PLACE = StepPlace()


@dataclass(frozen=True, slots=True)
class PlannedStep:
    """A step, as far as its place depends on it."""

    tool: str
    """Its full name."""
    effect: str
    needs: Steps
    sources: Steps
    """The steps that its arguments and its list refer to, but for columns that have labels of their own."""
    ancestors: Steps
    """The steps that settle before it."""
    always_succeeds: bool = True
    """Whether steps that wait for it run only once it has succeeded."""
    runs_often: bool = False
    """Whether it runs for each element of a list."""
    module: str = ""
    columns: frozenset[str] = frozenset()
    """The columns with labels of their own that its arguments and its list refer to, or an event type."""
    plain: Steps = frozenset()
    """The steps to which its arguments refer for ids, numbers and senders."""


def is_plain(schema: Mapping[str, Any], field: str, column: str, *, is_same_module: bool) -> bool:
    """Whether an argument takes a value that holds no text which outsiders have written.

    That is a number or a yes or no, by the tool's schema. An id, or the sender of a message, by the names of the
    argument and of the column: only where it goes back to the module that gave it.
    """
    kind = argument_type(schema, field)
    if kind and kind["type"] in NUMBERS:
        return True
    name = next((one for one in reversed(field.split(".")) if not one.isdecimal()), "")
    return is_same_module and any(to.fullmatch(name) and own.fullmatch(column) for to, own in _NAMES)


def places(steps: Sequence[PlannedStep], *, counts: bool = True) -> list[StepPlace]:
    """Return the places of steps before any has run; without `counts` it is not known how many have run already."""
    certain, counted = _certain(steps), _Counted(steps) if counts else None
    return [_place(steps, number, certain[number], counted) for number in range(len(steps))]


def reached_by(
    steps: Sequence[PlannedStep] | Mapping[int, PlannedStep], number: int
) -> tuple[frozenset[str], frozenset[str]]:
    """Return the tools, and the columns with labels of their own, whose values reach a step's arguments.

    The second are those of which nothing but ids, numbers and senders reaches them, or steps on the way.
    """
    texts = _reaching(steps, number, lambda one: one.sources)
    names = _names(steps, texts) | steps[number].columns
    if not any(steps[one].plain for one in (number, *texts)):
        return names, frozenset()
    every = _reaching(steps, number, lambda one: one.sources | one.plain)
    return names, _names(steps, every) - names


def _names(steps: Sequence[PlannedStep] | Mapping[int, PlannedStep], found: Steps) -> frozenset[str]:
    return frozenset(steps[one].tool for one in found).union(*(steps[one].columns for one in found))


def _reaching(
    steps: Sequence[PlannedStep] | Mapping[int, PlannedStep], number: int, sources: Callable[[PlannedStep], Steps]
) -> Steps:
    found: set[int] = set()
    waiting = list(sources(steps[number]))
    while waiting:
        source = waiting.pop()
        if source not in found:
            found.add(source)
            waiting += sources(steps[source])
    return frozenset(found)


def _certain(steps: Sequence[PlannedStep]) -> list[Steps]:
    """Return for each step those that have succeeded whenever it runs."""
    known: dict[int, Steps] = {}
    for number in sorted(range(len(steps)), key=lambda one: len(steps[one].ancestors)):
        sure = [need for need in steps[number].needs if steps[need].always_succeeds]
        known[number] = frozenset(sure).union(*(known[need] for need in sure))
    return [known[number] for number in range(len(steps))]


class _Counted:
    """The steps of a batch that policies count."""

    def __init__(self, steps: Sequence[PlannedStep]) -> None:
        self.steps = steps
        self.writing = [number for number, one in enumerate(steps) if one.effect != "reads"]
        self.destroying = [number for number in self.writing if steps[number].effect == "destroys"]
        self.using: dict[str, list[int]] = {}
        for number, one in enumerate(steps):
            self.using.setdefault(one.module, []).append(number)

    def bounds(self, number: int, certain: Steps) -> list[tuple[int, int | None]]:
        """Return how many steps write, destroy and use the step's module before it, at least and at most.

        None stands for a number that is not known, since steps run for the elements of a list.
        """
        own, using = self.steps[number], self.using[self.steps[number].module]
        writes_often = own.runs_often and own.effect != "reads"
        kinds = ((self.writing, writes_often), (self.destroying, writes_often), (using, own.runs_often))
        return [self._bound(number, certain, found, repeats) for found, repeats in kinds]

    def _bound(self, number: int, certain: Steps, found: list[int], repeats: bool) -> tuple[int, int | None]:
        steps = self.steps
        others = [one for one in found if one != number and number not in steps[one].ancestors]
        least = sum(one in certain and not steps[one].runs_often for one in others)
        return least, None if repeats or any(steps[one].runs_often for one in others) else len(others)


def _place(steps: Sequence[PlannedStep], number: int, certain: Steps, counted: _Counted | None) -> StepPlace:
    own = steps[number]
    before = frozenset(steps[one].tool for one in certain)
    perhaps = frozenset(steps[one].tool for one in own.ancestors - certain) - before
    bounds = counted.bounds(number, certain) if counted else [(0, None)] * 3
    return StepPlace(True, *reached_by(steps, number), before, perhaps, *bounds)
