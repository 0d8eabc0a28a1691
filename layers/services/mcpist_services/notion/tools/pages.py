"""Pages: their properties and their text."""

import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal, NotRequired, Required, TypedDict
from urllib.parse import unquote

from pydantic import Field, with_config

from mcpist.errors import InvalidRequest
from mcpist.render.shows import shows
from mcpist.tools.declare.call import Call, Calls, Work, given, path_template
from mcpist.tools.declare.undo import Undo, compares, undone_by
from mcpist_services.notion import properties as values
from mcpist_services.notion.block_requests import MAX_LIST_ITEMS, read_blocks, read_page
from mcpist_services.notion.module import (
    PAGE,
    PAGE_EXAMPLE,
    SOURCE_EXAMPLE,
    BlockId,
    Cursor,
    Id,
    Markdown,
    PageId,
    Title,
    notion,
    parent_of,
    row,
    source_path,
)
from mcpist_services.notion.rich_text import Json
from mcpist_services.notion.undoing import former_page, former_parent, former_text, page_fields

_page_path = path_template("/v1/pages/{page_id}")
_MENTION = re.compile(r"\[[^\[\]]*\]\(mention:([0-9a-fA-F-]{32,36})\)")
MAX_PROPERTY_PAGES = 50
WRITTEN = shows("id", "url")
FOUND = shows(
    "id",
    "object as kind",
    "row.title as title",
    "url",
    "created_time as created",
    "last_edited_time as last_edited",
    rows="results",
)
NEW_PAGES = (
    {"parent_page_id": PAGE_EXAMPLE, "markdown": "## Decisions\n\n- Ship on Monday", "icon": "🚀"},
    {"data_source_id": SOURCE_EXAMPLE, "properties": {"Status": "Done", "Due": "2026-01-31"}},
    {"data_source_id": SOURCE_EXAMPLE, "template": "default"},
    {"data_source_id": SOURCE_EXAMPLE, "template": "e8007a4a-9a02-45c5-bb87-544ff7a6e8b3"},
)
PAGE_CHANGES = ({"title": "Roadmap 2027", "icon": "🚀", "is_locked": True}, {"properties": {"Status": "Done"}})
CONTENT_CHANGES = (
    {"content_updates": [{"old_str": "Draft", "new_str": "Final", "replace_all_matches": True}]},
    {"replace_with": "# All new", "allow_deleting_content": True},
)
NEW_PARENTS = ({"parent_page_id": PAGE_EXAMPLE}, {"data_source_id": SOURCE_EXAMPLE})

Page = Annotated[PageId, f"The 32 digits in a page's address, e.g. {PAGE_EXAMPLE}"]
ParentPage = Annotated[PageId | None, "The parent page, e.g. b55c9c91-384d-452b-81db-d1ef79372b75"]
ParentSource = Annotated[
    Id | None, f"Instead of a page: the data source that it becomes a row of, e.g. {SOURCE_EXAMPLE}"
]
Icon = Annotated[str | None, "One emoji, e.g. 🚀"]
Template = Annotated[str, Field(pattern=r"^(?:default|[0-9a-fA-F]{8}-?(?:[0-9a-fA-F]{4}-?){3}[0-9a-fA-F]{12})$")]
Properties = Annotated[
    dict[str, Any] | None,
    "By name: text, a number, true, a date (or start/end), an option, ids of people or pages, a list of these; null "
    'for empty; or an object in the format of Notion, e.g. {"Status": "Done", "Due": "2026-01-31"}',
]


@with_config(extra="forbid", coerce_numbers_to_str=True)
class Replacement(TypedDict):
    """A text of a page, and what takes its place."""

    old_str: Required[Annotated[str, Field(min_length=1)]]
    new_str: Required[str]
    replace_all_matches: NotRequired[bool]


ContentUpdates = Annotated[
    list[Replacement],
    Field(min_length=1, max_length=100),
    "Texts to find, and what takes their place; one that is there twice is refused without replace_all_matches, "
    'e.g. [{"old_str": "Draft", "new_str": "Final"}]',
]
WholeText = Annotated[Markdown, "Instead: the whole new text, e.g. ## Goals"]


