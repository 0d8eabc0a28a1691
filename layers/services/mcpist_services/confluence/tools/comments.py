"""Comments on pages; people, by name or e-mail address, and by account id."""

from dataclasses import replace
from typing import Annotated, Literal

from pydantic import Field

from mcpist.errors import InvalidRequest
from mcpist.render.shows import DONE, shows, value_at
from mcpist.tools.declare.call import Call, Calls, given, path, path_template
from mcpist.tools.declare.paging import Paging, by_offset
from mcpist.tools.declare.undo import compares, restores, undone_by
from mcpist_services.confluence.edits import VERSION, replaced_text
from mcpist_services.confluence.module import (
    CHANGED,
    COMMENTS,
    Body,
    CommentId,
    Dates,
    PageId,
    confluence,
    page_path,
    send_with_markdown,
    storage_body,
)
from mcpist_services.confluence.presentation import with_markdown

_comment_path = path_template("/wiki/api/v2/{kind}-comments/{comment_id}")
COMMENT = shows(
    "id",
    "version.authorId as author_id",
    "version.createdAt as created",
    "resolution",
    "about",
    "markdown as text",
    "page_url as url",
    rows="results",
)
Kind = Annotated[Literal["footer", "inline"], "Below a page, or on words in it"]
COMMENTING = ("read:comment:confluence", "write:comment:confluence")
LISTED_COMMENTS = (
    {"page_id": "65551"},
    {"page_id": "65551", "kind": "inline"},
    {"comment_id": "131073", "sort": "-created-date"},
)
NEW_COMMENTS = ({"parent_comment_id": "131073", "kind": "inline"}, {"page_id": "65551"})


@confluence.lists(
    COMMENT, "getPageFooterComments", scopes=("read:comment:confluence",), paging=COMMENTS, uses=LISTED_COMMENTS
)
def list_comments(
    page_id: PageId | None = None,
    comment_id: Annotated[CommentId | None, "The replies to this comment, e.g. 131073"] = None,
    kind: Kind = "footer",
    sort: Dates | None = None,
) -> Call:
    """List the comments on a page, or the replies to one comment."""
    query = given(sort=sort) | {"body-format": "storage"}
    _require_one(page_id=page_id, comment_id=comment_id)
    if comment_id is None:
        return Call("GET", page_path(page_id or "", f"/{kind}-comments"), query)
    return Call("GET", path(f"/wiki/api/v2/{kind}-comments/{{comment_id}}/children", comment_id=comment_id), query)


@confluence.reads(
    shows("id", "version.authorId as author_id", "version.createdAt as created", "markdown", text="markdown"),
    "getFooterCommentById",
    scopes=("read:comment:confluence",),
    uses=({}, {"kind": "inline"}),
)
def get_comment(comment_id: CommentId, kind: Kind = "footer") -> Calls:
    """Read one comment as Markdown."""
    return send_with_markdown(Call("GET", _comment_path(kind, comment_id), {"body-format": "storage"}))


COMMENTED = undone_by(
    "delete_comment(comment_id=answer.id)",
    read="get_comment",
    creates=True,
    fields=VERSION,
    kind=lambda change: change.arguments.get("kind", "inline"),
)


