"""Shared by `mcpist org`, `user` and `role`: facts as JSON and YAML, and what is done with rights in AWS."""

from dataclasses import replace
from typing import Any

from infra.cli.document import CommandResult
from infra.cli.organization_yaml import dump
from mcpist.people.administration import Administration, AppliedChange, ChangeOptions, operator
from mcpist.people.organization import Organization, User
from mcpist.running.connected_accounts import BrokerAccounts


def to_result(facts: dict[str, Any]) -> CommandResult:
    """Return facts as JSON for programs and as YAML for a terminal."""
    return CommandResult(metadata=facts, drawing=dump(facts).rstrip())


def create(organization: str, name: str, administrator: User, *, dry_run: bool) -> AppliedChange:
    """Create an organization with its first administrator."""
    new = Organization(organization, name, users={administrator.id: administrator})
    return _administration(organization).create(new, dry_run=dry_run)


def restore_administrator(organization: str, administrator: User, *, dry_run: bool) -> AppliedChange:
    """Make a user of an existing organization, known or new, an administrator with this subject."""

    def edit(before: Organization) -> Organization:
        known = before.users.get(administrator.id, administrator)
        return before.with_user(replace(known, subject=administrator.subject, system_role="admin"))

    work, options = _administration(organization), ChangeOptions(dry_run=dry_run)
    return work.change("organization.restore", f"users.{administrator.id}", edit, options)


def _administration(organization: str) -> Administration:
    caller = operator(organization)
    return Administration(caller, "", BrokerAccounts(caller))
