"""Pages of files: a user's own and those that are shared with roles, which read no more than they show."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import quote

from mcpist.aws.attributes import Item, decode
from mcpist.aws.table import ledger_table
from mcpist.errors import InvalidRequest
from mcpist.files.records import FileRecord, key_of, partition

MAX_SEARCHED_FILES = 1_000
_PLACE = re.compile(r"[0-9T:+-]{25}#[a-f0-9]{64}#.{1,128}")


@dataclass(frozen=True, slots=True)
class FilePage:
    """Some files, the newest first; a page may have fewer than asked for, or none, and still have a cursor."""

    files: list[FileRecord]
    cursor: str
    """The place after which the next page begins; empty on the last page."""


def find_page(organization: str, user: str, roles: Iterable[str], cursor: str, limit: int, text: str = "") -> FilePage:
    """Return a page of a user's own files and of those that are shared with the roles; with a text those that have it.

    A text is searched in the names, types and hashes of a bounded number of files; the search goes on at the cursor.
    """
    if cursor and not _PLACE.fullmatch(cursor):
        raise InvalidRequest(field="cursor", problem="take it from the page before")
    read, found = max(limit, MAX_SEARCHED_FILES if text else 0), dict[str, Item]()
    for owner in (f"user#{quote(user)}", *(f"role#{quote(role)}" for role in roles)):
        pk, end = f"{organization}#file-list#{owner}", cursor or "~"
        rows, _ = ledger_table().query_page("pk", pk, ("0", end), limit=read + 2, descending=True)
        found |= {row["sk"]: row for row in rows if row["sk"] != cursor}
    places = sorted(found, reverse=True)
    wanted = [place for place in places[:read] if text.casefold() in _searched(found[place])]
    shown = wanted[:limit]
    last = shown[-1] if len(wanted) > limit else places[read - 1] if len(places) > read else ""
    keys = [(partition(organization), key_of(found[place]["user"], found[place]["sha256"])) for place in shown]
    held = {file.place: file for file in (decode(FileRecord, item) for item in ledger_table().get_many(keys))}
    files = [held[place] for place in shown if place in held and not held[place].is_expired]
    return FilePage([file for file in files if file.user == user or not set(file.roles).isdisjoint(roles)], last)


def _searched(place: Item) -> str:
    return f"{place['name']} {place['type']} {place['sha256']}".casefold()
