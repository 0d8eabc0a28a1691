"""The layout of a batch's graph: a box for each step and a smooth line for each need, in pixels."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from graphlib import TopologicalSorter
from itertools import pairwise
from typing import ClassVar

from mcpist.batch.language.graph import Graph

BOX_WIDTH, BOX_HEIGHT = 204, 68
MARGIN = 8
LAYER_GAP, NARROW_GAP = 44, 28
"""Between layers of steps, and beside one that has only junctions and bends."""
STEP_GAP, LINE_GAP = 18, 14
"""Between neighbours of a layer: two steps, and a line beside anything."""
MAX_WIDTH = 900
"""A picture that would be wider leads downwards, if it is narrower so."""
MIN_JOINED_STEPS = 2

type Vertex = int
"""A step by its index; from the number of steps on, a junction of lines or a bend of one."""


@dataclass(frozen=True, slots=True)
class NeedLine:
    """The lines that leave a step, or a junction, as one SVG path."""

    steps: frozenset[int]
    """The steps behind which the line leads on."""
    path: str


@dataclass(frozen=True, slots=True)
class Layout:
    """A picture of a graph."""

    box_width: ClassVar[int] = BOX_WIDTH
    box_height: ClassVar[int] = BOX_HEIGHT
    width: int
    height: int
    downwards: bool
    """Whether it leads from the top to the bottom, else from left to right."""
    boxes: Sequence[tuple[int, int]]
    """For each step the left and the top of its box."""
    lines: Sequence[NeedLine]
    junctions: Sequence[tuple[int, int]]
    """The centres of the junctions."""


@dataclass(frozen=True, slots=True)
class Layers:
    """The vertices of a graph in layers, and the lines between layers that follow each other."""

    steps: int
    """The number of steps; greater vertices are junctions and bends."""
    rows: Sequence[Sequence[Vertex]]
    """For each layer its vertices."""
    lines: Sequence[tuple[Vertex, Vertex]]
    source: Mapping[Vertex, Vertex]
    """For each bend the step or junction whose line it carries."""
    junctions: Mapping[Vertex, frozenset[int]] = field(default_factory=dict)
    """For each junction the steps that lead to it."""


@lru_cache(maxsize=64)
def layout(needs: tuple[frozenset[int], ...]) -> Layout:
    """Lay out a graph from left to right, or downwards where that is narrower and the other too wide."""
    layers = layers_of(needs)
    across = _draw(layers, downwards=False)
    if across.width <= MAX_WIDTH:
        return across
    return min(across, _draw(layers, downwards=True), key=lambda drawn: drawn.width)


def _draw(layers: Layers, *, downwards: bool) -> Layout:
    along, breadth = (BOX_HEIGHT, BOX_WIDTH) if downwards else (BOX_WIDTH, BOX_HEIGHT)
    begins, length = _layer_places(layers, along)
    middles = _place(layers, breadth)
    shift = MARGIN - min((middle - breadth / 2 for step, middle in middles.items() if step < layers.steps), default=0)
    shift = max(shift, MARGIN - min(middles.values(), default=0))
    places = {
        vertex: (begin, round(middles[vertex] + shift), begin + (along if thick else 0))
        for row, (begin, thick) in zip(layers.rows, begins, strict=True)
        for vertex in row
    }
    turn: Callable[[int, int], tuple[int, int]] = (lambda a, b: (b, a)) if downwards else (lambda a, b: (a, b))
    boxes = [turn(places[step][0], places[step][1] - breadth // 2) for step in range(layers.steps)]
    extent = max(
        (middle + (breadth // 2 if step < layers.steps else 0) for step, (_, middle, _) in places.items()), default=0
    )
    width, height = turn(length + MARGIN, extent + MARGIN)
    junctions = [turn(*places[junction][:2]) for junction in layers.junctions]
    return Layout(width, height, downwards, boxes, _lines(layers, places, turn), junctions)


def _layer_places(layers: Layers, along: int) -> tuple[list[tuple[int, bool]], int]:
    """Return where each layer begins and whether it has steps, and where the last one ends."""
    thick = [any(vertex < layers.steps for vertex in row) for row in layers.rows]
    begins, at = [], MARGIN
    for index, has_steps in enumerate(thick):
        if index:
            at += LAYER_GAP if has_steps and thick[index - 1] else NARROW_GAP
        begins.append((at, has_steps))
        at += along if has_steps else 0
    return begins, at


def _place(layers: Layers, breadth: int) -> dict[Vertex, float]:
    """Return the middle of each vertex in its layer, as near to those before it as its neighbours allow.

    One pass from the first layer to the last, in which a layer's order is that of the places that its vertices want.
    Passes in both directions would cross fewer lines in dense graphs; the graphs of batches are sparse.
    """
    before: defaultdict[Vertex, list[Vertex]] = defaultdict(list)
    for start, end in layers.lines:
        before[end].append(start)
    middles: dict[Vertex, float] = {}
    for row in layers.rows:
        wanted = {vertex: _mean([middles[other] for other in before[vertex]] or [0.0]) for vertex in row}
        order = sorted(row, key=wanted.__getitem__)
        placed = [wanted[order[0]]]
        for one, other in pairwise(order):
            placed.append(max(wanted[other], placed[-1] + _gap(one, other, layers.steps, breadth)))
        # Each was only pushed away from the first: the whole layer moves back by the mean of that.
        shift = _mean([*wanted.values()]) - _mean(placed)
        middles |= {vertex: place + shift for vertex, place in zip(order, placed, strict=True)}
    return middles


def _mean(numbers: Sequence[float]) -> float:
    return sum(numbers) / len(numbers)  # a cold start need not wait for the module statistics


def _gap(one: Vertex, other: Vertex, steps: int, breadth: int) -> float:
    """Return the least distance between the middles of two neighbours."""
    return breadth * ((one < steps) + (other < steps)) / 2 + (STEP_GAP if max(one, other) < steps else LINE_GAP)


def _lines(
    layers: Layers, places: Mapping[Vertex, tuple[int, int, int]], turn: Callable[[int, int], tuple[int, int]]
) -> list[NeedLine]:
    """Return a path for each step or junction with lines: curves between layers, and straight through a layer."""
    parts: defaultdict[Vertex, list[str]] = defaultdict(list)
    for start, end in layers.lines:
        (_, before, leaves), (arrives, after, passes) = places[start], places[end]
        middle = (leaves + arrives) // 2
        points = [turn(leaves, before), turn(middle, before), turn(middle, after), turn(arrives, after)]
        path = "M{} {}C{} {} {} {} {} {}".format(*(number for point in points for number in point))
        if end in layers.source and passes != arrives:
            path += "L{} {}".format(*turn(passes, after))
        parts[layers.source.get(start, start)].append(path)
    return [
        NeedLine(layers.junctions.get(vertex, frozenset((vertex,))), "".join(found))
        for vertex, found in sorted(parts.items())
    ]


def layers_of(needs: Sequence[frozenset[int]]) -> Layers:
    """Return the layers of a graph, of which needs that other needs imply are left out."""
    behind, junctions = _with_junctions(Graph(tuple(needs)).reduced.needs)
    depth = _depths(behind)
    lines, source = _with_bends(behind, depth)
    rows: list[list[Vertex]] = [[] for _ in range(max(depth.values(), default=-1) + 1)]
    for vertex in sorted(depth):  # so that a picture is the same each time: steps first, in their order
        rows[depth[vertex]].append(vertex)
    return Layers(len(needs), rows, lines, source, junctions)


def _with_junctions(
    needs: Sequence[frozenset[int]],
) -> tuple[dict[Vertex, Iterable[Vertex]], dict[Vertex, frozenset[int]]]:
    """Return the needs of each vertex; steps that wait for the same several steps do so behind one junction."""
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
    for vertex in TopologicalSorter(behind).static_order():
        depth[vertex] = max((depth[needed] + 1 for needed in behind[vertex]), default=0)
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
