"""Links between issues, and the files of issues."""

from typing import Annotated, Any

from pydantic import Field

from mcpist.errors import McpistError
from mcpist.files.content import ContentArgument
from mcpist.render.shows import DONE, DOWNLOADED, shows, value_at
from mcpist.tools.declare.call import Call, Calls, FilePart, given, path
from mcpist.tools.declare.undo import ToolChange, row_where, undone_by, unless
from mcpist_services.jira.fields import by_key_or_id, comment_body, linked_issue
from mcpist_services.jira.module import IssueKey, Markdown, Name, issue_path, jira

LINKS = shows(
    "id",
    "relation",
    "key",
    "fields.summary as summary",
    "fields.status.name as status",
    "fields.priority.name as priority",
    "page_url as url",
)

LinkId = Annotated[Name, "The id that list_links shows, e.g. 10001"]


@jira.reads(shows("id", "name", "outward", "inward"), "getIssueLinkTypes")
def list_link_types() -> Calls:
    """List the types of links between issues, such as Blocks, with their words in both directions."""
    return (yield Call("GET", "/rest/api/3/issueLinkType")).json["issueLinkTypes"]


@jira.reads(LINKS, "getIssue")
def list_links(issue_key: IssueKey) -> Calls:
    """List the links of an issue: how it relates to which other issue, and the id that delete_link takes."""
    issue = (yield Call("GET", issue_path(issue_key), {"fields": "issuelinks"})).json
    return [linked_issue(link) for link in issue["fields"].get("issuelinks") or []]


@jira.writes(
    shows("id"),
    "linkIssues",
    scopes=("read:jira-work", "write:jira-work"),
    undo=unless(
        lambda change: change.answer and not change.answer["id"],
        "the new link was not found",
        undone_by("delete_link(link_id=answer.id)", read="get_link", creates=True, fields="id"),
    ),
)
def link_issues(
    link_type: Annotated[Name, "A name that list_link_types shows, e.g. Blocks"],
    inward_issue: Annotated[IssueKey, "The first issue: with Blocks, the one that blocks, e.g. ENG-42"],
    outward_issue: Annotated[IssueKey, "The second issue: with Blocks, the one that is blocked, e.g. ENG-43"],
    comment: Annotated[Markdown | None, "Markdown, e.g. Found while testing."] = None,
) -> Calls:
    """Link two issues: the first blocks, duplicates, clones or relates to the second."""
    # The first issue shows the type's outward words, contrary to what the names of these fields suggest.
    ends = {"inwardIssue": by_key_or_id(inward_issue), "outwardIssue": by_key_or_id(outward_issue)}
    body = {"type": {"name": link_type}, **ends, **given(comment=comment_body(comment))}
    return _linked(Call("POST", "/rest/api/3/issueLink", json=body), link_type, inward_issue, outward_issue)


def _linked(link: Call, link_type: str, inward_issue: str, outward_issue: str) -> Calls:
    """Link two issues, and find the id, which Jira does not tell: it is the newest of this type between the two."""
    yield link
    try:
        found = (yield Call("GET", issue_path(inward_issue), {"fields": "issuelinks"})).json["fields"]["issuelinks"]
    except McpistError:  # the issues are linked all the same
        found = []
    ids = [int(one["id"]) for one in found if _links(one, link_type, outward_issue)]
    return {"id": str(max(ids)) if ids else None}


def _links(link: Any, name: str, outward: str) -> bool:
    """Whether a link is of this type, and to this issue by its key or id."""
    found = [str(value_at(link, path)).casefold() for path in ("type.name", "outwardIssue.key", "outwardIssue.id")]
    return name.casefold() == found[0] and outward.casefold() in found[1:]


@jira.reads(
    shows("id", "type.name as type", "inwardIssue.key as inward", "outwardIssue.key as outward"), "getIssueLink"
)
def get_link(link_id: LinkId) -> Call:
    """Read one link between issues."""
    return Call("GET", path("/rest/api/3/issueLink/{link_id}", link_id=link_id))


@jira.destroys(
    DONE,
    "deleteIssueLink",
    idempotent=True,
    undo=undone_by(
        "link_issues(link_type=before.type.name, inward_issue=before.inwardIssue.key, "
        "outward_issue=before.outwardIssue.key)",
        read="get_link",
    ),
)
def delete_link(link_id: LinkId) -> Call:
    """Remove a link between two issues."""
    return Call("DELETE", path("/rest/api/3/issueLink/{link_id}", link_id=link_id))


REMOTE = shows("id", "relationship", "object.title as title", "object.url as url", "object.summary as summary")

