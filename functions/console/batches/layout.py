"""The layout of a batch's graph: a box for each step and a smooth line for each need, in pixels."""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from console.batches.layers import Layers, Vertex, layers_of

BOX_WIDTH, BOX_HEIGHT = 204, 68
MARGIN = 8
LAYER_GAP, NARROW_GAP = 44, 28
"""Between layers of steps, and beside one that has only junctions and bends."""
STEP_GAP, LINE_GAP = 18, 14
"""Between neighbours of a layer: two steps, and a line beside anything."""
MAX_WIDTH = 900
"""A picture that would be wider leads downwards, if it is narrower so."""
MAX_ROUNDS = 6
BEND_WEIGHT, ALONE_WEIGHT = 4.0, 0.001
"""A line bends little; a step without lines gives way, and stays near the beginning."""


@dataclass(frozen=True, slots=True)
class Line:
    """The lines that leave a step, or a junction, as one SVG path."""

    steps: frozenset[int]
    """The steps behind which the line leads on."""
    path: str


@dataclass(frozen=True, slots=True)
class Layout:
    """A picture of a graph."""

    width: int
    height: int
    downwards: bool
    """Whether it leads from the top to the bottom, else from left to right."""
    boxes: Sequence[tuple[int, int]]
    """For each step the left and the top of its box."""
    lines: Sequence[Line]
    junctions: Sequence[tuple[int, int]]
    """The centres of the junctions."""


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
    middles = _middles(layers, breadth)
    shift = MARGIN - min((middle - breadth / 2 for step, middle in middles.items() if step < layers.steps), default=0)
    shift = max(shift, MARGIN - min(middles.values(), default=0))
    places = {
        vertex: (begin, round(middles[vertex] + shift), begin + (along if thick else 0))
        for row, (begin, thick) in zip(layers.order, begins, strict=True)
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
    thick = [any(vertex < layers.steps for vertex in row) for row in layers.order]
    begins, at = [], MARGIN
    for index, has_steps in enumerate(thick):
        if index:
            at += LAYER_GAP if has_steps and thick[index - 1] else NARROW_GAP
        begins.append((at, has_steps))
        at += along if has_steps else 0
    return begins, at


def _middles(layers: Layers, breadth: int) -> dict[Vertex, float]:
    """Return the middle of each vertex in its layer: as near to its neighbours as the order and the gaps allow."""
    near = _neighbours(layers)
    middles: dict[Vertex, float] = {}
    for row in layers.order:
        middles |= zip(row, _spread([0.0] * len(row), _gaps(row, layers.steps, breadth), [1.0] * len(row)), strict=True)
    for turn in range(MAX_ROUNDS):
        side = None if turn == MAX_ROUNDS - 1 else turn % 2
        for row in layers.order if turn % 2 == 0 else reversed(layers.order):
            wanted = [_wanted(near[vertex], side, middles, vertex) for vertex in row]
            weights = [_weight(layers, near[vertex], vertex) for vertex in row]
            middles |= zip(row, _spread(wanted, _gaps(row, layers.steps, breadth), weights), strict=True)
    return middles


def _neighbours(layers: Layers) -> Mapping[Vertex, tuple[list[Vertex], list[Vertex]]]:
    near: defaultdict[Vertex, tuple[list[Vertex], list[Vertex]]] = defaultdict(lambda: ([], []))
    for start, end in layers.lines:
        near[end][0].append(start)
        near[start][1].append(end)
    return near


def _wanted(
    near: tuple[list[Vertex], list[Vertex]], side: int | None, middles: Mapping[Vertex, float], vertex: Vertex
) -> float:
    """Return the mean of the neighbours on one side, or on both for None; 0 for a vertex without any."""
    if not any(near):
        return 0.0
    chosen = near[0] + near[1] if side is None else near[side]
    return sum(middles[other] for other in chosen) / len(chosen) if chosen else middles[vertex]


def _weight(layers: Layers, near: tuple[list[Vertex], list[Vertex]], vertex: Vertex) -> float:
    if not any(near):
        return ALONE_WEIGHT
    return BEND_WEIGHT if vertex in layers.source else 1.0


def _gaps(row: Sequence[Vertex], steps: int, breadth: int) -> list[float]:
    """Return the least distance between the middles of neighbours."""
    return [
        (breadth * ((one < steps) + (other < steps))) / 2 + (STEP_GAP if max(one, other) < steps else LINE_GAP)
        for one, other in pairwise(row)
    ]


def _spread(wanted: Sequence[float], gaps: Sequence[float], weights: Sequence[float]) -> list[float]:
    """Return places that keep their order and the gaps, with the least sum of squared distances from those wanted.

    Isotonic regression by the pool-adjacent-violators algorithm, after the gaps were taken off.
    """
    offsets = [0.0]
    for gap in gaps:
        offsets.append(offsets[-1] + gap)
    pools: list[tuple[float, float, int]] = []  # the mean, the weight and the number of places
    for want, offset, weight in zip(wanted, offsets, weights, strict=False):
        pool = (want - offset, weight, 1)
        while pools and pools[-1][0] > pool[0]:
            mean, other, count = pools.pop()
            total = other + pool[1]
            pool = ((mean * other + pool[0] * pool[1]) / total, total, count + pool[2])
        pools.append(pool)
    means = [mean for mean, _, count in pools for _ in range(count)]
    return [mean + offset for mean, offset in zip(means, offsets, strict=False)]


def _lines(
    layers: Layers, places: Mapping[Vertex, tuple[int, int, int]], turn: Callable[[int, int], tuple[int, int]]
) -> list[Line]:
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
    return [Line(_steps_behind(layers, vertex), "".join(found)) for vertex, found in sorted(parts.items())]


def _steps_behind(layers: Layers, vertex: Vertex) -> frozenset[int]:
    return layers.junctions.get(vertex, frozenset((vertex,)))
