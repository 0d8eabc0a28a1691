"""`mcpist user`: the people of an organization, and the tools that they see."""

from typing import Annotated, Any, Literal

from typer import Argument, Option

from infra.cli.administration import OrgOption, administration, organization_in, to_report, to_result
from infra.cli.document import CommandResult
from infra.cli.options import DryRun, Target, WithGrants, command_group, given, items_of, with_target
from mcpist.people import directory, edits
from mcpist.people.administration import ChangeOptions
from mcpist.people.organization import User, user_fields
from mcpist.tools.effects import preview_tools
from mcpist_services.catalogue import CATALOGUE

UserId = Annotated[str, Argument(metavar="ID", help="The user's id.")]
NAME = Option(metavar="NAME", help="The user's name, for people.")
SUB = Option(metavar="SUB", help="The user's `sub` at the issuer, as in access tokens.")
Issuer = Annotated[
    str | None, Option(metavar="URL", help="The user's OIDC issuer. [default for a new user: that of all others]")
]
SystemRole = Annotated[
    Literal["admin", "user"] | None, Option(help="An admin administers the organization. [default: user]")
]
Roles = Annotated[str | None, Option(metavar="A,B", help="The user's roles, in the order in which they count.")]
UserLocale = Annotated[Literal["en", "ja"] | None, Option(help="Language of errors. [default: en]")]

user = command_group()


@user.command("list")
@with_target
def list_users(target: Target, organization: OrgOption = None) -> CommandResult:
    """List the users."""
    with organization_in(target, organization) as name:
        users = directory.read(name).users.values()
    return to_result({"organization": name, "users": [_row(user) for user in users]})


@user.command("create")
@with_target
def create_user(
    target: Target,
    user_id: UserId,
    name: Annotated[str, NAME],
    sub: Annotated[str, SUB],
    issuer: Issuer = None,
    system_role: SystemRole = None,
    roles: Roles = None,
    locale: UserLocale = None,
    dry_run: DryRun = False,
    organization: OrgOption = None,
) -> CommandResult:
    """Add a user."""
    fields = given(issuer=issuer, system_role=system_role, roles=items_of(roles), locale=locale)
    edit = edits.add_user(user_id, sub=sub, name=name, **fields)
    with organization_in(target, organization) as named:
        options = ChangeOptions(dry_run=dry_run)
        return to_report(administration(named).change("users.create", f"users.{user_id}", edit, options))


@user.command("set")
@with_target
def change_user(
    target: Target,
    user_id: UserId,
    name: Annotated[str | None, NAME] = None,
    sub: Annotated[str | None, SUB] = None,
    issuer: Issuer = None,
    system_role: SystemRole = None,
    roles: Roles = None,
    locale: UserLocale = None,
    dry_run: DryRun = False,
    organization: OrgOption = None,
) -> CommandResult:
    """Change a user: only what is named changes."""
    fields = given(name=name, sub=sub, issuer=issuer, system_role=system_role, roles=items_of(roles), locale=locale)
    edit = edits.change_user(user_id, **fields)
    with organization_in(target, organization) as named:
        options = ChangeOptions(dry_run=dry_run)
        return to_report(administration(named).change("users.update", f"users.{user_id}", edit, options))


@user.command("show")
@with_target
def show_user(target: Target, user_id: UserId, organization: OrgOption = None) -> CommandResult:
    """Show a user."""
    with organization_in(target, organization) as name:
        return to_result({"organization": name, **_row(directory.read(name).user(user_id))})


@user.command("preview")
@with_target
def preview_user(
    target: Target,
    user_id: UserId,
    tools: Annotated[bool, Option("--tools", help="Name every tool.")] = False,
    organization: OrgOption = None,
) -> CommandResult:
    """Show the tools that a user sees."""
    with organization_in(target, organization) as name:
        found = directory.read(name)
    roles = [found.roles[role] for role in found.user(user_id).roles]
    return to_result({"organization": name, "user": user_id, **preview_tools(found, CATALOGUE, *roles, tools=tools)})


@user.command("remove")
@with_target
def remove_user(
    target: Target,
    user_id: UserId,
    dry_run: DryRun = False,
    with_grants: WithGrants = False,
    organization: OrgOption = None,
) -> CommandResult:
    """Remove a user."""
    with organization_in(target, organization) as name:
        options = ChangeOptions(dry_run=dry_run, with_grants=with_grants)
        edit = edits.remove_user(user_id)
        return to_report(administration(name).change("users.delete", f"users.{user_id}", edit, options))


def _row(user: User) -> dict[str, Any]:
    return {"user": user.id, **user_fields(user)}
