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

from mcp_endpoint.exchange import MOST_CHARACTERS
from mcpist.files import storage
from mcpist.render.answer import minified
from mcpist.render.contents import Block

BATCH_URI, BATCH_TYPE = "mcpist://batches/{id}", "text/plain"
MOST_BINARY_CHARACTERS = 3_000_000  # of an answer, in base64: an invocation may answer 6 MB
MOST_TEXT_CHARACTERS = 20_000  # of one block
ANY_TYPE = "application/octet-stream"

_BLOCK: TypeAdapter[ContentBlock] = TypeAdapter(ContentBlock)

type Part = str | ContentBlock


def shown(organization: str, blocks: Iterable[Block], most: int = MOST_BINARY_CHARACTERS) -> Iterator[Part]:
    """The blocks that a tool brought beside its text; what does not fit goes into a file, and a note says where."""
    left = most
    for block in blocks:
        held = block.get("resource", block)
        data = held.get("data") or held.get("blob") or ""
        text = held.get("text", "")
        left -= len(data)
        if (data and left < 0) or len(text) > MOST_TEXT_CHARACTERS:
            left += len(data)
            yield _filed(organization, data, text, held.get("mimeType", ANY_TYPE))
            continue
        try:
            yield _BLOCK.validate_python(block)
        except ValidationError:
            yield minified(block)


def content(parts: Sequence[Part], *, links: bool = True) -> list[ContentBlock]:
    """The parts as content; a link is text to a client that knows none."""
    return [_content(part, links) for part in parts]


def fitting(organization: str, found: ReadResourceResult) -> ReadResourceResult:
    """What a resource holds, where it is too large with a note instead that says where all of it is."""
    contents = [
        one
        if len(one.text if isinstance(one, TextResourceContents) else one.blob) <= _most(one)
        else TextResourceContents(uri=one.uri, mime_type="text/plain", text=_filed_contents(organization, one))
        for one in found.contents
    ]
    return found.model_copy(update={"contents": contents})


def _most(one: TextResourceContents | BlobResourceContents) -> int:
    return MOST_CHARACTERS if isinstance(one, TextResourceContents) else MOST_BINARY_CHARACTERS


def _filed_contents(organization: str, one: TextResourceContents | BlobResourceContents) -> str:
    kind = one.mime_type or ANY_TYPE
    if isinstance(one, TextResourceContents):
        return _filed(organization, "", one.text, kind)
    return _filed(organization, one.blob, "", kind)


def _content(part: Part, links: bool) -> ContentBlock:
    if isinstance(part, ResourceLink) and not links:
        part = minified(part.model_dump(mode="json", by_alias=True, exclude_none=True))
    return TextContent(type="text", text=part) if isinstance(part, str) else part


def _filed(organization: str, data: str, text: str, kind: str) -> str:
    try:
        held = base64.b64decode(data, validate=True) if data else text.encode(errors="replace")
    except binascii.Error:
        return f"[{kind} of {len(data)} characters, which is no base64]"
    file: Any = storage.put(organization, held, kind).as_dict()
    return f"[{kind} of {len(held)} bytes: {minified(file)}]"
