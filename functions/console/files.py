"""The page `/files`: one's own files and those that are shared, or with `sha256` one of them by its parts."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from console.lists import Columns, export, named_columns, read_on
from console.visit import Visit
from mcpist.errors import InvalidRequest, PayloadTooLarge
from mcpist.files import access, listing
from mcpist.files.content import JSON, YAML
from mcpist.files.records import FileRecord
from mcpist.files.values import columns_of, find_rows, parse
from mcpist.http.page import download
from mcpist.http.request import HttpResponse
from mcpist.paging import MAX_PAGE_ITEMS
from mcpist.render.answer import compact_json

PAGE_FILES = 50
MAX_SEARCH_CHARACTERS = 100
COLUMNS: Columns[FileRecord] = named_columns(
    "sha256 name content_type size_bytes created_at kept_until user", kept_until=lambda file: file.expiry
)
MAX_DOWNLOAD_BYTES = 4_000_000  # a Lambda response may have 6 MB, and bytes are sent in base64
VIEWS = ("rows", "lines")
PAGE_LINES = 200
TABLE_PAGE_ROWS = 50
MAX_TABLE_COLUMNS = 12
MAX_TEXT_LINE_CHARACTERS = 400
MAX_TABLE_CELL_CHARACTERS = 120
MAX_PAGE_CHARACTERS = 30_000


@dataclass(frozen=True, slots=True)
class ShownPart:
    """A part of a file: lines, or columns with rows."""

    first: int
    """The number of the first line or row, from 0 on."""
    total: int
    """The number of lines or rows of the file."""
    lines: Sequence[str] = ()
    columns: Sequence[str] = ()
    rows: Sequence[Sequence[str]] = ()

    @property
    def end(self) -> int:
        """The number after the last one."""
        return self.first + len(self.lines or self.rows)


def show(visit: Visit) -> HttpResponse:
    """Show the list, a file, or its content to be stored."""
    sha256 = visit.request.query.get("sha256", "")
    if not sha256:
        return _list(visit)
    return _download(visit, sha256) if visit.request.query.get("download") else _file(visit, sha256)


def _list(visit: Visit) -> HttpResponse:
    query = visit.request.query
    after, text = query.get("after", ""), query.get("q", "")[:MAX_SEARCH_CHARACTERS]

    def read(cursor: str, limit: int = MAX_PAGE_ITEMS) -> tuple[Sequence[FileRecord], str]:
        return listing.list_page(visit.caller, cursor, limit, text)

    if exported := export(visit, "files", read_on(read, after), COLUMNS):
        return exported
    files, cursor = read(after, PAGE_FILES)
    return visit.page("files/list.html", files=files, cursor=cursor)


def _file(visit: Visit, sha256: str) -> HttpResponse:
    """Show a part of a file, whose whole content was hashed before."""
    file = access.find(visit.caller, sha256, "sha256")
    text = access.text_of(file, "sha256") if file.is_text else ""
    if not file.is_text:
        # Read although nothing of it is shown: the page says that the hash was verified.
        access.load(visit.caller, sha256, "sha256")
    first, view = _number(visit), visit.request.query.get("view", "")
    if view not in {"", *VIEWS}:
        raise InvalidRequest(field="view", problem=f"it is one of {', '.join(VIEWS)}")
    # Also where lines are shown: the page offers rows only of a file that has some.
    rows = rows_of(file, text, first if view != "lines" else 0)
    part: ShownPart | None = rows if rows and view != "lines" else lines_of(text, first) if file.is_text else None
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
    return download(visit.request, content, file.content_type, file.name)


def _number(visit: Visit) -> int:
    """Return the place in the file at which the page begins."""
    text = visit.request.query.get("from", "0")
    if not re.fullmatch("[0-9]{1,9}", text):
        raise InvalidRequest(field="from", problem="it is a number")
    return int(text)


def lines_of(text: str, first: int) -> ShownPart:
    """Return some lines of a text from one on; long lines are cut, and fewer lines are taken where they are many."""
    every = text.splitlines()
    taken: list[str] = []
    room = MAX_PAGE_CHARACTERS
    for line in every[first : first + PAGE_LINES]:
        shown = _cut(line, MAX_TEXT_LINE_CHARACTERS)
        room -= len(shown)
        if room < 0 and taken:
            break
        taken.append(shown)
    return ShownPart(first, len(every), lines=taken)


def rows_of(file: FileRecord, text: str, first: int) -> ShownPart | None:
    """Return some rows of a JSON or YAML file from one on; None for a file that holds no table."""
    if file.content_type not in {JSON, YAML}:
        return None
    try:
        found = find_rows(parse(text, file.content_type))
    except ValueError:
        return None
    if found is None:
        return None
    columns = columns_of(found.rows)[:MAX_TABLE_COLUMNS]
    shown = [[_cell(row.get(column)) for column in columns] for row in found.rows[first : first + TABLE_PAGE_ROWS]]
    return ShownPart(first, len(found.rows), columns=columns, rows=shown)


def _cell(value: Any) -> str:
    text = "" if value is None else value if isinstance(value, str) else compact_json(value)
    return _cut(text, MAX_TABLE_CELL_CHARACTERS)


def _cut(text: str, characters: int) -> str:
    return text if len(text) <= characters else f"{text[:characters]}…"
