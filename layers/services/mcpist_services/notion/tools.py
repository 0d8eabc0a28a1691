"""Notion: pages and their text, databases and their rows, comments, people.

Reference: https://developers.notion.com/reference
"""

import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal
from urllib.parse import unquote

from pydantic import Field

from mcpist.errors import InvalidRequest
from mcpist.markdown.reader import read
from mcpist.render.shows import shows
from mcpist.tools.call import Call, Calls, Work, given, path
from mcpist.tools.module import Module
from mcpist.tools.paging import Paging, by_field
from mcpist_services.notion import properties as values
from mcpist_services.notion.block_requests import append, check_size, read_blocks, read_page
from mcpist_services.notion.blocks import block_changes, blocks_of, single_block
from mcpist_services.notion.chunks import BlockChunk, portions
from mcpist_services.notion.comments import comment, said
from mcpist_services.notion.rich_text import Json, plain

_MENTION = re.compile(r"\[[^\[\]]*\]\(mention:([0-9a-fA-F-]{32,36})\)")


def _row(item: Json, _: Json | None = None) -> Json:
    """The words that people read of a thing, as its `row`; nothing for a person."""
    match item["object"]:
        case "page":
            return {"row": values.row(item)}
        case "database" | "data_source":
            return {"row": {"title": plain(item.get("title")), "description": plain(item.get("description"))}}
        case "comment":
            return {"row": {"text": said(item["rich_text"])}}
        case _:
            return {}


notion = Module(
    "notion",
    __doc__,
    api_version="2026-03-11",
    host="https://api.notion.com",
    headers={"notion-version": "2026-03-11"},
    paging=Paging(
        size="page_size",
        max_size=100,
        position_parameters=("start_cursor",),
        next_page=by_field("next_cursor", "start_cursor", more="has_more"),
        extra_columns=_row,
    ),
    category="productivity",
    tags=("documents", "notes", "databases"),
)

MAX_PROPERTY_PAGES = 50

PAGE = ("id", "row.title as title", "url", "last_edited_time as last_edited", "row.properties as properties")
WRITTEN = shows("id", "url")
BLOCK = shows("id", "type", "in_trash")
USER = ("id", "name", "type", "person.email as email")

_PAGE = "59833787-2cf9-4fdf-8782-e53db20768a5"
_BLOCK = "c02fc1d3-db8b-45c5-a222-27595b15aea7"
_DISCUSSION = "f1407351-36f5-4c49-a13c-49f8ba11776d"
_SOURCE = "d9824bdc-8445-4327-be8b-5b47500af6ce"

Id = Annotated[str, Field(pattern=r"^[0-9a-fA-F]{8}-?([0-9a-fA-F]{4}-?){3}[0-9a-fA-F]{12}$")]
PageId = Annotated[Id, f"The 32 digits in a page's address, e.g. {_PAGE}"]
BlockId = Annotated[Id, f"As list_blocks with ids shows it, e.g. {_BLOCK}"]
DatabaseId = Annotated[Id, "The 32 digits in a database's address, e.g. 248104cd-477e-80fd-b757-e945d38000bd"]
DataSourceId = Annotated[Id, f"As search or get_database shows it; not the database's own id, e.g. {_SOURCE}"]
UserId = Annotated[Id, "As list_users shows it, e.g. d40e767c-d7af-4b18-a86d-55c61f1e39a4"]
ParentPage = Annotated[Id | None, "The page that it is to be in, e.g. b55c9c91-384d-452b-81db-d1ef79372b75"]
ParentSource = Annotated[Id | None, f"Instead of a page: the data source that it is to be a row of, e.g. {_SOURCE}"]
Title = Annotated[str, Field(min_length=1)]
Markdown = Annotated[str, Field(min_length=1)]
Icon = Annotated[str | None, "One emoji, e.g. 🚀"]
Properties = Annotated[
    dict[str, Any] | None,
    "By name: text, a number, true, a date (or start/end), an option, ids of people or pages, a list of these; null "
    'for nothing; or an object as Notion writes it, e.g. {"Status": "Done", "Due": "2026-01-31"}',
]


