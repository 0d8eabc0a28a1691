"""Tables in Markdown, and the marked places of the pages that have them."""

import os
import platform
import re
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path

from infra.source import ROOT

BENCHMARKS, COSTS = ROOT / "docs/benchmarks.md", ROOT / "docs/costs.md"

_NUMBER = re.compile(r"(?<![\w.])\d[\d,]*(?:\.\d+)?(?!\w*th\b)")

type Row = tuple[str, ...]
"""The name of a measurement, its value and its bound, all as the table shows them."""


def measured() -> str:
    """Return the date and the machine of a measurement."""
    day = datetime.now(UTC).date().isoformat()
    return f"{day}, Python {platform.python_version()}, {os.cpu_count()} cores, {platform.machine()}"


def ratio(ours: float, theirs: float, unit: str) -> str:
    """Return a ratio with its two values."""
    digits = 2 if unit == "s" else 0
    return f"{ours / theirs:.2f} ({ours:.{digits}f} {unit} : {theirs:.{digits}f} {unit})"


def table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table in Markdown."""
    lines = [columns, ["---"] * len(columns), *rows]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


def show(rows: Iterable[Row], name: str, what: str = "") -> list[str]:
    """Print a table and keep it under a name in docs/benchmarks.md; return the bounds that were missed."""
    rows = list(rows)
    text = f"Measured {measured()}{what}.\n\n{table(('what', 'seen', 'at most'), rows)}"
    print(text)
    keep(text, BENCHMARKS, name)
    return missed(rows)


def missed(rows: Iterable[Row]) -> list[str]:
    """Return a line for each row with a value beyond its bound.

    A bound is one number for all of a value's numbers or one for each, `none`, or a least number with `or more`. What a
    value has in brackets explains it, unless only there a number has the bound's unit. A bound in words, or of a growth
    (`+2%`), is checked where it is measured.
    """
    return [f"{what}: {seen}, and the bound is {bound}" for what, seen, bound in rows if not _is_within(seen, bound)]


def _is_within(seen: str, bound: str) -> bool:
    if bound == "none":
        return seen in {"none", "0"}
    if not bound[:1].isdigit():
        return True
    limits = _numbers(bound)
    main, _, explained = seen.partition("(")
    values = _numbers(explained if bound.endswith(" x") and " x" not in main else main)
    if len(limits) > 1:
        values = values[: len(limits)]
    else:
        limits *= len(values)
    pairs = zip(values, limits, strict=False)
    return all(value >= limit if "or more" in bound else value <= limit for value, limit in pairs)


def _numbers(text: str) -> list[float]:
    return [float(found.replace(",", "")) for found in _NUMBER.findall(text)]


def keep(text: str, page: Path, name: str) -> None:
    """Replace the text between the marks of this name in a page."""
    page.write_text(replaced(text, page, name), "utf-8")


def replaced(text: str, page: Path, name: str, content: str = "") -> str:
    """Return the page, or a newer content of it, with another text between the marks of this name."""
    begin, end = f"<!-- {name} -->\n", f"<!-- /{name} -->\n"
    before, begins, rest = (content or page.read_text("utf-8")).partition(begin)
    _, ends, after = rest.partition(end)
    if not begins or not ends:
        raise ValueError(f"{page.name} has no place for {name}")
    return f"{before}{begin}{text}{end}{after}"
