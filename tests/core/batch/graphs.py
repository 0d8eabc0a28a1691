"""Graphs for properties: layered, series-parallel, N-shaped and anything else, of 1 to 25 steps."""

from hypothesis import strategies as st

from mcpist.batch.graph import Graph

MAX_STEPS = 25

type Edges = set[tuple[int, int]]


@st.composite
def graphs(draw: st.DrawFn, max_steps: int = MAX_STEPS) -> Graph:
    """A graph of some shape, with its steps in any order."""
    shape = draw(st.sampled_from([_tangled, _layered, _series_parallel, _n_shaped]))
    size = draw(st.integers(1, max_steps))
    edges = shape(draw, size)
    places = draw(st.permutations(range(size)))
    needs: list[set[int]] = [set() for _ in range(size)]
    for before, after in edges:
        needs[places[after]].add(places[before])
    return Graph(tuple(map(frozenset, needs)))


def _tangled(draw: st.DrawFn, size: int) -> Edges:
    """Any step needs up to three that stand before it."""
    return {
        (before, after)
        for after in range(1, size)
        for before in draw(st.sets(st.integers(0, after - 1), max_size=min(3, after)))
    }


def _layered(draw: st.DrawFn, size: int) -> Edges:
    """Each step needs some steps of the layer before it."""
    width = draw(st.integers(1, 4))
    return {
        (before, after)
        for after in range(width, size)
        for before in draw(
            st.sets(st.integers(after // width * width - width, after // width * width - 1), min_size=1, max_size=width)
        )
    }


def _series_parallel(draw: st.DrawFn, size: int) -> Edges:
    """Parts one after the other or side by side, down to single steps."""
    edges: Edges = set()

    def build(low: int, high: int) -> tuple[list[int], list[int]]:
        if high - low == 1:
            return [low], [low]
        middle = draw(st.integers(low + 1, high - 1))
        (sources, sinks), (more_sources, more_sinks) = build(low, middle), build(middle, high)
        if draw(st.booleans()):
            edges.update((before, after) for before in sinks for after in more_sources)
            return sources, more_sinks
        return sources + more_sources, sinks + more_sinks

    build(0, size)
    return edges


def _n_shaped(draw: st.DrawFn, size: int) -> Edges:
    """A series-parallel graph with a few needs more, which make the letter N of some of its parts."""
    edges = _series_parallel(draw, size)
    if size > 1:
        pairs = st.sets(st.integers(0, size - 1), min_size=2, max_size=2)
        edges |= {(min(pair), max(pair)) for pair in draw(st.lists(pairs, max_size=4))}
    return edges
