"""Shared by `mcpist org`, `user` and `role`: the organization that is meant, its change, and the result's facts."""

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Annotated, Any

from typer import Option

from infra.cli.document import CommandError, CommandResult
from infra.cli.options import Target
from infra.cli.organization_yaml import dump
from infra.cli.target import opened
from mcpist.aws.table import Table
from mcpist.people import directory
from mcpist.people.administration import Administration, AppliedChange, ConnectedAccount, operator
from mcpist.settings import settings
from mcpist.tools.effects import describe_change
from mcpist_services.catalogue import CATALOGUE

OrgOption = Annotated[
    str | None, Option("--org", "--organization", metavar="ORG", help="[default: the only organization]")
]


@contextmanager
def organization_in(target: Target, named: str | None) -> Iterator[str]:
    """Point core at a stack's directory and yield the organization that is named, or else the only one."""
    with opened(target):
        yield named or _only_organization()


def administration(organization: str) -> Administration:
    """Return the administration of an organization with the rights that AWS gives."""
    return Administration(operator(organization), "", StoredAccounts(organization))


def to_report(applied: AppliedChange) -> CommandResult:
    """Return what a change does, or with a dry run what it would do."""
    return to_result(describe_change(applied, CATALOGUE))


def to_result(facts: dict[str, Any]) -> CommandResult:
    """Return facts as JSON for programs and as YAML for a terminal."""
    return CommandResult(metadata=facts, drawing=dump(facts).rstrip())


@dataclass(frozen=True, slots=True)
class StoredAccounts:
    """The accounts in the table `Grants`, of which only the keys are read: the sealed tokens stay with the broker."""

    organization: str

    def find(self, owners: Collection[str]) -> list[ConnectedAccount]:
        """Return the accounts of these owners; the table is scanned, since upstream servers are services, too."""
        prefix = f"{self.organization}#"
        keys = self._table.scan(prefix, keys_only=True)
        return [ConnectedAccount(key["pk"].removeprefix(prefix), key["sk"]) for key in keys if key["sk"] in owners]

    def revoke(self, owners: Collection[str]) -> None:
        """Delete the accounts of these owners."""
        for account in self.find(owners):
            self._table.delete(f"{self.organization}#{account.service}", account.owner)

    @property
    def _table(self) -> Table:
        return Table(settings().grants_table, "grants")


def _only_organization() -> str:
    known = directory.organizations()
    if len(known) == 1:
        return known[0]
    message = f"Which organization? There are {', '.join(known)}." if known else "There is no organization."
    hint = "Name one: mcpist org show ORG, or --org ORG." if known else "Create one: mcpist org create ORG --name NAME."
    raise CommandError("VALIDATION_ERROR", message, hint)
