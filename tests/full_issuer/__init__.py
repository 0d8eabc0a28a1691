"""An issuer that serves clients by itself, as a company's may: registration, consent, refresh and revocation.

The MCP SDK implements the protocol; this file has the keys, the pages and the thread. With a state the port, the key,
the registered clients and the refresh tokens outlive the context, so that clients need no new login.
References: RFC 8414 (metadata), 7591 (registration), 7636 (PKCE), 8707 (resource), 9068 (access tokens), 9207 (iss).
"""

import json
import secrets
import threading
import time
from collections.abc import Iterable, Sequence
from contextlib import ExitStack, closing
from functools import cache
from pathlib import Path
from typing import Any, Self
from urllib.parse import urlsplit

import jwt
import uvicorn
from jinja2 import Environment, StrictUndefined, Template
from mcp.server.auth.provider import construct_redirect_uri
from mcp.server.auth.routes import build_metadata, cors_middleware, create_auth_routes
from mcp.server.auth.settings import AuthSettings, ClientRegistrationOptions, RevocationOptions
from pydantic import AnyHttpUrl
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from infra.local.login import Person
from infra.local.server import listen_beside
from infra.local.state import State
from tests.full_issuer.provider import ACCESS_TOKEN_SECONDS, LoginProvider, listener_of, signing_key

SCOPES = ["mcp"]
CHOICE_COOKIE = "mcpist-local-person"
CHOICE_SECONDS = 60
EXPIRED = "This login has ended"
SHUTDOWN_TIMEOUT_SECONDS = 1  # a client's open connection must not delay the end
# The SDK accepts no other plain http issuer. It uses it only in the metadata, which we serve ourselves.
_LOOPBACK = AnyHttpUrl("http://127.0.0.1")
_PAGE_HEADERS = {
    "cache-control": "no-store",
    "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'",
    "referrer-policy": "no-referrer",
}


