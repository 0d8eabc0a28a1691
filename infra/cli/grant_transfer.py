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
from mcpist.aws.clients import client
from mcpist.people.administration import ConnectedAccount, NoAccounts
from mcpist.settings import settings

# A pending connection, a lease and a session end by themselves; only grants move.
OWNER_PREFIXES = ("user#", "role#")
# The items that name an owner's default account: stored before the accounts, so that none of these is overlooked.
DEFAULT_PREFIX = "default#"
ITEM_PREFIXES = (DEFAULT_PREFIX, *OWNER_PREFIXES)

type Item = dict[str, dict[str, Any]]


@dataclass(frozen=True, slots=True)
class StoredAccounts(NoAccounts):
    """An organization's accounts as the operator sees them: in the table, since the broker answers people alone."""

    organization: str

    def find(self, owners: Collection[str]) -> list[ConnectedAccount]:
        """Return the accounts of these owners."""
        found = ((item, "#".join(item["sk"]["S"].split("#")[:2])) for item in _items_of(self.organization))
        return [
            ConnectedAccount(item["pk"]["S"].partition("#")[2], owner)
            for item, owner in found
            if _is_grant(item) and owner in owners
        ]


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
    lines = [json.dumps(item, sort_keys=True, default=lambda raw: base64.b64encode(raw).decode()) for item in items]
    count = sum(map(_is_grant, items))
    try:
        with open(file, "x", encoding="utf-8", opener=partial(os.open, mode=ONLY_OWNER)) as written:
            written.writelines(f"{line}\n" for line in lines)
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
            if _put(item):
                stored += _is_grant(item)
            elif _is_grant(item):
                kept.append({"owner": item["sk"]["S"], "provider": item["pk"]["S"].partition("#")[2]})
    drawing = f"{stored} accounts stored, {len(kept)} kept as they were"
    return CommandResult(metadata={"organization": name, "stored": stored, "kept": kept}, drawing=drawing)


def _is_grant(item: Item) -> bool:
    return not item["sk"]["S"].startswith(DEFAULT_PREFIX)


def _items_of(organization: str) -> Iterator[Item]:
    pages = client("dynamodb").get_paginator("scan")
    for page in pages.paginate(TableName=settings().grants_table, ConsistentRead=True):
        for item in page["Items"]:
            if item["pk"]["S"].startswith(f"{organization}#") and item["sk"]["S"].startswith(ITEM_PREFIXES):
                yield item


def _items(text: str, organization: str) -> Iterator[Item]:
    """Yield the items of a file; CommandError for a line that is no grant of the organization."""
    for number, line in enumerate(text.splitlines(), 1):
        try:
            item = json.loads(line, object_hook=_with_bytes)
            pk, sk = item["pk"]["S"], item["sk"]["S"]
        except (ValueError, TypeError, KeyError, AttributeError, binascii.Error):
            pk = sk = ""
        if not (pk.startswith(f"{organization}#") and sk.startswith(ITEM_PREFIXES)):
            message = f"Line {number} is no account of the organization {organization}."
            hint = "Give a file of `mcpist grant export`, and its organization with --organization."
            raise CommandError("VALIDATION_ERROR", message, hint, {"line": number})
        yield item


def _put(item: Item) -> bool:
    """Store a grant and return True, unless there is one."""
    dynamodb = client("dynamodb")
    try:
        dynamodb.put_item(TableName=settings().grants_table, Item=item, ConditionExpression="attribute_not_exists(pk)")
    except dynamodb.exceptions.ConditionalCheckFailedException:
        return False
    return True


def _with_bytes(value: dict[str, Any]) -> dict[str, Any]:
    """Return a part of an item, its base64 as bytes again."""
    match value:
        case {"B": str(text)}:
            return {"B": base64.b64decode(text, validate=True)}
    return value
