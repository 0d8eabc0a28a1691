"""An order of steps by structure alone: colour refinement, and trying what it cannot tell apart.

Steps begin with a colour each and lie in cells of one colour. A cell is split while its steps differ in the colours of
their neighbours; when nothing differs any more, one step of the first cell is set apart, and so on until every cell
holds one step. Which step is set apart matters only where the steps of a cell do not look alike from everywhere: so all
are tried, those are followed that split the cells lowest, and the order whose graph reads lowest wins.

Practical graph isomorphism, II: https://arxiv.org/abs/1301.1493
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from itertools import groupby
from typing import Any

SEARCH_BUDGET = 2_000
"""So many tries for one step, half as many for two: a try takes longer the more steps there are."""

type Neighbours = Mapping[int, frozenset[int]]
type Encoding = tuple[tuple[int, ...], ...]
"""The needs of each step by their places in an order: equal for orders that make equal graphs."""


class CanonicalSearch:
    """Looks for the canonical order of some steps, of which each knows the others that it needs.

    It is exact unless it runs out of tries, which only graphs do that look alike everywhere without being so.
    """

    def __init__(self, needs: Neighbours) -> None:
        self._needs = needs
        self._dependents: dict[int, frozenset[int]] = {i: frozenset(j for j in needs if i in needs[j]) for i in needs}
        self._best: tuple[Encoding, tuple[int, ...]] | None = None
        self._tries = SEARCH_BUDGET // len(needs)

    def order(self, invariants: Mapping[int, tuple[int, ...]]) -> tuple[Encoding, tuple[int, ...]]:
        """Find the order, by invariants first, and how the graph reads in it."""
        cells = _split(invariants, invariants.__getitem__, 0)
        self._explore(self._refine({i: start for start, cell in cells for i in cell}, list(invariants)))
        assert self._best is not None
        return self._best

    def _explore(self, colours: dict[int, int]) -> None:
        """Reach every order that follows from these colours, while there are tries left, and keep the best."""
        mixed = [(colour, cell) for colour, cell in _cells(colours).items() if len(cell) > 1]
        if not mixed:
            self._record_order(tuple(sorted(colours, key=colours.__getitem__)))
            return
        _, cell = min(mixed)
        individualized = [self._individualize(i, cell, colours) for i in self._candidates(cell)]
        lowest = min(sorted(found.values()) for found in individualized if found)
        for found in individualized:
            if sorted(found.values()) == lowest and (self._best is None or self._tries > 0):
                self._explore(found)

    def _individualize(self, i: int, cell: list[int], colours: dict[int, int]) -> dict[int, int]:
        """Set one step of a cell apart from the others, before them; nothing where there are no tries left."""
        self._tries -= 1
        if self._tries < 0 and i != cell[0]:
            return {}
        last = {k: colours[k] + 1 for k in cell if k != i}
        return self._refine(colours | last, [*last])

    def _candidates(self, cell: list[int]) -> Iterable[int]:
        """Choose of steps with the same neighbours one: to swap them changes nothing."""
        return {(self._needs[i], self._dependents[i]): i for i in reversed(cell)}.values()

    def _record_order(self, order: tuple[int, ...]) -> None:
        place = {i: k for k, i in enumerate(order)}
        found = (tuple(tuple(sorted(place[k] for k in self._needs[i])) for i in order), order)
        if self._best is None or found[0] < self._best[0]:
            self._best = found

    def _refine(self, colours: dict[int, int], changed: Collection[int]) -> dict[int, int]:
        """Split cells until the steps of each have the same number of neighbours of every colour.

        A colour is the number of steps in the cells before, so splitting a cell changes no other cell's colour.
        """
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
    for _, part in groupby(sorted(cell, key=key), key):
        steps = list(part)
        yield start, steps
        start += len(steps)
