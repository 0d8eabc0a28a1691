"""`mcpist org archive` and `org delete`: all that the stores have of an organization, with your rights in AWS."""

import hashlib
import json
import os
import shutil
import sys
from base64 import b64encode
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from typing import Annotated, Any
from zipfile import ZIP_DEFLATED, ZipFile
from zlib import error as NotPacked  # noqa: N812 - zlib has no other name for it

from typer import Argument, Option

from infra.cli.document import CommandError, CommandResult
from infra.cli.options import Target
from infra.cli.target import opened
from infra.cli.whole_file import ONLY_OWNER
from mcpist.audit import record as audit
from mcpist.aws.attributes import Item, unpack
from mcpist.aws.clients import ResourceMissing, client, store_errors
from mcpist.people import holdings
from mcpist.people.administration import operator
from mcpist.running.broker import ended_accounts
from mcpist.settings import settings

Org = Annotated[str, Argument(metavar="ORG", help="The organization's id.")]
# Attributes with secrets, sealed or hashed. A source's token is a part of the address that its service calls.
SECRETS = {
    *("client_secret", "former_secret", "permit", "sealed", "secret", "secret_hash", "token", "token_hash", "warrant"),
}
# Answers that are kept for a request that is sent again may show a secret that was shown once.
ANSWERS = "#idempotency"
# A request that had begun may write an item behind the first sweep.
MAX_SWEEPS = 2
DELETE, DELETED = "organization.delete", "organization.deleted"


def archive_organization(
    target: Target,
    organization: Org,
    file: Annotated[str, Argument(metavar="FILE", help="The zip file to write; it must not exist.")],
) -> CommandResult:
    """Write all that the stores have of an organization to a file, without secrets."""
    with opened(target):
        _check_exists(organization)
        try:
            with open(file, "xb", opener=partial(os.open, mode=ONLY_OWNER)) as written:
                counts = write_archive(organization, ZipFile(written, "w", ZIP_DEFLATED))
        except OSError as error:
            raise CommandError("VALIDATION_ERROR", f"{file}: {error}", "Name a file that does not exist.") from None
    facts = {"organization": organization, "archived": counts}
    return CommandResult([file], facts, drawing=f"{sum(counts.values())} items and files: {file}")


def delete_organization(
    target: Target,
    organization: Org,
    yes: Annotated[str, Option(metavar="ORG", help="Its id again, instead of typing it.")] = "",
) -> CommandResult:
    """Delete an organization with all that the stores have of it, and print what was removed."""
    with opened(target):
        _check_exists(organization)
        if not yes and sys.stdin.isatty():
            yes = input(f"All of {organization} will be deleted for ever. Type its id again: ")
        if yes != organization:
            hint = f"Pass --yes {organization}, and think of `mcpist org archive` before."
            raise CommandError("VALIDATION_ERROR", "Nothing was deleted: the id was not repeated.", hint)
        certificate = delete(organization)
    return CommandResult(metadata=certificate, drawing=json.dumps(certificate, ensure_ascii=False, indent=2))


def _check_exists(organization: str) -> None:
    # The head of an organization is the last item to be removed, so that an interrupted deletion can go on.
    if holdings.tables()["directory"].get("orgs", f"org#{organization}") is None:
        hint = "Name one of this stack by its id."
        raise CommandError("VALIDATION_ERROR", f"There is no organization {organization}.", hint)


# -- the archive ------------------------------------------------------------------------------------------


def write_archive(organization: str, archive: ZipFile) -> dict[str, int]:
    """Write each table as JSON Lines, and each object under its key; return their numbers."""
    counts: Counter[str] = Counter()
    with archive:
        for table in holdings.tables():
            items = (item for item in holdings.items_of(organization, table) if not item["pk"].endswith(ANSWERS))
            with archive.open(f"tables/{table}.jsonl", "w", force_zip64=True) as lines:
                for item in items:
                    lines.write(json.dumps(_shown(item, table), ensure_ascii=False, default=str).encode() + b"\n")
                    counts[table] += 1
        for key in _keys(organization, "list_objects_v2", "Contents"):
            body = client("s3").get_object(Bucket=settings().files_bucket, Key=key["Key"])["Body"]
            with archive.open(f"objects/{key['Key']}", "w", force_zip64=True) as content:
                shutil.copyfileobj(body, content)
            counts["objects"] += 1
    return dict(counts)


def _shown(item: Item, table: str) -> Item:
    """Return an item without secrets; of a source that has one in its key, the key's hash."""
    secret_key = {"sk": hashlib.sha256(item["sk"].encode()).hexdigest()} if "token" in item else {}
    shown: Item = _without_secrets(item | secret_key, sealed=table == "grants")
    return shown


def _without_secrets(value: Any, *, sealed: bool) -> Any:
    match value:
        case dict():
            kept = {name: one for name, one in value.items() if name not in SECRETS}
            # The broker stores nothing in bytes but what it has sealed.
            kept = {name: one for name, one in kept.items() if not (sealed and isinstance(one, bytes))}
            return {name: _without_secrets(one, sealed=sealed) for name, one in kept.items()}
        case list():
            return [_without_secrets(one, sealed=sealed) for one in value]
        case bytes():
            with suppress(NotPacked, ValueError):
                return _without_secrets(unpack(value), sealed=sealed)
            return b64encode(value).decode()
    return value


def _keys(organization: str, operation: str, *lists: str) -> Iterator[dict[str, Any]]:
    for prefix in holdings.prefixes_of(organization):
        for page in client("s3").get_paginator(operation).paginate(Bucket=settings().files_bucket, Prefix=prefix):
            for name in lists:
                yield from page.get(name, ())


