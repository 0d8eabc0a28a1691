"""The authorization server of authlib: its grants and endpoints over our stored clients, codes and logins.

Sources: RFC 6749, 7009 (revocation), 7591 (registration), 7636 (PKCE), 8707 (resource), 9068 (tokens), 9207 (iss).
"""

import logging
from collections import defaultdict
from collections.abc import Mapping
from functools import cache
from typing import Any

from authlib.common.urls import add_params_to_uri
from authlib.oauth2 import OAuth2Error
from authlib.oauth2.rfc6749 import AuthorizationServer, InvalidGrantError, InvalidRequestError, OAuth2Request
from authlib.oauth2.rfc6749.grants import AuthorizationCodeGrant, RefreshTokenGrant
from authlib.oauth2.rfc6749.requests import BasicOAuth2Payload
from authlib.oauth2.rfc7009 import RevocationEndpoint
from authlib.oauth2.rfc7591 import ClientRegistrationEndpoint, InvalidClientMetadataError, InvalidRedirectURIError
from authlib.oauth2.rfc7636 import CodeChallenge

from login import admission, assertions, clients, signing, tokens
from login.clients import LoginClient
from login.enterprise import AssertionGrant, ServiceGrant
from login.metadata import AUTH_METHODS, REGISTERED_METHODS
from login.tokens import AuthorizationCode, ClientGrant
from mcpist.errors import AuthenticationError, ClientNotAllowed
from mcpist.http.request import HttpResponse, json_response
from mcpist.people import client_logins, identity
from mcpist.settings import settings

# At DEBUG it logs the tokens that it issues.
logging.getLogger("authlib").setLevel(logging.WARNING)
REGISTRATION, REVOCATION = ClientRegistrationEndpoint.ENDPOINT_NAME, RevocationEndpoint.ENDPOINT_NAME


class InvalidTargetError(OAuth2Error):  # type: ignore[misc]
    """A request for tokens of another resource than the endpoint."""

    error = "invalid_target"


class Parameters(BasicOAuth2Payload):  # type: ignore[misc]
    """The parameters of a request, each with all its values."""

    def __init__(self, values: Mapping[str, list[str]]) -> None:
        super().__init__({name: given[0] for name, given in values.items()})
        self._datalist = defaultdict(list, values)


class Request(OAuth2Request):  # type: ignore[misc]
    """A request as authlib sees it; its address is not looked at, but for being https."""

    def __init__(
        self,
        method: str,
        values: Mapping[str, list[str]],
        headers: Mapping[str, str] | None = None,
        *,
        number: str = "",
    ) -> None:
        self.number = number
        super().__init__(method, "https://login", headers={"Authorization": (headers or {}).get("authorization", "")})
        self.payload = Parameters(values)

    @property
    def args(self) -> dict[str, str]:
        """The parameters."""
        return dict(self.payload.data)

    form = args


class CodeGrant(AuthorizationCodeGrant):  # type: ignore[misc]
    """Tokens for a code, once."""

    TOKEN_ENDPOINT_AUTH_METHODS = list(AUTH_METHODS)

    def save_authorization_code(self, code: str, request: Request) -> None:
        """Store the code of a person who lets the client act."""
        tokens.store_code(
            code,
            request.client,
            request.user,
            redirect_uri=self.redirect_uri,
            challenge=request.form["code_challenge"],
            scope=request.scope,
        )

    def query_authorization_code(self, code: str, client: LoginClient) -> AuthorizationCode | None:
        """Take the code; whatever is wrong with the rest of the request, it is used up."""
        return tokens.redeem(code, client)

    def delete_authorization_code(self, authorization_code: AuthorizationCode) -> None:
        """Keep it until it expires, so that a second use is noticed."""

    def authenticate_user(self, authorization_code: AuthorizationCode) -> ClientGrant:
        """Begin the client's login."""
        clients.keep(self.request.client)
        return tokens.begin_login(authorization_code, self.request.client)


class RefreshGrant(RefreshTokenGrant):  # type: ignore[misc]
    """Tokens for a refresh token, which the next one replaces."""

    TOKEN_ENDPOINT_AUTH_METHODS = list(AUTH_METHODS)
    INCLUDE_NEW_REFRESH_TOKEN = True

    def authenticate_refresh_token(self, refresh_token: str) -> ClientGrant | None:
        """Rotate the token."""
        return tokens.rotate(refresh_token)

    def authenticate_user(self, refresh_token: ClientGrant) -> ClientGrant:
        """Return the grant of the token."""
        return refresh_token

    def revoke_old_credential(self, refresh_token: ClientGrant) -> None:
        """Do nothing more: the rotation has done it."""


class S256(CodeChallenge):  # type: ignore[misc]
    """PKCE, which every request needs."""

    SUPPORTED_CODE_CHALLENGE_METHOD = ["S256"]

    def validate_code_challenge(self, grant: Any, redirect_uri: str) -> None:
        """Refuse a request without a challenge, or with one of the other method, which is the default."""
        if grant.request.form.get("code_challenge_method") != "S256" or not grant.request.form.get("code_challenge"):
            raise InvalidRequestError("code_challenge with the method S256 is required")
        super().validate_code_challenge(grant, redirect_uri)


