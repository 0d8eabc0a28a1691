"""`mcpist user`: the people of an organization, the tools that they see, and the links by which people join."""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Any, Literal

from typer import Argument, Option

from infra.cli.document import CommandResult
from infra.cli.options import Items, command_group, given, items
from infra.cli.rest_client import Access, part
from infra.cli.rest_commands import changes, creates, previews, removes, shows, shows_all
from infra.cli.table import render_table

ID = Argument(metavar="ID", help="The user's id.")
NAME = Option(metavar="NAME", help="The user's name, for people.")
SUB = Option(metavar="SUB", help="The user's `sub` at the issuer, as in access tokens.")
UserId = Annotated[str, ID]
UserLocale = Annotated[Literal["en", "ja"] | None, Option(help="Language of errors. [default: en]")]


@dataclass(frozen=True, slots=True, kw_only=True)
class UserFields:
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
class NewUser(UserFields):
    """The fields of a new user, of which three have no default."""

    user: UserId
    name: Annotated[str, NAME]
    sub: Annotated[str, SUB]


user = command_group()
user.command("list", help="List the users.")(shows_all("/v1/users"))
user.command("create", help="Add a user.")(creates("/v1/users", NewUser))
user.command("set", help="Change a user: only what is named changes.")(changes("/v1/users", ID, UserFields))
user.command("show", help="Show a user.")(shows("/v1/users", ID))
user.command("preview", help="Show the tools that a user sees.")(previews("user", ID))
user.command("remove", help="Remove a user.")(removes("/v1/users", ID))


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
    found = access.session().get("/v1/invitations")["invitations"]
    rows = [(one["user"], one["name"], ", ".join(one["roles"]), one["invited_by"], _end(one)) for one in found]
    table = render_table(("user", "name", "roles", "invited by", "until (UTC)"), rows)
    return CommandResult(metadata={"invitations": found}, drawing=table if rows else "No invitation waits.")


def _end(invitation: dict[str, Any]) -> str:
    return f"{datetime.fromtimestamp(invitation['expires_at'], UTC):%Y-%m-%d %H:%M}"


@user.command("withdraw")
def withdraw(access: Access, user_id: UserId) -> CommandResult:
    """Make the link of an invitation useless."""
    done = access.session().request("DELETE", f"/v1/invitations/{part(user_id)}")
    return CommandResult(metadata=done, drawing=f"The invitation of {user_id} works no more.")
