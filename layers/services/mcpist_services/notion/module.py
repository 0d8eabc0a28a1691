"""Notion: pages and their text, databases and their rows, comments, people.

Reference: https://developers.notion.com/reference
"""

import re
from dataclasses import replace
from typing import Annotated
from urllib.parse import parse_qsl, urlsplit

from pydantic import Field

from mcpist.errors import InvalidRequest
from mcpist.tools.declare.call import given, path_template
from mcpist.tools.declare.module import Module
from mcpist.tools.declare.paging import Paging, by_field
from mcpist.tools.declare.pasted import AddressParts, from_url
from mcpist_services.notion import properties as values
from mcpist_services.notion.rich_text import Json, comment_markdown, plain

source_path = path_template("/v1/data_sources/{data_source_id}")


def row(item: Json, _: Json | None = None) -> Json:
    """Return the readable columns of an item as its `row`; nothing for a person."""
    match item["object"]:
        case "page":
            return {"row": values.row(item)}
        case "database" | "data_source":
            return {"row": {"title": plain(item.get("title")), "description": plain(item.get("description"))}}
        case "comment":
            return {"row": {"text": comment_markdown(item["rich_text"])}}
        case _:
            return {}


PLAIN_PAGES = Paging(
    size="page_size",
    max_size=100,
    position_parameters=("start_cursor",),
    next_page=by_field("next_cursor", "start_cursor", more="has_more"),
)

notion = Module(
    "notion",
    __doc__,
    api_version="2026-03-11",
    host="https://api.notion.com",
    labels={"*": ("internal",)},
    headers={"notion-version": "2026-03-11"},
    origins=r"https://prod-files-secure\.s3\.us-west-2\.amazonaws\.com",
    paging=replace(PLAIN_PAGES, extra_columns=row),
    category="productivity",
    tags=("documents", "notes", "databases"),
)

PAGE = (
    "id",
    "row.title as title",
    "url",
    "created_time as created",
    "last_edited_time as last_edited",
    "row.properties as properties",
)
PAGE_EXAMPLE = "59833787-2cf9-4fdf-8782-e53db20768a5"
BLOCK_EXAMPLE = "c02fc1d3-db8b-45c5-a222-27595b15aea7"
SOURCE_EXAMPLE = "d9824bdc-8445-4327-be8b-5b47500af6ce"

_UNIQUE = r"[0-9a-fA-F]{8}-?(?:[0-9a-fA-F]{4}-?){3}[0-9a-fA-F]{12}"


def _read_address(address: str) -> AddressParts:
    """Read an address: of a row that is open beside its database, `p` is the page, and the path is the database's."""
    url = urlsplit(address)
    held = re.search(rf"{_UNIQUE}$", url.path.rstrip("/"))
    if held is None or not re.fullmatch(r"(?:[\w-]+\.)?notion\.(?:so|site|com)", url.netloc):
        return {}
    query = dict(parse_qsl(url.query))
    page = query.get("p", None if "v" in query else held[0])
    block = url.fragment or page or held[0]
    return given(path=held[0], page_id=page, block_id=block, view_id=query.get("v"), discussion_id=query.get("d"))


Id = Annotated[str, Field(pattern=f"^{_UNIQUE}$")]
DatabaseId = Annotated[Id, from_url(_read_address, "path")]
PageId = Annotated[Id, from_url(_read_address, "page_id")]
BlockId = Annotated[Id, from_url(_read_address, "block_id")]
ViewId = Annotated[Id, from_url(_read_address, "view_id")]
DiscussionId = Annotated[Id, from_url(_read_address, "discussion_id")]
DataSourceId = Annotated[Id, f"As search or get_database shows it; not the database's own id, e.g. {SOURCE_EXAMPLE}"]
Cursor = Annotated[
    str, "Go on where a cut list ended: its answer says the cursor, e.g. 7cab1e9f-4f0c-4d0b-93a4-5d1b7f3f5a11"
]
Title = Annotated[str, Field(min_length=1)]
Markdown = Annotated[str, Field(min_length=1)]


def parent_of(**ids: str | None) -> Json:
    """Return the only parent given, in Notion's format; InvalidRequest unless it is exactly one."""
    present = given(**ids)
    if len(present) != 1:
        raise InvalidRequest(field=" or ".join(ids), problem="give exactly one of them")
    [(name, id_)] = present.items()
    kind = name.removeprefix("parent_")
    return {"type": kind, kind: id_}
