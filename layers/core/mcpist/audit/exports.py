"""The forms in which rows of the audit are exported."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from mcpist.audit.ocsf import as_ocsf_lines
from mcpist.audit.rows import COLUMNS, JSON_LINES, as_json_lines
from mcpist.spreadsheet import CSV, as_csv

type Write = Callable[[Sequence[Mapping[str, Any]], str], str]

EXPORTS: Mapping[str, tuple[str, Write]] = {
    "csv": (CSV, lambda rows, _: as_csv(COLUMNS, rows)),
    "jsonl": (JSON_LINES, lambda rows, _: as_json_lines(rows)),
    "ocsf": (JSON_LINES, as_ocsf_lines),
}
"""The content type of each, and the function that writes the rows of an organization."""
