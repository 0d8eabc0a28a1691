"""Answers that are too large for a model: a preview, the reference of a file with all of it, and how to go on."""

from dataclasses import dataclass
from typing import Any

from mcpist.caller import Caller
from mcpist.files import access
from mcpist.files.content import FileContent
from mcpist.files.content_types import JSON, MARKDOWN, PLAIN
from mcpist.files.preview import preview
from mcpist.files.records import FileRecord
from mcpist.files.values import readable_json
from mcpist.render.answer import compact_json
from mcpist.render.contents import split_content
from mcpist.render.project import project
from mcpist.render.shows import ANY_COLUMN, Shows

HOW_TO_GO_ON = (
    "Go on with the module files: query(path, expression), table(path, columns, where), search(path, pattern) or "
    "read(path, offset). As a parameter of a tool, {{path, sha256}} stands for the content. Resource: {uri}"
)
MAX_DESCRIPTION_CHARACTERS = 3_000
MIN_PREVIEW_CHARACTERS = 200
FILE_URI = "mcpist://files/{sha256}"


def content_of(raw: Any, shows: Shows, *, each: bool = False, raw_output: bool = False) -> FileContent:
    """Return what the file of a tool's result holds: what the answer shows of it, whole.

    These are the rows as JSON, or a document's Markdown; with `raw_output` the service's own JSON. With `each`, `raw`
    is the list of the results for several elements.
    """
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


@dataclass(frozen=True, slots=True)
class DescribedFile:
    """A file, and what the model reads instead of it."""

    text: str
    file: FileRecord


def describe_file(caller: Caller, made: FileContent, max_characters: int = MAX_DESCRIPTION_CHARACTERS) -> DescribedFile:
    """Store a content as the caller's file, and describe it in so many characters."""
    file = access.put(caller, made.content, made.content_type)
    reference = f"file: {compact_json(file.reference.model_dump())}"
    how = HOW_TO_GO_ON.format(uri=FILE_URI.format(sha256=file.sha256))
    left = min(max_characters, MAX_DESCRIPTION_CHARACTERS) - len(reference) - len(how)
    shown = preview(made.content.decode(), made.content_type, max(left, MIN_PREVIEW_CHARACTERS))
    return DescribedFile("\n".join([reference, shown, how]), file)


def truncate(caller: Caller, text: str, max_characters: int, content_type: str = PLAIN) -> str:
    """Return a text, or where it is too long what the model reads of a file with it."""
    if len(text) <= max_characters:
        return text
    return describe_file(caller, FileContent(text.encode(errors="replace"), content_type), max_characters).text
