"""Answers that are too large for a model, and downloads: a preview, the reference of a file with all of it."""

from dataclasses import replace
from typing import Any

from mcpist.caller import Caller
from mcpist.files import access
from mcpist.files.content import JSON, MARKDOWN, PLAIN, FileContent, checked_type
from mcpist.files.records import FileRecord, record
from mcpist.files.values import columns_of, find_rows, parse, readable_json
from mcpist.render.answer import compact_json, smallest
from mcpist.render.contents import split_content
from mcpist.render.shows import ANY_COLUMN, Shows, project

HOW_TO_GO_ON = (
    "Go on with the module files: query(path, expression), table(path, columns, where), search(path, pattern) or "
    "read(path, offset). As a parameter of a tool, {{path, sha256}} stands for the content. Resource: {uri}"
)
MAX_DESCRIBED_CHARACTERS = 3_000
MIN_PREVIEW_CHARACTERS = 200
MAX_MARK_CHARACTERS = 24  # of the words and line breaks around the beginning of a preview
MAX_PREVIEW_CHARACTERS = 1_500
"""Of the beginning of a text, and again of its end: a log says there what went wrong."""
MAX_PREVIEW_ROWS = 20
MAX_LISTED_NAMES = 40
MAX_SHAPE_DEPTH = 3
FILE_URI = "mcpist://files/{sha256}"


def content_of(raw: Any, shows: Shows, name: str, *, each: bool = False, raw_output: bool = False) -> FileContent:
    """Return the content of the file with a tool's result: all rows and columns that the answer shows a part of.

    It has the tool's name. These are the rows as JSON, or a document's Markdown; with `raw_output` the service's own
    JSON. With `each`, `raw` is the list of the results for several elements.
    """
    return replace(_unnamed(raw, shows, each, raw_output), name=name)


def _unnamed(raw: Any, shows: Shows, each: bool, raw_output: bool) -> FileContent:
    values = [split_content(one)[0] for one in (raw if each else [raw]) if one is not None]
    if raw_output:
        value = values if each else next(iter(values), None)
        return FileContent.of_text(value) if isinstance(value, str) else FileContent(readable_json(value), JSON)
    if values and all(isinstance(value, str) for value in values) and ANY_COLUMN in shows.fields:
        return FileContent.of_text("\n".join(values))
    rows = [row for value in values for row in project(value, shows)]
    if shows.text:
        return FileContent("\n".join(str(row[shows.text] or "") for row in rows).encode(errors="replace"), MARKDOWN)
    single = len(rows) == 1 and not each and not shows.rows and not isinstance(values[0], list)
    return FileContent(readable_json(rows[0] if single else rows), JSON)


def store_content(organization: str, user: str, content: FileContent) -> dict[str, Any]:
    """Store a content as a user's file, and return its reference; the same content has the same one."""
    file = record(organization, user, content.content, content.content_type, content.name)
    return file.reference.model_dump()


def describe_file(
    caller: Caller, made: FileContent, max_characters: int = MAX_DESCRIBED_CHARACTERS
) -> tuple[str, FileRecord]:
    """Store a content as the caller's file, and return what the model reads instead of it, and the file.

    That has so many characters at most, or is the reference alone.
    """
    file = access.put(caller, made.content, made.content_type, made.name)
    reference = f"file: {compact_json(file.reference.model_dump())}"
    how = HOW_TO_GO_ON.format(uri=FILE_URI.format(sha256=file.sha256))
    left = min(max_characters, MAX_DESCRIBED_CHARACTERS) - len(reference) - len(how) - MAX_MARK_CHARACTERS
    if left < MIN_PREVIEW_CHARACTERS:
        return reference, file
    shown = preview(made.content.decode(), made.content_type, left)
    return "\n".join([reference, shown, how]), file


def truncate(caller: Caller, text: str, max_characters: int) -> str:
    """Return a text, or where it is too long what the model reads of a file with it."""
    if len(text) <= max_characters:
        return text
    return describe_file(caller, FileContent(text.encode(errors="replace"), PLAIN), max_characters)[0]


def keep_download(caller: Caller, downloaded: FileContent) -> dict[str, Any]:
    """Store a content as the caller's file, and return `{file, preview}`; bytes that are no text have no preview."""
    content, kind = downloaded.content, downloaded.content_type
    file = access.put(caller, content, checked_type(content, kind), downloaded.name)
    shown = None
    if file.is_text:
        text = content.decode()
        shown = preview(text, file.content_type, MAX_PREVIEW_CHARACTERS)
        if len(text) > 2 * MAX_PREVIEW_CHARACTERS and shown.startswith("text: "):
            end = text[-MAX_PREVIEW_CHARACTERS:]
            shown += f"\nends:\n{end[end.find('\n') + 1 :]}"
    return {"file": file.reference.model_dump(), "preview": shown}


def preview(text: str, content_type: str, max_characters: int) -> str:
    """Return the shape of a text and its beginning; of rows their number, their columns and the first of them."""
    value = _value(text, content_type)
    found = find_rows(value)
    if found is None:
        text_shape = f"text: {len(text.splitlines()):,} lines, {len(text):,} characters"
        shape = text_shape if value is None else f"shape: {describe(value)[: max_characters // 2]}"
        return f"{shape}\nbegins:\n{_head(text, max_characters - len(shape))}"
    place = f" in {found.path}" if found.path else ""
    columns = ", ".join(_some(columns_of(found.rows)))[: max_characters // 2]
    lines = [f"rows: {len(found.rows):,}{place}; columns: {columns}"]
    if found.path:
        lines.append(f"shape: {describe(value)[: max_characters // 4]}")
    rows, left = found.rows[:MAX_PREVIEW_ROWS], max_characters - len("".join(lines))
    while len(rows) > 1 and len(smallest(rows)) > left:
        rows = rows[: len(rows) // 2]
    return "\n".join([*lines, f"first {len(rows)}:\n{_head(smallest(rows), left)}"])


def describe(value: Any, depth: int = 0) -> str:
    """Return the shape of a value, e.g. `{items: [120 of {id: integer, title: text}], total: integer}`."""
    match value:
        case dict() if depth >= MAX_SHAPE_DEPTH or not value:
            return "{...}" if value else "{}"
        case dict():
            fields = [f"{name}: {describe(inner, depth + 1)}" for name, inner in value.items()]
            return "{" + ", ".join(_some(fields)) + "}"
        case list():
            inside = f" of {describe(value[0], depth + 1)}" if value else ""
            return f"[{len(value):,}{inside}]"
        case bool():
            return "boolean"
        case None:
            return "null"
        case int():
            return "integer"
        case float():
            return "number"
    return "text"


def _value(text: str, content_type: str) -> Any:
    """Return the value of a JSON text; None for any other."""
    try:
        return parse(text, content_type) if content_type == JSON else None
    except ValueError:
        return None


def _head(text: str, max_characters: int) -> str:
    """Return the first lines of a text, or the beginning of a long first one."""
    if len(text) <= max_characters:
        return text
    head = text[: max(0, max_characters)]
    return f"{head[: head.rindex('\n')] if '\n' in head else head}\n…"


def _some(names: list[str]) -> list[str]:
    more = len(names) - MAX_LISTED_NAMES
    return names if more <= 0 else [*names[:MAX_LISTED_NAMES], f"and {more} more"]
