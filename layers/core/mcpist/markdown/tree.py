"""The tree between Markdown and a service's rich text: blocks, and runs of text inside them.

It holds what all services can say; what only one can say stands in it as Unsupported, by its name.
"""

from dataclasses import dataclass
from typing import Literal

type Mark = Literal["strong", "emphasis", "strike", "code"]


@dataclass(frozen=True, slots=True)
class Text:
    """A run of characters in one style; `link` is where it leads, if anywhere."""

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
    """What cannot be carried, by its name; in Markdown `<!-- not carried: name -->`, and refused on the way back."""

    name: str


type Run = Text | Image | Mention | Break | Unsupported
type Runs = tuple[Run, ...]


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
    """Text as it is, in a language if one is named."""

    text: str
    language: str = ""


@dataclass(frozen=True, slots=True)
class Quote:
    """Blocks that somebody else says."""

    blocks: "Blocks"


@dataclass(frozen=True, slots=True)
class Item:
    """One entry of a list; `done` is that of a task, None where the entry is no task."""

    blocks: "Blocks"
    done: bool | None = None


@dataclass(frozen=True, slots=True)
class List:
    """Entries in order; numbered from `start` on, with bullets where it is None."""

    items: tuple[Item, ...]
    start: int | None = None


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of cells, equally long; the first row is the head."""

    rows: tuple[tuple[Runs, ...], ...]


@dataclass(frozen=True, slots=True)
class Rule:
    """A line across."""


type Block = Paragraph | Heading | Code | Quote | List | Table | Rule | Unsupported
type Blocks = tuple[Block, ...]
