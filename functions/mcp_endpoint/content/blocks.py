"""Blocks: the parts of an answer as the protocol's content, with what is too large for it as files."""

import base64
import binascii
from collections.abc import Iterable, Iterator, Sequence
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
from mcpist.files import storage
from mcpist.render.answer import compact_json
from mcpist.render.contents import Block

BATCH_URI, BATCH_TYPE = "mcpist://batches/{id}", "text/plain"
MAX_BINARY_CHARACTERS = 3_000_000  # of an answer, in base64: an invocation may answer 6 MB
MAX_BLOCK_TEXT_CHARACTERS = 20_000  # of one block
DEFAULT_CONTENT_TYPE = "application/octet-stream"

_BLOCK: TypeAdapter[ContentBlock] = TypeAdapter(ContentBlock)

type Part = str | ContentBlock


def to_parts(organization: str, blocks: Iterable[Block], max_characters: int = MAX_BINARY_CHARACTERS) -> Iterator[Part]:
    """The blocks that a tool brought beside its text; what does not fit goes into a file, and a note says where."""
    left = max_characters
    for block in blocks:
        payload = block.get("resource", block)
        data = payload.get("data") or payload.get("blob") or ""
        text = payload.get("text", "")
        left -= len(data)
        if (data and left < 0) or len(text) > MAX_BLOCK_TEXT_CHARACTERS:
            left += len(data)
            yield _store(organization, data, text, payload.get("mimeType", DEFAULT_CONTENT_TYPE))
            continue
        try:
            yield _BLOCK.validate_python(block)
        except ValidationError:
            yield compact_json(block)


def content(parts: Sequence[Part], *, links: bool = True) -> list[ContentBlock]:
    """The parts as content; a link is text to a client that knows none."""
    return [_content(part, links) for part in parts]


def limit_contents(organization: str, found: ReadResourceResult) -> ReadResourceResult:
    """What a resource holds, where it is too large with a note instead that says where all of it is."""
    contents = [
        one
        if len(one.text if isinstance(one, TextResourceContents) else one.blob) <= _max_characters(one)
        else TextResourceContents(uri=one.uri, mime_type="text/plain", text=_store_contents(organization, one))
        for one in found.contents
    ]
    return found.model_copy(update={"contents": contents})


def _max_characters(one: TextResourceContents | BlobResourceContents) -> int:
    return MAX_ANSWER_CHARACTERS if isinstance(one, TextResourceContents) else MAX_BINARY_CHARACTERS


def _store_contents(organization: str, one: TextResourceContents | BlobResourceContents) -> str:
    kind = one.mime_type or DEFAULT_CONTENT_TYPE
    if isinstance(one, TextResourceContents):
        return _store(organization, "", one.text, kind)
    return _store(organization, one.blob, "", kind)


def _content(part: Part, links: bool) -> ContentBlock:
    if isinstance(part, ResourceLink) and not links:
        part = compact_json(part.model_dump(mode="json", by_alias=True, exclude_none=True))
    return TextContent(type="text", text=part) if isinstance(part, str) else part


def _store(organization: str, data: str, text: str, kind: str) -> str:
    try:
        payload = base64.b64decode(data, validate=True) if data else text.encode(errors="replace")
    except binascii.Error:
        return f"[{kind} of {len(data)} characters, which is no base64]"
    file: Any = storage.put(organization, payload, kind).as_dict()
    return f"[{kind} of {len(payload)} bytes: {compact_json(file)}]"
