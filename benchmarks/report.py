"""Tables in Markdown, and the marked places of the pages that have them."""

import os
import platform
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path

from infra.local.deployment import ROOT

BENCHMARKS, COSTS = ROOT / "docs/benchmarks.md", ROOT / "docs/costs.md"

type Row = tuple[str, str, str]


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


def keep(text: str, page: Path, name: str) -> None:
    """Replace the text between the marks of this name in a page."""
    page.write_text(replaced(text, page, name), "utf-8")


def replaced(text: str, page: Path, name: str) -> str:
    """Return the page with another text between the marks of this name."""
    begin, end = f"<!-- {name} -->\n", f"<!-- /{name} -->\n"
    before, begins, rest = page.read_text("utf-8").partition(begin)
    _, ends, after = rest.partition(end)
    if not begins or not ends:
        raise ValueError(f"{page.name} has no place for {name}")
    return f"{before}{begin}{text}{end}{after}"
