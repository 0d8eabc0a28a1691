"""`mcpist role`: permissions, and the tools that they let people see."""

from dataclasses import dataclass
from typing import Annotated

from typer import Argument, Option

from infra.cli.options import MASKS, Items, command_group, items
from infra.cli.rest_commands import changes, creates, previews, removes, shows, shows_all

ID = Argument(metavar="ID", help="The role's id.")


@dataclass(frozen=True, slots=True, kw_only=True)
class RoleFields:
    """The fields of a role; those that are not named stay as they are."""

    modules: Annotated[Items | None, items("The role's modules, separated by commas.")] = None
    allow: Annotated[Items | None, items(f"More than the tools that read and reveal no secret: {MASKS}.")] = None
    deny: Annotated[Items | None, items(f"Tools that the role never has: {MASKS}.")] = None
    destructive: Annotated[
        bool | None, Option("--destructive/--no-destructive", help="Allow tools that destroy, if --allow names them.")
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NewRole(RoleFields):
    """The fields of a role, and its id."""

    name: Annotated[str, ID]


role = command_group()
role.command("list", help="List the roles.")(shows_all("/v1/roles"))
role.command("create", help="Add a role.")(creates("/v1/roles", NewRole))
role.command("set", help="Change a role: only what is named changes.")(changes("/v1/roles", ID, RoleFields))
role.command("show", help="Show a role and the users who have it.")(shows("/v1/roles", ID))
role.command("preview", help="Show the tools that a user with only this role sees.")(previews("role", ID))
role.command("remove", help="Remove a role that no user has.")(removes("/v1/roles", ID))
