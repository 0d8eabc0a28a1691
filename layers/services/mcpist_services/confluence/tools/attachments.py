"""Files, labels and tasks of pages."""

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import Field

from mcpist.files.content import ContentArgument
from mcpist.render.shows import DONE, DOWNLOADED, shows, value_at
from mcpist.tools.declare.argument_types import UtcMoment
from mcpist.tools.declare.call import Call, FilePart, given, path
from mcpist.tools.declare.paging import Paging
from mcpist.tools.declare.undo import ToolChange, adds_each, row_where, toggles, undone_by, unless
from mcpist_services.confluence.edits import VERSION
from mcpist_services.confluence.module import BY_CURSOR, COMMENTS, Dates, PageId, SpaceId, confluence, page_path
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


def _replaced(change: ToolChange) -> bool:
    return any(file["title"] == change.arguments["filename"] for file in value_at(change.before, "results") or ())


@confluence.writes(
    shows("id", "title", "version.number as version", "page_url as url", rows="results"),
    "createOrUpdateAttachments",
    scopes=("read:content-details:confluence", "write:attachment:confluence"),
    undo=unless(
        _replaced,
        "its former version is not restored",
        undone_by(
            "delete_attachment(attachment_id=answer.results[0].id)",
            read="list_attachments(page_id, media_type=null)",
            select=row_where("title", "arguments.filename", rows="results"),
            fields=VERSION,
        ),
    ),
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


@confluence.destroys(
    DONE,
    "deleteAttachment",
    scopes=("delete:attachment:confluence",),
    idempotent=True,
    irreversible="no tool restores a file from the trash",
)
def delete_attachment(attachment_id: AttachmentId) -> Call:
    """Move a file of a page to the trash, with all its versions."""
    return Call("DELETE", path("/wiki/api/v2/attachments/{attachment_id}", attachment_id=attachment_id))


CONTENT = ("write:confluence-content",)
LABEL = shows("id", "name", "prefix", rows="results")
TASKS = shows(
    "id",
    "status",
    "markdown as text",
    "assignedTo as assigned_to",
    "dueAt as due",
    "pageId as page_id",
    "spaceId as space_id",
    "createdAt as created",
    "page_url as url",
    rows="results",
)

AccountId = Annotated[str, Field(min_length=1, max_length=128), "An account id, e.g. 712020:70035bdf"]
Label = Annotated[str, Field(pattern=r"^\S+$", max_length=255)]
Time = Annotated[UtcMoment, "e.g. 2026-01-31T09:00:00Z"]


@confluence.lists(LABEL, "getPageLabels")
def list_labels(
    page_id: PageId, prefix: Annotated[Literal["my", "team", "global", "system"] | None, "All kinds if left out"] = None
) -> Call:
    """List the labels of a page."""
    return Call("GET", page_path(page_id, "/labels"), given(prefix=prefix))


def _names(found: Any) -> list[str]:
    return [label["name"] for label in found["results"]]


@confluence.writes(
    LABEL,
    "addLabelsToContent",
    scopes=CONTENT,
    idempotent=True,
    undo=adds_each("remove_label(page_id)", read="list_labels", argument="labels", item="label", held=_names),
)
def add_labels(
    page_id: PageId, labels: Annotated[list[Label], Field(min_length=1), "Without spaces, e.g. runbook, on-call"]
) -> Call:
    """Put labels on a page, in addition to those that it has."""
    body = [{"prefix": "global", "name": label} for label in labels]
    return Call("POST", path("/wiki/rest/api/content/{page_id}/label", page_id=page_id), json=body)


@confluence.destroys(
    DONE,
    "removeLabelFromContent",
    scopes=CONTENT,
    idempotent=True,
    undo=toggles(
        "add_labels(page_id)",
        read="list_labels",
        has=lambda found, change: change.arguments["label"] in _names(found),
        adds=False,
        labels=lambda change: [change.arguments["label"]],
    ),
)
def remove_label(page_id: PageId, label: Annotated[Label, "e.g. runbook"]) -> Call:
    """Take a label off a page."""
    return Call("DELETE", path("/wiki/rest/api/content/{page_id}/label/{label}", page_id=page_id, label=label))


@confluence.lists(TASKS, "getTasks", scopes=("read:task:confluence",), paging=COMMENTS)
def list_tasks(
    space_id: SpaceId | None = None,
    page_id: PageId | None = None,
    status: Annotated[Literal["complete", "incomplete"] | None, "Both if left out"] = None,
    assigned_to: AccountId | None = None,
    created_by: AccountId | None = None,
    due_at_from: Time | None = None,
    due_at_to: Time | None = None,
) -> Call:
    """List the tasks (ticked or not) on pages: of a space, a page, a person, or due in a period."""
    query: dict[str, Any] = {"space-id": space_id, "page-id": page_id, "status": status, "assigned-to": assigned_to}
    query |= {"created-by": created_by, "due-at-from": _milliseconds(due_at_from)}
    query |= {"due-at-to": _milliseconds(due_at_to), "include-blank-tasks": False, "body-format": "storage"}
    return Call("GET", "/wiki/api/v2/tasks", given(**query))


def _milliseconds(time: str | None) -> int | None:
    return None if time is None else int(datetime.fromisoformat(time).timestamp()) * 1000
