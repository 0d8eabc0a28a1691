"""The layout of a machine: sequences and forks in which no step waits for work that it does not need.

    part          when                                                      in the layout
    ----          ----                                                      -----------
    components    no need connects them                                     branches of a fork
    series        each step of one needs all of the one before              a sequence: the barrier is free
    the rest      steps share some needs, but not all (the N shape)         a branch for each step that can begin

In the rest, a step with needs in several branches (a join) is in each of them, behind a guard: did the steps that have
just settled in this branch open it? Only the branch in which its last need settled opens it, so it runs once, and at
the earliest moment.

The fewer branches share a join, the fewer copies there are of it and of all that follows it. Branches that begin with
different steps become one where a free cut unites them, even if the steps after the cut wait for other branches, too:
these cannot begin before everything that the cut waits for, so a guard after the cut opens them at the right moment.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import chain

from mcpist.batch.language.graph import Graph, Steps, components, series

MAX_STATES = 2_500
STATES_PER_STEP = 2
STATES_PER_MAP = 9


@dataclass(frozen=True, slots=True, eq=False)
class EnterStep:
    """Settle a step; a guarded one only if the steps that have just settled opened it, else the sequence ends."""

    step: int
    guarded: bool
    states: int


@dataclass(frozen=True, slots=True, eq=False)
class Fork:
    """Run layouts in parallel and wait for all of them."""

    branches: "tuple[Layout, ...]"
    states: int


class MachineTooLarge(Exception):
    """The machine of a graph would pass the limit on its size; the batch can run on the relay."""


type Layout = tuple[EnterStep | Fork, ...]
"""A sequence: each part begins when the part before it has ended."""


def arrange(graph: Graph, map_steps: Steps = frozenset()) -> Layout:
    """Lay out a graph so that every step runs once, and as soon as its needs have settled.

    Raises MachineTooLarge as soon as the machine passes MAX_STATES: a join is copied into the branches of its needs, so
    badly tangled graphs grow exponentially.
    """
    layout = _LayoutBuilder(graph, map_steps).build(graph.steps, frozenset())
    _check_states(count_states(layout))
    return layout


def count_states(layout: Layout) -> int:
    """Return the number of states of a layout: those of its parts, and one to stop in."""
    return sum(part.states for part in layout) + any(isinstance(part, EnterStep) for part in layout)


class _LayoutBuilder:
    """Lays out the parts of one graph, equal parts once: so a layout that grows exponentially is refused soon."""

    def __init__(self, graph: Graph, map_steps: Steps) -> None:
        self._needs = graph.reduced.needs
        self._ancestors = graph.ancestors
        self._map_steps = map_steps
        self.build = cache(self._build)

    def _build(self, members: Steps, known: Steps) -> Layout:
        """Lay out `members` for a moment when all of `known` has settled.

        A member with an ancestor in neither set also waits for another branch: it is a guarded join, or follows one.
        """
        if not members:
            return ()
        if len(parts := components(self._needs, members)) > 1:
            return _fork(self.build(part, known) for part in parts)
        if len(series(self._ancestors, members)) > 1:
            return tuple(chain.from_iterable(self._sequence(members, known)))
        groups = self._branch_groups(members)
        if len(groups) > 1:
            return _fork(self.build(self._with_descendants(group, members), known) for group in groups)
        (i,) = groups[0]
        return self._enter(i, known)

    def _sequence(self, members: Steps, known: Steps) -> Iterator[Layout]:
        """Lay out the parts of a series, each with the steps that have surely settled when it begins."""
        for part in series(self._ancestors, members):
            yield self.build(part, known)
            # A single step begins after all its ancestors. Of several steps some may wait for another branch: only the
            # others have surely settled when the part has ended.
            if len(part) == 1:
                known |= part.union(*(self._ancestors[i] for i in part))
            else:
                known |= frozenset(i for i in part if self._ancestors[i] <= known | part)

    def _enter(self, i: int, known: Steps) -> Layout:
        guarded = not self._needs[i] <= known
        own = STATES_PER_MAP if i in self._map_steps else STATES_PER_STEP
        return (EnterStep(i, guarded, own + guarded),)

    def _branch_groups(self, members: Steps) -> list[Steps]:
        """Group the sources of `members` into branches: each alone, or with others that a free cut unites.

        Then the steps after the cut are laid out once, not once for each source; the largest groups save most.
        """
        sources = alone = self._sources(members)
        united: list[Steps] = []
        groups = {self._unite_before(self._ancestors[i] & sources, i, members) for i in members - sources}
        for group in sorted(groups, key=lambda group: (-len(group), *sorted(group))):
            if len(group) > 1 and group <= alone:
                alone -= group
                united.append(group)
        return sorted([*united, *(frozenset({i}) for i in alone)], key=min)

    def _unite_before(self, group: Steps, i: int, members: Steps) -> Steps:
        """Return the sources of a group that a cut before `i` unites: all that follows them waits for the cut."""
        while group:
            onward = self._with_descendants(group, members)
            before = onward & self._ancestors[i]
            early = frozenset(j for j in onward - before if not before <= self._ancestors[j])
            leading = group.intersection(chain.from_iterable(self._ancestors[j] for j in early))
            if not leading:
                return group
            group -= leading
        return group

    def _sources(self, members: Steps) -> Steps:
        """Return the members that need no other member."""
        return frozenset(i for i in members if self._needs[i].isdisjoint(members))

    def _with_descendants(self, group: Steps, members: Steps) -> Steps:
        """Return a group of `members` and all members that follow from it."""
        return group.union(i for i in members if not self._ancestors[i].isdisjoint(group))


def _fork(layouts: Iterable[Layout]) -> Layout:
    """Return a fork of layouts; a branch that is only a fork is replaced by its branches."""
    branches: list[Layout] = []
    for layout in layouts:
        match layout:
            case (Fork(inner),):
                branches.extend(inner)
            case _:
                branches.append(layout)
    if len(branches) == 1:
        return branches[0]
    return (Fork(tuple(branches), _check_states(1 + sum(map(count_states, branches)))),)


def _check_states(count: int) -> int:
    if count > MAX_STATES:
        raise MachineTooLarge(f"{count} states or more, {MAX_STATES} allowed")
    return count
