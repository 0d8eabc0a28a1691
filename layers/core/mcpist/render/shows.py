"""What a tool's answer shows: the columns that a model reads."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

_STEP = re.compile(r"\.?([^.\[\]]+)|\[(\d+|\*)\]")


@dataclass(frozen=True, slots=True)
class Column:
    """A name for the model and the paths of its value in the service's JSON: the first that leads to one counts."""

    name: str
    paths: tuple[str, ...]

    def of(self, item: Any) -> Any:
        """Its value in one row's JSON."""
        return next((found for path in self.paths if (found := value_at(item, path)) is not None), None)


@dataclass(frozen=True, slots=True)
class Shows:
    """The columns of an answer, where its rows are, and which column is a Markdown text."""

    columns: tuple[Column, ...]
    rows: str = ""
    text: str = ""

    @property
    def format(self) -> Literal["rows", "markdown"]:
        """`markdown` for a document, else `rows`."""
        return "markdown" if self.text else "rows"

    def has_column(self, name: str) -> bool:
        """Whether a row can have a column of this name."""
        return name in self.fields or ANY_COLUMN in self.fields

    @property
    def fields(self) -> list[str]:
        """The names that references and the model may use."""
        return [column.name for column in self.columns]


# Of rows whose columns nobody knows before: each as it is.
ANY_COLUMN = "*"


def shows(*columns: str, rows: str = "", text: str = "") -> Shows:
    """Declare an answer: `"fields.summary as summary"`, `"start.dateTime|start.date as start"`.

    `rows` is the path of the list, `text` a Markdown column. `"*"` stands for all that a row has.
    """
    return Shows(tuple(_column(column) for column in columns), rows, text)


def value_at(value: Any, path: str) -> Any:
    """The value at a path such as `a.b[0].c` or `labels[*].name`; None where it leads nowhere."""
    for key in path_keys(path):
        if key == "*":
            rest = path[path.index("[*]") + 3 :]
            return [value_at(item, rest) for item in value] if isinstance(value, list) else None
        if not has_key(value, key):
            return None
        value = value[key]
    return value


def has_key(value: Any, key: str | int) -> bool:
    """Whether there is something under a key of an object, or at an index of a list."""
    return key in value if isinstance(value, dict) else isinstance(value, list) and key in range(len(value))


def path_keys(path: str) -> Iterator[str | int]:
    """The keys and indexes of a path, `*` for each element."""
    for key, index in _STEP.findall(path):
        yield key or (index if index == "*" else int(index))


def _column(text: str) -> Column:
    path, _, name = text.partition(" as ")
    return Column(name or path, tuple(path.split("|")))


# Of a write that the service answers with nothing.
DONE = shows("done")