# -- pages --------------------------------------------------------------------------------------------


@notion.lists(
    shows(
        "id",
        "object as kind",
        "row.title as title",
        "url",
        "last_edited_time as last_edited",
        rows="results",
    ),
    "post-search",
)
def search(
    query: Annotated[str | None, "Words of the title; everything that you can reach if left out, e.g. Roadmap"] = None,
    kind: Annotated[Literal["page", "data_source"] | None, "Pages, or the data sources of databases"] = None,
    sort: Annotated[Literal["descending", "ascending"] | None, "By the last edit; best match if left out"] = None,
) -> Call:
    """Search pages and databases by their titles. The text inside pages is not searched."""
    only = {"property": "object", "value": kind} if kind else None
    order = {"timestamp": "last_edited_time", "direction": sort} if sort else None
    return Call("POST", "/v1/search", json=given(query=query, filter=only, sort=order))


@notion.reads(shows(*PAGE), "retrieve-a-page")
def get_page(page_id: PageId) -> Calls:
    """Read a page's title and properties. Its text is what get_page_content reads."""
    page = (yield Call("GET", _page(page_id))).json
    return page | _row(page)


@notion.reads(shows("unknown_block_ids as left_out", "markdown", text="markdown"), "retrieve-page-markdown")
def get_page_content(
    page_id: Annotated[Id, f"A page's id, or that of a block that was left out of one, e.g. {_PAGE}"],
    fetch_all: Annotated[bool, "Read also what Notion leaves out of a very long page"] = False,
    include_transcript: Annotated[bool, "With the transcripts of meetings"] = False,
) -> Calls:
    """Read the text of a page, as Notion's Markdown."""
    query = {"include_transcript": True} if include_transcript else {}
    return read_page(page_id, query, fetch_all=fetch_all)


@notion.reads(shows("property", "type", "value"), "retrieve-a-page-property")
def get_page_property(
    page_id: PageId, property_id: Annotated[str, Field(min_length=1), "Its name or its id, e.g. Tasks"]
) -> Calls:
    """Read one property of a page whole: get_page cuts off more than 25 people, pages or mentions."""
    found = (yield Call("GET", _page(page_id))).json["properties"]
    name = next((name for name, each in found.items() if property_id in (name, each["id"])), property_id)
    # Notion writes these ids escaped, and path() escapes them again.
    id_ = unquote(found[name]["id"] if name in found else property_id)
    place, answers = _page(page_id, "/properties/{property_id}", property_id=id_), list[Json]()
    cursor: Json = {}
    while not answers or (cursor and len(answers) < MAX_PROPERTY_PAGES):
        answers.append((yield Call("GET", place, cursor)).json)
        cursor = {"start_cursor": answers[-1]["next_cursor"]} if answers[-1].get("has_more") else {}
    return {"property": name, **values.whole(answers)}


@notion.writes(
    WRITTEN,
    "post-page",
    uses=(
        {"parent_page_id": _PAGE, "markdown": "## Decisions\n\n- Ship on Monday", "icon": "🚀"},
        {"data_source_id": _SOURCE, "properties": {"Status": "Done", "Due": "2026-01-31"}},
    ),
)
def create_page(
    title: Annotated[Title, "e.g. Minutes of 31 January"],
    parent_page_id: ParentPage = None,
    data_source_id: ParentSource = None,
    properties: Properties = None,
    markdown: Annotated[Markdown | None, "Its text; nest with tabs, e.g. ## Decisions"] = None,
    icon: Icon = None,
) -> Work:
    """Create a page inside another page, or as a row of a database's data source."""
    parent = _parent(parent_page_id=parent_page_id, data_source_id=data_source_id)
    if properties and not data_source_id:
        raise InvalidRequest(field="properties", problem="only a row of a data source has more than its title")
    body = given(parent=parent, properties=values.titled(title), markdown=_notion_markdown(markdown), icon=_emoji(icon))
    return _with_properties(
        Call("POST", "/v1/pages", json=body), properties, data_source_id and _source(data_source_id)
    )