@notion.lists(FOUND, "post-search")
def search(
    query: Annotated[str | None, "Words of the title; everything that you can reach if left out, e.g. Roadmap"] = None,
    kind: Annotated[Literal["page", "data_source"] | None, "Pages, or the data sources of databases"] = None,
    sort: Annotated[Literal["descending", "ascending"] | None, "By the last edit; best match if left out"] = None,
) -> Call:
    """Search pages and databases by their titles. For the text inside pages use search_text."""
    only = {"property": "object", "value": kind} if kind else None
    order = {"timestamp": "last_edited_time", "direction": sort} if sort else None
    return Call("POST", "/v1/search", json=given(query=query, filter=only, sort=order))


@notion.reads(shows(*PAGE), "retrieve-a-page")
def get_page(page_id: Page) -> Calls:
    """Read a page's title and properties. For its text use get_page_content."""
    page = (yield Call("GET", _page_path(page_id))).json
    return page | row(page)


@notion.reads(shows("unknown_block_ids as left_out", "markdown", text="markdown"), "retrieve-page-markdown")
def get_page_content(
    page_id: Annotated[BlockId, f"The id of a page, or of a block that its text left out, e.g. {PAGE_EXAMPLE}"],
    fetch_all: Annotated[bool, "Also read what Notion leaves out of a very long page"] = False,
    include_transcript: Annotated[bool, "Include the transcripts of meetings"] = False,
    page_size: Annotated[int | None, Field(ge=1, le=500), "Read so many blocks alone, without transcripts"] = None,
    cursor: Cursor | None = None,
) -> Calls:
    """Read the text of a page, as Notion's Markdown."""
    if page_size or cursor:
        return read_blocks(page_id, page_size or MAX_LIST_ITEMS, cursor, ids=False)
    query = {"include_transcript": True} if include_transcript else {}
    return read_page(page_id, query, fetch_all=fetch_all)


@notion.reads(shows("property", "type", "value"), "retrieve-a-page-property")
def get_page_property(
    page_id: Page, property_id: Annotated[str, Field(min_length=1), "Its name or its id, e.g. Tasks"]
) -> Calls:
    """Read one property of a page in full; get_page shows at most 25 people, pages or mentions."""
    known = (yield Call("GET", _page_path(page_id))).json["properties"]
    name = next((name for name, each in known.items() if property_id in (name, each["id"])), property_id)
    # Notion returns these ids escaped, and path() escapes them again.
    id_ = unquote(known[name]["id"] if name in known else property_id)
    place, answers = _page_path(page_id, "/properties/{property_id}", property_id=id_), list[Json]()
    cursor: Json = {}
    while not answers or (cursor and len(answers) < MAX_PROPERTY_PAGES):
        answers.append((yield Call("GET", place, cursor)).json)
        cursor = {"start_cursor": answers[-1]["next_cursor"]} if answers[-1].get("has_more") else {}
    return {"property": name, **values.full_property(answers)}


@notion.writes(
    WRITTEN,
    "post-page",
    uses=NEW_PAGES,
    undo=undone_by(
        "trash_page(page_id=answer.id)", read="get_page", creates=True, fields={"edited": "last_edited_time"}
    ),
)
def create_page(
    title: Annotated[Title, "e.g. Minutes of 31 January"],
    parent_page_id: ParentPage = None,
    data_source_id: ParentSource = None,
    properties: Properties = None,
    markdown: Annotated[Markdown | None, "Its text; nest with tabs, e.g. ## Decisions"] = None,
    icon: Icon = None,
    template: Annotated[
        Template | None, "An id that list_templates shows, or default; not with markdown, e.g. default"
    ] = None,
) -> Work:
    """Create a page inside another page, or as a row of a database's data source."""
    parent = parent_of(parent_page_id=parent_page_id, data_source_id=data_source_id)
    if properties and not data_source_id:
        raise InvalidRequest(field="properties", problem="only a row of a data source has properties besides its title")
    if template and (markdown or not data_source_id):
        raise InvalidRequest(field="template", problem="only a row of a data source has one, and it brings the text")
    body = given(parent=parent, properties=values.titled(title), markdown=notion_markdown(markdown), icon=_emoji(icon))
    named = {"type": template} if template == "default" else {"type": "template_id", "template_id": template}
    call = Call("POST", "/v1/pages", json=body | ({"template": named} if template else {}))
    return _with_properties(call, properties, data_source_id and source_path(data_source_id))


