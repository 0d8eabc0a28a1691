"""Shared by `mcpist org`, `user` and `role`: facts as JSON and YAML, and what is done with rights in AWS."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

from infra.cli.document import CommandResult
from infra.cli.organization_yaml import dump
from infra.cli.table import render_table
from mcpist.people.administration import Administration, AppliedChange, ChangeOptions, operator
from mcpist.people.organization import Organization, User
from mcpist.running.connected_accounts import BrokerAccounts

MAX_SHOWN_TOOLS = 10  # of those that a change gives or takes; of more a terminal shows their modules


def to_result(facts: dict[str, Any]) -> CommandResult:
    """Return facts as JSON for programs and as YAML for a terminal."""
    effects = [_shortened(one) for one in facts.get("effects") or ()]
    shown = {**facts, "effects": effects} if effects else facts
    return CommandResult(metadata=facts, drawing=dump(shown).rstrip())


def to_preview(facts: dict[str, Any]) -> CommandResult:
    """Return the tools of each module that somebody sees, for a terminal as a table where they are not named."""
    if any(module["names"] for module in facts["modules"]):
        return to_result(facts)
    rows = [(one["module"], f"{one['tools']} of {one['of']}") for one in facts["modules"]]
    return CommandResult(metadata=facts, drawing=render_table(("module", "tools"), rows))


def _shortened(effect: dict[str, Any]) -> dict[str, Any]:
    """Return an effect with the numbers of tools by module in place of long lists."""
    return {
        name: [f"{module}: {number} tools" for module, number in Counter(_modules(tools)).items()]
        if name in {"appear", "vanish"} and len(tools) > MAX_SHOWN_TOOLS
        else tools
        for name, tools in effect.items()
    }


def _modules(tools: Iterable[str]) -> Iterator[str]:
    return (name.rpartition(".")[0] for name in tools)


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
