"""The files of issues."""

from typing import Annotated

from mcpist.files.content import ContentArgument
from mcpist.render.shows import DONE, DOWNLOADED, shows
from mcpist.tools.declare.call import Call, Calls, FilePart, path
from mcpist_services.jira.module import IssueKey, Name, issue_path, jira

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