@notion.writes(
    WRITTEN,
    "patch-page",
    idempotent=True,
    uses=({"title": "Roadmap 2027", "icon": "🚀", "is_locked": True}, {"properties": {"Status": "Done"}}),
)
def update_page(
    page_id: PageId,
    title: Annotated[Title | None, "e.g. Roadmap 2027"] = None,
    properties: Properties = None,
    icon: Icon = None,
    is_locked: Annotated[bool | None, "Whether people may edit it in Notion only after unlocking it"] = None,
    restore: Annotated[bool, "Take it out of the trash"] = False,
) -> Work:
    """Change a page's title, properties or icon, lock it, or take it out of the trash."""
    body: Json = given(
        properties=values.titled(title) if title else None,
        icon=_emoji(icon),
        is_locked=is_locked,
        in_trash=False if restore else None,
    )
    if not body and not properties:
        raise InvalidRequest(field="title or properties or icon", problem="say at least one thing to change")
    return _with_properties(Call("PATCH", _page(page_id), json=body), properties, _page(page_id))


@notion.writes(
    shows("id", "truncated"),
    "update-page-markdown",
    uses=(
        {"markdown": "## Risks"},
        {"markdown": "- One more", "after": "## Risks...known today."},
        {"markdown": "## No risks", "content_range": "## Risks...known today."},
        {"markdown": "# All new", "replace": True, "allow_deleting_content": True},
        {"content_updates": [{"old_str": "Draft", "new_str": "Final", "replace_all_matches": True}]},
    ),
)
def update_page_content(
    page_id: PageId,
    markdown: Annotated[
        Markdown | None, "Goes to the page's end, or where one of the next three says, e.g. ## Risks"
    ] = None,
    after: Annotated[str | None, "Behind this text, as its first and last words, e.g. ## Risks...known today."] = None,
    content_range: Annotated[
        str | None, "In the place of this text, written likewise, e.g. ## Risks...known today."
    ] = None,
    replace: Annotated[bool, "In the place of all that the page says"] = False,
    content_updates: Annotated[
        list[dict[str, Any]] | None,
        Field(min_length=1, max_length=100),
        'Instead of markdown: what to find and what to put there, e.g. [{"old_str": "Draft", "new_str": "Final"}]',
    ] = None,
    allow_deleting_content: Annotated[bool, "Even if pages or databases inside are deleted with it"] = False,
) -> Call:
    """Change a page's text: add to it, or replace a part or all of it. Nesting is by tabs, as in get_page_content."""
    body = _content_edit(_notion_markdown(markdown), after, content_range, replace, content_updates)
    if allow_deleting_content and body["type"] != "insert_content":
        body[body["type"]]["allow_deleting_content"] = True
    return Call("PATCH", _page(page_id, "/markdown"), json=body)


@notion.writes(WRITTEN, "move-page", idempotent=True, uses=({"parent_page_id": _PAGE}, {"data_source_id": _SOURCE}))
def move_page(page_id: PageId, parent_page_id: ParentPage = None, data_source_id: ParentSource = None) -> Call:
    """Move a page into another page, or into a database's data source."""
    parent = _parent(parent_page_id=parent_page_id, data_source_id=data_source_id)
    return Call("POST", _page(page_id, "/move"), json={"parent": parent})


@notion.destroys(shows("id", "url", "in_trash"), "patch-page", idempotent=True)
def trash_page(page_id: PageId) -> Call:
    """Put a page, with all that is inside it, into the trash. update_page can take it out again."""
    return Call("PATCH", _page(page_id), json={"in_trash": True})


# -- databases ----------------------------------------------------------------------------------------


@notion.reads(
    shows("id", "row.title as title", "row.description as description", "data_sources", "url", "in_trash"),
    "retrieve-database",
)
def get_database(database_id: DatabaseId) -> Calls:
    """Read a database: its title, and the data sources that hold its rows."""
    database = (yield Call("GET", path("/v1/databases/{database_id}", database_id=database_id))).json
    return database | _row(database)


