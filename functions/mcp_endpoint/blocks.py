"""The parts of an answer as the protocol's content blocks; those that are too large become files."""

import base64
import binascii
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from mcp_types import (
    BlobResourceContents,
    ContentBlock,
    ReadResourceResult,
    ResourceLink,
    TextContent,
    TextResourceContents,
)
from pydantic import TypeAdapter, ValidationError

from mcp_endpoint.exchange import MAX_ANSWER_CHARACTERS
from mcpist.caller import AnswerFormat, Caller
from mcpist.files import access
from mcpist.files.answers import FILE_URI
from mcpist.files.content import content_type_of
from mcpist.render.answer import compact, compact_each, compact_json, estimate_tokens
from mcpist.render.contents import Block
from mcpist.render.shows import Shows
from mcpist.telemetry.invocation import count
from mcpist.telemetry.metrics import TOKENS_AFTER, TOKENS_BEFORE
from mcpist.telemetry.tracing import span

BATCH_URI, BATCH_TYPE = "mcpist://batches/{id}", "text/plain"
MAX_BINARY_CHARACTERS = 3_000_000  # of an answer, in base64; a Lambda response may have 6 MB
FILE_META_KEY = "mcpist/file"
PART_SEPARATOR = "\n\n"
DEFAULT_CONTENT_TYPE = "application/octet-stream"

_BLOCK: TypeAdapter[ContentBlock] = TypeAdapter(ContentBlock)

type Part = str | ContentBlock


def to_parts(
    caller: Caller, blocks: Iterable[Block], max_characters: int = MAX_BINARY_CHARACTERS, *, max_tokens: int
) -> Iterator[Part]:
    """Yield the blocks of a result that are not text; one that is too large becomes a file and a note."""
    left = max_characters
    for block in blocks:
        payload = block.get("resource", block)
        data = payload.get("data") or payload.get("blob") or ""
        text = payload.get("text", "")
        left, max_tokens = left - len(data), max_tokens - estimate_tokens(text)
        if (data and left < 0) or (text and max_tokens < 0):
            left, max_tokens = left + len(data), max_tokens + estimate_tokens(text)
            yield _store(caller, data, text, payload.get("mimeType", DEFAULT_CONTENT_TYPE))
            continue
        try:
            yield _BLOCK.validate_python(block)
        except ValidationError:
            yield compact_json(block)


def tokens_of(parts: Iterable[Part]) -> int:
    """Return about how many tokens a model reads for the texts of some parts."""
    return sum(
        estimate_tokens(part if isinstance(part, str) else getattr(getattr(part, "resource", part), "text", ""))
        for part in parts
    )


def content(parts: Sequence[Part], *, links: bool = True, separate: bool = False) -> list[ContentBlock]:
    """Return parts as content blocks: all text in the first, since some clients read no other, then the rest in order.

    Where text follows a picture or another document, it names the block that stood there. With `separate` each part is
    a block in its place. For a client without resource links those are text, but not those of files, which the text
    names already.
    """
    shown = parts if links else list(_without_links(parts))
    if separate:
        return [_text(part) if isinstance(part, str) else part for part in shown]
    others = [part for part in shown if not isinstance(part, str)]
    texts = list(_texts(shown))
    return [*([_text(PART_SEPARATOR.join(texts))] if texts else []), *others]


def file_link(reference: Mapping[str, Any]) -> ResourceLink:
    """Return the link to a file, with its reference for programs."""
    return ResourceLink(
        name=reference["sha256"],
        uri=FILE_URI.format(sha256=reference["sha256"]),
        mime_type=reference["content_type"],
        size=reference["size_bytes"],
        _meta={FILE_META_KEY: dict(reference)},
    )


def limit_contents(caller: Caller, result: ReadResourceResult) -> ReadResourceResult:
    """Replace contents that are too large by a note about the file that holds them."""
    return result.model_copy(update={"contents": [_limit(caller, contents) for contents in result.contents]})


def _limit(
    caller: Caller, contents: TextResourceContents | BlobResourceContents
) -> TextResourceContents | BlobResourceContents:
    if isinstance(contents, TextResourceContents):
        data, text, max_characters = "", contents.text, MAX_ANSWER_CHARACTERS
    else:
        data, text, max_characters = contents.blob, "", MAX_BINARY_CHARACTERS
    if len(data or text) <= max_characters:
        return contents
    note = _store(caller, data, text, contents.mime_type or DEFAULT_CONTENT_TYPE)
    return TextResourceContents(uri=contents.uri, mime_type="text/plain", text=note)


def _text(text: str) -> TextContent:
    return TextContent(type="text", text=text)


def _texts(parts: Sequence[Part]) -> Iterator[str]:
    """Yield the texts, and a mark for each block of another kind that stood above one of them."""
    last = max((at for at, part in enumerate(parts) if isinstance(part, str)), default=-1)
    block = 1
    for part in parts[: last + 1]:
        if isinstance(part, str):
            yield part
            continue
        block += 1
        if not isinstance(part, ResourceLink):
            yield f"[{part.type}: block {block}]"


def _without_links(parts: Sequence[Part]) -> Iterator[Part]:
    """Yield parts with links as text, without those of files."""
    for part in parts:
        if not isinstance(part, ResourceLink):
            yield part
        elif FILE_META_KEY not in (part.meta or {}):
            yield compact_json(part.model_dump(mode="json", by_alias=True, exclude_none=True))


def _store(caller: Caller, data: str, text: str, kind: str) -> str:
    try:
        payload = base64.b64decode(data, validate=True) if data else text.encode(errors="replace")
    except binascii.Error:
        return f"[{kind} of {len(data)} characters that are not base64]"
    file = access.put(caller, payload, content_type_of(kind))
    return f"[{kind} of {len(payload)} bytes: {compact_json(file.reference.model_dump())}]"


def render(raw: Any, shows: Shows, form: AnswerFormat, *, each: bool = False) -> str:
    """Return the text of a result, or of a list of the results for `each` element, as the model reads it."""
    with span("render"):
        text = compact_each(raw, shows, form) if each else compact(raw, shows, form)
    count(TOKENS_BEFORE, estimate_tokens(compact_json(raw)))
    count(TOKENS_AFTER, estimate_tokens(text))
    return text
