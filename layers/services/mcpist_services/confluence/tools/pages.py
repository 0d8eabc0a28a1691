"""Spaces, pages, their versions and copies."""

from typing import Annotated, Any, Literal

from pydantic import Field

from mcpist.errors import InvalidRequest
from mcpist.render.shows import DONE, shows
from mcpist.tools.declare.call import Call, Calls, changes, given, path
from mcpist.tools.declare.paging import Paging, by_link
from mcpist.tools.declare.undo import undone_by
from mcpist_services.confluence.edits import (
    ReadVersion,
    Why,
    append,
    created,
    edited,
    replace_all,
    replaced_text,
    restore,
    section,
    trashed,
    update,
)
from mcpist_services.confluence.module import (
    CHANGED,
    RESTORED,
    Body,
    Dates,
    PageId,
    SpaceId,
    SpaceKey,
    Title,
    confluence,
    next_link,
    page_path,
    send_with_markdown,
    storage_body,
)
from mcpist_services.confluence.presentation import search_result, storage

TREES = ("read:hierarchical-content:confluence",)
# A search also continues by its cursor; its links have a direction and a start as well.
FOUND = Paging("limit", 100, ("cursor", "next", "start"), by_link(next_link, "cursor", "next", "start"), search_result)
PAGE = (
    "id",
    "title",
    "status",
    "spaceId as space_id",
    "parentId as parent_id",
    "createdAt as created",
    "version.createdAt as updated",
)
CHILD = ("id", "title", "type", "status")
CHILDREN = shows(*CHILD, "spaceId as space_id", "page_url as url", rows="results")
DESCENDANTS = shows(*CHILD, "parentId as parent_id", "depth", "page_url as url", rows="results")
RESULTS = shows(
    "words.id as id",
    "words.title as title",
    "words.type as type",
    "words.space as space",
    "words.url as url",
    "words.excerpt as excerpt",
    "lastModified as updated",
    rows="results",
)
VERSIONS = shows(
    "number", "createdAt as created", "authorId as author_id", "message", "minorEdit as minor_edit", rows="results"
)

CHANGING = ("read:page:confluence", "write:page:confluence")

Order = Literal[Dates, "id", "-id", "title", "-title"]
PageStatuses = Annotated[list[Literal["current", "archived", "deleted", "trashed"]], "Current and archived if left out"]
Cql = Annotated[
    str, Field(min_length=1), 'Confluence\'s query language, e.g. type = page AND space = ENG AND text ~ "login"'
]


@confluence.lists(shows(*PAGE, "page_url as url", rows="results"), "getPages")
def list_pages(
    space_id: SpaceId | None = None,
    title: Annotated[Title | None, "Exactly this title, e.g. Release plan"] = None,
    status: PageStatuses | None = None,
    sort: Order | None = None,
) -> Call:
    """List the pages of a space or of all spaces, or find one by its title."""
    query = {"space-id": space_id, "title": title, "status": status, "sort": sort}
    return Call("GET", "/wiki/api/v2/pages", given(**query))


@confluence.reads(shows(*PAGE, "version.number as version", "url", "markdown", text="markdown"), "getPageById")
def get_page(
    page_id: PageId,
    version: Annotated[int | None, Field(ge=1), "An older version, as list_versions shows"] = None,
    get_draft: Annotated[bool, "Read the draft that is not published yet"] = False,
) -> Calls:
    """Read one page as Markdown; what Markdown cannot express is marked as not carried."""
    query = {"body-format": "storage", "version": version, "get-draft": get_draft or None}
    return send_with_markdown(Call("GET", page_path(page_id), given(**query)))


@confluence.writes(CHANGED, "createPage", undo=created("page"))
def create_page(
    space_id: SpaceId,
    title: Annotated[Title, "Not yet in the space, e.g. Release plan"],
    body: Body = "",
    parent_id: Annotated[PageId | None, "The page to put it under; the home page if left out, e.g. 65551"] = None,
    status: Literal["current", "draft"] = "current",
    private: Annotated[bool, "Only you can see it"] = False,
) -> Calls:
    """Create a page from Markdown."""
    fields = given(spaceId=space_id, status=status, title=title, parentId=parent_id, body=storage_body(body))
    return send_with_markdown(Call("POST", "/wiki/api/v2/pages", given(private=private or None), json=fields))


@confluence.writes(CHANGED, "updatePage", scopes=CHANGING, uses=({"title": "Release plan 2"},), undo=edited("page"))
def update_page(
    page_id: PageId,
    title: Annotated[Title | None, "The new title, e.g. Release plan 2"] = None,
    body: Annotated[Body | None, "Markdown; replaces the whole text, e.g. ## Goals"] = None,
    status: Annotated[Literal["current", "draft"] | None, "current publishes a draft"] = None,
    parent_id: Annotated[PageId | None, "Move it under this page of its space, e.g. 65552"] = None,
    version: ReadVersion | None = None,
    message: Why | None = None,
) -> Calls:
    """Change a page's title, text, place or status; fields that you leave out stay as they are."""
    fields = changes(title=title, body=body, status=status, parentId=parent_id)
    return update(page_path(page_id), fields, replace_all(body), version, message)


@confluence.writes(CHANGED, "updatePage", scopes=CHANGING, undo=edited("page"))
def append_to_page(
    page_id: PageId, body: Body, version: ReadVersion | None = None, message: Why | None = None
) -> Calls:
    """Add a text at the end of a page; everything else stays, macros too."""
    added = storage(body)
    return update(page_path(page_id), {}, lambda source: append(source, added), version, message)


