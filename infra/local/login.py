"""The issuer of a local deployment: an OIDC provider at which a person is chosen on a page instead of logging in.

Our own login asks it who a person is; tokens that `mint` signs are accepted as those of an issuer with a login of its
own. With a state the port and the key outlive the context, so that the people stay those whom the directory knows.
References: OpenID Connect Core and Discovery, RFC 7636 (PKCE), 9068 (access tokens), 9207 (iss).
"""

import json
import secrets
import socket
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Self
from urllib.parse import urlencode, urlsplit

import jwt
import uvicorn
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from jinja2 import Environment, StrictUndefined, Template
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from infra.local.server import PortInUse, listen, listen_beside
from infra.local.state import State
from mcpist.oauth.pkce import challenge_of

CODE_SECONDS = 300
TOKEN_SECONDS = 3600
CHOICE_COOKIE = "mcpist-local-person"
CHOICE_SECONDS = 60
EXPIRED = "This login has ended"
SHUTDOWN_TIMEOUT_SECONDS = 1  # a client's open connection must not delay the end
_PAGE_HEADERS = {
    "cache-control": "no-store",
    "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'",
    "referrer-policy": "no-referrer",
}


@dataclass(frozen=True, slots=True)
class Person:
    """A person who can log in."""

    sub: str
    """The subject of the person's tokens; the other fields are only shown."""
    name: str
    email: str
    role: str


@dataclass(frozen=True, slots=True)
class IssuedCode:
    """A code that was issued for a person."""

    person: Person
    query: Mapping[str, str]
    """The request's parameters."""
    expires_at: float = field(default_factory=lambda: time.monotonic() + CODE_SECONDS)


class LocalLogin:
    """An issuer on this machine.

    `audience` is the resource of the tokens that it mints. `host` is loopback or the address of a bridge, from which
    containers reach the issuer. It listens on the port of its `state`, else on `port` if it is free, else on another.
    Entering raises `PortInUse` if the state's is taken.
    """

    def __init__(
        self,
        people: Sequence[Person],
        *,
        audience: str,
        host: str = "127.0.0.1",
        state: State | None = None,
        port: int = 0,
    ) -> None:
        self.people = tuple(people)
        self.issuer = ""
        self._audience = audience.rstrip("/")
        self._host = host
        self._state = state
        self._port = port
        self._key, self._key_id = signing_key(state)
        self._exit = ExitStack()
        self._redirects: dict[str, set[str]] = {}
        self._codes: dict[str, IssuedCode] = {}
        self._links: dict[str, tuple[str, str]] = {}
        self._choices: dict[str, str] = {}

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            listener = stack.enter_context(closing(listener_of(self._host, self._port, self._state)))
            beside = [stack.enter_context(closing(one)) for one in listen_beside(listener)]
            self.issuer = f"http://{self._host}:{listener.getsockname()[1]}"
            config = uvicorn.Config(
                self._app(),
                log_config=None,
                access_log=False,
                lifespan="off",
                ws="none",
                timeout_graceful_shutdown=SHUTDOWN_TIMEOUT_SECONDS,
            )
            server = uvicorn.Server(config)
            thread = threading.Thread(
                target=server.run, kwargs={"sockets": [listener, *beside]}, name="local-login", daemon=True
            )
            stack.callback(thread.join)
            stack.callback(setattr, server, "should_exit", True)
            thread.start()  # nobody waits for it: the sockets listen already, so early requests are answered late
            self._exit = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._exit.close()

    def register(self, client_id: str, *, redirect_uri: str) -> None:
        """Register a public client, or one more address for its answers, as an administrator does at an issuer."""
        self._redirects.setdefault(client_id, set()).add(redirect_uri)

    def one_time_link(self, sub: str, destination: str) -> str:
        """Return a link that leads to a page of ours and answers its login, once."""
        ticket = secrets.token_urlsafe(24)
        self._links[ticket] = sub, destination
        return f"{self.issuer}/once?ticket={ticket}"

    def accept_resource(self, resource: str) -> None:
        """Mint tokens for another resource from now on."""
        self._audience = resource.rstrip("/")

    def mint(self, sub: str, *, audience: str | None = None, expires_in: int = TOKEN_SECONDS, **claims: Any) -> str:
        """Return an access token (RFC 9068) for any subject; `claims` add to the usual ones or replace them.

        A claim of None is left out.
        """
        usual = {"jti": secrets.token_hex(16), "client_id": "local", "scope": "mcp", "aud": audience or self._audience}
        return self._sign({"sub": sub, **usual, **claims}, "at+jwt", expires_in)

    def _sign(self, claims: dict[str, Any], kind: str, expires_in: int = TOKEN_SECONDS) -> str:
        now = int(time.time())
        usual = {"iss": self.issuer, "exp": now + expires_in, "iat": now}
        present = {name: value for name, value in {**usual, **claims}.items() if value is not None}
        return jwt.encode(present, self._key, "RS256", {"typ": kind, "kid": self._key_id})

    def _app(self) -> Starlette:
        metadata = {
            "issuer": self.issuer,
            "authorization_endpoint": f"{self.issuer}/authorize",
            "token_endpoint": f"{self.issuer}/token",
            "jwks_uri": f"{self.issuer}/jwks.json",
            "scopes_supported": ["openid", "email", "profile"],
            "response_types_supported": ["code"],
            "grant_types_supported": ["authorization_code"],
            "token_endpoint_auth_methods_supported": ["none"],
            "code_challenge_methods_supported": ["S256"],
            "authorization_response_iss_parameter_supported": True,
            "subject_types_supported": ["public"],
            "id_token_signing_alg_values_supported": ["RS256"],
        }
        public = json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(self._key.public_key()))
        jwks = {"keys": [{**public, "kid": self._key_id, "use": "sig", "alg": "RS256"}]}
        routes = [
            _document("/.well-known/openid-configuration", metadata),
            _document("/jwks.json", jwks),
            Route("/authorize", self._authorize, methods=["GET", "POST"]),
            Route("/token", self._token, methods=["POST"]),
            Route("/once", self._choose, methods=["GET"]),
        ]
        hosts = ["127.0.0.1", "localhost", self._host]
        return Starlette(
            routes=routes, middleware=[Middleware(TrustedHostMiddleware, allowed_hosts=hosts, www_redirect=False)]
        )

    async def _choose(self, request: Request) -> Response:
        """Redeem a link: the browser's next login is answered with its person."""
        sub, destination = self._links.pop(request.query_params.get("ticket", ""), ("", ""))
        if not sub:
            return _page(404, EXPIRED)
        choice = secrets.token_urlsafe(24)
        self._choices[choice] = sub
        response = RedirectResponse(destination, 303, {"cache-control": "no-store"})
        age = CHOICE_SECONDS
        response.set_cookie(CHOICE_COOKIE, choice, max_age=age, path="/authorize", httponly=True, samesite="lax")
        return response

    async def _authorize(self, request: Request) -> Response:
        """Show the people to choose from, and redirect with a code for the one who was chosen."""
        query = dict(request.query_params)
        known = query.get("redirect_uri", "")
        is_known = known in self._redirects.get(query.get("client_id", ""), ())
        if not is_known or query.get("code_challenge_method") != "S256":
            return _page(400, EXPIRED)
        form = dict(await request.form()) if request.method == "POST" else {}
        chosen = self._choices.pop(request.cookies.get(CHOICE_COOKIE, ""), form.get("sub"))
        person = next((one for one in self.people if one.sub == chosen), None)
        if person is None and "deny" not in form:
            place = urlsplit(known)
            return _page(200, "Who are you?", self.people, destination=f"{place.scheme}://{place.netloc}")
        answer = {"code": self._code(person, query)} if person else {"error": "access_denied"}
        answer |= {"state": query.get("state", ""), "iss": self.issuer}
        return RedirectResponse(f"{known}?{urlencode(answer)}", 303, {"cache-control": "no-store"})

    def _code(self, person: Person, query: Mapping[str, str]) -> str:
        code = secrets.token_urlsafe(32)
        self._codes[code] = IssuedCode(person, query)
        return code

    async def _token(self, request: Request) -> Response:
        """Redeem a code, once, for an ID token and an access token."""
        form = dict(await request.form())
        issued = self._codes.pop(str(form.get("code", "")), None)
        proved = {"client_id": form.get("client_id"), "redirect_uri": form.get("redirect_uri")}
        proved["code_challenge"] = challenge_of(str(form.get("code_verifier", "")))
        if issued is None or issued.expires_at < time.monotonic() or not proved.items() <= issued.query.items():
            return JSONResponse({"error": "invalid_grant"}, 400)
        person, client_id = issued.person, str(form["client_id"])
        identity = {"sub": person.sub, "aud": client_id, "email": person.email, "email_verified": True}
        identity |= {"name": person.name, "nonce": issued.query.get("nonce")}
        tokens = {
            "access_token": self.mint(person.sub, audience=str(form["resource"]) if "resource" in form else None),
            "id_token": self._sign(identity, "JWT"),
            "token_type": "Bearer",
            "expires_in": TOKEN_SECONDS,
        }
        return JSONResponse(tokens, headers={"cache-control": "no-store"})