@notion.reads(
    shows(
        "id",
        "row.title as title",
        "row.description as description",
        "parent.database_id as database_id",
        "url",
        "row.properties as properties",
    ),
    "retrieve-a-data-source",
)
def get_data_source(data_source_id: DataSourceId) -> Calls:
    """Read what a data source asks of its rows: each property's name and type, and the options to choose from."""
    source = (yield Call("GET", _source(data_source_id))).json
    return source | {"row": {**_row(source)["row"], "properties": values.outline(source["properties"])}}


@notion.lists(shows(*PAGE, rows="results"), "post-database-query")
def query_data_source(
    data_source_id: DataSourceId,
    filter: Annotated[  # noqa: A002
        dict[str, Any] | None,
        'Notion\'s filter; several in {"and": [...]} or {"or": [...]}, '
        'e.g. {"property": "Status", "status": {"equals": "In progress"}}',
    ] = None,
    sorts: Annotated[
        list[dict[str, Any]] | None, 'The first counts most, e.g. [{"property": "Due", "direction": "ascending"}]'
    ] = None,
) -> Call:
    """List a data source's rows with their properties, filtered and sorted."""
    return Call("POST", _source(data_source_id, "/query"), json=given(filter=filter, sorts=sorts))


@notion.writes(shows("id", "data_sources[*].id as data_source_ids", "url"), "create-database")
def create_database(
    parent_page_id: Annotated[Id, f"The page to put it in, e.g. {_PAGE}"],
    title: Annotated[Title, "e.g. Tasks"],
    properties: Annotated[
        dict[str, Any] | None,
        "By name: a type (rich_text, number, date, people, ...), a list of options, or an object as Notion writes it, "
        'e.g. {"Task": "title", "Stage": ["To do", "Done"], "Due": "date", "Price": {"number": {"format": "euro"}}}',
    ] = None,
    description: Annotated[str | None, "e.g. What we have promised"] = None,
    is_inline: Annotated[bool, "Shown as a table in the page, not as a page of its own"] = False,
) -> Call:
    """Create a database with one data source in a page."""
    body = given(
        parent=_parent(parent_page_id=parent_page_id),
        title=values.words(title),
        description=values.words(description) if description else None,
        is_inline=is_inline or None,
        initial_data_source={"properties": values.schema(properties or {})},
    )
    return Call("POST", "/v1/databases", json=body)


# -- blocks -------------------------------------------------------------------------------------------


@notion.reads(shows("markdown", text="markdown"), "get-block-children")
def list_blocks(
    block_id: Annotated[Id, f"A page's id, or that of a block with others inside, e.g. {_PAGE}"],
    ids: Annotated[bool, "Say each block's id before it, for update_block, delete_block and append_blocks"] = False,
    limit: Annotated[int, Field(ge=1, le=500)] = 100,
    cursor: Annotated[
        str | None,
        "Go on where a cut list ended: its answer says the cursor, e.g. 7cab1e9f-4f0c-4d0b-93a4-5d1b7f3f5a11",
    ] = None,
) -> Calls:
    """Read the blocks of a page or inside a block as Markdown, with all that is nested in them.

    For a whole page get_page_content is faster; this one gives the ids that changes of single blocks need.
    """
    return read_blocks(block_id, limit, cursor, ids=ids)


@notion.writes(
    shows("id", "appended", "last_id"),
    "patch-block-children",
    uses=({"position": "start"}, {"after_block": _BLOCK}),
)
def append_blocks(
    block_id: Annotated[Id, f"The page, or the block, to put them in, e.g. {_PAGE}"],
    markdown: Annotated[Markdown, "e.g. ## Next steps"],
    position: Literal["end", "start"] = "end",
    after_block: Annotated[Id | None, f"Behind this block of it, instead of a position, e.g. {_BLOCK}"] = None,
) -> Calls:
    """Append Markdown to a page or a block, as blocks."""
    if after_block and position == "start":
        raise InvalidRequest(field="after_block", problem="it excludes the position start")
    made = portions(blocks_of(read(markdown)))
    check_size(made)
    at: Json | None = {"type": "after_block", "after_block": {"id": after_block}} if after_block else None
    return _append(block_id, made, {"type": "start"} if position == "start" else at)


