"""Clients, codes and tokens: the part of an authorization server that the SDK leaves open."""

import secrets
import time
from collections.abc import Callable
from urllib.parse import urlsplit

from mcp.server.auth.provider import (
    AccessToken,
    AuthorizationCode,
    AuthorizationParams,
    AuthorizeError,
    OAuthAuthorizationServerProvider,
    RefreshToken,
    RegistrationError,
)
from mcp.shared.auth import OAuthClientInformationFull, OAuthToken

AUTHORIZATION_CODE_SECONDS = 300
ACCESS_TOKEN_SECONDS = 3600
_LOOPBACK = {"localhost", "127.0.0.1", "::1"}
_FORBIDDEN_SCHEMES = {"javascript", "data", "file", "vbscript", "about", "blob", "ftp"}


class _Client(OAuthClientInformationFull):
    """A registered client, which may also request scopes that its registration did not name."""

    def validate_scope(self, requested_scope: str | None) -> list[str] | None:
        return requested_scope.split() if requested_scope else (self.scope or "").split()


class LoginProvider(OAuthAuthorizationServerProvider[AuthorizationCode, RefreshToken, AccessToken]):
    """Issues a code when a person is chosen on the page, and tokens for the code, signed by `FullIssuer.mint`."""

    def __init__(self, mint: Callable[..., str], page: Callable[[str], str], resource: str) -> None:
        self.resources = [resource.rstrip("/")]
        self.pending: dict[str, tuple[OAuthClientInformationFull, AuthorizationParams]] = {}
        self._mint = mint
        self._page = page
        self._codes: dict[str, AuthorizationCode] = {}
        self._clients: dict[str, _Client] = {}
        self._refresh: dict[str, RefreshToken] = {}

    async def get_client(self, client_id: str) -> OAuthClientInformationFull | None:
        """Return the client with this id."""
        return self._clients.get(client_id)

    async def register_client(self, client_info: OAuthClientInformationFull) -> None:
        """Store a client, unless a redirect URI is unsafe."""
        for uri in client_info.redirect_uris or []:
            parts = urlsplit(str(uri))
            if parts.scheme in _FORBIDDEN_SCHEMES or (parts.scheme == "http" and parts.hostname not in _LOOPBACK):
                raise RegistrationError("invalid_redirect_uri", f"{uri} cannot be redirected to")
        self._clients[client_info.client_id] = _Client.model_validate(client_info.model_dump())

    def add_client(self, client_id: str, *, redirect_uri: str) -> None:
        """Store a public client that did not register itself."""
        known = {"client_id": client_id, "redirect_uris": [redirect_uri]}
        self._clients[client_id] = _Client.model_validate({**known, "token_endpoint_auth_method": "none"})

    async def authorize(self, client: OAuthClientInformationFull, params: AuthorizationParams) -> str:
        """Return the URL of the page on which a person decides."""
        wanted = (params.resource or self.resources[0]).rstrip("/")
        if wanted not in self.resources:
            raise AuthorizeError("invalid_target", f"no tokens are issued for {params.resource}")
        pending = secrets.token_urlsafe(32)
        self.pending[pending] = client, params.model_copy(update={"resource": wanted})
        return self._page(pending)

    def decide(self, pending: str, sub: str | None) -> dict[str, str]:
        """End a pending login and return the parameters of the redirect: a code or the refusal."""
        client, params = self.pending.pop(pending)
        if sub is None:
            return {"error": "access_denied"}
        code = AuthorizationCode(
            code=secrets.token_urlsafe(32),
            scopes=params.scopes or [],
            expires_at=time.time() + AUTHORIZATION_CODE_SECONDS,
            client_id=client.client_id,
            code_challenge=params.code_challenge,
            redirect_uri=params.redirect_uri,
            redirect_uri_provided_explicitly=params.redirect_uri_provided_explicitly,
            resource=params.resource,
            subject=sub,
        )
        self._codes[code.code] = code
        return {"code": code.code}

    async def load_authorization_code(
        self,
        client: OAuthClientInformationFull,  # noqa: ARG002 - the SDK compares the client
        authorization_code: str,
    ) -> AuthorizationCode | None:
        """Return a code that has not been used."""
        return self._codes.get(authorization_code)

    async def exchange_authorization_code(
        self, client: OAuthClientInformationFull, authorization_code: AuthorizationCode
    ) -> OAuthToken:
        """Return tokens for a code, once."""
        del self._codes[authorization_code.code]
        return self._tokens(client, authorization_code, authorization_code.scopes)

    async def load_refresh_token(
        self,
        client: OAuthClientInformationFull,  # noqa: ARG002 - the SDK compares the client
        refresh_token: str,
    ) -> RefreshToken | None:
        """Return a refresh token that has not been used."""
        return self._refresh.get(refresh_token)

    async def exchange_refresh_token(
        self, client: OAuthClientInformationFull, refresh_token: RefreshToken, scopes: list[str]
    ) -> OAuthToken:
        """Return new tokens; the old refresh token ends."""
        del self._refresh[refresh_token.token]
        return self._tokens(client, refresh_token, scopes)

    async def load_access_token(self, token: str) -> AccessToken | None:  # noqa: ARG002 - the SDK's signature
        """Return None: access tokens are verified by their signature, not here."""
        return None

    async def revoke_token(self, token: AccessToken | RefreshToken) -> None:
        """Delete a refresh token."""
        self._refresh.pop(token.token, None)

    def _tokens(
        self, client: OAuthClientInformationFull, proof: AuthorizationCode | RefreshToken, scopes: list[str]
    ) -> OAuthToken:
        scope = " ".join(scopes)
        assert proof.subject is not None
        refresh = RefreshToken(
            token=secrets.token_urlsafe(32),
            client_id=client.client_id,
            scopes=proof.scopes,
            resource=proof.resource,
            subject=proof.subject,
        )
        self._refresh[refresh.token] = refresh
        access = self._mint(
            proof.subject,
            audience=proof.resource,
            expires_in=ACCESS_TOKEN_SECONDS,
            client_id=client.client_id,
            scope=scope,
        )
        return OAuthToken(
            access_token=access, expires_in=ACCESS_TOKEN_SECONDS, scope=scope, refresh_token=refresh.token
        )
