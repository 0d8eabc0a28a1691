"""The login's pages: the questions for a person's address and whether a client may act for them, and messages."""

import hashlib
from base64 import b64encode
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from login.clients import LoginClient
from login.logins import KnownPerson
from mcpist.errors import McpistError
from mcpist.http.browser import BrowserRequest
from mcpist.http.page import html_response
from mcpist.http.request import HttpResponse
from mcpist.http.texts import read_texts
from mcpist.loopback import is_loopback_url
from mcpist.people.issuers import known_issuers, own_issuer
from mcpist.visible_text import visible

if TYPE_CHECKING:
    from jinja2 import Template

FOLDER = Path(__file__).parent
MAX_SHOWN_ORGANIZATIONS = 5


def ask(
    request: BrowserRequest,
    handle: str,
    client: LoginClient,
    person: KnownPerson,
    redirect_uri: str,
    organizations: Iterable[str],
) -> HttpResponse:
    """Ask a person whether a client may act for them."""
    return show(
        request,
        "ask",
        login=handle,
        client=client.name,
        host=client.host,
        person=person.name,
        answers_to=place_of(redirect_uri),
        on_this_machine=is_loopback_url(redirect_uri),
        organizations=list(organizations)[:MAX_SHOWN_ORGANIZATIONS],
        redirect_source=_source(redirect_uri),
    )


def ask_address(request: BrowserRequest, values: Mapping[str, list[str]]) -> HttpResponse:
    """Ask for a person's address, and begin the login of these parameters with it."""
    kept = [(name, value) for name, given in values.items() if name != "login_hint" for value in given]
    # An issuer may lead on to any other place, and one on this machine has no TLS; others are nobody's to see.
    places = {place_of(one.url) for one in (own_issuer(), *known_issuers().values()) if is_loopback_url(one.url)}
    return show(request, "address", redirect_source=" ".join(["https:", *sorted(places)]), parameters=kept)


def show_error(request: BrowserRequest, error: McpistError) -> HttpResponse:
    """Show an error."""
    text = error.text(request.language())
    return show(request, "error", status=error.status, problem=text.message, hint=text.hint)


def place_of(uri: str) -> str:
    """Return where an address leads, for people: its scheme and host."""
    parts = urlsplit(uri)
    return f"{parts.scheme}://{parts.netloc}"


def show(
    request: BrowserRequest, kind: str, *, status: int = 200, redirect_source: str = "", **values: Any
) -> HttpResponse:
    """Show a page of a kind, whose texts have its name, with values."""
    t = read_texts(FOLDER / "locales", request.language())
    response = html_response(request, _template().render(t=t, kind=kind, style=_style(), **values), status=status)
    # A browser applies `form-action` also to the redirect that answers the form.
    policy = (
        f"default-src 'none'; style-src 'sha256-{_style_hash()}'; form-action 'self' {redirect_source}; "
        "base-uri 'none'; frame-ancestors 'none'"
    )
    response["headers"] = {**response["headers"], "content-security-policy": policy}
    return response


def _source(uri: str) -> str:
    """Return an address as a source of a content security policy."""
    parts = urlsplit(uri)
    return place_of(uri) if parts.scheme in {"http", "https"} else f"{parts.scheme}:"


@cache
def _template() -> "Template":
    # Clients ask for tokens more often than people see a page.
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(FOLDER),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    environment.filters["shown"] = lambda text: visible(str(text))
    return environment.get_template("page.html")


@cache
def _style() -> str:
    return (FOLDER / "page.css").read_text("utf-8")


@cache
def _style_hash() -> str:
    return b64encode(hashlib.sha256(_style().encode()).digest()).decode()
