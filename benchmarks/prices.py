"""AWS's prices: one table, prices.toml, with sources and dates."""

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from functools import cache
from pathlib import Path

FILE = Path(__file__).with_name("prices.toml")

# Billed amounts by the table's keys.
type Usage = dict[str, float]


class MissingPrice(Exception):
    """A used unit has no price in the table."""


@dataclass(frozen=True, slots=True)
class Price:
    """A price of `dollars` for `per` units; `seen` is the date of the source."""

    name: str
    unit: str
    dollars: float
    per: int
    source: str
    seen: date | None = None

    def of(self, amount: float) -> float:
        """Return the dollars for an amount."""
        return amount * self.dollars / self.per


def dollar_text(amount: float) -> str:
    """Return dollars with cents, or below one dollar three digits without an exponent; nothing for zero."""
    if not amount:
        return ""
    return f"{amount:,.2f}" if amount >= 1 else f"{Decimal(f'{amount:.2e}'):f}"


def total(usages: Iterable[Mapping[str, float]]) -> Usage:
    """Return the sum of usages."""
    found: Usage = {}
    for usage in usages:
        for key, amount in usage.items():
            found[key] = found.get(key, 0) + amount
    return found


@cache
def prices() -> dict[str, Price]:
    """Read the table."""
    return {key: Price(**price) for key, price in tomllib.loads(FILE.read_text("utf-8")).items()}


def dollars(usage: Mapping[str, float]) -> dict[str, float]:
    """Return the cost of each part of a usage, in the table's order; MissingPrice if one has no price."""
    if unknown := sorted(set(usage) - set(prices())):
        raise MissingPrice(f"no price for {', '.join(unknown)}")
    return {key: price.of(usage[key]) for key, price in prices().items() if key in usage}
