"""`mcpist role`: permission patterns, and what they let people see."""

import argparse
from dataclasses import replace
from typing import Any

from infra.cli.administration import edit_organization, organization_of, to_result
from infra.cli.document import CommandResult
from infra.cli.effects import preview_tools
from mcpist.caller import Role
from mcpist.errors import InvalidRequest
from mcpist.people import directory
from mcpist.people.organization import Organization

FIELDS = ("modules", "allow", "deny", "destructive")


def role(options: argparse.Namespace) -> CommandResult:
    """What the action brings."""
    with organization_of(options) as organization:
        match options.action:
            case "list":
                found = directory.read(organization)
                rows = [_row(found, one) for one in found.roles.values()]
                return to_result({"organization": organization, "roles": rows})
            case "show":
                found = directory.read(organization)
                return to_result({"organization": organization, **_row(found, found.role(options.id))})
            case "preview":
                found = directory.read(organization)
                preview = preview_tools(found, found.role(options.id), tools=options.tools)
                return to_result({"organization": organization, "role": options.id, **preview})
            case "remove":
                return edit_organization(options, organization, lambda before: before.without_role(options.id))
            case _:
                return edit_organization(options, organization, lambda before: before.with_role(_role(before, options)))


def _role(before: Organization, options: argparse.Namespace) -> Role:
    """The role as it shall be: a new one, or the present one with what was named."""
    given = {name: value for name, value in vars(options).items() if name in FIELDS}
    if options.action == "set":
        return replace(before.role(options.id), **given)
    if options.id in before.roles:
        raise InvalidRequest(field="role", problem=f'there is a role "{options.id}" already')
    return Role(options.id, **given)


def _row(organization: Organization, role: Role) -> dict[str, Any]:
    return {**role.as_item(), "users": list(organization.users_with_role(role.name))}
