"""`mcpist role`: permissions, and the tools that they let people see."""

from typing import Annotated, Any

from typer import Argument, Option

from infra.cli.administration import OrgOption, administration, organization_in, to_report, to_result
from infra.cli.document import CommandResult
from infra.cli.options import MASKS, DryRun, Target, WithGrants, command_group, given, items_of, with_target
from mcpist.aws.codec import encode
from mcpist.caller import Role
from mcpist.people import directory, edits
from mcpist.people.administration import ChangeOptions
from mcpist.people.organization import Organization
from mcpist.tools.effects import preview_tools
from mcpist_services.catalogue import CATALOGUE

RoleId = Annotated[str, Argument(metavar="ID", help="The role's id.")]
Modules = Annotated[str | None, Option(metavar="A,B", help="The role's modules, separated by commas.")]
Allow = Annotated[
    str | None, Option(metavar="A,B", help=f"More than the tools that read and reveal no secret: {MASKS}.")
]
Deny = Annotated[str | None, Option(metavar="A,B", help=f"Tools that the role never has: {MASKS}.")]
Destructive = Annotated[
    bool | None, Option("--destructive/--no-destructive", help="Allow tools that destroy, if --allow names them.")
]

role = command_group()


@role.command("list")
@with_target
def list_roles(target: Target, organization: OrgOption = None) -> CommandResult:
    """List the roles."""
    with organization_in(target, organization) as name:
        found = directory.read(name)
    return to_result({"organization": name, "roles": [_row(found, role) for role in found.roles.values()]})


@role.command("create")
@with_target
def create_role(
    target: Target,
    role_id: RoleId,
    modules: Modules = None,
    allow: Allow = None,
    deny: Deny = None,
    destructive: Destructive = None,
    dry_run: DryRun = False,
    organization: OrgOption = None,
) -> CommandResult:
    """Add a role."""
    edit = edits.add_role(role_id, **_fields(modules, allow, deny, destructive))
    with organization_in(target, organization) as name:
        options = ChangeOptions(dry_run=dry_run)
        return to_report(administration(name).change("roles.create", f"roles.{role_id}", edit, options))


@role.command("set")
@with_target
def change_role(
    target: Target,
    role_id: RoleId,
    modules: Modules = None,
    allow: Allow = None,
    deny: Deny = None,
    destructive: Destructive = None,
    dry_run: DryRun = False,
    organization: OrgOption = None,
) -> CommandResult:
    """Change a role: only what is named changes."""
    edit = edits.change_role(role_id, **_fields(modules, allow, deny, destructive))
    with organization_in(target, organization) as name:
        options = ChangeOptions(dry_run=dry_run)
        return to_report(administration(name).change("roles.update", f"roles.{role_id}", edit, options))


@role.command("show")
@with_target
def show_role(target: Target, role_id: RoleId, organization: OrgOption = None) -> CommandResult:
    """Show a role and the users who have it."""
    with organization_in(target, organization) as name:
        found = directory.read(name)
    return to_result({"organization": name, **_row(found, found.role(role_id))})


@role.command("preview")
@with_target
def preview_role(
    target: Target,
    role_id: RoleId,
    tools: Annotated[bool, Option("--tools", help="Name every tool.")] = False,
    organization: OrgOption = None,
) -> CommandResult:
    """Show the tools that a user with only this role sees."""
    with organization_in(target, organization) as name:
        found = directory.read(name)
    return to_result(
        {"organization": name, "role": role_id, **preview_tools(found, CATALOGUE, found.role(role_id), tools=tools)}
    )


@role.command("remove")
@with_target
def remove_role(
    target: Target,
    role_id: RoleId,
    dry_run: DryRun = False,
    with_grants: WithGrants = False,
    organization: OrgOption = None,
) -> CommandResult:
    """Remove a role that no user has."""
    with organization_in(target, organization) as name:
        options = ChangeOptions(dry_run=dry_run, with_grants=with_grants)
        edit = edits.remove_role(role_id)
        return to_report(administration(name).change("roles.delete", f"roles.{role_id}", edit, options))


def _fields(modules: str | None, allow: str | None, deny: str | None, destructive: bool | None) -> dict[str, Any]:
    """Return the fields of a role that the command line names."""
    return given(modules=items_of(modules), allow=items_of(allow), deny=items_of(deny), destructive=destructive)


def _row(organization: Organization, role: Role) -> dict[str, Any]:
    return {**encode(role), "users": list(organization.users_with_role(role.name))}
