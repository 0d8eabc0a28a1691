"""Graphs for properties, of 1 to 25 steps, and batches: graphs whose steps take time, some with `each`."""

from dataclasses import dataclass
from random import Random

from hypothesis import strategies as st

from mcpist.batch.language.graph import Graph
from tests.core.batch.shapes import SHAPES, graph_of
from tests.core.batch.stub_runner import Seconds

MAX_STEPS = 25
MAX_SECONDS = 9


@dataclass(frozen=True, slots=True)
class Batch:
    """A graph, the steps with `each`, and how long each step, or each of its elements, takes."""

    graph: Graph
    map_steps: frozenset[int]
    seconds: tuple[Seconds, ...]


def graphs(max_steps: int = MAX_STEPS) -> st.SearchStrategy[Graph]:
    """Draw a graph of some shape."""
    random = st.randoms(use_true_random=False)
    return st.builds(graph_of, random, st.integers(1, max_steps), st.sampled_from(SHAPES))


@st.composite
def batches(draw: st.DrawFn, max_steps: int = MAX_STEPS) -> Batch:
    """Draw a graph of some shape with random durations."""
    graph = draw(graphs(max_steps))
    return timed(graph, draw(st.randoms(use_true_random=False)), max_seconds=MAX_SECONDS)


def timed(graph: Graph, random: Random, max_seconds: int) -> Batch:
    """Return a batch of a graph in which some steps have `each`, over no element or many, with random durations."""
    map_steps = frozenset(i for i in graph.steps if random.randint(0, 6) == 0)

    def duration(i: int) -> Seconds:
        if i not in map_steps:
            return random.randint(0, max_seconds)
        return [random.randint(0, max_seconds) for _ in range(random.choice((0, 1, 3, 25)))]

    return Batch(graph, map_steps, tuple(duration(i) for i in range(len(graph.needs))))
