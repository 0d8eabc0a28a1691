"""What is put beside Confluence's own JSON for people: text as Markdown, and whole addresses."""

import html
import re
from collections.abc import Callable
from typing import Any

from mcpist.render.shows import at
from mcpist.tools.call import Answer, Call
from mcpist.tools.paging import Following, Place
from mcpist_modules.confluence.storage import markdown

_HIGHLIGHT = re.compile("@@@(?:end)?hl@@@")

type Thing = dict[str, Any]


def told(following: Following, tell: Callable[[Thing, str | None], Thing]) -> Following:
    """Paging that puts beside each item of a page, as the page is read, what `tell` makes of it and the site."""

    def read(call: Call, answer: Answer, items: int) -> Place:
        for item in answer.json["results"]:
            item.update(tell(item, at(answer.json, "_links.base")))
        return following(call, answer, items)

    return read


def page(thing: Thing) -> Thing:
    """One thing with its whole address and, where its text came along, that as Markdown."""
    url = _url(at(thing, "_links.base"), at(thing, "_links.webui"))
    text = at(thing, "body.storage.value")
    return thing | {"url": url} | ({} if text is None else {"markdown": markdown(text)})


def remark(thing: Thing, _: str | None) -> Thing:
    """The text of a comment or a task, and of a comment inside a page what it is about."""
    return {
        "markdown": markdown(at(thing, "body.storage.value") or ""),
        "about": at(thing, "properties.inlineOriginalSelection"),
        "resolution": thing.get("resolutionStatus"),
    }


def attached(thing: Thing, site: str | None) -> Thing:
    """Where a file is."""
    return {"url": _url(site, thing.get("downloadLink"))}


def found(thing: Thing, site: str | None) -> Thing:
    """What a search found, in words without marks; a thing that is no content has no id."""
    content = thing.get("content") or {}
    return {
        "id": content.get("id"),
        "type": content.get("type") or thing.get("entityType"),
        "name": content.get("title") or _plain(thing.get("title")),
        "space": at(content, "space.key") or at(thing, "resultGlobalContainer.title"),
        "words": _plain(thing.get("excerpt")),
        "address": _url(site, thing.get("url")),
    }


def _url(site: str | None, place: str | None) -> str | None:
    return f"{site or ''}{place}" if place else None


def _plain(text: str | None) -> str:
    return " ".join(html.unescape(_HIGHLIGHT.sub("", text or "")).split())
