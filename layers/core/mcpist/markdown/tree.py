"""The tree between Markdown and a service's rich text: blocks, and runs of text inside them.

It holds what all services have in common; an element of one service only is kept as Unsupported, by its name.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

type Mark = Literal["strong", "emphasis", "strike", "code"]


@dataclass(frozen=True, slots=True)
class TextRun:
    """A run of characters in one style; `link` is an address, or empty."""

    text: str
    marks: frozenset[Mark] = frozenset()
    link: str = ""


@dataclass(frozen=True, slots=True)
class Image:
    """A picture, by its address."""

    source: str
    alt: str = ""


@dataclass(frozen=True, slots=True)
class Mention:
    """A person, by the service's own id; in Markdown `[@name](mention:id)`."""

    id: str
    name: str = ""


@dataclass(frozen=True, slots=True)
class Break:
    """A line break inside a block."""


@dataclass(frozen=True, slots=True)
class Unsupported:
    """An element that the tree cannot hold, by its name.

    In Markdown it is `<!-- not carried: name -->`, which is refused on the way back.
    """

    name: str


type Run = TextRun | Image | Mention | Break | Unsupported
type Runs = tuple[Run, ...]


def joined(lines: Iterable[Iterable[Run]]) -> Runs:
    """Join lines to one text, with breaks between them."""
    return tuple(run for place, line in enumerate(lines) for run in ((Break(),) if place else ()) + tuple(line))


@dataclass(frozen=True, slots=True)
class Paragraph:
    """Running text."""

    runs: Runs


@dataclass(frozen=True, slots=True)
class Heading:
    """A title of level 1 to 6."""

    level: int
    runs: Runs


@dataclass(frozen=True, slots=True)
class Code:
    """Literal text, with the name of its language if there is one."""

    text: str
    language: str = ""


@dataclass(frozen=True, slots=True)
class Quote:
    """Quoted blocks."""

    blocks: "Blocks"


@dataclass(frozen=True, slots=True)
class Item:
    """One entry of a list; `done` is that of a task, None for an entry that is no task."""

    blocks: "Blocks"
    done: bool | None = None


@dataclass(frozen=True, slots=True)
class List:
    """Entries in order; numbered from `start`, or with bullets where it is None."""

    items: tuple[Item, ...]
    start: int | None = None


@dataclass(frozen=True, slots=True)
class TableBlock:
    """Rows of cells, equally long; the first row is the head."""

    rows: tuple[tuple[Runs, ...], ...]


@dataclass(frozen=True, slots=True)
class Rule:
    """A horizontal rule."""


type Block = Paragraph | Heading | Code | Quote | List | TableBlock | Rule | Unsupported
type Blocks = tuple[Block, ...]
