"""The layers of a batch's graph: each step behind all that it waits for, in an order with few crossing lines.

Sugiyama's method, in its usual parts: layers by the longest path, vertices that carry long lines through the layers
between, and an order inside of each layer by the mean place of the neighbours. It has no randomness: the same graph has
the same picture.
"""

from bisect import bisect_right, insort
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from mcpist.batch.language.graph import Graph

MIN_JOINED_STEPS = 2
MAX_ROUNDS = 8

type Vertex = int
"""A step by its index; from the number of steps on, a junction of lines or a bend of one."""


@dataclass(frozen=True, slots=True)
class Layers:
    """The vertices of a graph in layers, and the lines between layers that follow each other."""

    steps: int
    """The number of steps; greater vertices are junctions and bends."""
    order: Sequence[Sequence[Vertex]]
    """For each layer its vertices, in their order."""
    lines: Sequence[tuple[Vertex, Vertex]]
    source: Mapping[Vertex, Vertex]
    """For each bend the step or junction whose line it carries."""
    junctions: Mapping[Vertex, frozenset[int]] = field(default_factory=dict)
    """For each junction the steps that lead to it."""


def layers_of(needs: Sequence[frozenset[int]]) -> Layers:
    """Return the layers of a graph, of which needs that other needs imply are left out."""
    behind, junctions = _with_junctions(Graph(tuple(needs)).reduced.needs)
    depth = _depths(behind)
    lines, source = _with_bends(behind, depth)
    rows = [
        [vertex for vertex in depth if depth[vertex] == level] for level in range(max(depth.values(), default=-1) + 1)
    ]
    return Layers(len(needs), _fewest_crossings(rows, lines), lines, source, junctions)


def _with_junctions(
    needs: Sequence[frozenset[int]],
) -> tuple[dict[Vertex, Iterable[Vertex]], dict[Vertex, frozenset[int]]]:
    """Return what each vertex follows; steps that wait for the same several steps do so behind one junction."""
    same: defaultdict[frozenset[int], list[int]] = defaultdict(list)
    for step, needed in enumerate(needs):
        same[needed].append(step)
    behind: dict[Vertex, Iterable[Vertex]] = {step: sorted(needed) for step, needed in enumerate(needs)}
    junctions = {}
    for needed, steps in same.items():
        if min(len(needed), len(steps)) >= MIN_JOINED_STEPS:
            junction = len(behind)
            junctions[junction] = needed
            behind[junction] = sorted(needed)
            behind |= dict.fromkeys(steps, (junction,))
    return behind, junctions


def _depths(behind: Mapping[Vertex, Iterable[Vertex]]) -> dict[Vertex, int]:
    """Return the number of vertices on the longest path in front of each vertex."""
    depth: dict[Vertex, int] = {}
    waiting = list(behind)
    while waiting:
        ready = [vertex for vertex in waiting if all(needed in depth for needed in behind[vertex])]
        depth |= {vertex: max((depth[needed] + 1 for needed in behind[vertex]), default=0) for vertex in ready}
        waiting = [vertex for vertex in waiting if vertex not in depth]
    return depth


def _with_bends(
    behind: Mapping[Vertex, Iterable[Vertex]], depth: dict[Vertex, int]
) -> tuple[list[tuple[Vertex, Vertex]], dict[Vertex, Vertex]]:
    """Return lines that join layers which follow each other, and add the bends in between to `depth`.

    All lines of a vertex share their bends, so that there are at most as many as vertices times layers.
    """
    lines: list[tuple[Vertex, Vertex]] = []
    source: dict[Vertex, Vertex] = {}
    carried: dict[tuple[Vertex, int], Vertex] = {}
    for vertex in behind:
        for needed in behind[vertex]:
            at = needed
            for level in range(depth[needed] + 1, depth[vertex]):
                if (needed, level) not in carried:
                    bend = carried[needed, level] = len(depth)
                    depth[bend], source[bend] = level, needed
                    lines.append((at, bend))
                at = carried[needed, level]
            lines.append((at, vertex))
    return lines, source


def _fewest_crossings(rows: list[list[Vertex]], lines: Sequence[tuple[Vertex, Vertex]]) -> list[list[Vertex]]:
    """Return the layers in the best order that some rounds down and up have found."""
    before: defaultdict[Vertex, list[Vertex]] = defaultdict(list)
    after: defaultdict[Vertex, list[Vertex]] = defaultdict(list)
    for start, end in lines:
        before[end].append(start)
        after[start].append(end)
    best, fewest = rows, _crossings(rows, after)
    for turn in range(MAX_ROUNDS):
        if fewest == 0:
            break
        rows = _sorted_by(rows, before) if turn % 2 == 0 else _sorted_by(rows[::-1], after)[::-1]
        crossings = _crossings(rows, after)
        if crossings < fewest:
            best, fewest = rows, crossings
    return best


def _sorted_by(rows: list[list[Vertex]], neighbours: Mapping[Vertex, Sequence[Vertex]]) -> list[list[Vertex]]:
    """Return the layers, each sorted by the mean place of its vertices' neighbours in the layer before."""
    result = rows[:1]
    for row in rows[1:]:
        place = {vertex: number for number, vertex in enumerate(result[-1])}
        mean = {
            vertex: sum(place[other] for other in near) / len(near) if (near := neighbours.get(vertex)) else number
            for number, vertex in enumerate(row)
        }
        result.append(sorted(row, key=lambda vertex: mean[vertex]))
    return result


def _crossings(rows: Sequence[Sequence[Vertex]], after: Mapping[Vertex, Sequence[Vertex]]) -> int:
    """Count the lines that cross: pairs that begin in one order and end in the other."""
    found = 0
    for row, following in pairwise(rows):
        place = {vertex: number for number, vertex in enumerate(following)}
        ends: list[int] = []
        for vertex in row:
            own = [place[other] for other in after.get(vertex, ())]
            found += sum(len(ends) - bisect_right(ends, end) for end in own)
            for end in own:
                insort(ends, end)
    return found
