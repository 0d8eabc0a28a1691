"""Confluence: spaces, pages as Markdown, comments, labels, files, tasks.

Reference: https://developer.atlassian.com/cloud/confluence/rest/v2/ and, for search and labels,
https://developer.atlassian.com/cloud/confluence/rest/v1/
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import Field

from mcpist.errors import InvalidRequest
from mcpist.render.shows import DONE, shows, value_at
from mcpist.tools.call import Call, CallResponse, Calls, changes, given, path
from mcpist.tools.module import Module, Scopes
from mcpist.tools.paging import Paging, by_link
from mcpist_services.confluence.presentation import attachment_url, comment_text, search_result, with_markdown
from mcpist_services.confluence.storage import storage


def _next_link(answer: CallResponse) -> str | None:
    """The next page's address; a cursor has plus signs, and no spaces, which an unescaped plus sign would mean."""
    link: str | None = value_at(answer.json, "_links.next")
    return link and link.replace("+", "%2B")


_BY_CURSOR = by_link(_next_link, "cursor")
# Of the search, too, only the cursor leads on; it says besides in which direction.
_BY_SEARCH_CURSOR = by_link(_next_link, "cursor", "next", "start")


confluence = Module(
    "confluence",
    __doc__,
    api_version="2",
    host="https://api.atlassian.com/ex/confluence/{account}",
    headers={"accept": "application/json"},
    paging=Paging("limit", 250, ("cursor",), _BY_CURSOR),
    scopes=Scopes(
        reads=("read:page:confluence",), writes=("write:page:confluence",), destroys=("delete:page:confluence",)
    ),
    category="productivity",
    tags=("documents", "wiki"),
)

SPACES = ("read:space:confluence",)
TREES = ("read:hierarchical-content:confluence",)
CONTENT = ("write:confluence-content",)

COMMENTS = Paging("limit", 250, ("cursor",), _BY_CURSOR, comment_text)
FILES = Paging("limit", 250, ("cursor",), _BY_CURSOR, attachment_url)
FOUND = Paging("limit", 100, ("cursor", "next", "start"), _BY_SEARCH_CURSOR, search_result)

SPACE = ("id", "key", "name", "type", "status", "homepageId as homepage_id")
PAGE = ("id", "title", "status", "spaceId as space_id", "parentId as parent_id", "version.createdAt as updated")
CHANGED = shows("id", "status", "version.number as version", "url")
LABEL = shows("id", "name", "prefix", rows="results")

