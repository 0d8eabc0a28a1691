"""Random graphs: layered, series-parallel, N-shaped and tangled, each the same for the same seed."""

from collections.abc import Callable
from random import Random

from mcpist.batch.language.graph import Graph

type Edges = set[tuple[int, int]]


def graph_of(random: Random, size: int, shape: Callable[[Random, int], Edges]) -> Graph:
    """Return a graph of a size, with its steps in any order."""
    places = random.sample(range(size), size)
    needs: list[set[int]] = [set() for _ in range(size)]
    for before, after in shape(random, size):
        needs[places[after]].add(places[before])
    return Graph(tuple(map(frozenset, needs)))


def tangled(random: Random, size: int) -> Edges:
    """Let each step need up to three of the steps before it."""
    return {
        (before, after)
        for after in range(1, size)
        for before in random.sample(range(after), random.randint(0, min(3, after)))
    }


def layered(random: Random, size: int) -> Edges:
    """Let each step need one to three steps of the layer before it."""
    width = random.randint(1, 6)
    return {
        (before, after)
        for after in range(width, size)
        for before in random.sample(
            range(after // width * width - width, after // width * width), random.randint(1, min(3, width))
        )
    }


def series_parallel(random: Random, size: int) -> Edges:
    """Join parts in series or in parallel, down to single steps."""
    edges: Edges = set()

    def build(low: int, high: int) -> tuple[list[int], list[int]]:
        if high - low == 1:
            return [low], [low]
        middle = random.randint(low + 1, high - 1)
        (sources, sinks), (more_sources, more_sinks) = build(low, middle), build(middle, high)
        if random.choice((True, False)):
            edges.update((before, after) for before in sinks for after in more_sources)
            return sources, more_sinks
        return sources + more_sources, sinks + more_sinks

    build(0, size)
    return edges


def n_shaped(random: Random, size: int) -> Edges:
    """Add a few needs to a series-parallel graph, which give some of its parts the shape of an N."""
    edges = series_parallel(random, size)
    if size > 1:
        for _ in range(random.randint(0, 6)):
            before, after = sorted(random.sample(range(size), 2))
            edges.add((before, after))
    return edges


SHAPES = (layered, series_parallel, n_shaped, tangled)


def seeded(seed: int, size: int | None = None) -> Graph:
    """Return the graph of a seed: every shape in turn, of 1 to 60 steps unless the size is given."""
    random = Random(seed)  # noqa: S311 - the same every time
    return graph_of(random, size or random.randint(1, 60), SHAPES[seed % len(SHAPES)])