# -- the deletion -----------------------------------------------------------------------------------------


def delete(organization: str) -> dict[str, Any]:
    """Remove people first, who can then do nothing more, then accounts and the rest; each part leaves a row.

    Return the certificate. An interrupted deletion goes on where it is repeated.
    """
    head, people = _directory_items(organization)
    for item in head:
        if item["sk"] == "org":
            # No directory of a company, no trusted issuer and no change that has begun adds people meanwhile.
            closed = {"trusted_issuers": [], "version": int(item.get("version", 0)) + 1}
            holdings.tables()["directory"].set(item["pk"], item["sk"], closed, remove=("directory",))
    _remove_people(organization, people)
    for answer in ended_accounts(organization):
        record(organization, DELETE, {"accounts": answer["killed"]})
        if answer["left"] and not answer["ended"]:
            hint = "Repeat the command: it goes on."
            raise CommandError("UPSTREAM_UNAVAILABLE", f"{answer['left']} accounts could not be ended.", hint)
    _remove_objects(organization)
    others = [table for table in holdings.tables() if table != "directory"]
    for _ in range(MAX_SWEEPS):
        for table in others:
            _remove_items(organization, table, list(holdings.items_of(organization, table)))
    _remove_items(organization, "directory", head)
    certificate = _certificate(organization)
    record(organization, DELETED, certificate)
    return certificate


def _directory_items(organization: str) -> tuple[list[Item], list[Item]]:
    """Return the items that the broker reads, with the entry by which an organization is known last, and all others."""
    items = list(holdings.items_of(organization, "directory"))
    head = [item for item in items if item["pk"] == "orgs" or _is_read_by_broker(item)]
    head.sort(key=lambda item: str(item["pk"]) == "orgs")
    return head, [item for item in items if item["pk"] != "orgs" and not _is_read_by_broker(item)]


def _is_read_by_broker(item: Item) -> bool:
    # The accounts of a registered module are revoked as its item says.
    return str(item["pk"]).startswith("org#") and str(item["sk"]).startswith(("org", "module#"))


def _remove_people(organization: str, items: list[Item]) -> None:
    """Remove a directory but its head; of people who are in no other organization also their logins."""
    directory = holdings.tables()["directory"]
    own = {(item["pk"], item["sk"]) for item in items}
    others: list[Item] = []
    for subject in {pk for pk, sk in own if pk.startswith("subject#") and holdings.MEMBERSHIP.fullmatch(sk)}:
        found = [item for item in directory.query(subject) if (item["pk"], item["sk"]) not in own]
        if not any(holdings.MEMBERSHIP.fullmatch(item["sk"]) for item in found):
            others += found
            _remove_logins(organization, subject)
    for item in items:
        if item["pk"] == "domains" and item.get("secret"):
            with suppress(ResourceMissing), store_errors("parameters"):
                client("ssm").delete_parameter(Name=f"{settings().login_secrets}/by/{item['secret']}")
    _remove_items(organization, "directory", others + members_last(items))


def members_last(items: Iterable[Item]) -> list[Item]:
    """Return items with people's memberships last, which lead to all others."""
    return sorted(items, key=lambda item: holdings.MEMBERSHIP.fullmatch(str(item["sk"])) is not None)


def _remove_logins(organization: str, subject: str) -> None:
    if logins := holdings.tables().get("logins"):
        _remove_items(organization, "logins", logins.query(f"person#{subject.removeprefix('subject#')}"))


def _remove_items(organization: str, table: str, items: list[Item]) -> None:
    if items:
        holdings.tables()[table].delete_many(items)
        record(organization, DELETE, {"items": {table: len(items)}})


def _remove_objects(organization: str) -> None:
    """Remove all versions of all objects."""
    removed: Counter[str] = Counter()
    for one in _keys(organization, "list_object_versions", "Versions", "DeleteMarkers"):
        client("s3").delete_object(Bucket=settings().files_bucket, Key=one["Key"], VersionId=one["VersionId"])
        removed[one["Key"].partition("/")[0]] += 1
    if removed:
        record(organization, DELETE, {"objects": removed})


def record(organization: str, action: str, facts: dict[str, Any]) -> None:
    """Write a row of what the operator does to an organization."""
    caller = operator(holdings.DELETIONS)
    audit.write_row(audit.administration_row(caller, "change", action, target=organization, request="", after=facts))


def _certificate(organization: str) -> dict[str, Any]:
    """Sum up the rows of all runs of this deletion: those since the last deletion that was completed."""
    partitions = audit.partitions_of(holdings.DELETIONS)
    found = [row for partition in partitions for row in audit.audit_table().query(partition)]
    rows = sorted((row for row in found if row["target"] == organization), key=lambda row: str(row["sk"]))
    ended = max((number for number, row in enumerate(rows, 1) if row["tool"] == DELETED), default=0)
    facts = [row["after"] for row in rows[ended:]]
    accounts = [account for one in facts for account in one.get("accounts", ())]
    return {
        "organization": organization,
        "completed_at": audit.timestamp(datetime.now(UTC)),
        "items": dict(sum((Counter(one.get("items", {})) for one in facts), Counter())),
        "objects": dict(sum((Counter(one.get("objects", {})) for one in facts), Counter())),
        "accounts": accounts,
        "unconfirmed": sorted({one["provider"] for one in accounts if one["at_provider"] != "revoked"}),
    }