Id = Annotated[str, Field(pattern=r"^[0-9]+$")]
PageId = Annotated[Id, "The number in a page's address, e.g. 65551"]
SpaceId = Annotated[Id, "The id that list_spaces shows, which is not the key, e.g. 98306"]
CommentId = Annotated[Id, "The id that list_comments shows, e.g. 131073"]
AccountId = Annotated[str, Field(min_length=1, max_length=128), "An account id, e.g. 712020:70035bdf"]
Title = Annotated[str, Field(min_length=1, max_length=255)]
Body = Annotated[str, "Markdown; also [@](mention:account-id), > [!info], [x](page:SPACE/Title), e.g. ## Goals"]
Label = Annotated[str, Field(pattern=r"^\S+$", max_length=255)]
SpaceKey = Annotated[str, Field(pattern=r'^[^\s"/\\]+$', max_length=255), "A space's key, e.g. ENG"]
Time = Annotated[str, Field(pattern=r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$"), "UTC, e.g. 2026-01-31T09:00:00Z"]
Dates = Literal["created-date", "-created-date", "modified-date", "-modified-date"]
Order = Literal[Dates, "id", "-id", "title", "-title"]


# -- spaces -------------------------------------------------------------------------------------------


@confluence.lists(shows(*SPACE, rows="results"), "getSpaces", scopes=SPACES)
def list_spaces(
    keys: Annotated[list[SpaceKey] | None, "Only these, by their keys, e.g. ENG, OPS"] = None,
    type: Annotated[  # noqa: A002
        Literal["global", "collaboration", "knowledge_base", "personal", "system", "onboarding", "xflow_sample_space"]
        | None,
        "All if left out",
    ] = None,
    status: Annotated[Literal["current", "archived"] | None, "Both if left out"] = None,
    sort: Literal["id", "-id", "key", "-key", "name", "-name"] | None = None,
) -> Call:
    """List the spaces that you can see, with the ids that other tools take."""
    return Call("GET", "/wiki/api/v2/spaces", given(keys=keys, type=type, status=status, sort=sort))


@confluence.reads(
    shows(*SPACE, "createdAt as created", "description.plain.value as description", "url"),
    "getSpaceById",
    scopes=SPACES,
)
def get_space(space_id: SpaceId) -> Calls:
    """Read one space: its name, its home page, its description."""
    place = path("/wiki/api/v2/spaces/{space_id}", space_id=space_id)
    return _send_with_markdown(Call("GET", place, {"description-format": "plain"}))


# -- pages --------------------------------------------------------------------------------------------


@confluence.lists(shows(*PAGE, rows="results"), "getPages")
def list_pages(
    space_id: SpaceId | None = None,
    title: Annotated[Title | None, "Exactly this title, e.g. Release plan"] = None,
    status: Annotated[
        list[Literal["current", "archived", "deleted", "trashed"]] | None, "Current and archived if left out"
    ] = None,
    sort: Order | None = None,
) -> Call:
    """List the pages of a space or of all spaces, or find one by its title."""
    query = {"space-id": space_id, "title": title, "status": status, "sort": sort}
    return Call("GET", "/wiki/api/v2/pages", given(**query))


@confluence.reads(shows(*PAGE, "version.number as version", "url", "markdown", text="markdown"), "getPageById")
def get_page(
    page_id: PageId,
    version: Annotated[int | None, Field(ge=1), "An older version, as list_versions shows"] = None,
    get_draft: Annotated[bool, "What is not published yet"] = False,
) -> Calls:
    """Read one page as Markdown; what that cannot say is named as not carried."""
    query = {"body-format": "storage", "version": version, "get-draft": get_draft or None}
    return _send_with_markdown(Call("GET", _page(page_id), given(**query)))


@confluence.writes(CHANGED, "createPage")
def create_page(
    space_id: SpaceId,
    title: Annotated[Title, "Not yet in the space, e.g. Release plan"],
    body: Body = "",
    parent_id: Annotated[Id | None, "The page to put it under; the home page if left out, e.g. 65551"] = None,
    status: Literal["current", "draft"] = "current",
    private: Annotated[bool, "Only you can see it"] = False,
) -> Calls:
    """Create a page from Markdown."""
    fields = given(spaceId=space_id, status=status, title=title, parentId=parent_id, body=_body(body))
    return _send_with_markdown(Call("POST", "/wiki/api/v2/pages", given(private=private or None), json=fields))


@confluence.writes(
    CHANGED, "updatePage", scopes=("read:page:confluence", "write:page:confluence"), uses=({"title": "Release plan 2"},)
)
def update_page(
    page_id: PageId,
    title: Annotated[Title | None, "A new one, e.g. Release plan 2"] = None,
    body: Annotated[Body | None, "Markdown; replaces the whole text, e.g. ## Goals"] = None,
    status: Annotated[Literal["current", "draft"] | None, "current publishes a draft"] = None,
    parent_id: Annotated[Id | None, "Move it under this page of its space, e.g. 65552"] = None,
    message: Annotated[str | None, "Why, for the list of versions, e.g. Moved to May"] = None,
) -> Calls:
    """Change a page's title, text, place or status; what is not given stays as it is."""
    fields = changes(title=title, body=_body(body), status=status, parentId=parent_id)
    return _update_page(page_id, fields, given(message=message))


@confluence.destroys(DONE, "deletePage")
def delete_page(
    page_id: PageId,
    draft: Annotated[bool, "It is a draft"] = False,
    purge: Annotated[bool, "Out of the trash, for ever"] = False,
) -> Call:
    """Move a page to the trash, or remove one that is there for ever."""
    return Call("DELETE", _page(page_id), given(draft=draft or None, purge=purge or None))


@confluence.lists(shows("id", "title", "type", "status", rows="results"), "getPageDirectChildren", scopes=TREES)
def list_children(page_id: PageId, sort: Order | None = None) -> Call:
    """List what stands right under a page: pages, folders, whiteboards, databases."""
    return Call("GET", _page(page_id, "/direct-children"), given(sort=sort))


@confluence.lists(
    shows("id", "title", "type", "status", "parentId as parent_id", "depth", rows="results"),
    "getPageDescendants",
    scopes=TREES,
)
def list_descendants(page_id: PageId, depth: Annotated[int, Field(ge=1, le=10), "How many levels down"] = 2) -> Call:
    """List all that stands under a page, level by level."""
    return Call("GET", _page(page_id, "/descendants"), {"depth": depth})


@confluence.lists(
    shows(
        "words.id as id",
        "words.title as title",
        "words.type as type",
        "words.space as space",
        "words.url as url",
        "words.excerpt as excerpt",
        "lastModified as updated",
        rows="results",
    ),
    "searchByCQL",
    scopes=("search:confluence",),
    paging=FOUND,
)
def search(
    cql: Annotated[
        str, Field(min_length=1), 'Confluence\'s query language, e.g. type = page AND space = ENG AND text ~ "login"'
    ],
    include_archived_spaces: Annotated[bool, "Also in spaces that are archived"] = False,
) -> Call:
    """Search pages, blog posts, comments and files by words, space, label, author or date."""
    query = {"cql": cql, "expand": "content.space"}
    return Call("GET", "/wiki/rest/api/search", query | given(includeArchivedSpaces=include_archived_spaces or None))


@confluence.lists(
    shows(
        "number",
        "createdAt as created",
        "authorId as author_id",
        "message",
        "minorEdit as minor_edit",
        rows="results",
    ),
    "getPageVersions",
)
def list_versions(page_id: PageId, sort: Literal["modified-date", "-modified-date"] = "-modified-date") -> Call:
    """List the versions of a page, the newest first: who changed it, when and why."""
    return Call("GET", _page(page_id, "/versions"), {"sort": sort})


# -- comments -----------------------------------------------------------------------------------------


@confluence.lists(
    shows(
        "id",
        "version.authorId as author_id",
        "version.createdAt as created",
        "resolution",
        "about",
        "markdown as text",
        rows="results",
    ),
    "getPageFooterComments",
    scopes=("read:comment:confluence",),
    paging=COMMENTS,
    uses=(
        {"page_id": "65551"},
        {"page_id": "65551", "kind": "inline"},
        {"comment_id": "131073", "sort": "-created-date"},
    ),
)
def list_comments(
    page_id: PageId | None = None,
    comment_id: Annotated[CommentId | None, "The replies to this comment, e.g. 131073"] = None,
    kind: Annotated[Literal["footer", "inline"], "Below a page, or beside words in it"] = "footer",
    sort: Dates | None = None,
) -> Call:
    """List the comments on a page, or the replies to one comment."""
    query = given(sort=sort) | {"body-format": "storage"}
    _require_one(page_id=page_id, comment_id=comment_id)
    if comment_id is None:
        return Call("GET", _page(page_id or "", f"/{kind}-comments"), query)
    return Call("GET", path(f"/wiki/api/v2/{kind}-comments/{{comment_id}}/children", comment_id=comment_id), query)


@confluence.writes(
    CHANGED,
    "createFooterComment",
    scopes=("write:comment:confluence",),
    uses=({"parent_comment_id": "131073", "kind": "inline"}, {"page_id": "65551"}),
)
def add_comment(
    body: Annotated[Body, "Markdown, e.g. Done, thank you."],
    page_id: PageId | None = None,
    parent_comment_id: Annotated[CommentId | None, "Reply to this comment, e.g. 131073"] = None,
    kind: Annotated[Literal["footer", "inline"], "Of the comment to reply to"] = "footer",
) -> Calls:
    """Comment below a page, or reply to a comment."""
    _require_one(page_id=page_id, parent_comment_id=parent_comment_id)
    if page_id and kind == "inline":
        raise InvalidRequest(field="kind", problem="inline is for replies: name parent_comment_id")
    fields = given(pageId=page_id, parentCommentId=parent_comment_id, body=_body(body))
    return _send_with_markdown(Call("POST", f"/wiki/api/v2/{kind}-comments", json=fields))


# -- labels, files and tasks --------------------------------------------------------------------------


@confluence.lists(LABEL, "getPageLabels")
def list_labels(
    page_id: PageId,
    prefix: Annotated[Literal["my", "team", "global", "system"] | None, "All kinds if left out"] = None,
) -> Call:
    """List the labels of a page."""
    return Call("GET", _page(page_id, "/labels"), given(prefix=prefix))


@confluence.writes(LABEL, "addLabelsToContent", scopes=CONTENT, idempotent=True)
def add_labels(
    page_id: PageId, labels: Annotated[list[Label], Field(min_length=1), "Without spaces, e.g. runbook, on-call"]
) -> Call:
    """Put labels on a page, beside those that it has."""
    body = [{"prefix": "global", "name": label} for label in labels]
    return Call("POST", path("/wiki/rest/api/content/{page_id}/label", page_id=page_id), json=body)


@confluence.destroys(DONE, "removeLabelFromContent", scopes=CONTENT, idempotent=True)
def remove_label(page_id: PageId, label: Annotated[Label, "e.g. runbook"]) -> Call:
    """Take a label off a page."""
    return Call("DELETE", path("/wiki/rest/api/content/{page_id}/label/{label}", page_id=page_id, label=label))


@confluence.lists(
    shows(
        "id",
        "title",
        "mediaType as media_type",
        "fileSize as size_bytes",
        "version.createdAt as updated",
        "comment",
        "url",
        rows="results",
    ),
    "getPageAttachments",
    scopes=("read:attachment:confluence",),
    paging=FILES,
)
def list_attachments(
    page_id: PageId,
    filename: Annotated[str | None, "Only this file, e.g. plan.pdf"] = None,
    media_type: Annotated[str | None, "Only of this type, e.g. application/pdf"] = None,
    sort: Dates | None = None,
) -> Call:
    """List the files of a page, with the addresses to load them from."""
    query = given(filename=filename, mediaType=media_type, sort=sort)
    return Call("GET", _page(page_id, "/attachments"), query)


@confluence.lists(
    shows(
        "id",
        "status",
        "markdown as text",
        "assignedTo as assigned_to",
        "dueAt as due",
        "pageId as page_id",
        "spaceId as space_id",
        rows="results",
    ),
    "getTasks",
    scopes=("read:task:confluence",),
    paging=COMMENTS,
)
def list_tasks(
    space_id: SpaceId | None = None,
    page_id: PageId | None = None,
    status: Annotated[Literal["complete", "incomplete"] | None, "Both if left out"] = None,
    assigned_to: AccountId | None = None,
    created_by: AccountId | None = None,
    due_at_from: Time | None = None,
    due_at_to: Time | None = None,
) -> Call:
    """List the tasks (ticked or not) on pages: of a space, a page, a person, or due in a time."""
    query: dict[str, Any] = {"space-id": space_id, "page-id": page_id, "status": status, "assigned-to": assigned_to}
    query |= {"created-by": created_by, "due-at-from": _milliseconds(due_at_from=due_at_from)}
    query |= {"due-at-to": _milliseconds(due_at_to=due_at_to), "include-blank-tasks": False, "body-format": "storage"}
    return Call("GET", "/wiki/api/v2/tasks", given(**query))


# -- resources and prompts ----------------------------------------------------------------------------


@confluence.resource("confluence://pages/{page_id}", get_page)
def document(page_id: str) -> Mapping[str, Any]:
    """A page as Markdown."""
    return {"page_id": page_id}


@confluence.resource("confluence://spaces/{space_id}/pages", list_pages)
def pages(space_id: str) -> Mapping[str, Any]:
    """The pages of a space."""
    return {"space_id": space_id}


@confluence.resource("confluence://pages/{page_id}/comments", list_comments)
def comments(page_id: str) -> Mapping[str, Any]:
    """The comments below a page."""
    return {"page_id": page_id}


@confluence.prompt(get_page, list_comments, list_tasks)
def summarise_page(page_id: PageId) -> str:
    """Summarise a page, with what is still open on it."""
    return (
        f"Summarise page {page_id} of Confluence. In one batch, read it (confluence.get_page), its comments of both "
        "kinds (confluence.list_comments) and its open tasks (confluence.list_tasks). Say in a few sentences what it "
        "is for and what it decides; then list what is open, with who is to do it and by when, and which comments "
        "wait for an answer. Change nothing before I agree."
    )


@confluence.prompt(search, get_page, list_spaces, create_page)
def draft_meeting_notes(
    space_key: SpaceKey, topic: Annotated[str, Field(min_length=1), "What the meeting was about, e.g. Release planning"]
) -> str:
    """Draft the notes of a meeting in the form that a space uses."""
    return (
        f"Draft notes of the meeting about {topic!r} for the Confluence space {space_key}. In one batch, find the "
        f'newest notes there (confluence.search with `type = page AND space = "{space_key}" AND title ~ "meeting" '
        "ORDER BY created DESC`), read the first of them (confluence.get_page) and find the space's id "
        "(confluence.list_spaces). Ask me for what you need: who was there, what was decided, who does what by when. "
        "Write the notes in the same form, tasks as `- [ ]`, and show them. Only when I agree, create the page "
        "(confluence.create_page)."
    )


@confluence.prompt(search, list_versions)
def find_stale_pages(
    space_key: SpaceKey, months: Annotated[int, Field(ge=1, le=120), "Not changed for so long"] = 6
) -> str:
    """Find the pages of a space that nobody has changed for a long time."""
    return (
        f"Find stale pages in the Confluence space {space_key}. In one batch, search the pages that nobody changed for "
        f'{months} months (confluence.search with `type = page AND space = "{space_key}" AND lastmodified < '
        f'now("-{months}M") ORDER BY lastmodified`) and list the versions of the oldest ten '
        "(confluence.list_versions). Group them into: still true, to be revised, to be archived. Say why in one line "
        "each, with the address and who changed it last. Change nothing before I agree."
    )


confluence.completes("space_key", list_spaces, "key")
confluence.completes("space_id", list_spaces, "id")


# -- how Confluence speaks ----------------------------------------------------------------------------


def _page(page_id: str, rest: str = "") -> str:
    """A path under one page."""
    return path(f"/wiki/api/v2/pages/{{page_id}}{rest}", page_id=page_id)


def _body(text: str | None) -> dict[str, str] | None:
    return None if text is None else {"representation": "storage", "value": storage(text)}


def _send_with_markdown(call: Call) -> Calls:
    """One thing, told for people, too."""
    return with_markdown((yield call).json)


def _update_page(page_id: str, fields: dict[str, Any], version: dict[str, Any]) -> Calls:
    """The whole page anew, as Confluence wants it: what it is now, with the changes, as its next version."""
    query = {} if "body" in fields else {"body-format": "storage"}
    now = (yield Call("GET", _page(page_id), query)).json
    kept = {"id": page_id, "status": now["status"], "title": now["title"], "body": value_at(now, "body.storage")}
    # A draft has one version only.
    is_draft = "draft" in (now["status"], fields.get("status"))
    number = 1 if is_draft else now["version"]["number"] + 1
    return with_markdown(
        (yield Call("PUT", _page(page_id), json={**kept, **fields, "version": {"number": number, **version}})).json
    )


def _require_one(**fields: str | None) -> None:
    if len(given(**fields)) != 1:
        raise InvalidRequest(field=" or ".join(fields), problem="say one of them")


def _milliseconds(**time: str | None) -> int | None:
    """A time as Confluence counts it."""
    (field, text), *_ = time.items()
    if text is None:
        return None
    try:
        return int(datetime.fromisoformat(text).timestamp()) * 1000
    except ValueError:
        raise InvalidRequest(field=field, problem=f"{text} is no time of the calendar") from None