@confluence.writes(CHANGED, "updatePage", scopes=CHANGING, undo=edited("page"))
def replace_section(
    page_id: PageId,
    heading: Annotated[str, Field(min_length=1), "The heading's text, which stays, e.g. Goals"],
    body: Body,
    version: ReadVersion | None = None,
    message: Why | None = None,
) -> Calls:
    """Replace the text under a heading, up to the next that is not deeper; everything else stays, macros too."""

    def rewrite(source: str) -> str:
        begin, end = section(source, heading)
        return source[:begin] + storage(body, page=source[begin:end]) + source[end:]

    return update(page_path(page_id), {}, rewrite, version, message)


@confluence.writes(CHANGED, "updatePage", scopes=CHANGING, undo=edited("page"))
def replace_text(
    page_id: PageId,
    old: Annotated[str, Field(min_length=1), "Plain text in one style, e.g. Friday"],
    new: Annotated[str, "Plain text, e.g. Monday"],
    everywhere: Annotated[bool, "Else it must be there once"] = False,
    version: ReadVersion | None = None,
    message: Why | None = None,
) -> Calls:
    """Find and replace a text in a page; everything else stays, macros too."""

    def rewrite(source: str) -> str:
        text, times = replaced_text(source, old, new)
        if not times or (times > 1 and not everywhere):
            raise InvalidRequest(field="old", problem=f"the page has this text {times} times")
        return text

    return update(page_path(page_id), {}, rewrite, version, message)


@confluence.writes(RESTORED, "restoreContentVersion", scopes=("write:confluence-content",), undo=edited("page"))
def restore_page(page_id: PageId, version: Annotated[int, Field(ge=1), "As list_versions shows it, e.g. 3"]) -> Call:
    """Make a former version of a page the newest one: its title and its text, macros too."""
    return restore(page_id, version)


@confluence.destroys(DONE, "deletePage", undo=trashed("page"))
def delete_page(
    page_id: PageId,
    draft: Annotated[bool, "It is a draft"] = False,
    purge: Annotated[bool, "Permanently delete it from the trash"] = False,
) -> Call:
    """Move a page to the trash, or permanently delete one that is there."""
    return Call("DELETE", page_path(page_id), given(draft=draft or None, purge=purge or None))


@confluence.lists(CHILDREN, "getPageDirectChildren", scopes=TREES)
def list_children(page_id: PageId, sort: Order | None = None) -> Call:
    """List the direct children of a page: pages, folders, whiteboards, databases."""
    return Call("GET", page_path(page_id, "/direct-children"), given(sort=sort))


@confluence.lists(DESCENDANTS, "getPageDescendants", scopes=TREES)
def list_descendants(page_id: PageId, depth: Annotated[int, Field(ge=1, le=10), "How many levels down"] = 2) -> Call:
    """List all descendants of a page, level by level."""
    return Call("GET", page_path(page_id, "/descendants"), {"depth": depth})


@confluence.lists(RESULTS, "searchByCQL", scopes=("search:confluence",), paging=FOUND)
def search(cql: Cql, include_archived_spaces: Annotated[bool, "Also in spaces that are archived"] = False) -> Call:
    """Search pages, blog posts, comments and files by words, space, label, author or date."""
    query = {"cql": cql, "expand": "content.space"}
    return Call("GET", "/wiki/rest/api/search", query | given(includeArchivedSpaces=include_archived_spaces or None))


@confluence.lists(VERSIONS, "getPageVersions")
def list_versions(page_id: PageId, sort: Literal["modified-date", "-modified-date"] = "-modified-date") -> Call:
    """List the versions of a page, the newest first: who changed it, when and why."""
    return Call("GET", page_path(page_id, "/versions"), {"sort": sort})


@confluence.writes(
    shows("id", "title", "status", "url"),
    "copyPage",
    scopes=("read:page:confluence", "write:confluence-content"),
    uses=({}, {"parent_id": "65552"}, {"space_key": "OPS", "with_files": False, "with_labels": False}),
    undo=undone_by("delete_page(page_id=answer.id)", read="get_page", creates=True, fields="title"),
)
def copy_page(
    page_id: PageId,
    title: Annotated[Title, "Of the copy, not yet in its space, e.g. Release plan 2027"],
    parent_id: Annotated[PageId | None, "The page to put it under; the original's if left out, e.g. 65552"] = None,
    space_key: Annotated[SpaceKey | None, "Instead: at the top of this space, e.g. OPS"] = None,
    with_files: Annotated[bool, "Copy its files, too"] = True,
    with_labels: Annotated[bool, "Copy its labels, too"] = True,
) -> Calls:
    """Copy a page, for instance a template; its comments and the pages below it are not copied."""
    if parent_id and space_key:
        raise InvalidRequest(field="parent_id or space_key", problem="give one of them, or neither")
    body = {"pageTitle": title, "copyAttachments": with_files, "copyLabels": with_labels}
    destination = {"type": "space" if space_key else "parent_page", "value": space_key or parent_id}
    return _copy(page_id, body, destination)


def _copy(page_id: str, body: dict[str, Any], destination: dict[str, str | None]) -> Calls:
    """Copy a page, if no destination is given to the place where it is."""
    if destination["value"] is None:
        destination["value"] = (yield Call("GET", page_path(page_id))).json.get("parentId")
    if destination["value"] is None:
        raise InvalidRequest(field="parent_id", problem="the page is under no other: say where to put the copy")
    place = path("/wiki/rest/api/content/{page_id}/copy", page_id=page_id)
    return (yield from send_with_markdown(Call("POST", place, json=body | {"destination": destination})))
