"""`mcpist role`: permissions, and the tools that they let people see."""

from dataclasses import dataclass
from typing import Annotated, Any

from typer import Argument, Option

from infra.cli.document import CommandResult
from infra.cli.options import MASKS, DryRun, command_group, given, items_of
from infra.cli.organization_yaml import to_result
from infra.cli.rest_client import Access, part
from infra.cli.rest_commands import previews, removes, shows, shows_all

ID = Argument(metavar="ID", help="The role's id.")

role = command_group()


@dataclass(frozen=True, slots=True)
class RoleOptions:
    """The fields of a role; those that are not named stay as they are."""

    modules: Annotated[str | None, Option(metavar="A,B", help="The role's modules, separated by commas.")] = None
    allow: Annotated[
        str | None, Option(metavar="A,B", help=f"More than the tools that read and reveal no secret: {MASKS}.")
    ] = None
    deny: Annotated[str | None, Option(metavar="A,B", help=f"Tools that the role never has: {MASKS}.")] = None
    destructive: Annotated[
        bool | None, Option("--destructive/--no-destructive", help="Allow tools that destroy, if --allow names them.")
    ] = None

    def named(self) -> dict[str, Any]:
        """Return the fields that the command line names."""
        lists = {"modules": items_of(self.modules), "allow": items_of(self.allow), "deny": items_of(self.deny)}
        return given(**lists, destructive=self.destructive)


role.command("list", help="List the roles.")(shows_all("/v1/roles"))


@role.command("create")
def create_role(
    access: Access, role_id: Annotated[str, ID], options: RoleOptions, dry_run: DryRun = False
) -> CommandResult:
    """Add a role."""
    body = {"name": role_id, **options.named()}
    return to_result(access.session().change("POST", "/v1/roles", body, dry_run=dry_run))


@role.command("set")
def change_role(
    access: Access, role_id: Annotated[str, ID], options: RoleOptions, dry_run: DryRun = False
) -> CommandResult:
    """Change a role: only what is named changes."""
    return to_result(access.session().change("PATCH", f"/v1/roles/{part(role_id)}", options.named(), dry_run=dry_run))


role.command("show", help="Show a role and the users who have it.")(shows("/v1/roles", ID))
role.command("preview", help="Show the tools that a user with only this role sees.")(previews("role", ID))
role.command("remove", help="Remove a role that no user has.")(removes("/v1/roles", ID))
