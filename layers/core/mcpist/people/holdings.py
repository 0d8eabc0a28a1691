"""Holdings: what the tables and the bucket have of an organization, found by one list of all keys.

A key is an item's `pk` and `sk`, with a line break between, which no id has. A pattern without the group `organization`
is of items that name theirs in the attribute `organization`, or are nobody's: persons', clients' and the deployment's.
"""

import re
from collections.abc import Iterator, Mapping
from urllib.parse import quote

from mcpist.audit.record import audit_table
from mcpist.audit.seals import seals_table
from mcpist.aws.attributes import Item
from mcpist.aws.table import Table, directory_table, events_table, ledger_table
from mcpist.files.storage import segment
from mcpist.people.client_logins import logins_table
from mcpist.settings import settings

DELETIONS = "#operator"
"""Instead of an organization, which cannot have this id: whose audit rows deletions are."""
_OWN = r"(?P<organization>[^#\n]+)"
_BEGINS_WITH_IT = rf"{_OWN}#.*\n.*"
KEYS: Mapping[str, tuple[str, ...]] = {
    "directory": (
        rf"(org|invitations|notification)#{_OWN}\n.*",
        rf"orgs\norg#{_OWN}",
        rf"publications\n{_OWN}#.*",
        rf"subject#.*\n(org|waiting)#{_OWN}",
        r"(domains|subject#.*)\n.*",
    ),
    "ledger": (
        rf"automations\n\d+#{_OWN}#.*",
        rf"upstream#[^#]+#{_OWN}(#.*)?\n.*",
        r"(machines|upstream#[^#]*)\n.*",
        _BEGINS_WITH_IT,
    ),
    "events": (_BEGINS_WITH_IT,),
    "logins": (r"(assertion|client|code|person|request)#.*\n.*",),
    "grants": (rf"#(apps|permits)#{_OWN}\n.*", rf"#connect\n{_OWN}#.*", _BEGINS_WITH_IT),
    "seals": (rf"{_OWN}(#uses)?\n.*",),
    "audit": (rf"{DELETIONS}#.*\n.*", _BEGINS_WITH_IT),
}
"""The last are removed last: the rows of what is removed before are among them."""
MEMBERSHIP = re.compile(r"(org|waiting)#.*")


def tables() -> dict[str, Table]:
    """Return the tables that the deployment has, by the names of `KEYS`."""
    own = {"directory": directory_table(), "ledger": ledger_table(), "events": events_table(), "audit": audit_table()}
    own |= {"logins": logins_table(), "grants": Table(settings().grants_table, "grants"), "seals": seals_table()}
    return {name: own[name] for name in KEYS if own[name].name}


def organization_of(table: str, item: Item) -> str | None:
    """Return the organization of an item, empty for nobody's; None for a key that is not in the list."""
    key = f"{item['pk']}\n{item['sk']}"
    found = next((match for pattern in KEYS[table] if (match := re.fullmatch(pattern, key))), None)
    if found is None:
        return None
    return found.groupdict().get("organization") or str(item.get("organization", ""))


def items_of(organization: str, table: str) -> Iterator[Item]:
    """Iterate over an organization's items of a table; the whole table is read."""
    return (item for item in tables()[table].scan() if organization_of(table, item) == organization)


def prefixes_of(organization: str) -> tuple[str, ...]:
    """Return the prefixes of an organization's objects in the bucket."""
    own = (f"{kind}/{segment(organization)}/" for kind in ("files", "changes", "incoming"))
    return *own, f"modules/{organization}/", f"rag/{quote(organization, safe='')}/"