@notion.writes(
    WRITTEN,
    "patch-page",
    idempotent=True,
    uses=PAGE_CHANGES,
    undo=Undo(calls=former_page, read="get_page", state=page_fields),
)
def update_page(
    page_id: Page,
    title: Annotated[Title | None, "e.g. Roadmap 2027"] = None,
    properties: Properties = None,
    icon: Icon = None,
    is_locked: Annotated[bool | None, "Whether people must unlock it before they edit it"] = None,
    restore: Annotated[bool, "Restore it from the trash"] = False,
) -> Work:
    """Change a page's title, properties or icon, lock it, or restore it from the trash."""
    titled = values.titled(title) if title else None
    in_trash = False if restore else None
    body: Json = given(properties=titled, icon=_emoji(icon), is_locked=is_locked, in_trash=in_trash)
    if not body and not properties:
        raise InvalidRequest(field="title or properties or icon", problem="give at least one field to change")
    return _with_properties(Call("PATCH", _page_path(page_id), json=body), properties, _page_path(page_id))


@notion.writes(
    shows("id", "truncated"),
    "update-page-markdown",
    uses=CONTENT_CHANGES,
    undo=Undo(calls=former_text, read="get_page_content", state=compares(markdown="markdown")),
)
def update_page_content(
    page_id: Page,
    content_updates: ContentUpdates | None = None,
    replace_with: WholeText | None = None,
    allow_deleting_content: Annotated[bool, "Even if pages or databases inside are deleted"] = False,
) -> Call:
    """Replace parts of a page's text, or all of it, in the Markdown of get_page_content. To add use append_blocks."""
    if (content_updates is None) == (replace_with is None):
        raise InvalidRequest(field="content_updates", problem="give either content_updates or replace_with")
    text = notion_markdown(replace_with, "replace_with")
    edit: Json = {"content_updates": content_updates} if content_updates else {"new_str": text}
    if allow_deleting_content:
        edit["allow_deleting_content"] = True
    kind = "update_content" if content_updates else "replace_content"
    return Call("PATCH", _page_path(page_id, "/markdown"), json={"type": kind, kind: edit})


@notion.writes(
    WRITTEN,
    "move-page",
    idempotent=True,
    uses=NEW_PARENTS,
    undo=Undo(
        calls=former_parent,
        read="get_page",
        state=lambda page, _: {"parent": page["parent"].get(page["parent"]["type"])},
    ),
)
def move_page(page_id: Page, parent_page_id: ParentPage = None, data_source_id: ParentSource = None) -> Call:
    """Move a page into another page, or into a database's data source."""
    parent = parent_of(parent_page_id=parent_page_id, data_source_id=data_source_id)
    return Call("POST", _page_path(page_id, "/move"), json={"parent": parent})


@notion.destroys(
    shows("id", "url", "in_trash"),
    "patch-page",
    idempotent=True,
    undo=undone_by("update_page(page_id, restore=true)", read="get_page", fields="in_trash"),
)
def trash_page(page_id: Page) -> Call:
    """Move a page with its content to the trash. update_page can restore it."""
    return Call("PATCH", _page_path(page_id), json={"in_trash": True})


def _emoji(icon: str | None) -> Json | None:
    return {"type": "emoji", "emoji": icon} if icon else None


def notion_markdown(markdown: str | None, field: str = "markdown") -> str | None:
    """Return Markdown in Notion's dialect, with its mentions; InvalidRequest if it marks lost content."""
    if markdown and "<!-- not carried:" in markdown:
        problem = "it has <!-- not carried --> in place of content of the page: read that with get_page_content"
        raise InvalidRequest(field=field, problem=problem)
    return markdown and _MENTION.sub(r'<mention-user url="user://\1"/>', markdown)


def _with_properties(call: Call, properties: Mapping[str, Any] | None, schema: str | None) -> Work:
    """Add properties to a Call; `schema` is the path that their types are read from."""
    if not properties or not schema:
        return call
    if values.is_raw(properties):
        return _merge_properties(call, properties)
    return _send_with_types(call, properties, schema)


def _send_with_types(call: Call, properties: Mapping[str, Any], schema: str) -> Calls:
    known = (yield Call("GET", schema)).json["properties"]
    return (yield _merge_properties(call, values.written(properties, known))).json


def _merge_properties(call: Call, properties: Mapping[str, Any]) -> Call:
    fields = {**properties, **call.json.get("properties", {})}
    return Call(call.method, call.path, json={**call.json, "properties": fields})
