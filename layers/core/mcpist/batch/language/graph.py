"""The shape of a batch: which step waits for which."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from itertools import chain

from mcpist.batch.language.refinement import refined_order

type Steps = frozenset[int]
"""Steps by their index in the batch."""


@dataclass(frozen=True, slots=True)
class Graph:
    """Steps 0, 1, 2, ... and for each the steps that it waits for; never a cycle."""

    needs: tuple[Steps, ...]

    def __post_init__(self) -> None:
        """Refuse what is no DAG: whoever builds a Graph from a user's words asks `find_cycle` first."""
        if not self.steps.issuperset(chain.from_iterable(self.needs)):
            raise ValueError("a step needs a step that does not exist")
        if cycle := find_cycle(self.needs):
            raise ValueError(f"the steps {cycle} wait for each other")

    @property
    def steps(self) -> Steps:
        """All steps."""
        return frozenset(range(len(self.needs)))

    @property
    def ancestors(self) -> tuple[Steps, ...]:
        """For each step all that must have settled before it: its needs, their needs, and so on."""
        found: dict[int, Steps] = {}
        for i in TopologicalSorter(dict(enumerate(self.needs))).static_order():
            found[i] = self.needs[i].union(*(found[j] for j in self.needs[i]))
        return tuple(found[i] for i in range(len(self.needs)))

    @property
    def order(self) -> tuple[int, ...]:
        """A topological order: whoever has fewer ancestors stands first, so nobody stands before an ancestor."""
        ancestors = self.ancestors
        return tuple(sorted(self.steps, key=lambda i: (len(ancestors[i]), i)))

    @property
    def reduced(self) -> "Graph":
        """The transitive reduction: the same order of steps, without the needs that other needs imply."""
        ancestors = self.ancestors
        return Graph(tuple(needs.difference(*(ancestors[j] for j in needs)) for needs in self.needs))

    def renumbered(self, order: Sequence[int]) -> "Graph":
        """The same graph with `order[k]` as its step k."""
        place = {i: k for k, i in enumerate(order)}
        return Graph(tuple(frozenset(place[k] for k in self.needs[i]) for i in order))

    @property
    def components(self) -> tuple[Steps, ...]:
        """The parts of the batch that have nothing to do with each other."""
        return components(self.needs, self.steps)

    @property
    def series(self) -> tuple[Steps, ...]:
        """The parts of the batch that follow each other as whole parts."""
        return series(self.ancestors, self.steps)

    @property
    def depth(self) -> int:
        """The steps on the longest path."""
        reached: dict[int, int] = {}
        for i in self.order:
            reached[i] = 1 + max((reached[j] for j in self.needs[i]), default=0)
        return max(reached.values(), default=0)


def find_cycle(needs: Sequence[Steps]) -> tuple[int, ...] | None:
    """Find a path on which each step needs the next, from a step to itself: (0, 2, 0); None: no cycle."""
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
    of which every part looks the same from everywhere may still get several orders: see `refinement`.
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
    """List the steps that the settling of `i` opened: all that they need has settled, and `i` as the last of it.

    `seq` says as which one a step settled. Its entries never change, so neither does this answer,
    and exactly one of a step's needs opens it.
    """
    return [
        j
        for j, needed in enumerate(needs)
        if i in needed and needed <= seq.keys() and all(seq[k] <= seq[i] for k in needed)
    ]


def components(needs: Sequence[Steps], members: Steps) -> tuple[Steps, ...]:
    """Split `members` into the parts that no need connects, by their lowest step: they run in parallel."""
    parts: list[Steps] = []
    for i in members:
        linked = (needs[i] & members) | {i}
        touched = [part for part in parts if not part.isdisjoint(linked)]
        parts = [part for part in parts if part.isdisjoint(linked)]
        parts.append(linked.union(*touched))
    return tuple(sorted(parts, key=min))


def series(ancestors: Sequence[Steps], members: Steps) -> tuple[Steps, ...]:
    """Split `members` into the most parts of which each waits for all of the one before: they run in sequence.

    Every step of a part has every step of the parts before it among its ancestors. So every source of the
    rest needs every sink of the part before, and a barrier between the two delays nobody: a free cut.
    """
    order = sorted(members, key=lambda i: len(ancestors[i] & members))
    parts: list[Steps] = []
    shared, end = members, len(order)
    for start in reversed(range(len(order))):
        shared &= ancestors[order[start]]
        if len(shared) == start:  # all that stands before `start` precedes all that stands after it
            parts.append(frozenset(order[start:end]))
            end = start
    return tuple(reversed(parts))
