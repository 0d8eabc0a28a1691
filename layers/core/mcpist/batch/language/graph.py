"""The graph of a batch: the steps that each step waits for."""

import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from graphlib import CycleError, TopologicalSorter
from itertools import chain, groupby
from typing import Any

type Steps = frozenset[int]
"""Steps by their index in the batch."""


@dataclass(frozen=True)
class Graph:
    """Steps 0, 1, 2, ... and for each the steps that it waits for, without a cycle."""

    needs: tuple[Steps, ...]

    def __post_init__(self) -> None:
        """Refuse what is no DAG; check a user's steps with `find_cycle` before building a Graph."""
        if not self.steps.issuperset(chain.from_iterable(self.needs)):
            raise ValueError("a step needs a step that does not exist")
        if cycle := find_cycle(self.needs):
            raise ValueError(f"the steps {cycle} wait for each other")

    @property
    def steps(self) -> Steps:
        """All steps."""
        return frozenset(range(len(self.needs)))

    @cached_property
    def ancestors(self) -> tuple[Steps, ...]:
        """For each step all steps that settle before it: its needs, their needs, and so on."""
        ancestors: dict[int, Steps] = {}
        for i in TopologicalSorter(dict(enumerate(self.needs))).static_order():
            ancestors[i] = self.needs[i].union(*(ancestors[j] for j in self.needs[i]))
        return tuple(ancestors[i] for i in range(len(self.needs)))

    @property
    def order(self) -> tuple[int, ...]:
        """A topological order: by the number of ancestors, of which every step has more than each of its ancestors."""
        ancestors = self.ancestors
        return tuple(sorted(self.steps, key=lambda i: (len(ancestors[i]), i)))

    @property
    def reduced(self) -> "Graph":
        """The transitive reduction: the same graph without the needs that other needs imply."""
        ancestors = self.ancestors
        return Graph(tuple(needs.difference(*(ancestors[j] for j in needs)) for needs in self.needs))

    def renumbered(self, order: Sequence[int]) -> "Graph":
        """Return the same graph with `order[k]` as its step k."""
        place = {i: k for k, i in enumerate(order)}
        return Graph(tuple(frozenset(place[k] for k in self.needs[i]) for i in order))

    @property
    def depth(self) -> int:
        """The number of steps on the longest path."""
        depths: dict[int, int] = {}
        for i in self.order:
            depths[i] = 1 + max((depths[j] for j in self.needs[i]), default=0)
        return max(depths.values(), default=0)


def find_cycle(needs: Sequence[Steps]) -> tuple[int, ...] | None:
    """Return a path on which each step needs the next, from a step to itself, e.g. (0, 2, 0); None without a cycle."""
    try:
        TopologicalSorter(dict(enumerate(needs))).prepare()
    except CycleError as error:
        ring = error.args[1][:0:-1]
        start = ring.index(min(ring))
        return (*ring[start:], *ring[:start], ring[start])
    return None


def canonical_order(graph: Graph, map_steps: Steps = frozenset()) -> tuple[int, ...]:
    """Order the steps by structure: batches that differ only in the order of their lines get the same graph by it.

    `map_steps` are the steps with `each`. The order is topological, and ignores needs that other needs imply. Graphs
    of which every part looks the same from everywhere may still get several orders: see `refined_order`.
    """
    return _CanonicalForm(graph, map_steps).read(graph.steps)[1]


class _CanonicalForm:
    """Reads the parts of a graph as texts that are equal for equal structures, each with its steps in that order."""

    def __init__(self, graph: Graph, map_steps: Steps) -> None:
        self._ancestors = graph.ancestors
        self._needs = graph.reduced.needs
        self._map_steps = map_steps

    def read(self, members: Steps) -> tuple[str, tuple[int, ...]]:
        """Read parallel and serial parts one by one, and any other part as a whole."""
        if len(members) == 1:
            return "*" if members <= self._map_steps else ".", tuple(members)
        if len(parts := components(self._needs, members)) > 1:
            return _join_parts("()", sorted(map(self.read, parts)))
        if len(parts := series(self._ancestors, members)) > 1:
            return _join_parts("[]", map(self.read, parts))
        return self._read_whole(members)

    def _read_whole(self, members: Steps) -> tuple[str, tuple[int, ...]]:
        needs = {i: self._needs[i] & members for i in members}
        order = refined_order(needs, {i: (len(self._ancestors[i] & members), i in self._map_steps) for i in members})
        place = {i: k for k, i in enumerate(order)}
        encoding = [(sorted(place[k] for k in needs[i]), i in self._map_steps) for i in order]
        return f"{{{encoding}}}", order


def _join_parts(brackets: str, parts: Iterable[tuple[str, tuple[int, ...]]]) -> tuple[str, tuple[int, ...]]:
    texts, orders = zip(*parts, strict=True)
    return brackets[0] + "".join(texts) + brackets[1], tuple(chain.from_iterable(orders))


def opened(needs: Sequence[Steps], seq: Mapping[int, int], i: int) -> list[int]:
    """Return the steps that settling `i` opened: all their needs have settled, and `i` was the last of them.

    `seq` has each settled step's place in the order of settling. Its entries never change, so neither does the result,
    and exactly one of a step's needs opens it.
    """
    return [
        j
        for j, needed in enumerate(needs)
        if i in needed and needed <= seq.keys() and all(seq[k] <= seq[i] for k in needed)
    ]