Relation = Annotated[str, Field(max_length=255), "How the issue relates to it, e.g. documented by"]


@jira.reads(REMOTE, "getRemoteIssueLinks")
def list_remote_links(issue_key: IssueKey) -> Call:
    """List the links of an issue to pages elsewhere: documents, pull requests, tickets."""
    return Call("GET", issue_path(issue_key, "/remotelink"))


_NEW_LINK = row_where("id", "answer.id")
_LINK = row_where(lambda link: str(value_at(link, "id")), "arguments.link_id")


def _remote(links: Any, change: ToolChange) -> dict[str, Any]:
    """Return a link as the arguments that make it; empty if it is not there."""
    link = _NEW_LINK(links, change)
    names = ("url", "title", "summary")
    values = {name: value_at(link, f"object.{name}") for name in names} | {
        "relationship": value_at(link, "relationship")
    }
    return values if link else {}


@jira.writes(
    shows("id", "page_url as url"),
    "createOrUpdateRemoteIssueLink",
    undo=undone_by(
        "delete_remote_link(issue_key)",
        read="list_remote_links",
        creates=True,
        link_id=lambda change: str(change.answer["id"]),
        state=_remote,
        after=lambda change: {name: change.arguments[name] for name in ("url", "title", "summary", "relationship")},
    ),
)
def add_remote_link(
    issue_key: IssueKey,
    url: Annotated[str, Field(pattern=r"^https?://"), "e.g. https://example.com/plan"],
    title: Annotated[Name, "e.g. Release plan"],
    summary: Annotated[str | None, "In one line, e.g. What we ship when"] = None,
    relationship: Relation | None = None,
) -> Call:
    """Link an issue to a page elsewhere."""
    body = {"object": given(url=url, title=title, summary=summary), **given(relationship=relationship)}
    return Call("POST", issue_path(issue_key, "/remotelink"), json=body)


@jira.destroys(
    DONE,
    "deleteRemoteIssueLinkById",
    idempotent=True,
    undo=unless(
        lambda change: value_at(_LINK(change.before, change), "globalId"),
        "the link belongs to another application",
        undone_by(
            "add_remote_link(issue_key, url=before.object.url, title=before.object.title, "
            "summary=before.object.summary, relationship=before.relationship)",
            read="list_remote_links",
            select=_LINK,
        ),
    ),
)
def delete_remote_link(
    issue_key: IssueKey, link_id: Annotated[Name, "The id that list_remote_links shows, e.g. 10007"]
) -> Call:
    """Remove the link of an issue to a page elsewhere."""
    return Call("DELETE", issue_path(issue_key, "/remotelink/{link_id}", link_id=link_id))


FILE = ("id", "filename", "mimeType as mime_type", "size", "created", "author.displayName as author")

AttachmentId = Annotated[Name, "The id that list_attachments shows, e.g. 10042"]


@jira.reads(shows(*FILE, "page_url as url"), "getIssue")
def list_attachments(issue_key: IssueKey) -> Calls:
    """List the files of an issue."""
    issue = (yield Call("GET", issue_path(issue_key), {"fields": "attachment"})).json
    return issue["fields"].get("attachment") or []


@jira.reads(DOWNLOADED, "getAttachmentContent")
def download_attachment(attachment_id: AttachmentId) -> Call:
    """Download a file of an issue."""
    return Call("GET", path("/rest/api/3/attachment/content/{id}", id=attachment_id), download=True)


def _size(file: Any) -> Any:
    return (file[0] if isinstance(file, list) else file)["size"]


@jira.writes(
    shows(*FILE),
    "addAttachment",
    undo=undone_by(
        "delete_attachment(attachment_id=answer[0].id)",
        read="list_attachments(issue_key)",
        creates=True,
        fields={"size": _size},
        select=row_where("id", "answer[0].id"),
    ),
)
def attach_file(
    issue_key: IssueKey,
    filename: Annotated[Name, "e.g. notes.txt"],
    content: Annotated[ContentArgument, "The text, or the reference of a file, e.g. It fails on Safari."],
) -> Call:
    """Attach a file to an issue."""
    unchecked = {"x-atlassian-token": "no-check"}  # Atlassian refuses an upload without it
    body = {"file": FilePart(filename, content)}
    return Call("POST", issue_path(issue_key, "/attachments"), multipart=body, headers=unchecked)


@jira.destroys(DONE, "removeAttachment", idempotent=True, irreversible="Jira keeps no deleted file")
def delete_attachment(attachment_id: AttachmentId) -> Call:
    """Delete a file of an issue."""
    return Call("DELETE", path("/rest/api/3/attachment/{id}", id=attachment_id))
