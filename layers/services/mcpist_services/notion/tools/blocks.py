"""Blocks of a page."""

from typing import Annotated, Literal

from pydantic import Field

from mcpist.errors import InvalidRequest
from mcpist.markdown.reader import read
from mcpist.render.shows import shows
from mcpist.tools.declare.argument_types import from_url
from mcpist.tools.declare.call import Call, Calls, path
from mcpist_services.notion.block_requests import append, check_size, read_blocks
from mcpist_services.notion.blocks import block_changes, blocks_of, single_block
from mcpist_services.notion.chunks import BlockChunk, chunks_of
from mcpist_services.notion.module import BLOCK_EXAMPLE, NOTION, PAGE_EXAMPLE, Id, Markdown, notion
from mcpist_services.notion.rich_text import Json

BLOCK = shows("id", "type", "in_trash")
POSITIONS = ({"position": "start"}, {"after_block": BLOCK_EXAMPLE})

_OF_BLOCK = from_url(rf"{NOTION}[^#]*#([0-9a-f]{{32}})$")
BlockId = Annotated[Id, _OF_BLOCK, f"As list_blocks with ids shows it, e.g. {BLOCK_EXAMPLE}"]
Cursor = Annotated[
    str, "Go on where a cut list ended: its answer says the cursor, e.g. 7cab1e9f-4f0c-4d0b-93a4-5d1b7f3f5a11"
]


@notion.reads(shows("markdown", text="markdown"), "get-block-children")
def list_blocks(
    block_id: Annotated[Id, f"The id of a page, or of a block with nested ones, e.g. {PAGE_EXAMPLE}"],
    ids: Annotated[bool, "Show each block's id before it, for update_block, delete_block and append_blocks"] = False,
    limit: Annotated[int, Field(ge=1, le=500)] = 100,
    cursor: Cursor | None = None,
) -> Calls:
    """Read the blocks of a page or inside a block as Markdown, with the blocks nested in them.

    For a whole page get_page_content is faster; this one gives the ids for changing single blocks.
    """
    return read_blocks(block_id, limit, cursor, ids=ids)


@notion.writes(shows("id", "appended", "last_id"), "patch-block-children", uses=POSITIONS)
def append_blocks(
    block_id: Annotated[Id, f"The page or the block to append to, e.g. {PAGE_EXAMPLE}"],
    markdown: Annotated[Markdown, "e.g. ## Next steps"],
    position: Literal["end", "start"] = "end",
    after_block: Annotated[Id | None, f"After this block of it, instead of a position, e.g. {BLOCK_EXAMPLE}"] = None,
) -> Calls:
    """Append Markdown to a page or a block, as blocks."""
    if after_block and position == "start":
        raise InvalidRequest(field="after_block", problem="it cannot be combined with the position start")
    chunks = chunks_of(blocks_of(read(markdown)))
    check_size(chunks)
    at: Json | None = {"type": "after_block", "after_block": {"id": after_block}} if after_block else None
    return _append(block_id, chunks, {"type": "start"} if position == "start" else at)


@notion.writes(BLOCK, "update-a-block", idempotent=True)
def update_block(
    block_id: BlockId,
    markdown: Annotated[Markdown, "One block of the same kind, or only its new text, e.g. Ship on **Tuesday**"],
) -> Calls:
    """Replace the text of one block. Nested blocks stay."""
    return _update_block(block_id, single_block(read(markdown)))


@notion.destroys(BLOCK, "delete-a-block", idempotent=True)
def delete_block(block_id: BlockId) -> Call:
    """Move one block, with those nested in it, to the trash."""
    return Call("DELETE", _block_path(block_id))


def _block_path(block_id: str) -> str:
    return path("/v1/blocks/{block_id}", block_id=block_id)


def _append(block_id: str, chunks: list[BlockChunk], position: Json | None) -> Calls:
    ids = yield from append(block_id, chunks, position)
    return {"id": block_id, "appended": len(ids), "last_id": ids[-1]}


def _update_block(block_id: str, new: Json) -> Calls:
    block = (yield Call("GET", _block_path(block_id))).json
    return (yield Call("PATCH", _block_path(block_id), json=block_changes(block, new))).json
