"""`mcpist user`: the people of an organization, and the tools that they see."""

from typing import Annotated, Literal

from typer import Argument, Option

from infra.cli.access import Access, with_access
from infra.cli.administration import to_preview, to_result
from infra.cli.document import CommandResult
from infra.cli.invitations import invite, list_invitations, withdraw
from infra.cli.options import DryRun, WithGrants, command_group, given, items_of
from infra.cli.rest_client import part

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
user.command("invite")(invite)
user.command("invitations")(list_invitations)
user.command("withdraw")(withdraw)


@user.command("list")
@with_access
def list_users(access: Access) -> CommandResult:
    """List the users."""
    return to_result(access.session().get("/v1/users"))


@user.command("create")
@with_access
def create_user(
    access: Access,
    user_id: UserId,
    name: Annotated[str, NAME],
    sub: Annotated[str, SUB],
    issuer: Issuer = None,
    system_role: SystemRole = None,
    roles: Roles = None,
    locale: UserLocale = None,
    dry_run: DryRun = False,
) -> CommandResult:
    """Add a user."""
    fields = given(issuer=issuer, system_role=system_role, roles=items_of(roles), locale=locale)
    body = {"user": user_id, "name": name, "sub": sub, **fields}
    return to_result(access.session().change("POST", "/v1/users", body, dry_run=dry_run))


@user.command("set")
@with_access
def change_user(
    access: Access,
    user_id: UserId,
    name: Annotated[str | None, NAME] = None,
    sub: Annotated[str | None, SUB] = None,
    issuer: Issuer = None,
    system_role: SystemRole = None,
    roles: Roles = None,
    locale: UserLocale = None,
    dry_run: DryRun = False,
) -> CommandResult:
    """Change a user: only what is named changes."""
    body = given(name=name, sub=sub, issuer=issuer, system_role=system_role, roles=items_of(roles), locale=locale)
    return to_result(access.session().change("PATCH", f"/v1/users/{part(user_id)}", body, dry_run=dry_run))


@user.command("show")
@with_access
def show_user(access: Access, user_id: UserId) -> CommandResult:
    """Show a user."""
    return to_result(access.session().get(f"/v1/users/{part(user_id)}"))


@user.command("preview")
@with_access
def preview_user(
    access: Access, user_id: UserId, tools: Annotated[bool, Option("--tools", help="Name every tool.")] = False
) -> CommandResult:
    """Show the tools that a user sees."""
    preview = access.session().get(f"/v1/users/{part(user_id)}/preview", tools=tools)
    return to_preview({"user": user_id, **preview})


@user.command("remove")
@with_access
def remove_user(
    access: Access, user_id: UserId, dry_run: DryRun = False, with_grants: WithGrants = False
) -> CommandResult:
    """Remove a user."""
    path = f"/v1/users/{part(user_id)}"
    return to_result(access.session().change("DELETE", path, dry_run=dry_run, with_grants=with_grants))
