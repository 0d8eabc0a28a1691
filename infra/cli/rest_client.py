"""The command line's client of the REST API, with a person's own token, and the options that choose both."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Annotated, Any
from urllib.parse import quote, urlsplit

import httpx2
from typer import Option

from infra.cli import login_store, oauth_client
from infra.cli.document import LOCALE, CommandError
from infra.cli.login_store import KeptLogin
from infra.cli.options import Token, Url, chosen
from infra.cli.stacks import is_up, last_up
from mcpist.paging import MAX_PAGE_ITEMS
from mcpist.version import VERSION

# A removal may wait for several providers; API Gateway ends a request after 30 s.
REST_TIMEOUT_SECONDS = 35
DOCUMENT_PATH = "/v1/openapi.json"
NO_ENDPOINT_HINT = "Start one with `mcpist up`, log in with `mcpist login --url URL`, or give --url and --token."
ORGANIZATION_HEADER = "x-mcpist-organization"
# The paths of an endpoint below its origin: /mcp, /mcp/readonly, /mcp/categories, /mcp/ORGANIZATION.
_MCP_PATH = re.compile(r"/mcp(/[^/]*)?/*$")


@dataclass
class RestSession:
    """A deployment, and the person who acts there."""

    url: str
    """The deployment's origin."""
    token: str = field(default="", repr=False)
    login: KeptLogin | None = None
    """The stored login that has the token; None for a token that was given."""
    organization: str = ""
    """The organization that is meant; empty for a person's only one."""
    _web: httpx2.Client | None = field(default=None, repr=False)
    """The open connection, inside of `connected`."""

    @contextmanager
    def connected(self) -> Iterator[None]:
        """Keep one connection for several requests."""
        with httpx2.Client() as web:
            self._web = web
            try:
                yield
            finally:
                self._web = None

    def access_token(self) -> str:
        """Return the person's access token, refreshed if it ends soon."""
        if self.login:
            self.login = oauth_client.fresh(self.login)
            return self.login.access_token
        return self.token

    def get(self, path: str, **query: Any) -> Any:
        """Return the content of a path."""
        return self.request("GET", path, query=query)

    def request(self, method: str, path: str, *, query: dict[str, Any] | None = None, json: Any = None) -> Any:
        """Return a request's JSON; CommandError for a refused one."""
        return _accepted(self.respond(method, path, query=query, json=json)).json()

    def pages(self, path: str, **query: Any) -> Iterator[Any]:
        """Yield the content of a path, page by page."""
        cursor: str | None = ""
        while cursor is not None:
            page = self.get(path, **query, cursor=cursor)
            yield page
            cursor = page["cursor"] or None

    def everything(self, path: str, **query: Any) -> dict[str, Any]:
        """Return the content of a path with the items of all its pages."""
        pages = list(self.pages(path, **query, limit=MAX_PAGE_ITEMS))
        lists = [name for name, value in pages[0].items() if isinstance(value, list)]
        return {**pages[-1], **{name: [item for page in pages for item in page[name]] for name in lists}}

    def text(self, path: str, **query: Any) -> tuple[str, httpx2.Headers]:
        """Return the text of a path, and the headers."""
        response = _accepted(self.respond("GET", path, query=query))
        return response.text, response.headers

    def respond(
        self,
        method: str,
        path: str,
        *,
        query: dict[str, Any] | None = None,
        json: Any = None,
        headers: dict[str, str] | None = None,
    ) -> httpx2.Response:
        """Return the response to a request, also one that refuses it; a stored login is refreshed where it ended."""
        params = {name: _text(value) for name, value in (query or {}).items() if value not in {None, ""}}
        send = partial(self._send, method, f"{self.url}{path}", params=params, json=json)
        response = send(headers or {})
        # A token can be revoked before its end, so a refusal is worth one refresh.
        if response.status_code == httpx2.codes.UNAUTHORIZED and self.login and self.login.refresh_token:
            self.login = oauth_client.fresh(self.login, refused=True)
            response = send(headers or {})
        return response

    def change(
        self, method: str, path: str, json: Any = None, *, dry_run: bool = False, with_grants: bool = False
    ) -> Any:
        """Make a change, or with `dry_run` return what it would do."""
        query = {"dryRun": dry_run or None, "withGrants": with_grants or None}
        return self.request(method, path, json=json, query=query)

    def _send(self, method: str, url: str, headers: dict[str, str], **content: Any) -> httpx2.Response:
        sent = {"user-agent": f"mcpist/{VERSION}", **headers}
        sent |= {"authorization": f"Bearer {token}"} if (token := self.access_token()) else {}
        sent |= {"accept-language": locale} if (locale := LOCALE.get()) else {}
        if self.organization:
            sent[ORGANIZATION_HEADER] = self.organization
        try:
            return (self._web or httpx2).request(method, url, headers=sent, timeout=REST_TIMEOUT_SECONDS, **content)
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            hint = "Is it running? See `mcpist up` and `mcpist login`."
            raise CommandError("UPSTREAM_UNAVAILABLE", f"{self.url} could not be reached: {error}", hint) from None