def components(needs: Sequence[Steps], members: Steps) -> tuple[Steps, ...]:
    """Split `members` into the parts that no need connects, sorted by their lowest steps; they can run in parallel."""
    parts: list[Steps] = []
    for i in members:
        linked = (needs[i] & members) | {i}
        touched = [part for part in parts if not part.isdisjoint(linked)]
        parts = [part for part in parts if part.isdisjoint(linked)]
        parts.append(linked.union(*touched))
    return tuple(sorted(parts, key=min))


def series(ancestors: Sequence[Steps], members: Steps) -> tuple[Steps, ...]:
    """Split `members` into as many parts as possible of which each waits for all of the part before.

    Every step of a part has every step of the parts before it among its ancestors. So every source of the rest needs
    every sink of the part before, and a barrier between the two delays no step: a free cut.
    """
    order = sorted(members, key=lambda i: len(ancestors[i] & members))
    parts: list[Steps] = []
    shared, end = members, len(order)
    for start in reversed(range(len(order))):
        shared &= ancestors[order[start]]
        if len(shared) == start:  # every step before `start` precedes every step after it
            parts.append(frozenset(order[start:end]))
            end = start
    return tuple(reversed(parts))


# Inside a word, _ and - mean nothing to Markdown.
_SPECIAL = re.compile(r"[^\w-]|(?<![^\W_])[_-]|[_-](?![^\W_])")


def mermaid_flowchart(ids: Sequence[str], needs: Sequence[Steps], map_steps: Steps = frozenset()) -> str:
    """Draw the needs between steps; steps with `each` have double borders, and implied needs are left out."""
    borders = [("[[", "]]") if index in map_steps else ("[", "]") for index in range(len(ids))]
    boxes = [f'  s{index}{left}"{_escaped(ids[index])}"{right}' for index, (left, right) in enumerate(borders)]
    reduced = Graph(tuple(needs)).reduced.needs
    arrows = [f"  s{need} --> s{index}" for index, needed in enumerate(reduced) for need in sorted(needed)]
    return "\n".join(["flowchart LR", *boxes, *arrows])


def _escaped(name: str) -> str:
    """Return a name in which characters that mean something to Mermaid, Markdown or HTML are numeric entities."""
    return _SPECIAL.sub(lambda match: f"#{ord(match[0])};", name)


type Neighbours = Mapping[int, frozenset[int]]


def refined_order(needs: Neighbours, invariants: Mapping[int, tuple[int, ...]]) -> tuple[int, ...]:
    """Order steps by their invariants first, then by the structure of what they need and what needs them.

    Steps begin with a colour each and lie in cells of one colour. A cell is split while its steps differ in the colours
    of their neighbours; when nothing differs any more, one step of the first cell with several is set apart, and so on
    until every cell holds one. Steps that this cannot tell apart are interchangeable in almost every graph, so it does
    not matter which of them is set apart. In the others the order depends on how the steps were numbered.

    Practical graph isomorphism, II: https://arxiv.org/abs/1301.1493
    """
    refinement = _Refinement(needs)
    cells = _split(invariants, invariants.__getitem__, 0)
    colours = refinement.refine({i: start for start, cell in cells for i in cell}, list(invariants))
    while mixed := [(colour, cell) for colour, cell in _cells(colours).items() if len(cell) > 1]:
        _, cell = min(mixed)
        others = {i: colours[i] + 1 for i in cell[1:]}
        colours = refinement.refine(colours | others, [*others])
    return tuple(sorted(colours, key=colours.__getitem__))


class _Refinement:
    """Splits cells by the neighbours of their steps.

    A colour is the number of steps in the cells before, so splitting a cell changes no other cell's colour.
    """

    def __init__(self, needs: Neighbours) -> None:
        self._needs = needs
        self._dependents: dict[int, frozenset[int]] = {i: frozenset(j for j in needs if i in needs[j]) for i in needs}

    def refine(self, colours: dict[int, int], changed: Collection[int]) -> dict[int, int]:
        """Split cells until the steps of each have the same number of neighbours of every colour."""
        colours, cells = dict(colours), _cells(colours)
        while changed:
            touched = {colours[k] for i in changed for k in (*self._needs[i], *self._dependents[i])}
            mixed = [colour for colour in touched if len(cells[colour]) > 1]
            signatures = {i: self._signature(i, colours) for colour in mixed for i in cells[colour]}
            moved: list[int] = []
            for colour in mixed:
                for start, part in _split(cells[colour], signatures.__getitem__, colour):
                    if start != colour:
                        moved += part
                        colours |= dict.fromkeys(part, start)
                    cells[start] = part
            changed = moved
        return colours

    def _signature(self, i: int, colours: Mapping[int, int]) -> tuple[list[int], list[int]]:
        return sorted(colours[k] for k in self._needs[i]), sorted(colours[k] for k in self._dependents[i])


def _cells(colours: Mapping[int, int]) -> dict[int, list[int]]:
    cells = defaultdict[int, list[int]](list)
    for i in sorted(colours):
        cells[colours[i]].append(i)
    return cells


def _split(cell: Iterable[int], key: Callable[[int], Any], start: int) -> Iterator[tuple[int, list[int]]]:
    """Split steps by a key: each part with the number of steps before it, counted from `start`."""
    for _, group in groupby(sorted(cell, key=key), key):
        part = list(group)
        yield start, part
        start += len(part)
