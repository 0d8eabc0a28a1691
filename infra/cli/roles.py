"""`mcpist role`: permissions, and the tools that they let people see."""

from typing import Annotated, Any

from typer import Argument, Option

from infra.cli.document import CommandResult
from infra.cli.options import MASKS, DryRun, WithGrants, command_group, given, items_of
from infra.cli.organization_yaml import to_preview, to_result
from infra.cli.rest_client import Access, part, with_access

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
@with_access
def list_roles(access: Access) -> CommandResult:
    """List the roles."""
    return to_result(access.session().get("/v1/roles"))


@role.command("create")
@with_access
def create_role(
    access: Access,
    role_id: RoleId,
    modules: Modules = None,
    allow: Allow = None,
    deny: Deny = None,
    destructive: Destructive = None,
    dry_run: DryRun = False,
) -> CommandResult:
    """Add a role."""
    body = {"name": role_id, **_fields(modules, allow, deny, destructive)}
    return to_result(access.session().change("POST", "/v1/roles", body, dry_run=dry_run))


@role.command("set")
@with_access
def change_role(
    access: Access,
    role_id: RoleId,
    modules: Modules = None,
    allow: Allow = None,
    deny: Deny = None,
    destructive: Destructive = None,
    dry_run: DryRun = False,
) -> CommandResult:
    """Change a role: only what is named changes."""
    body = _fields(modules, allow, deny, destructive)
    return to_result(access.session().change("PATCH", f"/v1/roles/{part(role_id)}", body, dry_run=dry_run))


@role.command("show")
@with_access
def show_role(access: Access, role_id: RoleId) -> CommandResult:
    """Show a role and the users who have it."""
    return to_result(access.session().get(f"/v1/roles/{part(role_id)}"))


@role.command("preview")
@with_access
def preview_role(
    access: Access, role_id: RoleId, tools: Annotated[bool, Option("--tools", help="Name every tool.")] = False
) -> CommandResult:
    """Show the tools that a user with only this role sees."""
    preview = access.session().get(f"/v1/roles/{part(role_id)}/preview", tools=tools)
    return to_preview({"role": role_id, **preview})


@role.command("remove")
@with_access
def remove_role(
    access: Access, role_id: RoleId, dry_run: DryRun = False, with_grants: WithGrants = False
) -> CommandResult:
    """Remove a role that no user has."""
    path = f"/v1/roles/{part(role_id)}"
    return to_result(access.session().change("DELETE", path, dry_run=dry_run, with_grants=with_grants))


def _fields(modules: str | None, allow: str | None, deny: str | None, destructive: bool | None) -> dict[str, Any]:
    """Return the fields of a role that the command line names."""
    return given(modules=items_of(modules), allow=items_of(allow), deny=items_of(deny), destructive=destructive)
