"""Storage format as Markdown, and the columns that are added to Confluence's JSON for readers."""

import re
from typing import Any

from mcpist.markdown.reader import read
from mcpist.markdown.writer import write
from mcpist.render.shows import value_at
from mcpist_services.confluence.markup import decoded
from mcpist_services.confluence.originals import Originals
from mcpist_services.confluence.reading import from_storage
from mcpist_services.confluence.writing import to_storage

_HIGHLIGHT = re.compile("@@@(?:end)?hl@@@")

type JsonObject = dict[str, Any]


def with_markdown(thing: JsonObject) -> JsonObject:
    """Add an item's complete URL and, if it has a body, that as Markdown."""
    url = _url(value_at(thing, "_links.base"), value_at(thing, "_links.webui"))
    text = value_at(thing, "body.storage.value")
    return thing | {"url": url} | ({} if text is None else {"markdown": markdown(text)})


def comment_text(thing: JsonObject, _: JsonObject) -> JsonObject:
    """Return the text of a comment or a task, and the selection that an inline comment is about."""
    return {
        "markdown": markdown(value_at(thing, "body.storage.value") or ""),
        "about": value_at(thing, "properties.inlineOriginalSelection"),
        "resolution": thing.get("resolutionStatus"),
    }


def attachment_url(thing: JsonObject, page: JsonObject) -> JsonObject:
    """Return the download URL of a file."""
    return {"url": _url(value_at(page, "_links.base"), thing.get("downloadLink"))}


def search_result(thing: JsonObject, page: JsonObject) -> JsonObject:
    """Return a search result as plain text; a result that is not content has no id."""
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


def storage(text: str, field: str = "body", page: str = "") -> str:
    """Convert Markdown to storage format, with the macros of a page's source in the place of their marks.

    InvalidRequest, naming the field, for what Markdown cannot express.
    """
    return to_storage(read(text), field, Originals(page))


def markdown(source: str) -> str:
    """Convert the storage format of a page or a comment to Markdown."""
    return write(from_storage(source))
