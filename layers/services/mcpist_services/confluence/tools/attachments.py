"""The files of pages."""

from typing import Annotated

from pydantic import Field

from mcpist.files.content import ContentArgument
from mcpist.render.shows import DOWNLOADED, shows
from mcpist.tools.declare.call import Call, FilePart, given, path
from mcpist.tools.declare.paging import Paging
from mcpist_services.confluence.module import BY_CURSOR, Dates, PageId, confluence, page_path
from mcpist_services.confluence.presentation import attachment_url

FILES = Paging("limit", 250, ("cursor",), BY_CURSOR, attachment_url)
ATTACHMENTS = shows(
    "id",
    "title",
    "mediaType as media_type",
    "fileSize as size_bytes",
    "createdAt as created",
    "version.createdAt as updated",
    "comment",
    "url",
    rows="results",
)
PLACE = "/wiki/rest/api/content/{page_id}/child/attachment"

AttachmentId = Annotated[str, Field(pattern=r"^(att)?[0-9]+$"), "The id that list_attachments shows, e.g. att98307"]


@confluence.lists(ATTACHMENTS, "getPageAttachments", scopes=("read:attachment:confluence",), paging=FILES)
def list_attachments(
    page_id: PageId,
    filename: Annotated[str | None, "Only this file, e.g. plan.pdf"] = None,
    media_type: Annotated[str | None, "Only of this type, e.g. application/pdf"] = None,
    sort: Dates | None = None,
) -> Call:
    """List the files of a page, with their download addresses."""
    query = given(filename=filename, mediaType=media_type, sort=sort)
    return Call("GET", page_path(page_id, "/attachments"), query)


@confluence.reads(DOWNLOADED, "downloadAttatchment", scopes=("read:attachment:confluence",))
def download_attachment(page_id: PageId, attachment_id: AttachmentId) -> Call:
    """Download a file of a page."""
    place = path(f"{PLACE}/{{attachment_id}}/download", page_id=page_id, attachment_id=attachment_id)
    return Call("GET", place, download=True)


@confluence.writes(
    shows("id", "title", "version.number as version", "page_url as url", rows="results"),
    "createOrUpdateAttachments",
    scopes=("read:content-details:confluence", "write:attachment:confluence"),
)
def attach_file(
    page_id: PageId,
    filename: Annotated[str, Field(min_length=1, max_length=255), "e.g. notes.txt"],
    content: Annotated[ContentArgument, "The text, or the reference of a file, e.g. We ship on Monday."],
    comment: Annotated[str | None, "For the list of files, e.g. From the meeting"] = None,
) -> Call:
    """Attach a file to a page; one of the same name gets a new version."""
    unchecked = {"x-atlassian-token": "no-check"}  # Atlassian refuses an upload without it
    body = {"file": FilePart(filename, content), "minorEdit": "true", **given(comment=comment)}
    return Call("PUT", path(PLACE, page_id=page_id), multipart=body, headers=unchecked)
