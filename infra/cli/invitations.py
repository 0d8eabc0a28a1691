"""`mcpist user invite`, `invitations` and `withdraw`: links by which people join an organization."""

from datetime import UTC, datetime
from typing import Annotated, Literal

from typer import Argument, Option

from infra.cli.access import Access, with_access
from infra.cli.document import CommandResult
from infra.cli.options import given, items_of
from infra.cli.rest_client import part
from infra.cli.table import render_table

UserId = Annotated[str, Argument(metavar="ID", help="The id that the user gets.")]
_COLUMNS = ("user", "name", "roles", "invited by", "until (UTC)")


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


@with_access
def withdraw(access: Access, user_id: UserId) -> CommandResult:
    """Make the link of an invitation useless."""
    done = access.session().request("DELETE", f"/v1/invitations/{part(user_id)}")
    return CommandResult(metadata=done, drawing=f"The invitation of {user_id} works no more.")


def _moment(seconds: int) -> str:
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M}"
