"""Blocks of a page, and the files in pages."""

from typing import Annotated, Literal

from pydantic import Field

from mcpist.errors import InvalidRequest
from mcpist.files.content import ContentArgument, FileContent
from mcpist.markdown.reader import read
from mcpist.markdown.writer import write
from mcpist.render.shows import DOWNLOADED, shows
from mcpist.tools.declare.call import Call, Calls, FilePart, PartialList, Work, path, path_template
from mcpist.tools.declare.undo import restores, undone_by, unless
from mcpist_services.notion.block_reading import tree_of
from mcpist_services.notion.block_requests import BlockChunk, append, check_size, chunks_of, read_blocks
from mcpist_services.notion.blocks import block_changes, blocks_of, single_block
from mcpist_services.notion.module import BLOCK_EXAMPLE, PAGE_EXAMPLE, BlockId, Cursor, Markdown, PageId, notion
from mcpist_services.notion.rich_text import Json
from mcpist_services.notion.undoing import APPENDED, RESTORED_BLOCK

_block_path = path_template("/v1/blocks/{block_id}")
BLOCK = shows("id", "type", "in_trash")
MAX_CHILD_REQUESTS = 10
POSITIONS = ({"position": "start"}, {"after_block": BLOCK_EXAMPLE})

_CHILDREN = {"child_page", "child_database"}
Block = Annotated[BlockId, f"As list_blocks with ids shows it, e.g. {BLOCK_EXAMPLE}"]


@notion.reads(shows("markdown", text="markdown"), "get-block-children")
def list_blocks(
    block_id: Annotated[BlockId, f"The id of a page, or of a block with nested ones, e.g. {PAGE_EXAMPLE}"],
    ids: Annotated[bool, "Show each block's id before it, for update_block, delete_block and append_blocks"] = False,
    limit: Annotated[int, Field(ge=1, le=500)] = 100,
    cursor: Cursor | None = None,
) -> Calls:
    """Read the blocks of a page or inside a block as Markdown, with the blocks nested in them.

    For a whole page get_page_content is faster; this one gives the ids for changing single blocks.
    """
    return read_blocks(block_id, limit, cursor, ids=ids)


@notion.reads(shows("id", "type", "in_trash", "markdown", text="markdown"), "retrieve-a-block")
def get_block(block_id: Block) -> Calls:
    """Read one block, without those nested in it."""
    block = (yield Call("GET", _block_path(block_id))).json
    return block | {"markdown": write(tree_of([block]))}


@notion.reads(shows("id", "kind", "title", "url", "created"), "get-block-children")
def list_child_pages(
    page_id: Annotated[PageId, f"The page that they are in, e.g. {PAGE_EXAMPLE}"],
    limit: Annotated[int, Field(ge=1, le=500)] = 100,
) -> Calls:
    """List the pages and databases inside a page, as rows; for its text use get_page_content."""
    place = path("/v1/blocks/{page_id}/children", page_id=page_id)
    found: list[Json] = []
    cursor: Json = {}
    for _ in range(MAX_CHILD_REQUESTS):
        answer = (yield Call("GET", place, {"page_size": 100} | cursor)).json
        found += [_child(block) for block in answer["results"] if block["type"] in _CHILDREN]
        if len(found) >= limit or not answer.get("has_more"):
            return found[:limit]
        cursor = {"start_cursor": answer["next_cursor"]}
    return PartialList(found[:limit], "The page has more blocks than are read for this: search finds its other pages.")


def _child(block: Json) -> Json:
    kind = block["type"].removeprefix("child_")
    url = f"https://www.notion.so/{block['id'].replace('-', '')}"
    title = block[block["type"]]["title"]
    return {"id": block["id"], "kind": kind, "title": title, "url": url, "created": block.get("created_time")}


@notion.writes(shows("id", "appended", "last_id"), "patch-block-children", uses=POSITIONS, undo=APPENDED)
def append_blocks(
    block_id: Annotated[BlockId, f"The page or the block to append to, e.g. {PAGE_EXAMPLE}"],
    markdown: Annotated[Markdown, "e.g. ## Next steps"],
    position: Literal["end", "start"] = "end",
    after_block: Annotated[
        BlockId | None, f"After this block of it, instead of a position, e.g. {BLOCK_EXAMPLE}"
    ] = None,
) -> Calls:
    """Append Markdown to a page or a block, as blocks."""
    if after_block and position == "start":
        raise InvalidRequest(field="after_block", problem="it cannot be combined with the position start")
    chunks = chunks_of(blocks_of(read(markdown)))
    check_size(chunks)
    at: Json | None = {"type": "after_block", "after_block": {"id": after_block}} if after_block else None
    return _append(block_id, chunks, {"type": "start"} if position == "start" else at)


