"""The picture of a batch's graph: nothing overlaps, every line leads forward, and the same graph looks the same."""

import random
import re
import time
from itertools import combinations

from console.batches.layout import BOX_HEIGHT, BOX_WIDTH, MAX_WIDTH, Layout, layers_of, layout
from tests.faults import for_each

type Needs = tuple[frozenset[int], ...]

CHAIN: Needs = (frozenset(), *(frozenset({step - 1}) for step in range(1, 100)))
WIDE: Needs = (frozenset(), *([frozenset({0})] * 98), frozenset(range(1, 99)))
JOINED: Needs = (*([frozenset[int]()] * 50), *([frozenset(range(50))] * 50))
DIAMOND: Needs = (frozenset(), frozenset({0}), frozenset({0}), frozenset({1, 2}))


def random_graph(seed: int) -> Needs:
    choose = random.Random(seed)  # noqa: S311 - no secret
    size = choose.randint(1, 100)
    density = choose.choice([0.01, 0.05, 0.2])
    return tuple(frozenset(need for need in range(step) if choose.random() < density) for step in range(size))


GRAPHS = [CHAIN, WIDE, JOINED, DIAMOND, *map(random_graph, range(12))]


def ends_of(drawn: Layout) -> list[tuple[int, int]]:
    """Return the points in which lines end."""
    numbers = [re.findall(r"-?\d+", part) for line in drawn.lines for part in line.path.split("M") if part]
    return [(int(part[-2]), int(part[-1])) for part in numbers]


@for_each("needs", list(GRAPHS))
def test_no_two_boxes_overlap_and_all_are_inside_of_the_picture(needs: Needs) -> None:
    drawn = layout(needs)
    assert len(drawn.boxes) == len(needs)
    for (x, y), (other_x, other_y) in combinations(drawn.boxes, 2):
        assert abs(x - other_x) >= BOX_WIDTH or abs(y - other_y) >= BOX_HEIGHT
    assert all(0 <= x <= drawn.width - BOX_WIDTH and 0 <= y <= drawn.height - BOX_HEIGHT for x, y in drawn.boxes)


@for_each("needs", list(GRAPHS))
def test_a_step_comes_after_everything_that_it_waits_for(needs: Needs) -> None:
    drawn = layout(needs)
    axis = 1 if drawn.downwards else 0
    for step, needed in enumerate(needs):
        assert all(drawn.boxes[need][axis] < drawn.boxes[step][axis] for need in needed)


@for_each("needs", list(GRAPHS))
def test_a_line_reaches_each_step_that_waits_for_another(needs: Needs) -> None:
    drawn = layout(needs)
    ports = [(x + BOX_WIDTH // 2, y) if drawn.downwards else (x, y + BOX_HEIGHT // 2) for x, y in drawn.boxes]
    reached = set(ends_of(drawn))
    assert all((ports[step] in reached) == bool(needed) for step, needed in enumerate(needs))


def test_a_diamond_has_no_crossing_and_its_ends_are_in_the_middle() -> None:
    drawn = layout(DIAMOND)
    first, left, right, last = (y for _, y in drawn.boxes)
    assert left < first == last < right
    assert not drawn.downwards


def test_lines_that_would_cross_are_put_in_order() -> None:
    """Steps 3, 4 and 5 each follow another of the first three, in the opposite order."""
    drawn = layout((frozenset(), frozenset(), frozenset(), frozenset({2}), frozenset({1}), frozenset({0})))
    assert [drawn.boxes[step][1] for step in (3, 4, 5)] == [drawn.boxes[step][1] for step in (2, 1, 0)]


def test_a_long_chain_leads_downwards_and_stays_narrow() -> None:
    drawn = layout(CHAIN)
    assert drawn.downwards
    assert drawn.width < BOX_WIDTH * 2


def test_a_hundred_steps_beside_each_other_stay_narrow() -> None:
    assert layout(WIDE).width <= MAX_WIDTH
    assert not layout(WIDE).downwards


def test_steps_that_all_wait_for_the_same_share_one_junction() -> None:
    """Fifty steps that wait for fifty others have a hundred lines, not 2,500."""
    assert len(layers_of(JOINED).lines) == 100
    assert len(layout(JOINED).junctions) == 1


def test_a_need_that_others_imply_has_no_line() -> None:
    assert len(layers_of((frozenset(), frozenset({0}), frozenset({0, 1}))).lines) == 2


def test_the_same_graph_has_the_same_picture() -> None:
    layout.cache_clear()
    first = layout(GRAPHS[-1])
    layout.cache_clear()
    assert layout(GRAPHS[-1]) == first


def test_a_batch_without_steps_has_an_empty_picture() -> None:
    assert layout(()).boxes == []


def test_the_largest_graphs_are_laid_out_in_half_a_second() -> None:
    """Sources beside a long chain, whose lines pass all its layers, give the most bends."""
    chain = [frozenset({step - 1}) if step else frozenset[int]() for step in range(50)]
    sources = [frozenset[int]()] * 25
    sinks = [frozenset({49, *random.Random(sink).sample(range(50, 75), 12)}) for sink in range(25)]  # noqa: S311
    layout.cache_clear()
    begun = time.process_time()
    layout((*chain, *sources, *sinks))
    assert time.process_time() - begun < 0.5
