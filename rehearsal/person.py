"""A person with a browser, and with an MCP client that has no token yet."""

import asyncio
import re
import ssl
from dataclasses import dataclass, field
from html import unescape
from html.parser import HTMLParser
from typing import Any
from urllib.parse import parse_qs, urljoin, urlsplit

import httpx2
from mcp.client.auth import AuthorizationCodeResult, OAuthClientProvider, TokenStorage
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import OAuthClientInformationFull, OAuthClientMetadata, OAuthToken

from rehearsal.engine import Engine
from rehearsal.report import expect

REDIRECT = "http://127.0.0.1:8080/callback"  # nothing listens there: the browser stops before it
TIMEOUT_SECONDS = 60
_LEADS_ON = re.compile(r'<a class="button wide" href="([^"]+)"')


class _Form(HTMLParser):
    """The first form of a page: its address, and the fields that a browser would send unchanged."""

    def __init__(self) -> None:
        super().__init__()
        self.action = ""
        self.fields: list[tuple[str, str]] = []
        self._ended = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        if tag == "form" and not self.action:
            self.action = values.get("action", "")
        sent = tag == "input" and (values.get("type") == "hidden" or "checked" in values)
        if sent and self.action and not self._ended:
            self.fields.append((values["name"], values.get("value", "")))

    def handle_endtag(self, tag: str) -> None:
        self._ended = self._ended or tag == "form"


@dataclass
class Browser:
    """Follows redirects, keeps cookies, and chooses a person on the login's page."""

    subject: str
    client: httpx2.Client = field(
        default_factory=lambda: httpx2.Client(follow_redirects=True, timeout=TIMEOUT_SECONDS, trust_env=False)
    )

    def open(self, url: str) -> httpx2.Response:
        """Open a page; a login on the way is answered."""
        return self._log_in(self.client.get(url))

    def submit(self, page: httpx2.Response) -> httpx2.Response:
        """Send the first form of a page, and return the page to which that leads."""
        form = _Form()
        form.feed(page.text)
        expect(form.action, f"{page.url} ({page.status_code}) has no form: {page.text[-500:]}")
        origin = f"{page.url.scheme}://{page.url.netloc.decode()}"
        data: dict[str, Any] = {name: [text for one, text in form.fields if one == name] for name, _ in form.fields}
        sent = self.client.post(urljoin(str(page.url), form.action), data=data, headers={"origin": origin})
        return self._log_in(sent)

    def _log_in(self, page: httpx2.Response) -> httpx2.Response:
        """Answer logins, and follow the link of a page that only leads on."""
        while True:
            if page.url.path == "/authorize":
                page = self.client.post(str(page.url), data={"sub": self.subject})
            elif link := _LEADS_ON.search(page.text):
                page = self.client.get(unescape(link[1]))
            else:
                return page


def agree(browser: httpx2.Client, url: str, subject: str) -> str:
    """Log a person in who lets the client act, and return where that leads, with a code for the client."""
    page = browser.get(url, follow_redirects=True)
    asked = browser.get(browser.post(str(page.url), data={"sub": subject}).headers["location"])
    if asked.is_redirect:
        return str(asked.headers["location"])
    form = _Form()
    form.feed(asked.text)
    expect(form.action, f"{asked.url} ({asked.status_code}) asks nothing: {asked.text[-500:]}")
    origin = f"{asked.url.scheme}://{asked.url.netloc.decode()}"
    sent = {**dict(form.fields), "decision": "allow"}
    return str(browser.post(urljoin(origin, form.action), data=sent, headers={"origin": origin}).headers["location"])


class InMemoryTokens(TokenStorage):
    """The tokens and the registration of a client of the SDK."""

    def __init__(self) -> None:
        self.tokens: OAuthToken | None = None
        self.client: OAuthClientInformationFull | None = None

    async def get_tokens(self) -> OAuthToken | None:
        """Return the stored tokens."""
        return self.tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        """Store tokens."""
        self.tokens = tokens

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        """Return the stored registration."""
        return self.client

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        """Store a registration."""
        self.client = client_info


def log_in(engine: Engine, url: str, subject: str) -> tuple[list[str], str]:
    """Let the official SDK's client find the login by itself; return the tools that it lists, and its token."""
    return asyncio.run(_log_in(engine, url, subject))


async def _log_in(engine: Engine, url: str, subject: str) -> tuple[list[str], str]:
    landed: list[str] = []

    trusted = ssl.create_default_context(cafile=engine.certificates.authority)

    async def show(page: str) -> None:
        mounts = {"https://": httpx2.HTTPTransport(proxy=engine.proxy, verify=trusted)}
        with httpx2.Client(mounts=mounts, timeout=TIMEOUT_SECONDS, trust_env=False) as browser:
            landed.append(await asyncio.to_thread(agree, browser, page, subject))

    async def returned() -> AuthorizationCodeResult:
        found = {name: values[0] for name, values in parse_qs(urlsplit(landed[-1]).query).items()}
        return AuthorizationCodeResult(code=found["code"], state=found["state"], iss=found.get("iss"))

    memory = InMemoryTokens()
    metadata = OAuthClientMetadata.model_validate({"client_name": "rehearsal", "redirect_uris": [REDIRECT]})
    auth = OAuthClientProvider(url, metadata, memory, show, returned)
    mounts = {"https://": httpx2.AsyncHTTPTransport(proxy=engine.proxy, verify=trusted)}
    async with (
        httpx2.AsyncClient(auth=auth, mounts=mounts, timeout=TIMEOUT_SECONDS, trust_env=False) as http,
        Client(streamable_http_client(url, http_client=http)) as client,
    ):
        names = [tool.name for tool in (await client.list_tools()).tools]
    assert memory.tokens
    return names, memory.tokens.access_token