@notion.writes(
    BLOCK,
    "update-a-block",
    idempotent=True,
    uses=({"markdown": "Ship on **Tuesday**"}, {"restore": True}),
    undo=unless(
        lambda change: change.arguments["restore"],
        "delete the block again",
        restores("get_block", markdown=lambda block: write(tree_of([block]))),
    ),
)
def update_block(
    block_id: Block,
    markdown: Annotated[
        Markdown | None, "One block of the same kind, or only its new text, e.g. Ship on **Tuesday**"
    ] = None,
    restore: Annotated[bool, "Restore it from the trash"] = False,
) -> Work:
    """Replace the text of one block, or restore it from the trash. Nested blocks stay."""
    if restore == (markdown is not None):
        raise InvalidRequest(field="markdown", problem="give either markdown or restore")
    if markdown is None:
        return Call("PATCH", _block_path(block_id), json={"in_trash": False})
    return _update_block(block_id, single_block(read(markdown)))


@notion.destroys(BLOCK, "delete-a-block", idempotent=True, undo=RESTORED_BLOCK)
def delete_block(block_id: Block) -> Call:
    """Move one block, with those nested in it, to the trash."""
    return Call("DELETE", _block_path(block_id))


def _append(block_id: str, chunks: list[BlockChunk], position: Json | None) -> Calls:
    ids = yield from append(block_id, chunks, position)
    return {"id": block_id, "appended": len(ids), "last_id": ids[-1], "ids": ids}


def _update_block(block_id: str, new: Json) -> Calls:
    block = (yield Call("GET", _block_path(block_id))).json
    return (yield Call("PATCH", _block_path(block_id), json=block_changes(block, new))).json


FILE_EXAMPLE = "c02fc1d3-db8b-45c5-a222-0000000000f1"

_MEDIA = ("image", "video", "audio")


@notion.reads(DOWNLOADED, "retrieve-a-block")
def download_file(
    block_id: Annotated[
        BlockId, f"A file, image, PDF, video or audio, as list_blocks with ids shows it, e.g. {FILE_EXAMPLE}"
    ],
) -> Calls:
    """Download the file of a block."""
    block = (yield Call("GET", path("/v1/blocks/{block_id}", block_id=block_id))).json
    held = block.get(block["type"], {})
    if held.get("type") == "external":
        raise InvalidRequest(field="block_id", problem=f"its file is not in Notion, but at {held['external']['url']}")
    if held.get("type") != "file":
        raise InvalidRequest(field="block_id", problem=f"a block of the type {block['type']} holds no file")
    return (yield Call.to("GET", held["file"]["url"], download=True)).json


@notion.writes(
    shows("id as block_id", rows="results"),
    "patch-block-children",
    undo=undone_by(
        "delete_block(block_id=answer.results[0].id)",
        read="get_block",
        creates=True,
        fields={"edited": lambda json: (json.get("results") or [json])[0].get("last_edited_time")},
    ),
)
def attach_file(
    block_id: Annotated[BlockId, f"The page, or the block, to put it at the end of, e.g. {PAGE_EXAMPLE}"],
    filename: Annotated[str, Field(pattern=r"\.\w+$", max_length=900), "With its ending, e.g. notes.txt"],
    content: Annotated[ContentArgument, "The text, or the reference of a file up to 20 MB, e.g. It fails on Safari."],
) -> Calls:
    """Put a file at the end of a page or a block; an image, a PDF, a video or a sound shows as such."""
    described = {"mode": "single_part", "filename": filename, "content_type": content.content_type}
    upload = (yield Call("POST", "/v1/file_uploads", json=described, prepares=True)).json["id"]
    place = path("/v1/file_uploads/{upload}/send", upload=upload)
    yield Call("POST", place, multipart={"file": FilePart(filename, content)}, prepares=True)
    kind = _kind(content)
    block = {"type": kind, kind: {"type": "file_upload", "file_upload": {"id": upload}}}
    children = path("/v1/blocks/{block_id}/children", block_id=block_id)
    return Call("PATCH", children, json={"children": [block]})


def _kind(content: FileContent) -> str:
    """Return the type of the block that shows a file."""
    family, _, kind = content.content_type.partition(";")[0].partition("/")
    return "pdf" if kind == "pdf" else family if family in _MEDIA else "file"