@notion.writes(BLOCK, "update-a-block", idempotent=True)
def update_block(
    block_id: BlockId,
    markdown: Annotated[Markdown, "One block of the same kind, or its new text alone, e.g. Ship on **Tuesday**"],
) -> Calls:
    """Replace the text of one block. What is nested in it stays."""
    return _update_block(block_id, single_block(read(markdown)))


@notion.destroys(BLOCK, "delete-a-block", idempotent=True)
def delete_block(block_id: BlockId) -> Call:
    """Put one block, with all that is inside it, into the trash."""
    return Call("DELETE", _block(block_id))


# -- comments -----------------------------------------------------------------------------------------


@notion.lists(
    shows(
        "id",
        "discussion_id",
        "display_name.resolved_name as author",
        "created_time as created",
        "row.text as text",
        rows="results",
    ),
    "list-comments",
)
def list_comments(block_id: Annotated[Id, f"A page's id, or a block's, e.g. {_PAGE}"]) -> Call:
    """List the open comments on a page or on one block."""
    return Call("GET", "/v1/comments", {"block_id": block_id})


@notion.writes(
    shows("id", "discussion_id"),
    "create-a-comment",
    uses=(
        {"page_id": _PAGE},
        {"block_id": _BLOCK},
        {"discussion_id": _DISCUSSION},
    ),
)
def add_comment(
    markdown: Annotated[Markdown, "[@name](mention:user id) names a person, e.g. Looks **good**."],
    page_id: Annotated[Id | None, f"On this page, e.g. {_PAGE}"] = None,
    block_id: Annotated[Id | None, f"On this block, e.g. {_BLOCK}"] = None,
    discussion_id: Annotated[Id | None, f"In this discussion, as list_comments shows it, e.g. {_DISCUSSION}"] = None,
) -> Call:
    """Comment on a page or a block, or answer in a discussion."""
    place = _parent(page_id=page_id, block_id=block_id, discussion_id=discussion_id)
    where = {"discussion_id": discussion_id} if discussion_id else {"parent": place}
    return Call("POST", "/v1/comments", json={**where, "rich_text": comment(markdown)})


# -- people -------------------------------------------------------------------------------------------


@notion.lists(shows(*USER, rows="results"), "get-users")
def list_users() -> Call:
    """List the people and bots of the workspace; guests are not among them."""
    return Call("GET", "/v1/users")


@notion.reads(shows(*USER), "get-user")
def get_user(user_id: UserId) -> Call:
    """Read who a person or a bot is."""
    return Call("GET", path("/v1/users/{user_id}", user_id=user_id))


@notion.reads(
    shows("id", "name", "type", "bot.workspace_name as workspace", "bot.owner.user.name as owner"), "get-self"
)
def get_self() -> Call:
    """Read which bot Notion is connected with, and of which workspace."""
    return Call("GET", "/v1/users/me")


# -- resources and prompts ----------------------------------------------------------------------------


@notion.resource("notion://pages/{page_id}", get_page_content)
def page(page_id: str) -> Mapping[str, Any]:
    """A page's text."""
    return {"page_id": page_id}


@notion.resource("notion://data-sources/{data_source_id}/rows", query_data_source)
def rows(data_source_id: str) -> Mapping[str, Any]:
    """The rows of a database's data source."""
    return {"data_source_id": data_source_id}


@notion.resource("notion://pages/{page_id}/comments", list_comments)
def comments(page_id: str) -> Mapping[str, Any]:
    """The open comments on a page."""
    return {"block_id": page_id}


@notion.prompt(search, get_page_content, list_comments)
def summarise_page(title: Annotated[str, "The page's title, e.g. Roadmap"]) -> str:
    """Summarise a page, with what is still open in its comments."""
    return (
        f'Summarise the Notion page "{title}". In one batch, find it (notion.search), read its text '
        "(notion.get_page_content) and its open comments (notion.list_comments) by the id of the first result. Say in "
        "five sentences what it is about, then list decisions, open questions and who must do what by when. If several "
        "pages bear that title, ask me which."
    )


