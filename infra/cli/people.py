"""`mcpist user` and `mcpist role`: people, the links by which they join, and the permissions that they have."""

from dataclasses import dataclass
from typing import Annotated, Literal

from typer import Argument, Option

from infra.cli.document import CommandResult
from infra.cli.options import MASKS, Items, command_group, given, items
from infra.cli.rest_client import Access, part
from infra.cli.rest_commands import CHANGE, one_request, previews
from infra.cli.table import moment, render_table
from mcpist.caller import AnswerFormat

USER, ROLE = "/v1/users/{}", "/v1/roles/{}"
USER_ID = Argument(metavar="ID", help="The user's id.")
ROLE_ID = Argument(metavar="ID", help="The role's id.")
NAME = Option(metavar="NAME", help="The user's name, for people.")
SUB = Option(metavar="SUB", help="The user's `sub` at the issuer, as in access tokens.")
UserId = Annotated[str, USER_ID]
UserLocale = Annotated[Literal["en", "ja"] | None, Option(help="Language of errors. [default: en]")]


@dataclass(frozen=True, slots=True, kw_only=True)
class UserOptions:
    """The fields of a user; those that are not named stay as they are."""

    name: Annotated[str | None, NAME] = None
    sub: Annotated[str | None, SUB] = None
    issuer: Annotated[
        str | None, Option(metavar="URL", help="The user's OIDC issuer. [default for a new user: that of all others]")
    ] = None
    system_role: Annotated[
        Literal["admin", "user"] | None, Option(help="An admin administers the organization. [default: user]")
    ] = None
    roles: Annotated[Items | None, items("The user's roles, in the order in which they count.")] = None
    locale: UserLocale = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NewUserOptions(UserOptions):
    """The fields of a new user, of which three have no default."""

    user: UserId
    # A field that is declared again keeps its place, so both commands list their options in one order.
    name: Annotated[str, NAME]
    sub: Annotated[str, SUB]


user = command_group()
user.command("list", help="List the users.")(one_request("GET", "/v1/users", paged=True))
user.command("create", help="Add a user.")(one_request("POST", "/v1/users", None, "dry_run", fields=NewUserOptions))
user.command("set", help="Change a user: only what is named changes.")(
    one_request("PATCH", USER, USER_ID, "with_grants", "dry_run", fields=UserOptions)
)
user.command("show", help="Show a user.")(one_request("GET", USER, USER_ID))
user.command("preview", help="Show the tools that a user sees.")(previews("user", USER_ID))
user.command("remove", help="Remove a user.")(one_request("DELETE", USER, USER_ID, *CHANGE))


@user.command("invite")
def invite(
    access: Access,
    user_id: UserId,
    name: Annotated[str | None, NAME] = None,
    roles: Annotated[Items | None, items("The roles, in the order in which they count.")] = None,
    locale: UserLocale = None,
    days: Annotated[
        int | None, Option(metavar="DAYS", help="How long the link works, 30 at most. [default: 7]")
    ] = None,
) -> CommandResult:
    """Make a link: the first person who signs in by it is the user. It is shown only now."""
    body = given(user=user_id, name=name, roles=roles, locale=locale, days=days)
    made = access.session().request("POST", "/v1/invitations", json=body)
    return CommandResult(metadata=made, drawing=f"Send this link to {user_id} alone:\n{made['link']}")


@user.command("invitations")
def list_invitations(access: Access) -> CommandResult:
    """List the invitations that nobody has used yet."""
    found = access.session().everything("/v1/invitations")["invitations"]
    rows = [
        (one["user"], one["name"], ", ".join(one["roles"]), one["invited_by"], moment(one["expires_at"]))
        for one in found
    ]
    table = render_table(("user", "name", "roles", "invited by", "until (UTC)"), rows)
    return CommandResult(metadata={"invitations": found}, drawing=table if rows else "No invitation waits.")


@user.command("withdraw")
def withdraw(access: Access, user_id: UserId) -> CommandResult:
    """Make the link of an invitation useless."""
    done = access.session().request("DELETE", f"/v1/invitations/{part(user_id)}")
    return CommandResult(metadata=done, drawing=f"The invitation of {user_id} works no more.")


@dataclass(frozen=True, slots=True, kw_only=True)
class RoleOptions:
    """The fields of a role; those that are not named stay as they are."""

    modules: Annotated[Items | None, items("The role's modules, separated by commas.")] = None
    allow: Annotated[Items | None, items(f"More than the tools that read and reveal no secret: {MASKS}.")] = None
    deny: Annotated[Items | None, items(f"Tools that the role never has: {MASKS}.")] = None
    destructive: Annotated[
        bool | None, Option("--destructive/--no-destructive", help="Allow tools that destroy, if --allow names them.")
    ] = None
    approval: Annotated[
        Items | None, items(f"Tools that destroy only after a person's approval in the console: {MASKS}.")
    ] = None
    second_person: Annotated[Items | None, items(f"Of these another person must approve: {MASKS}.")] = None
    format: Annotated[AnswerFormat | None, Option(help="The form of answers to the role's users.")] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NewRoleOptions(RoleOptions):
    """The fields of a role, and its id."""

    name: Annotated[str, ROLE_ID]


role = command_group()
role.command("list", help="List the roles.")(one_request("GET", "/v1/roles", paged=True))
role.command("create", help="Add a role.")(one_request("POST", "/v1/roles", None, "dry_run", fields=NewRoleOptions))
role.command("set", help="Change a role: only what is named changes.")(
    one_request("PATCH", ROLE, ROLE_ID, "dry_run", fields=RoleOptions)
)
role.command("show", help="Show a role and the users who have it.")(one_request("GET", ROLE, ROLE_ID))
role.command("preview", help="Show the tools that a user with only this role sees.")(previews("role", ROLE_ID))
role.command("remove", help="Remove a role that no user has.")(one_request("DELETE", ROLE, ROLE_ID, *CHANGE))
