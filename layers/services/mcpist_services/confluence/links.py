"""Addresses in Markdown for the links of Confluence that have no URL.

`page:ENG/Title#anchor` (without `ENG/` in the same space), `space:ENG`, `attachment:file.pdf` and `#anchor` of the same
page, and `date:2026-01-31` for a date element. In names, punctuation is percent-encoded and
letters of all languages are kept.
"""

import re
from urllib.parse import quote, unquote

from mcpist_services.confluence.markup import Element

DATE = re.compile(r"date:([0-9]{4}-[0-9]{2}-[0-9]{2})")

_PAGE = re.compile(r"page:(?:([^/#]*)/)?([^#]+)(?:#(.+))?", re.DOTALL)
_OTHER = re.compile(r"(space|attachment):(.+)", re.DOTALL)
_RESERVED_CHARACTER = re.compile(r"[^\w.~-]")

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
