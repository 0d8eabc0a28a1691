"""The columns of a tool's answer, and the rows that a service's JSON has by them."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from mcpist.render.pruning import SILENCE, Noise

_STEP = re.compile(r"\.?([^.\[\]]+)|\[(\d+|\*)\]")


type Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Column:
    """A column's name, and the paths of its value in the service's JSON: the first path with a value counts."""

    name: str
    paths: tuple[str, ...]

    def of(self, item: Any) -> Any:
        """Return the column's value from one row's JSON."""
        return next((found for path in self.paths if (found := value_at(item, path)) is not None), None)


@dataclass(frozen=True, slots=True)
class Shows:
    """A tool's answer as the model reads it."""

    columns: tuple[Column, ...]
    rows: str = ""
    """The path of the list of rows; empty where the whole JSON is the rows."""
    text: str = ""
    """The column that holds a Markdown text; empty where there is none."""
    file: str = ""
    """The column with the reference of a file that the tool has stored; empty where it stores none."""
    noise: Noise = SILENCE
    """The fields inside its columns that the model does not need."""

    def stored_file(self, raw: Any) -> dict[str, Any] | None:
        """Return the reference of the file that the tool has stored; None where it stores none."""
        reference: dict[str, Any] | None = value_at(raw, self.file) if self.file else None
        return reference

    @property
    def format(self) -> Literal["rows", "markdown"]:
        """`markdown` for a document, else `rows`."""
        return "markdown" if self.text else "rows"

    def has_column(self, name: str) -> bool:
        """Whether a row can have a column of this name."""
        return name in self.fields or ANY_COLUMN in self.fields

    @property
    def fields(self) -> list[str]:
        """The column names that references and the model may use."""
        return [column.name for column in self.columns]


# For rows with unknown columns: all fields as they are.
ANY_COLUMN = "*"


def shows(*columns: str, rows: str = "", text: str = "", file: str = "", noise: Sequence[str] = ()) -> Shows:
    """Declare an answer's columns: `"fields.summary as summary"`, `"start.dateTime|start.date as start"`.

    `rows` is the path of the list, `text` the column that is a Markdown text, `file` that of a stored file's reference.
    `"*"` shows every field of a row but those that the patterns of `noise` match.
    """
    named = (column.partition(" as ") for column in columns)
    made = tuple(Column(name or path, tuple(path.split("|"))) for path, _, name in named)
    return Shows(made, rows, text, file, Noise(tuple(noise)))


def value_at(value: Any, path: str) -> Any:
    """Return the value at a path such as `a.b[0].c` or `labels[*].name`, or None."""
    for key in path_keys(path):
        if key == "*":
            rest = path[path.index("[*]") + 3 :]
            return [value_at(item, rest) for item in value] if isinstance(value, list) else None
        if not has_key(value, key):
            return None
        value = value[key]
    return value


def has_key(value: Any, key: str | int) -> bool:
    """Whether an object has this key, or a list this index."""
    return key in value if isinstance(value, dict) else isinstance(value, list) and key in range(len(value))


def path_keys(path: str) -> Iterator[str | int]:
    """Return the keys and indexes of a path, `*` for each element."""
    for key, index in _STEP.findall(path):
        yield key or (index if index == "*" else int(index))


# Where the address of an item's page is added, in modules that know it.
PAGE_URL = "page_url"

# For a write that the service answers with an empty body.
DONE = shows("done")

# For a download: the reference of the stored file, and the beginning and the end of a text.
DOWNLOADED = shows("file", "preview", text="preview", file="file")


def project(raw: Any, shows: Shows) -> list[Row]:
    """Return the rows of a service's JSON; a single object is one row."""
    found = value_at(raw, shows.rows) if shows.rows else raw
    items = found if isinstance(found, list) else [found]
    return [_row(item, shows) for item in items if item is not None]


def _row(item: Any, shows: Shows) -> Row:
    row: Row = {}
    for column in shows.columns:
        if column.name != ANY_COLUMN:
            row[column.name] = column.of(item)
        elif isinstance(item, dict):
            row |= item
        else:
            row["value"] = item
    return row
