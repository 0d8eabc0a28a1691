"""An issuer that serves clients by itself, as a company's may: registration, consent, refresh and revocation.

The MCP SDK implements the protocol; keys, thread and port are the local issuer's.
References: RFC 8414 (metadata), 7591 (registration), 7636 (PKCE), 8707 (resource), 9068 (access tokens), 9207 (iss).
"""

import json
from collections.abc import Sequence
from typing import Any

import jwt
from mcp.server.auth.provider import construct_redirect_uri
from mcp.server.auth.routes import build_metadata, cors_middleware, create_auth_routes
from mcp.server.auth.settings import AuthSettings, ClientRegistrationOptions, RevocationOptions
from pydantic import AnyHttpUrl
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from infra.local.login import LocalLogin, Person
from tests.full_issuer.provider import LoginProvider

SCOPES = ["mcp"]
# The SDK accepts no other plain http issuer. It uses it only in the metadata, which we serve ourselves.
_LOOPBACK = AnyHttpUrl("http://127.0.0.1")


class FullIssuer(LocalLogin):
    """An issuer whose form at `/login` chooses a person, or refuses, for the `request` of its address."""

    def __init__(self, people: Sequence[Person], *, audience: str) -> None:
        super().__init__(people, audience=audience)
        self._provider = LoginProvider(self.mint, lambda pending: f"{self.issuer}/login?request={pending}", audience)

    def register(self, client_id: str, *, redirect_uri: str) -> None:
        """Register a public client, as an administrator does at an issuer."""
        self._provider.add_client(client_id, redirect_uri=redirect_uri)

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
            Route("/login", self._login, methods=["POST"]),
            *create_auth_routes(self._provider, _LOOPBACK, None, registration, revocation),
        ]
        return Starlette(routes=routes)

    async def _login(self, request: Request) -> Response:
        form = await request.form()
        pending = str(form["request"])
        _, parameters = self._provider.pending[pending]
        person = next((one for one in self.people if one.sub == form.get("sub")), None)
        result = self._provider.decide(pending, None if "deny" in form or person is None else person.sub)
        url = construct_redirect_uri(str(parameters.redirect_uri), **result, state=parameters.state, iss=self.issuer)
        return RedirectResponse(url, 303, {"cache-control": "no-store"})


def _document(path: str, content: dict[str, Any]) -> Route:
    async def answer(_: Request) -> Response:
        return JSONResponse(content)

    return Route(path, cors_middleware(answer, ["GET", "OPTIONS"]), methods=["GET", "OPTIONS"])
