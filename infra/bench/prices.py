"""What AWS takes for what: one table, prices.toml, with its sources and dates."""

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date
from functools import cache
from pathlib import Path

FILE = Path(__file__).with_name("prices.toml")

# How much of what is billed, by the table's keys.
type Usage = dict[str, float]


class MissingPrice(Exception):
    """Something is used that has no price: nothing is free because nobody looked."""


@dataclass(frozen=True, slots=True)
class Price:
    """So many dollars for so many units; `seen` is the date of the source."""

    name: str
    unit: str
    dollars: float
    per: int
    source: str
    seen: date | None = None

    def of(self, amount: float) -> float:
        """The dollars for an amount."""
        return amount * self.dollars / self.per


def total(usages: Iterable[Mapping[str, float]]) -> Usage:
    """All usages together."""
    found: Usage = {}
    for usage in usages:
        for key, amount in usage.items():
            found[key] = found.get(key, 0) + amount
    return found


@cache
def prices() -> dict[str, Price]:
    """The table."""
    return {key: Price(**price) for key, price in tomllib.loads(FILE.read_text("utf-8")).items()}


def dollars(usage: Mapping[str, float]) -> dict[str, float]:
    """What each part of a usage costs, in the order of the table; MissingPrice where one has no price."""
    if unknown := sorted(set(usage) - set(prices())):
        raise MissingPrice(f"no price for {', '.join(unknown)}")
    return {key: price.of(usage[key]) for key, price in prices().items() if key in usage}