@confluence.writes(
    CHANGED, "createFooterComment", scopes=("write:comment:confluence",), uses=NEW_COMMENTS, undo=COMMENTED
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
        raise InvalidRequest(field="kind", problem="inline is only for replies here: for a page use add_inline_comment")
    fields = given(pageId=page_id, parentCommentId=parent_comment_id, body=storage_body(body))
    return send_with_markdown(Call("POST", f"/wiki/api/v2/{kind}-comments", json=fields))


@confluence.writes(
    CHANGED,
    "updateFooterComment",
    idempotent=True,
    scopes=COMMENTING,
    uses=({}, {"kind": "inline"}),
    undo=replace(restores("get_comment", body="markdown"), state=compares(**VERSION), after=None),
)
def update_comment(
    comment_id: CommentId,
    body: Annotated[Body, "Markdown; replaces the text, e.g. Done, thank you."],
    kind: Kind = "footer",
) -> Calls:
    """Change the text of a comment."""
    place = _comment_path(kind, comment_id)
    current = (yield Call("GET", place)).json
    fields = {"version": {"number": current["version"]["number"] + 1}, "body": storage_body(body)}
    return with_markdown((yield Call("PUT", place, json=fields)).json)


@confluence.destroys(
    DONE,
    "deleteFooterComment",
    scopes=("delete:comment:confluence",),
    uses=({}, {"kind": "inline"}),
    irreversible="Confluence keeps no deleted comment",
)
def delete_comment(
    comment_id: CommentId,
    kind: Kind = "footer",
) -> Call:
    """Delete a comment with its replies. This cannot be undone."""
    return Call("DELETE", _comment_path(kind, comment_id))


@confluence.writes(
    CHANGED,
    "createInlineComment",
    scopes=("read:page:confluence", "write:comment:confluence"),
    uses=({"place": 1},),
    undo=COMMENTED,
)
def add_inline_comment(
    page_id: PageId,
    text: Annotated[str, Field(min_length=1), "The words of the page, in one style, e.g. Friday"],
    body: Annotated[Body, "Markdown, e.g. Is this still right?"],
    place: Annotated[int | None, Field(ge=1), "Which of them, where the page has these words several times"] = None,
) -> Calls:
    """Comment on words of a page."""
    page = (yield Call("GET", page_path(page_id), {"body-format": "storage"})).json
    # Confluence wants to know how often the words are there; replacing them by themselves counts them.
    times = replaced_text(value_at(page, "body.storage.value") or "", text, text)[1]
    if (place or 1) > times or (times > 1 and place is None):
        raise InvalidRequest(field="place" if times else "text", problem=f"the page has this text {times} times")
    marked = {"textSelection": text, "textSelectionMatchCount": times, "textSelectionMatchIndex": (place or 1) - 1}
    fields = {"pageId": page_id, "body": storage_body(body), "inlineCommentProperties": marked}
    return with_markdown((yield Call("POST", "/wiki/api/v2/inline-comments", json=fields)).json)


@confluence.writes(
    shows("id", "resolutionStatus as resolution", "url"),
    "updateInlineComment",
    idempotent=True,
    scopes=("read:comment:confluence", "write:comment:confluence"),
    undo=restores('get_comment(kind="inline")', resolved=lambda comment: comment["resolutionStatus"] == "resolved"),
)
def resolve_comment(comment_id: CommentId, resolved: Annotated[bool, "false opens it again"] = True) -> Calls:
    """Resolve an inline comment, or open it again."""
    place = path("/wiki/api/v2/inline-comments/{comment_id}", comment_id=comment_id)
    comment = (yield Call("GET", place, {"body-format": "storage"})).json
    # An update replaces the whole comment, so the present text is sent again.
    body = {"representation": "storage", "value": value_at(comment, "body.storage.value") or ""}
    version = {"number": comment["version"]["number"] + 1}
    changed = Call("PUT", place, json={"version": version, "body": body, "resolved": resolved})
    return with_markdown((yield changed).json)


def _require_one(**fields: str | None) -> None:
    if len(given(**fields)) != 1:
        raise InvalidRequest(field=" or ".join(fields), problem="give exactly one of them")


PERSON = shows("accountId as account_id", "displayName as name", "email", rows="results")
FOUND = shows(
    "user.accountId as account_id",
    "user.displayName as name",
    "user.email as email",
    "user.accountType as type",
    rows="results",
)
BY_OFFSET = Paging("limit", 100, ("start",), by_offset("start", last=lambda page, end: end >= page["totalSize"]))

AccountIds = Annotated[
    list[Annotated[str, Field(min_length=1, max_length=128)]],
    Field(min_length=1, max_length=250),
    "Account ids, e.g. 712020:70035bdf",
]


@confluence.lists(FOUND, "searchUser", paging=BY_OFFSET, scopes=("read:content-details:confluence",))
def search_users(name: Annotated[str, Field(min_length=1), "Words of the name, e.g. Aiko"]) -> Call:
    """Find people by name, with the account ids that mentions, tasks and searches take."""
    # Escaped, so that a name cannot add conditions to the query.
    words = name.replace("\\", "\\\\").replace('"', '\\"')
    return Call("GET", "/wiki/rest/api/search/user", {"cql": f'user.fullname ~ "{words}"'})


@confluence.reads(PERSON, "createBulkUserLookup", scopes=("read:user:confluence",))
def get_users(account_ids: AccountIds) -> Call:
    """Read who people are by their account ids: authors, editors and those who are mentioned."""
    return Call("POST", "/wiki/api/v2/users-bulk", json={"accountIds": account_ids})