@notion.prompt(get_data_source, query_data_source)
def weekly_review(data_source_id: DataSourceId) -> str:
    """Review a database: what moved this week, what is late, what comes next."""
    return (
        f"Review the Notion data source {data_source_id} for this week. In one batch, read its properties "
        "(notion.get_data_source) and its rows, the last edited first (notion.query_data_source with sorts "
        '[{"timestamp": "last_edited_time", "direction": "descending"}]). Group the rows: done this week, in progress, '
        "late, next. Name the person and the date of each, and what stands still. Propose changes of status or date; "
        "change nothing before I agree."
    )


@notion.prompt(search, get_page_content)
def answer_from_notion(question: Annotated[str, "e.g. How do we release?"]) -> str:
    """Answer a question from the workspace's pages."""
    return (
        f"Answer from our Notion pages: {question} Search titles with two or three different words in one batch "
        "(notion.search), then read the pages that promise most in one batch (notion.get_page_content). Answer "
        "briefly, name the page behind each claim with its address, and say what the pages leave open."
    )


notion.completes("title", search, "title")


# -- how Notion speaks --------------------------------------------------------------------------------


def _page(page_id: str, rest: str = "", **parts: str) -> str:
    return path(f"/v1/pages/{{page_id}}{rest}", page_id=page_id, **parts)


def _source(data_source_id: str, rest: str = "") -> str:
    return path(f"/v1/data_sources/{{data_source_id}}{rest}", data_source_id=data_source_id)


def _block(block_id: str) -> str:
    return path("/v1/blocks/{block_id}", block_id=block_id)


def _parent(**ids: str | None) -> Json:
    """The one place that was said, as Notion writes it."""
    found = given(**ids)
    if len(found) != 1:
        raise InvalidRequest(field=" or ".join(ids), problem="say exactly one of them")
    [(name, id_)] = found.items()
    kind = name.removeprefix("parent_")
    return {"type": kind, kind: id_}


def _emoji(icon: str | None) -> Json | None:
    return {"type": "emoji", "emoji": icon} if icon else None


def _notion_markdown(markdown: str | None) -> str | None:
    """Markdown as Notion itself reads it, with its own mentions; InvalidRequest where something is missing in it."""
    if markdown and "<!-- not carried:" in markdown:
        problem = "it says <!-- not carried --> of something that stands in the page: read it with get_page_content"
        raise InvalidRequest(field="markdown", problem=problem)
    return markdown and _MENTION.sub(r'<mention-user url="user://\1"/>', markdown)


def _content_edit(
    markdown: str | None, after: str | None, content_range: str | None, replace: bool, updates: list[Json] | None
) -> Json:
    """One of the four ways in which Notion changes a page's text."""
    places = {"after": after, "content_range": content_range, "replace": replace or None}
    given_places = given(**places)
    if (markdown is None) == (updates is None) or len(given_places) > 1 or (updates and given_places):
        problem = f"say either content_updates, or markdown with at most one of {', '.join(places)}"
        raise InvalidRequest(field="markdown", problem=problem)
    if updates:
        return {"type": "update_content", "update_content": {"content_updates": updates}}
    if replace:
        return {"type": "replace_content", "replace_content": {"new_str": markdown}}
    if content_range:
        change = {"content": markdown, "content_range": content_range}
        return {"type": "replace_content_range", "replace_content_range": change}
    return {"type": "insert_content", "insert_content": given(content=markdown, after=after)}


def _with_properties(call: Call, properties: Mapping[str, Any] | None, schema: str | None) -> Work:
    """A Call with properties besides its own; `schema` is the path of what tells their types."""
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


def _append(block_id: str, made: list[BlockChunk], position: Json | None) -> Calls:
    ids = yield from append(block_id, made, position)
    return {"id": block_id, "appended": len(ids), "last_id": ids[-1]}


def _update_block(block_id: str, new: Json) -> Calls:
    block = (yield Call("GET", _block(block_id))).json
    return (yield Call("PATCH", _block(block_id), json=block_changes(block, new))).json