def _accepted(response: httpx2.Response) -> httpx2.Response:
    """Return a response that is no error; CommandError for one that is."""
    if response.is_success:
        return response
    try:
        error = response.json()
    except ValueError:
        error = None
    if not isinstance(error, dict) or "code" not in error:
        raise not_an_endpoint(response)
    raise CommandError.of_endpoint({**error, "message": str(error.get("error", ""))})


def not_an_endpoint(response: httpx2.Response) -> CommandError:
    """Return the error of a response that no endpoint of ours gives."""
    message = f"{response.url.copy_with(query=None)} answered {response.status_code}."
    failed = "Its logs say why; beside `mcpist up` they are in .mcpist/logs, if the disk is not full."
    hint = failed if response.is_server_error else "Is it the URL of an MCPist endpoint?"
    return CommandError("UPSTREAM_UNAVAILABLE", message, hint)


def open_session(url: str | None, token: str | None, organization: str | None, *, own: bool = False) -> RestSession:
    """Return the session of the command line's options; by default at the last `mcpist up`, else the latest login.

    Beside an `up` the administrator acts, or with `own` the user.
    """
    url, token = chosen(url, token)
    origin = known_origin(url)
    known = last_up("") if is_up() else {}
    login = None
    if not token and origin == known.get("api_url"):
        token = known["access_token" if own else "administrator_token"]
    elif not token and (login := login_store.find(origin)) is None:
        RestSession(origin).respond("GET", DOCUMENT_PATH)  # else a typing error would say that nobody is logged in
        raise CommandError("AUTHENTICATION_ERROR", "Nobody is logged in there.", f"Run: mcpist login --url {url}")
    return RestSession(origin, token or "", login, organization or "")


def known_origin(url: str | None = None, hint: str = NO_ENDPOINT_HINT) -> str:
    """Return the origin of an URL, else of the `mcpist up` that runs in this folder, else of the latest login."""
    if url:
        return origin_of(url)
    if is_up():
        return str(last_up("")["api_url"])
    if login := login_store.find():
        return login.url
    raise CommandError("VALIDATION_ERROR", "No endpoint is known.", hint)


def origin_of(url: str) -> str:
    """Return a deployment's origin from the URL of its endpoint; CommandError for a text that is none."""
    try:
        place = urlsplit(url)
        usable = place.scheme in {"http", "https"} and bool(place.hostname) and place.port != 0
    except ValueError:  # as for a port above 65535
        usable = False
    if not usable:
        hint = "Write it as http://127.0.0.1:3000/mcp or https://mcp.example.com/mcp."
        raise CommandError("VALIDATION_ERROR", f"{url} is not the URL of an endpoint.", hint)
    return _MCP_PATH.sub("", url).rstrip("/")


def part(name: str) -> str:
    """Return a name as a part of a path."""
    return quote(name, safe="")


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


@dataclass(frozen=True, slots=True)
class Access:
    """The endpoint, person and organization of the command line; by default the last `up`, else the last login."""

    url: Url = None
    token: Token = None
    organization: Annotated[
        str | None, Option("--organization", "--org", metavar="ORG", help="[default: your only organization]")
    ] = None

    def session(self, *, own: bool = False, organization: str | None = None) -> RestSession:
        """Return the session; beside an `up` its administrator acts, or with `own` its user."""
        return open_session(self.url, self.token, organization or self.organization, own=own)
