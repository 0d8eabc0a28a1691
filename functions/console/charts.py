"""The coordinates of small charts, which templates draw as SVG with classes and no style."""

from collections.abc import Sequence
from dataclasses import dataclass

from console.activity import Day

WIDTH = 340
TOP, BASE, GAP = 18, 106, 10


@dataclass(frozen=True, slots=True)
class Bar:
    """One bar: the whole and, from its bottom, a part."""

    x: float
    width: float
    y: float
    height: float
    part_y: float
    part_height: float
    label: str
    """The text below the bar."""
    value: int


def bars(days: Sequence[Day]) -> list[Bar]:
    """Return a bar a day: its height is all uses, its part those that succeeded."""
    highest = max([day.total for day in days] or [0]) or 1
    step = WIDTH / max(1, len(days))
    made = []
    for number, day in enumerate(days):
        height = (BASE - TOP) * day.total / highest
        part = (BASE - TOP) * day.succeeded / highest
        left = number * step + GAP / 2
        places = [round(size, 1) for size in (left, step - GAP, BASE - height, height, BASE - part, part)]
        x, width, y, tall, part_y, part_tall = places
        made.append(Bar(x, width, y, tall, part_y, part_tall, day.date[5:], day.total))
    return made
