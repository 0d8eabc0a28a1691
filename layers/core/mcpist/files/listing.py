"""Pages of files: a user's own and those that are shared with roles, which read no more than they show."""

import re
from urllib.parse import quote

from mcpist.aws.attributes import Item, decode
from mcpist.aws.table import ledger_table
from mcpist.caller import Caller
from mcpist.errors import InvalidRequest
from mcpist.files.records import FileRecord, key_of, partition

MAX_SEARCHED_FILES = 1_000
_PLACE = re.compile(r"[0-9T:+-]{25}#[a-f0-9]{64}#.{1,128}")


def list_page(caller: Caller, cursor: str, limit: int, text: str = "") -> tuple[list[FileRecord], str]:
    """Return the caller's own files and those that are shared with its roles, the newest first, and the next cursor.

    They may be fewer than `limit`, or none, although others follow; the cursor is empty on the last page. A text is
    searched in the names, types and hashes of a bounded number of files; the search goes on at the cursor.
    """
    organization, user, roles = caller.organization, caller.user, caller.role_names
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
    return [file for file in files if file.user == user or not set(file.roles).isdisjoint(roles)], last


def _searched(place: Item) -> str:
    return f"{place['name']} {place['type']} {place['sha256']}".casefold()
