import time
from collections.abc import Sequence
from itertools import pairwise
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcpist.batch.language.graph import Graph, canonical_order, components, find_cycle, opened, series
from tests.core.batch.graphs import graphs
from tests.examples import examples

ONE_SECOND = settings(max_examples=examples(80), deadline=None)


def sets(*parts: Sequence[int]) -> tuple[frozenset[int], ...]:
    return tuple(map(frozenset, parts))


def graph(*needs: Sequence[int]) -> Graph:
    return Graph(sets(*needs))


CHAIN = graph([], [0], [1])
INDEPENDENT = graph([], [], [])
DIAMOND = graph([], [0], [0], [1, 2])
N_SHAPE = graph([], [], [0], [0, 1])


def test_ancestors_are_all_steps_that_settle_before_a_step() -> None:
    assert DIAMOND.ancestors == sets([], [0], [0], [0, 1, 2])


def test_equal_needs_make_equal_graphs() -> None:
    assert graph([], [0], [1, 0]) == graph([], [0], [0, 1])


def test_a_graph_refuses_a_step_that_needs_one_that_does_not_exist() -> None:
    with pytest.raises(ValueError, match="does not exist"):
        graph([], [2])


def test_a_graph_refuses_a_cycle() -> None:
    with pytest.raises(ValueError, match=r"\(0, 1, 0\)"):
        graph([1], [0])


def test_a_cycle_is_found_as_a_path_of_needs() -> None:
    assert find_cycle(sets([2], [0], [1, 3], [])) == (0, 2, 1, 0)


def test_a_step_that_needs_itself_is_a_cycle() -> None:
    assert find_cycle(sets([], [1])) == (1, 1)


def test_no_cycle_is_found_in_a_graph_without_one() -> None:
    assert find_cycle(DIAMOND.needs) is None


@given(st.lists(st.sets(st.integers(0, 7), max_size=2), min_size=8, max_size=8))
@ONE_SECOND
def test_a_found_cycle_is_a_closed_path_of_needs(drawn: list[set[int]]) -> None:
    needs = sets(*map(sorted, drawn))
    cycle = find_cycle(needs)
    if cycle is None:
        assert len(Graph(needs).order) == 8
    else:
        assert cycle[0] == cycle[-1]
        assert len(set(cycle)) == len(cycle) - 1
        assert all(after in needs[before] for before, after in pairwise(cycle))


def test_the_reduction_drops_a_need_that_another_need_implies() -> None:
    assert graph([], [0], [0, 1]).reduced == CHAIN


@given(graphs())
@ONE_SECOND
def test_the_reduction_keeps_the_ancestors_and_has_no_redundant_need(some: Graph) -> None:
    reduced = some.reduced
    assert reduced.ancestors == some.ancestors
    assert all(mine <= theirs for mine, theirs in zip(reduced.needs, some.needs, strict=True))
    assert all(not reduced.ancestors[k] & needs for needs in reduced.needs for k in needs)


@given(graphs())
@ONE_SECOND
def test_the_order_names_every_step_after_its_needs(some: Graph) -> None:
    place = {i: k for k, i in enumerate(some.order)}
    assert place.keys() == some.steps
    assert all(place[k] < place[i] for i in some.steps for k in some.needs[i])


def test_the_depth_is_the_longest_path_in_steps() -> None:
    assert [each.depth for each in (Graph(()), INDEPENDENT, DIAMOND, CHAIN)] == [0, 1, 3, 3]


def test_components_are_parts_that_no_need_connects() -> None:
    some = graph([], [], [0], [], [1, 3])
    assert components(some.needs, some.steps) == sets([0, 2], [1, 3, 4])


@given(graphs())
@ONE_SECOND
def test_components_share_no_step_and_no_need(some: Graph) -> None:
    parts = components(some.needs, some.steps)
    assert sorted(i for part in parts for i in part) == sorted(some.steps)
    assert all(some.needs[i] <= part for part in parts for i in part)
    assert all(len(components(some.needs, part)) == 1 for part in parts)


def test_a_diamond_has_two_free_cuts() -> None:
    assert series(DIAMOND.ancestors, DIAMOND.steps) == sets([0], [1, 2], [3])


def test_an_n_shape_has_no_free_cut() -> None:
    assert series(N_SHAPE.ancestors, N_SHAPE.steps) == sets([0, 1, 2, 3])


def test_a_part_of_a_graph_has_free_cuts_of_its_own() -> None:
    assert series(N_SHAPE.ancestors, frozenset({0, 1, 3})) == sets([0, 1], [3])


@given(graphs())
@ONE_SECOND
def test_a_free_cut_is_where_every_source_of_the_rest_needs_every_sink_of_the_part_before(some: Graph) -> None:
    needs = some.reduced.needs
    parts = series(some.ancestors, some.steps)
    assert sorted(i for part in parts for i in part) == sorted(some.steps)
    for k in range(1, len(parts)):
        before, rest = frozenset[int]().union(*parts[:k]), frozenset[int]().union(*parts[k:])
        sinks = {i for i in before if not any(i in needs[j] for j in before)}
        assert all(needs[j] == sinks for j in rest if needs[j].isdisjoint(rest))