class FullIssuer:
    """An issuer on this machine.

    `audience` is the default resource of tokens, and clients may also request tokens for `resources`. `host` is
    loopback or the address of a bridge, from which containers reach the issuer. It listens on the port of its `state`,
    else on `port` if it is free, else on another. Entering raises `PortInUse` if the state's is taken.
    """

    def __init__(
        self,
        people: Sequence[Person],
        *,
        audience: str,
        host: str = "127.0.0.1",
        resources: Iterable[str] = (),
        state: State | None = None,
        port: int = 0,
    ) -> None:
        self.people = tuple(people)
        self.issuer = ""
        self._host = host
        self._state = state
        self._port = port
        self._key, self._key_id = signing_key(state)
        self._provider = LoginProvider(self.mint, lambda pending: f"{self.issuer}/login?request={pending}", state)
        self._exit = ExitStack()
        self._links: dict[str, tuple[str, str]] = {}
        self._choices: dict[str, str] = {}
        self._provider.resources += [resource.rstrip("/") for resource in (audience, *resources)]

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

    def register(self, client_id: str, *, name: str, redirect_uri: str) -> None:
        """Register a public client, as an administrator does at an issuer."""
        self._provider.add_client(client_id, name=name, redirect_uri=redirect_uri)

    def one_time_link(self, sub: str, destination: str) -> str:
        """Return a link that leads to a page of ours and answers its login, once."""
        ticket = secrets.token_urlsafe(24)
        self._links[ticket] = sub, destination
        return f"{self.issuer}/once?ticket={ticket}"

    def accept_resource(self, resource: str) -> None:
        """Issue tokens for another resource as well."""
        self._provider.resources.append(resource.rstrip("/"))

    def mint(
        self, sub: str, *, audience: str | None = None, expires_in: int = ACCESS_TOKEN_SECONDS, **claims: Any
    ) -> str:
        """Return an access token (RFC 9068) for any subject; `claims` add to the usual ones or replace them.

        A claim of None is left out.
        """
        now = int(time.time())
        usual = {
            "iss": self.issuer,
            "sub": sub,
            "aud": audience or self._provider.resources[0],
            "exp": now + expires_in,
            "iat": now,
            "jti": secrets.token_hex(16),
            "client_id": "local",
            "scope": " ".join(SCOPES),
        }
        present = {name: value for name, value in {**usual, **claims}.items() if value is not None}
        return jwt.encode(present, self._key, "RS256", {"typ": "at+jwt", "kid": self._key_id})

    def _app(self) -> Starlette:
        # AuthSettings keeps the URL as it is; AnyHttpUrl would add a slash, and it would not equal `iss`.
        issuer = AuthSettings(issuer_url=self.issuer, resource_server_url=None).issuer_url
        registration = ClientRegistrationOptions(enabled=True, default_scopes=SCOPES)
        revocation = RevocationOptions(enabled=True)
        metadata = build_metadata(issuer, None, registration, revocation).model_dump(mode="json", exclude_none=True)
        metadata |= {
            "jwks_uri": f"{self.issuer}/jwks.json",
            "scopes_supported": SCOPES,
            "token_endpoint_auth_methods_supported": ["none", "client_secret_post", "client_secret_basic"],
            "authorization_response_iss_parameter_supported": True,
            "subject_types_supported": ["public"],
            "id_token_signing_alg_values_supported": ["RS256"],
        }
        public = json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(self._key.public_key()))
        jwks = {"keys": [{**public, "kid": self._key_id, "use": "sig", "alg": "RS256"}]}
        routes = [
            _document("/.well-known/oauth-authorization-server", metadata),
            _document("/.well-known/openid-configuration", metadata),
            _document("/jwks.json", jwks),
            Route("/login", self._login, methods=["GET", "POST"]),
            Route("/once", self._choose, methods=["GET"]),
            *create_auth_routes(self._provider, _LOOPBACK, None, registration, revocation),
        ]
        hosts = Middleware(
            TrustedHostMiddleware, allowed_hosts=["127.0.0.1", "localhost", self._host], www_redirect=False
        )
        return Starlette(routes=routes, middleware=[hosts])

    async def _choose(self, request: Request) -> Response:
        """Redeem a link: the browser's next login is answered with its person."""
        sub, destination = self._links.pop(request.query_params.get("ticket", ""), ("", ""))
        if not sub:
            return _page(404, EXPIRED)
        choice = secrets.token_urlsafe(24)
        self._choices[choice] = sub
        response = RedirectResponse(destination, 303, {"cache-control": "no-store"})
        response.set_cookie(CHOICE_COOKIE, choice, max_age=CHOICE_SECONDS, path="/login", httponly=True, samesite="lax")
        return response

    async def _login(self, request: Request) -> Response:
        form = await request.form() if request.method == "POST" else request.query_params
        pending = self._provider.pending.get(str(form.get("request", "")))
        if pending is None:
            return _page(404, EXPIRED)
        client, parameters = pending
        chosen = self._choices.pop(request.cookies.get(CHOICE_COOKIE, ""), form.get("sub"))
        person = next((one for one in self.people if one.sub == chosen), None)
        if (person and (request.method == "POST" or chosen != form.get("sub"))) or "deny" in form:
            result = self._provider.decide(str(form["request"]), person.sub if person else None)
            url = construct_redirect_uri(
                str(parameters.redirect_uri), **result, state=parameters.state, iss=self.issuer
            )
            return RedirectResponse(url, 303, {"cache-control": "no-store"})
        destination = urlsplit(str(parameters.redirect_uri))
        return _page(
            200,
            "Who are you?",
            self.people,
            request=str(form["request"]),
            client=client.client_name or "An MCP client",
            destination=f"{destination.scheme}://{destination.netloc}",
        )


def _document(path: str, content: dict[str, Any]) -> Route:
    async def answer(_: Request) -> Response:
        return JSONResponse(content)

    return Route(path, cors_middleware(answer, ["GET", "OPTIONS"]), methods=["GET", "OPTIONS"])


def _page(status: int, title: str, people: Sequence[Person] = (), **shown: str) -> HTMLResponse:
    """Return the page, with a button for each person and one to deny, or a title alone."""
    return HTMLResponse(_template().render(title=title, people=people, **shown), status, _PAGE_HEADERS)


@cache
def _template() -> Template:
    source = (Path(__file__).parent / "login.html").read_text(encoding="utf-8")
    # A client names itself, so every value is escaped.
    return Environment(autoescape=True, undefined=StrictUndefined).from_string(source)
