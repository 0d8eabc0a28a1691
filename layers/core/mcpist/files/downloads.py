"""Downloads: what a service answers with is kept as a file of the caller, who reads its reference and a part of it."""

from typing import Any

from mcpist.caller import Caller
from mcpist.files import access
from mcpist.files.content import FileContent
from mcpist.files.content_types import checked_type
from mcpist.files.preview import preview

MAX_PREVIEW_CHARACTERS = 1_500
"""Of the beginning of a text, and again of its end: a log says there what went wrong."""


def keep_download(caller: Caller, downloaded: FileContent) -> dict[str, Any]:
    """Store a content as the caller's file, and return `{file, preview}`; bytes that are no text have no preview."""
    file = access.put(caller, downloaded.content, checked_type(downloaded.content, downloaded.content_type))
    shown = _preview(downloaded.content.decode(), file.content_type) if file.is_text else None
    return {"file": file.reference.model_dump(), "preview": shown}


def _preview(text: str, content_type: str) -> str:
    begin = preview(text, content_type, MAX_PREVIEW_CHARACTERS)
    if len(text) <= 2 * MAX_PREVIEW_CHARACTERS or not begin.startswith("text: "):
        return begin
    end = text[-MAX_PREVIEW_CHARACTERS:]
    return f"{begin}\nends:\n{end[end.find('\n') + 1 :]}"
