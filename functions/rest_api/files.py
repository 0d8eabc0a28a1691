"""The routes of files: their list, and large results, whole or by ranges of bytes (RFC 9110)."""

from typing import Annotated, Any

from aws_lambda_powertools.event_handler import Response
from pydantic import Field

from mcpist.errors import InvalidRequest, PayloadTooLarge, RangeNotSatisfiable
from mcpist.files import access, listing
from mcpist.files.ranges import read_range
from mcpist.paging import DEFAULT_PAGE_ITEMS
from rest_api.exchange import current
from rest_api.negotiation import matches
from rest_api.router import Body, Cursor, Limit, Operations, SearchText, body_of

MAX_FILE_RESPONSE_BYTES = 4_000_000  # a Lambda response may have 6 MB, and bytes are sent in base64
BINARY = {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}
RESPONSES: Any = {
    200: {"description": "All of the file", "content": BINARY},
    206: {"description": "The bytes that the header `Range` names", "content": BINARY},
    304: {"description": "The client has this file already"},
}

router = Operations("files")


class FileSummary(Body):
    """A file of the caller, or one that is shared with its roles."""

    sha256: str
    path: str
    size_bytes: int
    content_type: str
    created_at: str
    expires_at: str
    own: Annotated[bool, Field(description="Whether it is the caller's; only its owner shares it")]
    roles: Annotated[list[str], Field(description="The roles that its owner shares it with; empty for others")]


class FileList(Body):
    """Files, the newest first; a page may be short or empty, and the next one begins at its cursor."""

    files: list[FileSummary]
    cursor: Annotated[str, Field(description="Where the next page begins; empty on the last page")]


@router.operation("GET", "/v1/files", "List the files")
def list_files(q: SearchText = "", limit: Limit = DEFAULT_PAGE_ITEMS, cursor: Cursor = "") -> FileList:
    """List your files and those that are shared with your roles, the newest first; `q` searches in hash and type."""
    caller = current().caller
    files, following = listing.list_page(caller, cursor, limit, q.strip())
    shown = [
        body_of(
            FileSummary,
            file,
            expires_at=file.expiry,
            own=file.user == caller.user,
            roles=list(file.roles) if file.user == caller.user else [],
        )
        for file in files
    ]
    return FileList(files=shown, cursor=following)


class _Bytes(Response[Any]):
    """A response whose body is sent as it is, also where it is JSON: a part of a file has no value of its own."""

    def is_json(self) -> bool:
        """Return that the body is not to be serialized."""
        return False


# Bytes are no JSON, so the response has no model.
@router.operation("GET", "/v1/files/<sha256>", "Read a file", RESPONSES, enable_validation=False)
def get_file(sha256: str) -> Response[Any]:
    """Return a file of the caller, or one that is shared with its roles; its hash is checked on every read."""
    exchange = current()
    headers = exchange.request.headers
    etag = f'"{sha256}"'
    file = access.find(exchange.caller, sha256, "sha256")
    common = {"etag": etag, "accept-ranges": "bytes", "cache-control": "private, immutable, max-age=3600"}
    if matches(headers.get("if-none-match", ""), etag):
        return Response(304, headers=common)
    try:
        read = read_range(exchange.caller, sha256, headers.get("range", ""))
    except InvalidRequest as error:
        if error.details["field"] == "range":
            raise RangeNotSatisfiable(range=headers["range"][:100], size_bytes=file.size_bytes) from None
        raise
    if len(read.content) > MAX_FILE_RESPONSE_BYTES:
        raise PayloadTooLarge(size_bytes=len(read.content), limit_bytes=MAX_FILE_RESPONSE_BYTES)
    common |= {"content-disposition": "attachment", "x-content-type-options": "nosniff"}
    if len(read.content) == file.size_bytes:
        return _Bytes(200, file.content_type, read.content, headers=common)
    common["content-range"] = f"bytes {read.first}-{read.first + len(read.content) - 1}/{file.size_bytes}"
    return _Bytes(206, file.content_type, read.content, headers=common)
