"""Links between issues, and the files of issues."""

from typing import Annotated

from pydantic import Field

from mcpist.files.content import ContentArgument
from mcpist.render.shows import DONE, DOWNLOADED, shows
from mcpist.tools.declare.call import Call, Calls, FilePart, given, path
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


@jira.reads(shows("id", "name", "outward", "inward"), "getIssueLinkTypes")
def list_link_types() -> Calls:
    """List the types of links between issues, such as Blocks, with their words in both directions."""
    return (yield Call("GET", "/rest/api/3/issueLinkType")).json["issueLinkTypes"]


@jira.reads(LINKS, "getIssue")
def list_links(issue_key: IssueKey) -> Calls:
    """List the links of an issue: how it relates to which other issue, and the id that delete_link takes."""
    issue = (yield Call("GET", issue_path(issue_key), {"fields": "issuelinks"})).json
    return [linked_issue(link) for link in issue["fields"].get("issuelinks") or []]


@jira.writes(DONE, "linkIssues")
def link_issues(
    link_type: Annotated[Name, "A name that list_link_types shows, e.g. Blocks"],
    inward_issue: Annotated[IssueKey, "The first issue: with Blocks, the one that blocks, e.g. ENG-42"],
    outward_issue: Annotated[IssueKey, "The second issue: with Blocks, the one that is blocked, e.g. ENG-43"],
    comment: Annotated[Markdown | None, "Markdown, e.g. Found while testing."] = None,
) -> Call:
    """Link two issues: the first blocks, duplicates, clones or relates to the second."""
    # The first issue shows the type's outward words, contrary to what the names of these fields suggest.
    ends = {"inwardIssue": by_key_or_id(inward_issue), "outwardIssue": by_key_or_id(outward_issue)}
    body = {"type": {"name": link_type}, **ends, **given(comment=comment_body(comment))}
    return Call("POST", "/rest/api/3/issueLink", json=body)


@jira.destroys(DONE, "deleteIssueLink", idempotent=True)
def delete_link(link_id: Annotated[Name, "The id that list_links shows, e.g. 10001"]) -> Call:
    """Remove a link between two issues."""
    return Call("DELETE", path("/rest/api/3/issueLink/{link_id}", link_id=link_id))


REMOTE = shows("id", "relationship", "object.title as title", "object.url as url", "object.summary as summary")

Relation = Annotated[str, Field(max_length=255), "How the issue relates to it, e.g. documented by"]


@jira.reads(REMOTE, "getRemoteIssueLinks")
def list_remote_links(issue_key: IssueKey) -> Call:
    """List the links of an issue to pages elsewhere: documents, pull requests, tickets."""
    return Call("GET", issue_path(issue_key, "/remotelink"))


@jira.writes(shows("id", "page_url as url"), "createOrUpdateRemoteIssueLink")
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


@jira.destroys(DONE, "deleteRemoteIssueLinkById", idempotent=True)
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


@jira.writes(shows(*FILE), "addAttachment")
def attach_file(
    issue_key: IssueKey,
    filename: Annotated[Name, "e.g. notes.txt"],
    content: Annotated[ContentArgument, "The text, or the reference of a file, e.g. It fails on Safari."],
) -> Call:
    """Attach a file to an issue."""
    unchecked = {"x-atlassian-token": "no-check"}  # Atlassian refuses an upload without it
    body = {"file": FilePart(filename, content)}
    return Call("POST", issue_path(issue_key, "/attachments"), multipart=body, headers=unchecked)


@jira.destroys(DONE, "removeAttachment", idempotent=True)
def delete_attachment(attachment_id: AttachmentId) -> Call:
    """Delete a file of an issue."""
    return Call("DELETE", path("/rest/api/3/attachment/{id}", id=attachment_id))
