"""Shared by `mcpist org`, `user` and `role`: the organization that is meant, its change, and the result's facts."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any

from typer import Option

from infra.cli.document import CommandError, CommandResult
from infra.cli.effects import changes, effects, unmatched_patterns
from infra.cli.options import Target
from infra.cli.organization_yaml import dump, plain
from infra.cli.target import opened
from mcpist.people import directory
from mcpist.people.administration import ConnectedAccount, Make, apply_change
from mcpist.people.organization import Change, Organization

OrgOption = Annotated[
    str | None, Option("--org", "--organization", metavar="ORG", help="[default: the only organization]")
]


@contextmanager
def organization_in(target: Target, named: str | None) -> Iterator[str]:
    """Point core at a stack's directory and yield the organization that is named, or else the only one."""
    with opened(target):
        yield named or _only_organization()


def edit_organization(
    organization: str, edit: directory.Edit, *, dry_run: bool, with_grants: bool = False
) -> CommandResult:
    """Change an organization and report the change, or with `dry_run` what it would be."""
    return report_change(
        lambda rehearse: directory.change(organization, edit, dry_run=rehearse),
        dry_run=dry_run,
        with_grants=with_grants,
    )


def report_change(make: Make, *, dry_run: bool, with_grants: bool = False) -> CommandResult:
    """Make a change and report its effects, or with `dry_run` what they would be."""
    change, accounts = apply_change(make, dry_run=dry_run, forget_accounts=with_grants)
    return to_result(_facts(change, accounts, dry_run=dry_run))


def to_result(facts: dict[str, Any]) -> CommandResult:
    """Return facts as JSON for programs and as YAML for a terminal."""
    return CommandResult(metadata=facts, drawing=dump(facts).rstrip())


def _facts(change: Change, accounts: list[ConnectedAccount], *, dry_run: bool) -> dict[str, Any]:
    """Return the effects of a change; warnings are only those that it adds."""
    before, after = change.before, change.after
    known = unmatched_patterns(before)
    return {
        "organization": after.id,
        "dry_run": dry_run,
        "changes": list(changes(_parts(before), _parts(after))),
        "effects": effects(before, after),
        "forgotten_grants": [f"{account.service} of {account.owner_name}" for account in accounts],
        "warnings": [pattern for pattern in unmatched_patterns(after) if pattern not in known],
    }


def _parts(organization: Organization) -> dict[str, Any]:
    parts = plain(organization)
    del parts["organization"]
    return parts


def _only_organization() -> str:
    known = directory.organizations()
    if len(known) == 1:
        return known[0]
    message = f"Which organization? There are {', '.join(known)}." if known else "There is no organization."
    hint = "Name one: mcpist org show ORG, or --org ORG." if known else "Create one: mcpist org create ORG --name NAME."
    raise CommandError("VALIDATION_ERROR", message, hint)