class Revocation(RevocationEndpoint):  # type: ignore[misc]
    """The end of a client's login, by one of its tokens."""

    CLIENT_AUTH_METHODS = list(AUTH_METHODS)

    def query_token(self, token_string: str, token_type_hint: str | None) -> ClientGrant | None:  # noqa: ARG002
        """Return the grant of a token of either kind."""
        return tokens.find_login(token_string) or _of_access_token(token_string)

    def revoke_token(self, token: ClientGrant, request: Request) -> None:  # noqa: ARG002 - authlib's signature
        """End the login."""
        client_logins.end(token.subject, token.login.id)


class ClientRegistration(ClientRegistrationEndpoint):  # type: ignore[misc]
    """The registration of a client, which is open to all: it grants nothing by itself."""

    def authenticate_token(self, request: Any) -> bool:  # noqa: ARG002 - authlib's signature
        """Ask for no token."""
        return True

    def get_server_metadata(self) -> dict[str, Any]:
        """Let a client wish for more than we have: it is told what it gets."""
        return {}

    def extract_client_metadata(self, request: Any) -> dict[str, Any]:
        """Return the client's description, if it is one."""
        described = request.payload.data
        described.setdefault("token_endpoint_auth_method", "client_secret_basic")
        if described["token_endpoint_auth_method"] not in REGISTERED_METHODS:
            known = ", ".join(REGISTERED_METHODS)
            raise InvalidClientMetadataError(f"token_endpoint_auth_method must be one of {known}")
        if problem := clients.problem_of(described):
            raise InvalidRedirectURIError(problem)
        try:
            found: dict[str, Any] = super().extract_client_metadata(request)
        except (AttributeError, LookupError, TypeError, ValueError):
            raise InvalidClientMetadataError("a field has the wrong type") from None
        return found

    def generate_client_info(self, request: Any) -> dict[str, Any]:
        """Store the client and return its id, with a secret if it wants one."""
        client, secret = clients.registered(request.payload.data)
        return {"client_id": client.id, **({"client_secret": secret, "client_secret_expires_at": 0} if secret else {})}

    def save_client(self, client_info: Any, client_metadata: Any, request: Any) -> None:
        """Do nothing more: it is stored."""


class Server(AuthorizationServer):  # type: ignore[misc]
    """Our authorization server."""

    def query_client(self, client_id: str) -> LoginClient | None:
        """Return the client with an id."""
        return clients.find(client_id)

    def save_token(self, token: Any, request: Any) -> None:
        """Store nothing: the client's login is stored, and no token is."""

    def send_signal(self, name: str, *args: Any, **kwargs: Any) -> None:
        """Tell nobody."""

    def create_oauth2_request(self, request: Request) -> Request:
        """Return the request, which is one already."""
        return request

    create_json_request = create_oauth2_request

    def handle_response(self, status: int, body: Any, headers: Any) -> HttpResponse:
        """Return API Gateway's response; a redirect to a client names us (RFC 9207)."""
        location = dict(headers).get("Location")
        if location:
            target = add_params_to_uri(location, {"iss": settings().public_url})
            return {"statusCode": 303, "headers": {"location": target, "cache-control": "no-store"}, "body": ""}
        return json_response(status, body, {"cache-control": "no-store"})


@cache
def server() -> Server:
    """Return the server with its grants and endpoints."""
    made = Server()
    made.register_grant(CodeGrant, [S256()])
    made.register_grant(RefreshGrant)
    made.register_grant(ServiceGrant)
    made.register_grant(AssertionGrant)
    made.register_client_auth_method("private_key_jwt", assertions.authenticate_client)
    made.register_endpoint(Revocation)
    made.register_endpoint(ClientRegistration)
    made.register_token_generator("default", _tokens)
    return made


def _tokens(client: LoginClient, user: ClientGrant, **_: Any) -> dict[str, Any]:
    """Return the tokens of a grant; the console needs no second access token."""
    told: dict[str, Any] = {"email": user.email} if client.is_ours and user.email else {}
    try:
        organizations = admission.limits(user.subject, client, user.organizations)
    except ClientNotAllowed:
        raise InvalidGrantError("No organization of the person allows this client") from None
    told |= {"orgs": list(organizations)} if organizations else {}
    token = signing.access_token(user.subject, login=user.login.id, client_id=client.id, scope=user.scope, **told)
    return {
        "access_token": token,
        "token_type": "Bearer",
        "expires_in": signing.ACCESS_TOKEN_SECONDS,
        "scope": user.scope,
        **({"refresh_token": user.refresh_token} if user.refresh_token and not client.is_ours else {}),
    }


def _of_access_token(token: str) -> ClientGrant | None:
    """Return the grant of an access token of ours."""
    try:
        known = identity.verify(token, issuer=settings().public_url, audience=settings().audience)
    except AuthenticationError:
        return None
    found = tokens.read_login(known.subject, known.login)
    return ClientGrant(known.subject, found, "", "") if found else None
