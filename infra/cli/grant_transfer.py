"""`mcpist grant export` and `import`: accounts of an organization on their way to another stack, still sealed.

A line is one item of the table as DynamoDB has it, with bytes in base64. Nothing is opened: the seals are bound to
organization, owner, provider, field and version, and open only with the VaultKey that made them. So the new stack names
that key in FormerVaultKey until `mcpist grant reencrypt` has sealed all anew.
"""

import base64
import binascii
import json
import os
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any

from typer import Argument

from infra.cli.document import CommandError, CommandResult
from infra.cli.options import OrganizationOption, Target, text_of
from infra.cli.target import opened, organization_of
from infra.cli.whole_file import ONLY_OWNER
from mcpist.aws.attributes import Item, deserialize, serialize
from mcpist.aws.table import IS_NEW, Table, holds
from mcpist.people import holdings
from mcpist.people.administration import ConnectedAccount, NoAccounts

# A pending connection, a lease and a session end by themselves; only grants move.
OWNER_PREFIXES = ("user#", "role#")
# The items that name an owner's default account: stored before the accounts, so that none of these is overlooked.
DEFAULT_PREFIX = "default#"
ITEM_PREFIXES = (DEFAULT_PREFIX, *OWNER_PREFIXES)


@dataclass(frozen=True, slots=True)
class StoredAccounts(NoAccounts):
    """An organization's accounts as the operator sees them: in the table, since the broker answers people alone."""

    organization: str

    def find(self, owners: Collection[str]) -> list[ConnectedAccount]:
        """Return the accounts of these owners."""
        grants = filter(_is_grant, _items_of(self.organization))
        found = [ConnectedAccount(_provider(item), "#".join(item["sk"].split("#")[:2])) for item in grants]
        return [one for one in found if one.owner in owners]


def export_grants(
    target: Target,
    file: Annotated[str, Argument(metavar="FILE", help="The file to write; it must not exist.")],
    organization: OrganizationOption = None,
) -> CommandResult:
    """Write the organization's accounts, sealed, to a file for another stack."""
    with opened(target):
        name = organization_of(target, organization)
        # DynamoDB's bytes stand in {"B": ...}, which keeps them apart from texts once they are base64.
        items = sorted(_items_of(name), key=_is_grant)
    text = partial(json.dumps, sort_keys=True, default=lambda raw: base64.b64encode(raw).decode())
    count = sum(map(_is_grant, items))
    try:
        with open(file, "x", encoding="utf-8", opener=partial(os.open, mode=ONLY_OWNER)) as written:
            written.writelines(f"{text(serialize(item))}\n" for item in items)
    except OSError as error:
        raise CommandError("VALIDATION_ERROR", f"{file}: {error}", "Name a file that does not exist.") from None
    return CommandResult([file], {"organization": name, "grants": count}, drawing=f"{count} accounts: {file}")


def import_grants(
    target: Target,
    file: Annotated[str, Argument(metavar="FILE", help="A file as `export` writes it; - is standard input.")],
    organization: OrganizationOption = None,
) -> CommandResult:
    """Store the accounts of a file, unless the same owner has one of the same provider here."""
    stored, kept = 0, []
    with opened(target):
        name = organization_of(target, organization)
        for item in list(_items(text_of(file), name)):
            if holds(_table().put, item, condition=IS_NEW):
                stored += _is_grant(item)
            elif _is_grant(item):
                kept.append({"owner": item["sk"], "provider": _provider(item)})
    drawing = f"{stored} accounts stored, {len(kept)} kept as they were"
    return CommandResult(metadata={"organization": name, "stored": stored, "kept": kept}, drawing=drawing)


def _is_grant(item: Item) -> bool:
    return not str(item["sk"]).startswith(DEFAULT_PREFIX)


def _provider(item: Item) -> str:
    return str(item["pk"]).partition("#")[2]


def _table() -> Table:
    return holdings.tables()["grants"]


def _items_of(organization: str) -> Iterator[Item]:
    return (item for item in _table().scan(f"{organization}#") if item["sk"].startswith(ITEM_PREFIXES))


def _items(text: str, organization: str) -> Iterator[Item]:
    """Yield the items of a file; CommandError for a line that is no grant of the organization."""
    for number, line in enumerate(text.splitlines(), 1):
        try:
            item = deserialize(json.loads(line, object_hook=_with_bytes))
            is_own = item["pk"].startswith(f"{organization}#") and item["sk"].startswith(ITEM_PREFIXES)
        except (ValueError, TypeError, KeyError, AttributeError, binascii.Error):
            is_own = False
        if not is_own:
            message = f"Line {number} is no account of the organization {organization}."
            hint = "Give a file of `mcpist grant export`, and its organization with --organization."
            raise CommandError("VALIDATION_ERROR", message, hint, {"line": number})
        yield item


def _with_bytes(value: dict[str, Any]) -> dict[str, Any]:
    """Return a part of an item, its base64 as bytes again."""
    match value:
        case {"B": str(text)}:
            return {"B": base64.b64decode(text, validate=True)}
    return value
