"""`mcpist org restore`: an organization's items from tables that AWS has restored to a point in time."""

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from typer import Option

from infra.cli.document import CommandError, CommandResult
from infra.cli.options import Target
from infra.cli.target import opened
from infra.cli.whole_organization import Org, members_last, record
from mcpist.aws.attributes import Item
from mcpist.aws.table import Table
from mcpist.people import holdings

RESTORE = "organization.restore"
# Logins are persons', not an organization's, and are made anew by logging in.
TABLES = tuple(name for name in holdings.KEYS if name != "logins")
REPLACED = "directory"
"""The table in which an item that is there now is replaced. In the others that would undo what must not be undone: the
settling of a step, the refresh of a token, a row of the audit."""
ORGANIZATION_ITEM = "org"

type Key = tuple[str, str]


@dataclass(frozen=True, slots=True)
class TableDifference:
    """How a table differs from its copy, for one organization."""

    missing: list[Item]
    """The items that only the copy has."""
    changed: list[Item]
    """The items of the copy that are others now."""
    newer: list[Key]
    """The keys of items that the copy does not have; they stay."""

    def summary(self, kind: str) -> dict[str, Any]:
        """Return the numbers, and of the directory the keys, which name people and roles."""
        missing, changed = ([key_of(item) for item in items] for items in (self.missing, self.changed))
        keys: dict[str, list[Key]] = {"missing": missing, "changed": changed, "newer": self.newer}
        found = {name: sorted(" ".join(key) for key in some) for name, some in keys.items()}
        return found if kind == REPLACED else {name: len(keys) for name, keys in found.items()}


def restore_organization(
    target: Target,
    organization: Org,
    table: Annotated[
        list[str], Option("--table", metavar="KIND=TABLE", help=f"A restored table; KIND is {', '.join(TABLES)}.")
    ],
    dry_run: Annotated[bool, Option("--dry-run", help="Change nothing; show what would be put back.")] = False,
) -> CommandResult:
    """Put back what restored tables have of an organization and the stack does not."""
    copies = parse_tables(table)
    with opened(target):
        differences = {kind: compare(organization, kind, Table(name, kind)) for kind, name in copies.items()}
        summary = {kind: one.summary(kind) for kind, one in differences.items()}
        if not dry_run:
            restore(organization, differences)
    lines = [
        f"{kind}: {len(one.missing)} missing, {len(one.changed)} changed, {len(one.newer)} newer"
        for kind, one in differences.items()
    ]
    facts = {"organization": organization, "dry_run": dry_run, "tables": summary}
    return CommandResult(metadata=facts, drawing="\n".join(lines))


def parse_tables(pairs: Iterable[str]) -> dict[str, str]:
    """Return the names of tables by their kinds, in the order in which they are put back; CommandError."""
    named = {kind: name for kind, _, name in (pair.partition("=") for pair in pairs)}
    if wrong := [kind for kind, name in named.items() if kind not in TABLES or not name]:
        hint = f"Write e.g. --table directory=mcpist-Directory-restored; the kinds are {', '.join(TABLES)}."
        raise CommandError("VALIDATION_ERROR", f"{wrong[0]} does not name a restored table.", hint)
    return {kind: named[kind] for kind in TABLES if kind in named}


def compare(organization: str, kind: str, copy: Table) -> TableDifference:
    """Compare a table with its copy; what has expired meanwhile counts for nothing."""
    now = time.time()
    held = {key_of(item): item for item in holdings.items_of(organization, kind)}
    copied = {
        key_of(item): item
        for item in copy.scan()
        if holdings.organization_of(kind, item) == organization and item.get("expires_at", now) >= now
    }
    return TableDifference(
        missing=[item for key, item in copied.items() if key not in held],
        changed=[item for key, item in copied.items() if key in held and item != held[key]],
        newer=sorted(held.keys() - copied.keys()),
    )


def restore(organization: str, differences: Mapping[str, TableDifference]) -> None:
    """Write what is missing, and in the directory also what has changed; each table leaves a row of the audit."""
    for kind, found in differences.items():
        items = found.missing + (found.changed if kind == REPLACED else [])
        if kind == REPLACED:
            items = members_last(map(_with_next_version, items))
        if items:
            holdings.tables()[kind].put_many(items)
            record(organization, RESTORE, {"items": {kind: len(items)}})


def key_of(item: Item) -> Key:
    """Return the keys of an item."""
    return str(item["pk"]), str(item["sk"])


def _with_next_version(item: Item) -> Item:
    """Return an organization's item with a version that nobody has seen, so that no change made meanwhile fits it."""
    if item["sk"] != ORGANIZATION_ITEM or "version" not in item:
        return item
    held = holdings.tables()[REPLACED].get(*key_of(item)) or item
    return item | {"version": max(int(item["version"]), int(held.get("version", 0))) + 1}