@given(graphs(max_steps=10))
@ONE_SECOND
def test_no_free_cut_is_missed(some: Graph) -> None:
    parts = series(some.ancestors, some.steps)
    cuts = {frozenset[int]().union(*parts[:k]) for k in range(1, len(parts))}
    for k in range(1, len(some.needs)):
        before = frozenset(some.order[:k])
        if all(before <= some.ancestors[i] for i in some.steps - before):
            assert before in cuts


def test_the_last_need_to_settle_opens_a_step() -> None:
    assert opened(N_SHAPE.needs, {0: 1}, 0) == [2]
    assert opened(N_SHAPE.needs, {0: 1, 1: 2}, 1) == [3]
    assert opened(N_SHAPE.needs, {1: 1, 0: 2}, 0) == [2, 3]


def test_the_steps_that_a_step_opened_stay_the_same_when_more_settle() -> None:
    assert opened(N_SHAPE.needs, {1: 1, 0: 2, 2: 3, 3: 4}, 1) == []
    assert opened(N_SHAPE.needs, {1: 1, 0: 2, 2: 3, 3: 4}, 0) == [2, 3]


def test_a_step_that_has_not_settled_opens_nothing() -> None:
    assert opened(CHAIN.needs, {0: 1}, 1) == []


@given(graphs(), st.randoms(use_true_random=False))
@ONE_SECOND
def test_each_step_with_needs_is_opened_once_and_by_one_of_them(some: Graph, order: Random) -> None:
    seq: dict[int, int] = {}
    openings: list[int] = []
    for i in order.sample(sorted(some.steps), len(some.steps)):
        seq[i] = len(seq) + 1
        openings += opened(some.needs, seq, i)
    assert sorted(openings) == [i for i in sorted(some.steps) if some.needs[i]]
    later = [(i, j) for i in some.steps for j in opened(some.needs, seq, i)]
    assert sorted(j for _, j in later) == sorted(openings)
    assert all(i in some.needs[j] for i, j in later)


@given(graphs())
@ONE_SECOND
def test_the_reduction_opens_the_same_steps_in_any_order_that_respects_the_needs(some: Graph) -> None:
    seq = {i: k for k, i in enumerate(some.order)}
    assert all(opened(some.needs, seq, i) == opened(some.reduced.needs, seq, i) for i in some.steps)


def test_batches_that_differ_only_in_the_order_of_their_lines_have_one_graph() -> None:
    first, second = graph([], [0], [0], [1, 2]), graph([1, 3], [2], [], [2])
    assert first.renumbered(canonical_order(first)) == second.renumbered(canonical_order(second)) == DIAMOND


def test_a_step_with_each_makes_another_shape() -> None:
    of_first, of_second = canonical_order(INDEPENDENT, frozenset({0})), canonical_order(INDEPENDENT, frozenset({2}))
    assert of_first.index(0) == of_second.index(2)
    head, tail = (canonical_order(CHAIN, frozenset({i})).index(i) for i in (0, 2))
    assert head != tail


@given(graphs(max_steps=40), st.randoms(use_true_random=False))
@ONE_SECOND
def test_the_canonical_order_is_topological_and_the_same_however_the_steps_were_numbered(
    some: Graph, random: Random
) -> None:
    map_steps = frozenset(i for i in some.steps if random.randint(0, 4) == 0)
    order = random.sample(sorted(some.steps), len(some.steps))
    turned, turned_map_steps = some.renumbered(order), frozenset(order.index(i) for i in map_steps)
    shapes = [_shape(some.reduced, map_steps), _shape(turned.reduced, turned_map_steps)]
    assert shapes[0] == shapes[1]
    assert all(k < i for i, needs in enumerate(shapes[0][0].needs) for k in needs)
    assert canonical_order(some, map_steps) == canonical_order(some.reduced, map_steps)


def _shapes_when_renumbered(*rings: int) -> int:
    """Count the shapes of rings of joins, each of two neighbouring sources, and a step that needs every source."""
    sources, joins = sum(rings), []
    for ring in rings:
        joins += [[len(joins) + i, len(joins) + (i + 1) % ring] for i in range(ring)]
    some = graph(*[[]] * sources, *joins, range(sources))
    sizes = range(2 * sources + 1)
    orders = [Random(seed).sample(sizes, len(sizes)) for seed in range(20)]  # noqa: S311 - the same every time
    return len({_shape(some.renumbered(order)) for order in orders})


def test_interchangeable_steps_are_ordered_the_same_however_they_were_numbered() -> None:
    assert _shapes_when_renumbered(3, 3) == _shapes_when_renumbered(6, 6) == 1


def test_steps_that_only_look_alike_may_be_ordered_by_their_numbers() -> None:
    # Each step of the rings has two neighbours like any other's, but those of the ring of six are not interchangeable
    # with those of the rings of three. Such batches may have a machine each; that costs a machine, nothing else.
    assert 1 < _shapes_when_renumbered(6, 3, 3) <= 20


def test_a_hundred_steps_that_look_alike_are_ordered_quickly() -> None:
    ring = graph(*[[]] * 50, *([i, (i + 1) % 50] for i in range(50)))
    began = time.process_time()
    canonical_order(ring)
    assert time.process_time() - began < 0.5


def _shape(some: Graph, map_steps: frozenset[int] = frozenset()) -> tuple[Graph, frozenset[int]]:
    order = canonical_order(some, map_steps)
    return some.renumbered(order), frozenset(order.index(i) for i in map_steps)
