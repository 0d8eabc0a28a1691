"""Names and addresses in Confluence with a meaning in Markdown, and descriptions of what Markdown cannot express.

Addresses: `page:ENG/Title#anchor` (without `ENG/` in the same space), `space:ENG`, `attachment:file.pdf`, `#anchor` of
the same page, and `date:2026-01-31` for a date element. In names, punctuation is percent-encoded and letters of all
languages are kept.
"""

import re
from collections.abc import Iterable, Mapping
from urllib.parse import quote, unquote

from mcpist.markdown.tree import Paragraph, Run, TextRun, Unsupported
from mcpist_services.confluence.markup import Element

MAX_LOST_CHARACTERS = 200  # of the description of a lost part

PANELS = {"expand", "info", "note", "panel", "tip", "warning"}
# Parameters of macros that change only their looks.
APPEARANCE_PARAMETERS = {"breakoutMode", "breakoutWidth", "collapse", "firstline", "icon", "linenumbers", "theme"}
DATE = re.compile(r"date:([0-9]{4}-[0-9]{2}-[0-9]{2})")
_PAGE = re.compile(r"page:(?:([^/#]*)/)?([^#]+)(?:#(.+))?", re.DOTALL)
_OTHER = re.compile(r"(space|attachment):(.+)", re.DOTALL)
_RESERVED_CHARACTER = re.compile(r"[^\w.~-]")


def named(name: str, parameters: Mapping[str, str]) -> str:
    """Describe a lost part with its parameters, e.g. `status macro: title=DONE, colour=Green`."""
    return words(name, [f"{key}={value}" if key else value for key, value in parameters.items() if value])


def words(name: str, values: Iterable[str]) -> str:
    """Describe a lost part by its name and these values, in one short line."""
    line = " ".join(", ".join(value for value in values if value).split())
    short = line if len(line) <= MAX_LOST_CHARACTERS else f"{line[:MAX_LOST_CHARACTERS]}..."
    return f"{name}: {short}" if short else name


def lost(name: str, values: Iterable[str]) -> Unsupported:
    """Return the mark of a lost part, by its name and these values."""
    return Unsupported(words(name, values))


def text_or_names(element: Element) -> str:
    """Return an element's text, or else the names of the resources in it."""
    inner = [element, *element.elements]
    values = [value for each in inner for name, value in each.attributes.items() if name.startswith("ri:")]
    return element.text.strip() or " ".join(values)


def parameters_of(macro: Element) -> dict[str, str]:
    """Return a macro's parameters."""
    inner = [element for element in macro.elements if element.name == "ac:parameter"]
    return {element.attributes.get("ac:name", ""): text_or_names(element) for element in inner}


def panel(name: str, parameters: Mapping[str, str]) -> Paragraph:
    """Return the first line of the quote that represents a panel."""
    title = parameters.get("title", "")
    others = {word: value for word, value in parameters.items() if word != "title"}
    runs: list[Run] = [TextRun(f"[!{name}] ")]
    runs += [TextRun(title, frozenset({"strong"})), TextRun(" ")] if title else []
    return Paragraph((*runs, *lost_of(name, others)))


def lost_of(name: str, parameters: Mapping[str, str]) -> tuple[Unsupported, ...]:
    """Describe a macro's parameters that Markdown cannot express, except those for its looks."""
    others = {word: value for word, value in parameters.items() if word not in APPEARANCE_PARAMETERS}
    return (Unsupported(named(f"{name} macro", others)),) if others else ()


type Resource = dict[str, str]


def address(resource: Element | None, anchor: str) -> tuple[str, str]:
    """Return the address of a link's target and the target's name; both are empty where it has no address."""
    fragment = f"#{_encoded(anchor)}" if anchor else ""
    values = resource.attributes if resource else {}
    match resource.name if resource else "":
        case "":
            return (f"#{anchor}", anchor) if anchor else ("", "")
        case "ri:page" if title := values.get("ri:content-title", ""):
            space = values.get("ri:space-key", "")
            return f"page:{_encoded(space)}{'/' if space else ''}{_encoded(title)}{fragment}", title
        case "ri:space" if key := values.get("ri:space-key", ""):
            return f"space:{_encoded(key)}", key
        case "ri:attachment" if file := values.get("ri:filename", ""):
            return f"attachment:{_encoded(file)}", file
        case _:
            return "", ""


def resource(address: str) -> tuple[str, Resource, str] | None:
    """Return the target of an address: the element's name, its attributes and the anchor; None for a URL."""
    if address.startswith("#") and len(address) > 1:
        return "", {}, address[1:]
    if page := _PAGE.fullmatch(address):
        space, title, anchor = (unquote(part or "") for part in page.groups())
        return "ri:page", {"ri:space-key": space, "ri:content-title": title}, anchor
    if other := _OTHER.fullmatch(address):
        attribute = {"space": "ri:space-key", "attachment": "ri:filename"}[other[1]]
        return f"ri:{other[1]}", {attribute: unquote(other[2])}, ""
    return None


def _encoded(text: str) -> str:
    return _RESERVED_CHARACTER.sub(lambda sign: quote(sign[0], safe="", errors="replace"), text)
