"""`mcpist login` and `mcpist logout`."""

import sys
import webbrowser
from typing import Annotated

from typer import Option

from infra.cli import login_store, oauth_client
from infra.cli.document import CommandError, CommandResult
from infra.cli.options import chosen
from infra.cli.rest_client import RestSession, known_origin, origin_of

LoginUrl = Annotated[
    str | None, Option(metavar="URL", help="The endpoint's MCP URL. [default: the last `up`'s, else the last login's]")
]


def log_in(
    url: LoginUrl = None,
    client_id: Annotated[str, Option(metavar="ID", help="The client at the issuer. [default: registers itself]")] = "",
    port: Annotated[int, Option(metavar="PORT", help="The port to which the browser returns.")] = 0,
    open_page: Annotated[bool, Option("--browser/--no-browser", help="Open the page in a browser.")] = True,
) -> CommandResult:
    """Log in with a browser; the other commands then act as this person."""

    def show(page: str) -> None:
        print(f"Log in here: {page}", file=sys.stderr, flush=True)
        if open_page:
            webbrowser.open(page)

    hint = "Give --url: the URL of an endpoint, e.g. https://mcp.example.com/mcp."
    login = oauth_client.log_in(known_origin(chosen(url)[0], hint), client_id, port, show)
    login_store.save(login)
    memberships = RestSession(login.url, login=login).get("/v1/organizations")["organizations"]
    names = [f"{one['user']} of {one['organization']} ({one['system_role']})" for one in memberships]
    drawing = f"Logged in at {login.url} as {', '.join(names) or 'nobody that an organization knows'}."
    return CommandResult(metadata={"url": login.url, "organizations": memberships}, drawing=drawing)


def log_out(url: LoginUrl = None) -> CommandResult:
    """End a login: revoke its tokens and delete them here."""
    url, _ = chosen(url)
    login = login_store.find(origin_of(url) if url else None)
    if login is None:
        raise CommandError("AUTHENTICATION_ERROR", "Nobody is logged in.", "There is nothing to end.")
    revoked = oauth_client.revoke(login)
    login_store.remove(login.url)
    text = f"Logged out at {login.url}." + ("" if revoked else " Its server did not revoke the tokens.")
    return CommandResult(metadata={"url": login.url, "revoked": revoked}, drawing=text)
