"""`mcpist user`: the people of an organization, the tools that they see, and the links by which people join."""

from datetime import UTC, datetime
from typing import Annotated, Literal

from typer import Argument, Option

from infra.cli.document import CommandResult
from infra.cli.options import DryRun, WithGrants, command_group, given, items_of
from infra.cli.organization_yaml import to_preview, to_result
from infra.cli.rest_client import Access, part, with_access
from infra.cli.table import render_table

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
_COLUMNS = ("user", "name", "roles", "invited by", "until (UTC)")


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


@user.command("invite")
@with_access
def invite(
    access: Access,
    user_id: UserId,
    name: Annotated[str | None, Option(metavar="NAME", help="The user's name, for people.")] = None,
    roles: Annotated[str | None, Option(metavar="A,B", help="The roles, in the order in which they count.")] = None,
    locale: Annotated[Literal["en", "ja"] | None, Option(help="Language of errors. [default: en]")] = None,
    days: Annotated[
        int | None, Option(metavar="DAYS", help="How long the link works, 30 at most. [default: 7]")
    ] = None,
) -> CommandResult:
    """Make a link: the first person who signs in by it is the user. It is shown only now."""
    body = {"user": user_id, **given(name=name, roles=items_of(roles), locale=locale, days=days)}
    made = access.session().request("POST", "/v1/invitations", json=body)
    return CommandResult(metadata=made, drawing=f"Send this link to {user_id} alone:\n{made['link']}")


@user.command("invitations")
@with_access
def list_invitations(access: Access) -> CommandResult:
    """List the invitations that nobody has used yet."""
    found = access.session().get("/v1/invitations")["invitations"]
    rows = [
        (one["user"], one["name"], ", ".join(one["roles"]), one["invited_by"], _moment(one["expires_at"]))
        for one in found
    ]
    table = render_table(_COLUMNS, rows)
    return CommandResult(metadata={"invitations": found}, drawing=table if rows else "No invitation waits.")


@user.command("withdraw")
@with_access
def withdraw(access: Access, user_id: UserId) -> CommandResult:
    """Make the link of an invitation useless."""
    done = access.session().request("DELETE", f"/v1/invitations/{part(user_id)}")
    return CommandResult(metadata=done, drawing=f"The invitation of {user_id} works no more.")


def _moment(seconds: int) -> str:
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M}"
