"""Macros that Markdown only names, kept as they are: each mark of a text is replaced by the macro that it stands for.

A macro without contents is its mark alone. One with a text is its mark and a code block after it, one with blocks is a
quote that begins with its mark: the contents may be changed, and everything else of the macro stays.
"""

from collections import defaultdict, deque
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from mcpist.markdown.normal_form import single_line
from mcpist.markdown.tree import Unsupported
from mcpist_services.confluence.markup import Element, parse
from mcpist_services.confluence.vocabulary import PANELS, named, parameters_of

CODE = {"code", "noformat"}
MACROS = ("ac:structured-macro", "ac:macro")


@dataclass(frozen=True, slots=True)
class Original:
    """A macro's source around its contents."""

    kind: Literal["empty", "text", "blocks"]
    before: str
    after: str = ""


class Originals:
    """The macros of a page by their marks; those with equal marks are taken in their order."""

    def __init__(self, source: str = "") -> None:
        self._waiting: dict[str, deque[Original]] = defaultdict(deque)
        for element in _macros(parse(source)):
            self._waiting[mark_of(element).name].append(_original(element, source))

    def take(self, mark: Unsupported, *kinds: str) -> Original | None:
        """Return the next macro of this mark, if it is of one of these kinds."""
        # Not by indexing, which would add an empty queue for each unknown mark.
        waiting = self._waiting.get(mark.name)
        return waiting.popleft() if waiting and waiting[0].kind in kinds else None


def mark_of(macro: Element) -> Unsupported:
    """Return the mark that stands for a macro."""
    name = macro.attributes.get("ac:name", "").lower()
    return Unsupported(single_line(named(f"{name} macro", parameters_of(macro)).replace("<", " ").replace(">", " ")))


def _macros(element: Element) -> Iterator[Element]:
    for inner in element.elements:
        if inner.name in MACROS and inner.attributes.get("ac:name", "").lower() not in PANELS | CODE:
            yield inner
        yield from _macros(inner)


def _original(macro: Element, source: str) -> Original:
    text, blocks = macro.first("ac:plain-text-body"), macro.first("ac:rich-text-body")
    body = blocks or text
    if body is None:
        return Original("empty", source[macro.start : macro.end])
    before, after = source[macro.start : body.opened], source[body.closed : macro.end]
    if body.opened == body.end:  # an empty element, written as one tag
        before, after = f"{source[macro.start : body.start]}<{body.name}>", f"</{body.name}>{after}"
    return Original("blocks" if blocks else "text", before, after)
