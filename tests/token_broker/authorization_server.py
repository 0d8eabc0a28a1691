"""A real authorization server on loopback: npm's oidc-provider, with rotation, reuse detection, PKCE and revocation.

It kills the whole grant when a used refresh token comes again. What a test steers (see `steer`) is the server's own
time and patience, never our code; `reset` before each test, since one server serves the whole session.
"""

import json
import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

import httpx2

from tests.peers.npm import modern_node, modules

SCRIPT = Path(__file__).with_suffix(".mjs")
SCOPES = "openid profile read write"
SERVER_TIMEOUT_SECONDS = 60.0


@dataclass(frozen=True)
class Client:
    """A registered client."""

    id: str
    secret: str
    auth: str


@dataclass(frozen=True)
class Minted:
    """A pair of tokens of a new grant; the access token lives for `expires_in` seconds."""

    access_token: str
    refresh_token: str
    expires_in: int


@dataclass(frozen=True)
class State:
    """What the server has seen since the last reset, and which tokens it would take now.

    `redeems` are the refresh tokens that it took, `refused` those that it refused, in their order; `waiting` counts
    the requests that `hold` keeps; `revoked` the grants that were revoked, also for a replay.
    """

    redeems: tuple[str, ...]
    refused: tuple[str, ...]
    waiting: int
    revoked: int
    access_tokens: tuple[str, ...]
    refresh_tokens: tuple[str, ...]


@dataclass(frozen=True)
class AuthorizationServer:
    """A running server; it may be pickled, so that other processes reach it as well."""

    url: str

    def register(self, *redirect_uris: str, auth: str = "client_secret_basic") -> Client:
        """A new client, that authenticates with `client_secret_basic`, `client_secret_post` or `none`."""
        made = self._ask(
            "POST",
            "/reg",
            redirect_uris=list(redirect_uris),
            grant_types=["authorization_code", "refresh_token"],
            token_endpoint_auth_method=auth,
        )
        return Client(made["client_id"], made.get("client_secret", ""), auth)

    def parameter(self, client: Client, **more: Any) -> str:
        """The SSM parameter by which the broker knows this server under any provider's name."""
        told = {
            "client_id": client.id,
            "authorize_url": f"{self.url}/auth",
            "token_url": f"{self.url}/token",
            "revoke_url": f"{self.url}/token/revocation",
            "userinfo_url": f"{self.url}/me",
            "issuer": self.url,
            "scopes": SCOPES.split(),
        }
        secret = {"client_secret": client.secret} if client.secret else {}
        return json.dumps({**told, **secret, **more})

    def grant(self, client: Client, account: str = "uma", scope: str = SCOPES) -> Minted:
        """The tokens that a person's consent would bring, without the person."""
        return Minted(**self._ask("POST", "/control/grants", client_id=client.id, account=account, scope=scope))

    def consent(self, url: str, account: str = "uma", *, allow: bool = True) -> str:
        """The callback's URL that a person's browser ends at who opens an authorization URL and answers the page."""
        with httpx2.Client(timeout=SERVER_TIMEOUT_SECONDS) as browser:
            answer = browser.get(url)
            while (place := urljoin(str(answer.url), answer.headers.get("location", ""))).startswith(f"{self.url}/"):
                if form := re.search(r'action="(/interaction/[^"]+)"', answer.text):
                    told = {"account": account, "answer": "allow" if allow else "deny"}
                    answer = browser.post(f"{self.url}{form[1]}", data=told)
                elif answer.is_redirect:
                    answer = browser.get(place)
                else:
                    raise AssertionError(answer.text)
            return place

    def accepts(self, access_token: str) -> bool:
        """Whether an access token still opens the account."""
        headers = {"authorization": f"Bearer {access_token}"}
        return httpx2.get(f"{self.url}/me", headers=headers, timeout=SERVER_TIMEOUT_SECONDS).is_success

    def steer(self, **changes: Any) -> None:
        """Change how it answers from now on, and let go of the requests that it holds.

        `mode` strict (the default) or lenient: a used refresh token may come once more. `access_seconds`: how long
        new access tokens live. `delay_seconds`: how late the token endpoint answers, after it did its work. `hold`:
        where a token request stops until the next `steer`: asked (before the work) or answered (after it).
        """
        self._ask("POST", "/control", **changes)

    def reset(self) -> None:
        """Answer as usual, and count anew."""
        self._ask("POST", "/control/reset")

    @property
    def state(self) -> State:
        """What it has seen, and what is alive."""
        found = self._ask("GET", "/control")
        counted = {name: found[name] for name in ("redeems", "refused")} | found["alive"]
        return State(
            waiting=found["waiting"],
            revoked=found["revoked"],
            **{name: tuple(tokens) for name, tokens in counted.items()},
        )

    def _ask(self, method: str, path: str, **body: Any) -> dict[str, Any]:
        answer = httpx2.request(method, f"{self.url}{path}", json=body or None, timeout=SERVER_TIMEOUT_SECONDS)
        assert answer.is_success, answer.text
        found: dict[str, Any] = answer.json()
        return found


@contextmanager
def running() -> Iterator[AuthorizationServer]:
    """The server while the context lasts; skips the test where there is no Node for it."""
    command = [modern_node(), str(SCRIPT), str(modules())]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            url = process.stdout.readline().strip()
            assert url, "the authorization server did not start: its own words stand above"
            yield AuthorizationServer(url)
        finally:
            process.stdin.close()  # its sign to end