def _document(path: str, content: dict[str, Any]) -> Route:
    async def answer(_: Request) -> Response:
        return JSONResponse(content)

    return Route(path, answer, methods=["GET"])


def _page(status: int, title: str, people: Sequence[Person] = (), **shown: str) -> HTMLResponse:
    """Return the page, with a button for each person and one to deny, or a title alone."""
    return HTMLResponse(_template().render(title=title, people=people, **shown), status, _PAGE_HEADERS)


@cache
def _template() -> Template:
    source = Path(__file__).with_suffix(".html").read_text(encoding="utf-8")
    return Environment(autoescape=True, undefined=StrictUndefined).from_string(source)


def signing_key(state: State | None) -> tuple[rsa.RSAPrivateKey, str]:
    """Return the state's key and its id; where it has none, a new one, which the state keeps."""
    kept = state.get("login", "key") if state else None
    if kept:
        id_, _, pem = kept.decode().partition("\n")
        key = serialization.load_pem_private_key(pem.encode(), None)
        assert isinstance(key, rsa.RSAPrivateKey)
        return key, id_
    key, id_ = rsa.generate_private_key(public_exponent=65537, key_size=2048), secrets.token_hex(8)
    if state:
        form = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        state.put("login", "key", f"{id_}\n".encode() + key.private_bytes(*form))
    return key, id_


def listener_of(host: str, port: int, state: State | None) -> socket.socket:
    """Listen on the port of the state, else on `port` if it is free, else on another.

    `PortInUse` for the state's port: with another URL the issuer would be another one, and nobody would be known to it.
    """
    if kept := state.get("login", "port") if state else None:
        return listen(host, int(kept))
    try:
        listener = listen(host, port)
    except PortInUse:
        listener = listen(host, 0)
    if state:
        state.put("login", "port", str(listener.getsockname()[1]).encode())
    return listener
