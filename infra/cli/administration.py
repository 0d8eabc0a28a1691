"""What the commands of administration share: which organization, how a change is made, and what is said of it."""

import argparse
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from infra.cli.account import stack
from infra.cli.document import CommandError, CommandResult
from infra.cli.effects import changes, effects, unmatched_patterns
from infra.cli.organization_yaml import dump, plain
from mcpist.aws import clients
from mcpist.aws.table import Table
from mcpist.errors import GrantsRemain
from mcpist.people import directory
from mcpist.people.organization import Change, Organization
from mcpist.settings import settings

type Make = Callable[[bool], Change]


@contextmanager
def organization_of(options: argparse.Namespace) -> Iterator[str]:
    """The organization that a command means, while core is pointed at its directory."""
    with stack(options.stack, options.profile, options.region):
        yield getattr(options, "organization", None) or _only_organization()


def edit_organization(options: argparse.Namespace, organization: str, edit: directory.Edit) -> CommandResult:
    """Change an organization and say what that did, or with --dry-run what it would."""
    return apply_change(options, lambda dry_run: directory.change(organization, edit, dry_run=dry_run))


def apply_change(options: argparse.Namespace, make: Make) -> CommandResult:
    """Make a change and say what that did, or with --dry-run what it would; `make` is told whether to rehearse.

    GrantsRemain where accounts are connected for what it removes, unless these are to be forgotten, too.
    """
    rehearsed = make(True)
    grants = orphaned_grants(rehearsed)
    if grants and not options.with_grants:
        services = ", ".join(sorted({service for service, _ in grants}))
        name = ", ".join(sorted({owner.replace("#", " ", 1) for _, owner in grants}))
        raise GrantsRemain(field="grants", name=name, services=services)
    if options.dry_run:
        return to_result(_facts(rehearsed, dry_run=True, grants=grants))
    # First the grants: what breaks off in between is repeated, while a user who is gone could not be named again.
    for service, owner in grants:
        Table(settings().grants_table, "grants").delete(f"{rehearsed.before.id}#{service}", owner)
    return to_result(_facts(make(False), dry_run=False, grants=grants))


def to_result(facts: dict[str, Any]) -> CommandResult:
    """Facts for programs, and for people who read at a terminal."""
    return CommandResult(metadata=facts, drawing=dump(facts).rstrip())


def orphaned_grants(change: Change) -> list[tuple[str, str]]:
    """The service and owner of each grant that a change would leave without its user or role."""
    users, roles = (set(getattr(change.before, kind)) - set(getattr(change.after, kind)) for kind in ("users", "roles"))
    owners = {*(f"user#{user}" for user in users), *(f"role#{role}" for role in roles)}
    if not owners:
        return []
    # Which services there are, upstream servers among them, no key tells: so the table is read, but no token of it.
    prefix = f"{change.before.id}#"
    with clients.store_errors("grants"):
        pages = clients.client("dynamodb").get_paginator("scan")
        asked = {"FilterExpression": "begins_with(pk, :prefix)", "ProjectionExpression": "pk, sk"}
        values = {":prefix": {"S": prefix}}
        found = pages.paginate(TableName=settings().grants_table, ExpressionAttributeValues=values, **asked)
        items = [item for page in found for item in page["Items"] if item["sk"]["S"] in owners]
    return [(item["pk"]["S"].removeprefix(prefix), item["sk"]["S"]) for item in items]


def _facts(change: Change, *, dry_run: bool, grants: list[tuple[str, str]]) -> dict[str, Any]:
    """What a change does; warnings are of what it brings."""
    before, after = change.before, change.after
    known = unmatched_patterns(before)
    return {
        "organization": after.id,
        "dry_run": dry_run,
        "changes": list(changes(_parts(before), _parts(after))),
        "effects": effects(before, after),
        "forgotten_grants": [f"{service} of {owner.replace('#', ' ', 1)}" for service, owner in grants],
        "warnings": [doubt for doubt in unmatched_patterns(after) if doubt not in known],
    }


def _parts(organization: Organization) -> dict[str, Any]:
    parts = plain(organization)
    del parts["organization"]
    return parts


def _only_organization() -> str:
    """The only organization that there is."""
    known = directory.organizations()
    if len(known) == 1:
        return known[0]
    message = f"Which organization? There are {', '.join(known)}." if known else "There is no organization."
    hint = "Name one: mcpist org show ORG, or --org ORG." if known else "Create one: mcpist org create ORG --name NAME."
    raise CommandError({"code": "VALIDATION_ERROR", "message": message, "hint": hint})
