"""Files in pages."""

from typing import Annotated

from pydantic import Field

from mcpist.errors import InvalidRequest
from mcpist.files.content import ContentArgument, FileContent
from mcpist.render.shows import DOWNLOADED, shows
from mcpist.tools.declare.call import Call, Calls, FilePart, path
from mcpist_services.notion.module import PAGE_EXAMPLE, Id, notion

FILE_EXAMPLE = "c02fc1d3-db8b-45c5-a222-0000000000f1"

_MEDIA = ("image", "video", "audio")


@notion.reads(DOWNLOADED, "retrieve-a-block")
def download_file(
    block_id: Annotated[
        Id, f"A file, image, PDF, video or audio, as list_blocks with ids shows it, e.g. {FILE_EXAMPLE}"
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


@notion.writes(shows("id as block_id", rows="results"), "patch-block-children")
def attach_file(
    block_id: Annotated[Id, f"The page, or the block, to put it at the end of, e.g. {PAGE_EXAMPLE}"],
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
