"""Order steps by structure alone, with colour refinement.

Steps begin with a colour each and lie in cells of one colour. A cell is split while its steps differ in the colours of
their neighbours; when nothing differs any more, one step of the first cell with several is set apart, and so on until
every cell holds one step. Steps that refinement cannot tell apart are interchangeable in almost every graph, so it does
not matter which of them is set apart. In the others the order depends on how the steps were numbered.

Practical graph isomorphism, II: https://arxiv.org/abs/1301.1493
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from itertools import groupby
from typing import Any

type Neighbours = Mapping[int, frozenset[int]]


def refined_order(needs: Neighbours, invariants: Mapping[int, tuple[int, ...]]) -> tuple[int, ...]:
    """Order steps by their invariants first, then by the structure of what they need and what needs them."""
    refinement = _Refinement(needs)
    cells = _split(invariants, invariants.__getitem__, 0)
    colours = refinement.refine({i: start for start, cell in cells for i in cell}, list(invariants))
    while mixed := [(colour, cell) for colour, cell in _cells(colours).items() if len(cell) > 1]:
        _, cell = min(mixed)
        others = {i: colours[i] + 1 for i in cell[1:]}
        colours = refinement.refine(colours | others, [*others])
    return tuple(sorted(colours, key=colours.__getitem__))


class _Refinement:
    """Splits cells by the neighbours of their steps.

    A colour is the number of steps in the cells before, so splitting a cell changes no other cell's colour.
    """

    def __init__(self, needs: Neighbours) -> None:
        self._needs = needs
        self._dependents: dict[int, frozenset[int]] = {i: frozenset(j for j in needs if i in needs[j]) for i in needs}

    def refine(self, colours: dict[int, int], changed: Collection[int]) -> dict[int, int]:
        """Split cells until the steps of each have the same number of neighbours of every colour."""
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
    for _, group in groupby(sorted(cell, key=key), key):
        part = list(group)
        yield start, part
        start += len(part)
