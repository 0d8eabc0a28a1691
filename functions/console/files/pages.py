"""The page `/files`: one's own files and those that are shared, or with `sha256` one of them by its parts."""

import re

from console.files.parts import Part, lines_of, rows_of
from console.response import download
from console.visit import Visit
from mcpist.aws.http_request import HttpResponse
from mcpist.errors import InvalidRequest, PayloadTooLarge
from mcpist.files import access, records
from mcpist.files.content_types import JSON, MARKDOWN, PLAIN, YAML

PAGE_FILES = 50
MAX_DOWNLOAD_BYTES = 4_000_000  # a Lambda response may have 6 MB, and bytes are sent in base64
ENDINGS = {JSON: ".json", MARKDOWN: ".md", PLAIN: ".txt", YAML: ".yaml"}
VIEWS = ("rows", "lines")


def show(visit: Visit) -> HttpResponse:
    """Show the list, a file, or its content to be stored."""
    sha256 = visit.request.query.get("sha256", "")
    if not sha256:
        return _list(visit)
    return _download(visit, sha256) if visit.request.query.get("download") else _file(visit, sha256)


def _list(visit: Visit) -> HttpResponse:
    caller, first = visit.caller, _number(visit)
    own = records.find_all(caller.organization, caller.user)
    shared = [file for file in records.find_shared(caller.organization, caller.role_names) if file.user != caller.user]
    every = [*own, *shared]
    shown = every[first : first + PAGE_FILES]
    return visit.page("files/list.html", files=shown, first=first, end=first + len(shown), total=len(every))


def _file(visit: Visit, sha256: str) -> HttpResponse:
    """Show a part of a file, whose whole content was hashed before."""
    file = access.find(visit.caller, sha256, "sha256")
    text = access.text_of(file, "sha256") if file.is_text else ""
    if not file.is_text:
        access.load(visit.caller, sha256, "sha256")
    first, view = _number(visit), visit.request.query.get("view", "")
    if view not in {"", *VIEWS}:
        raise InvalidRequest(field="view", problem=f"it is one of {', '.join(VIEWS)}")
    rows = rows_of(file, text, first if view != "lines" else 0)
    part: Part | None = rows if rows and view != "lines" else lines_of(text, first) if file.is_text else None
    return visit.page(
        "files/file.html",
        file=file,
        part=part,
        view="rows" if part and part.columns else "lines",
        has_rows=rows is not None,
        own=file.user == visit.caller.user,
        can_download=file.size_bytes <= MAX_DOWNLOAD_BYTES,
    )


def _download(visit: Visit, sha256: str) -> HttpResponse:
    file, content = access.load(visit.caller, sha256, "sha256")
    if len(content) > MAX_DOWNLOAD_BYTES:
        raise PayloadTooLarge(size_bytes=len(content), limit_bytes=MAX_DOWNLOAD_BYTES)
    name = f"{file.sha256[:12]}{ENDINGS.get(file.content_type, '')}"  # type: ignore[call-overload]
    return download(visit.request, content, file.content_type, name)


def _number(visit: Visit) -> int:
    """Return the place in the list or in the file at which the page begins."""
    text = visit.request.query.get("from", "0")
    if not re.fullmatch("[0-9]{1,9}", text):
        raise InvalidRequest(field="from", problem="it is a number")
    return int(text)
