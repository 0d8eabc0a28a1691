"""What is put beside Confluence's own JSON for people: text as Markdown, and whole addresses."""

import re
from typing import Any

from mcpist.render.shows import value_at
from mcpist_services.confluence.markup import decoded
from mcpist_services.confluence.storage import markdown

_HIGHLIGHT = re.compile("@@@(?:end)?hl@@@")

type JsonObject = dict[str, Any]


def with_markdown(thing: JsonObject) -> JsonObject:
    """One thing with its whole address and, where its text came along, that as Markdown."""
    url = _url(value_at(thing, "_links.base"), value_at(thing, "_links.webui"))
    text = value_at(thing, "body.storage.value")
    return thing | {"url": url} | ({} if text is None else {"markdown": markdown(text)})


def comment_text(thing: JsonObject, _: JsonObject) -> JsonObject:
    """The text of a comment or a task, and of a comment inside a page what it is about."""
    return {
        "markdown": markdown(value_at(thing, "body.storage.value") or ""),
        "about": value_at(thing, "properties.inlineOriginalSelection"),
        "resolution": thing.get("resolutionStatus"),
    }


def attachment_url(thing: JsonObject, page: JsonObject) -> JsonObject:
    """Where a file is."""
    return {"url": _url(value_at(page, "_links.base"), thing.get("downloadLink"))}


def search_result(thing: JsonObject, page: JsonObject) -> JsonObject:
    """What a search found, in words without marks; a thing that is no content has no id."""
    content = thing.get("content") or {}
    words = {
        "id": content.get("id"),
        "title": content.get("title") or _plain(thing.get("title")),
        "type": content.get("type") or thing.get("entityType"),
        "space": value_at(content, "space.key") or value_at(thing, "resultGlobalContainer.title"),
        "url": _url(value_at(page, "_links.base"), thing.get("url")),
        "excerpt": _plain(thing.get("excerpt")),
    }
    return {"words": words}


def _url(site: str | None, place: str | None) -> str | None:
    return f"{site or ''}{place}" if place else None


def _plain(text: str | None) -> str:
    return " ".join(decoded(_HIGHLIGHT.sub("", text or "")).split())
