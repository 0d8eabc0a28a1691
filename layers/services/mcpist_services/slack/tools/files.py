"""Files.

An upload takes three requests, of which the second goes to another origin; files are downloaded from there.
Reference: https://docs.slack.dev/messaging/working-with-files#uploading_files
"""

from typing import Annotated, Any

from pydantic import Field

from mcpist.errors import InvalidRequest, ToolExecutionError
from mcpist.files.content import ContentArgument
from mcpist.markdown.reader import read
from mcpist.render.shows import shows
from mcpist.tools.declare.call import Call, Calls, Work, given
from mcpist.tools.declare.paging import Paging
from mcpist.tools.declare.undo import undone_by
from mcpist_services.slack.blocks import message
from mcpist_services.slack.directory import channel_id, in_channel
from mcpist_services.slack.module import ChannelId, FileId, ThreadTs, page_numbers, slack, time_of

FILES = shows(
    "id", "name", "title", "filetype as type", "size", "row.time as created", "user", "permalink as url", rows="files"
)
ONE = shows(
    "file.id as id",
    "file.name as name",
    "file.pretty_type as type",
    "file.size as size",
    "file.user as user",
    "file.permalink as url",
    "content|file.preview as content",
    text="content",
)

DOWNLOAD = shows("name", "file", "preview", text="preview", file="file")

Kinds = Annotated[str, "all, spaces, snippets, images, gdocs, zips, pdfs; several with commas, e.g. pdfs"]
Content = Annotated[ContentArgument, "The text, or the reference of a file, e.g. id,name"]


def _row(file: Any, _: Any = None) -> dict[str, Any]:
    return {"row": {"time": time_of(file.get("created"))}}


@slack.lists(
    FILES, "files.list", paging=Paging("count", 100, ("page",), page_numbers(""), _row), scopes=("files:read",)
)
def list_files(channel: ChannelId | None = None, types: Kinds | None = None) -> Work:
    """List files of the workspace or of a channel, the newest first."""
    if channel is None:
        return Call("GET", "/files.list", given(types=types))
    return in_channel(channel, "GET", "/files.list", types=types)


@slack.reads(ONE, "files.info", scopes=("files:read",))
def get_file(file_id: FileId) -> Call:
    """Read a file's facts, and the text of a snippet."""
    return Call("GET", "/files.info", {"file": file_id})


@slack.reads(DOWNLOAD, "files.info", scopes=("files:read",))
def download_file(file_id: FileId) -> Calls:
    """Download a file, an image or a document too, of up to 32 MB."""
    file = (yield Call("GET", "/files.info", {"file": file_id})).json["file"]
    url = file.get("url_private_download")
    if not url:
        raise InvalidRequest(field="file_id", problem=f"it is kept outside Slack: open {file.get('permalink')}")
    kept = (yield Call.to("GET", url, download=True)).json
    if kept["file"]["size_bytes"] != file["size"]:  # the page of its login, where the account may not read the file
        raise ToolExecutionError(
            service=slack.name, http_status=200, problem="it answered something else than the file"
        )
    return {"name": file["name"], **kept}


@slack.writes(
    shows("id", "title"),
    "files.completeUploadExternal",
    scopes=("files:write",),
    undo=undone_by(
        "delete_file(file_id=answer[0].id)",
        read="get_file",
        creates=True,
        fields={"name": lambda found: (found[0] if isinstance(found, list) else found["file"])["title"]},
    ),
    tells={"channel": "arguments.channel"},
)
def upload_file(
    channel: ChannelId,
    filename: Annotated[str, Field(min_length=1, max_length=250), "e.g. report.csv"],
    content: Content,
    comment: Annotated[str | None, "Markdown above the file, e.g. The **numbers**"] = None,
    thread_ts: ThreadTs | None = None,
) -> Calls:
    """Share a file in a channel: a text, or any file by its reference."""
    # The channel first, so that a wrong name is refused before anything is uploaded.
    id_ = yield from channel_id(channel, opens=True)
    length = len(content.content)
    place = (yield Call("GET", "/files.getUploadURLExternal", {"filename": filename, "length": length})).json
    yield Call.to("POST", place["upload_url"], content=content, text=True, prepares=True)
    said = {"initial_comment": message(read(comment))["text"]} if comment else {}
    body = {"files": [{"id": place["file_id"], "title": filename}], "channel_id": id_, **said}
    done = yield Call("POST", "/files.completeUploadExternal", json=body | given(thread_ts=thread_ts))
    return done.json["files"]


@slack.destroys(shows("ok"), "files.delete", scopes=("files:write",), irreversible="Slack keeps no deleted file")
def delete_file(file_id: FileId) -> Call:
    """Delete a file of yours, wherever it is shared."""
    return Call("POST", "/files.delete", json={"file": file_id})
