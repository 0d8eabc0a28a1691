"""Markup as a tree of elements. Any markup is accepted, and read in one pass.

What is not markup is text, as in `a < b`; an element that is never closed ends with its parent. Documents cannot define
entities, only use those of HTML. (An XML parser refuses broken markup, and html.parser takes quadratic time for some.)
"""

import html
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

MAX_DEPTH = 100  # of nested elements; the text of deeper ones is added to the deepest

# All loops are possessive and stop at a `<`, so that a tag that never ends is scanned only once.
_TAG = re.compile(r"""<(/?)([A-Za-z][\w:.-]*+)((?:[^<>"']++|"[^"<]*+"|'[^'<]*+')*+)>""")
_ATTRIBUTE = re.compile(r"""([\w:.-]++)(?:\s*+=\s*+(?:"([^"]*+)"|'([^']*+)'))?+""")
_DECLARATION = re.compile(r"<[!?][^<>]*+>")
_REFERENCE = re.compile(r"&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});")
_CDATA = "<![CDATA["
_VOID_ELEMENTS = {"br", "col", "hr", "img"}


@dataclass(slots=True)
class Element:
    """An element; its name and the names of its attributes are lower-case."""

    name: str
    attributes: dict[str, str] = field(default_factory=dict)
    children: list["Element | str"] = field(default_factory=list)
    start: int = field(default=0, compare=False)
    """Where it begins in the source."""
    opened: int = field(default=0, compare=False)
    """Where its contents begin."""
    closed: int = field(default=0, compare=False)
    """Where its contents end."""
    end: int = field(default=0, compare=False)

    @property
    def text(self) -> str:
        """All text inside."""
        return "".join(child if isinstance(child, str) else child.text for child in self.children)

    @property
    def elements(self) -> list["Element"]:
        """The elements directly inside."""
        return [child for child in self.children if isinstance(child, Element)]

    def first(self, *names: str) -> "Element | None":
        """The first element directly inside that has one of these names."""
        return next((element for element in self.elements if element.name in names), None)


def parse(source: str) -> Element:
    """Parse markup, and return its elements inside one without a name."""
    stack = [Element("")]
    too_deep = 0
    for token in _tokens(source):
        if isinstance(token, str):
            stack[-1].children.append(token)
            continue
        closing, name, rest = token[1], token[2].lower(), token[3]
        closed = bool(closing) or rest.endswith("/") or name in _VOID_ELEMENTS
        if closing:
            too_deep = max(too_deep - 1, 0) if too_deep else _close(stack, name, token.start(), token.end())
        elif len(stack) > MAX_DEPTH:
            too_deep += not closed
        else:
            start, end = token.span()
            element = Element(name, _attributes(rest), start=start, opened=end, closed=end, end=end)
            stack[-1].children.append(element)
            stack += [] if closed else [element]
    for element in stack:
        element.closed = element.end = len(source)
    return stack[0]


def _close(stack: list[Element], name: str, start: int, end: int) -> int:
    """Close the innermost element of this name, if any, and the open elements inside it; its closing tag is there."""
    place = next((place for place in range(len(stack) - 1, 0, -1) if stack[place].name == name), len(stack))
    for element in stack[place:]:
        element.closed = element.end = start
    for element in stack[place : place + 1]:
        element.end = end
    del stack[place:]
    return 0


def _tokens(source: str) -> Iterator[str | re.Match[str]]:
    """Yield texts and tags in their order."""
    last_comment, place = source.rfind("-->"), 0
    while (start := source.find("<", place)) >= 0:
        if start > place:
            yield decoded(source[place:start])
        if source.startswith(_CDATA, start):
            end = source.find("]]>", start)
            end = len(source) if end < 0 else end
            yield source[start + len(_CDATA) : end]
            place = end + len("]]>")
        elif start + len("<!--") <= last_comment and source.startswith("<!--", start):
            place = source.index("-->", start + len("<!--")) + len("-->")
        elif tag := _TAG.match(source, start):
            yield tag
            place = tag.end()
        elif declaration := _DECLARATION.match(source, start):
            place = declaration.end()
        else:
            yield "<"
            place = start + 1
    if place < len(source):
        yield decoded(source[place:])


def _attributes(text: str) -> dict[str, str]:
    return {name.lower(): decoded(double or single) for name, double, single in _ATTRIBUTE.findall(text)}


def decoded(text: str) -> str:
    """Replace character references by the characters."""
    return _REFERENCE.sub(lambda reference: html.unescape(reference[0]), text)
