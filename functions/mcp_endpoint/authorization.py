"""Authorization: the bearer token, the challenge, and the metadata that leads clients to the login.

Source: https://modelcontextprotocol.io/specification/2026-07-28/basic/authorization and RFC 9728.
"""

from dataclasses import replace
from typing import Any

from mcpist.aws.http_request import HttpRequest
from mcpist.caller import Caller, ClientInfo, Proof
from mcpist.errors import AuthenticationError, AuthorizationError, McpistError, TokenMissing
from mcpist.people import directory, identity
from mcpist.people.identity import OwnClients
from mcpist.settings import settings

METADATA_PATH = "/.well-known/oauth-protected-resource"
ROLE_HEADER = "x-mcpist-role"


def authorize(request: HttpRequest) -> Caller:
    """Return the caller that the request's bearer token identifies, in the organization that its path names."""
    headers = request.headers
    scheme, _, token = headers.get("authorization", "").partition(" ")
    if scheme.lower() != "bearer" or not token.strip():
        raise TokenMissing
    expected = {"issuer": settings().issuer, "audience": audience(request.public_url)}
    own = OwnClients(settings().login_client_ids, settings().login_scope)
    verified = identity.verify(token.strip(), **expected, own=own)
    organization, role = request.path_parameters.get("organization", ""), headers.get(ROLE_HEADER, "")
    proof = Proof("jwt", token.strip())
    caller = directory.identify(verified.subject, organization=organization, roles=(role,) if role else (), proof=proof)
    client = ClientInfo.described(headers.get("user-agent", ""), client_id=verified.client_id)
    return replace(caller, locale=request.locale(caller.locale), client=client)


def audience(public_url: str) -> str:
    """Return the resource that a token must be issued for."""
    return settings().audience or f"{public_url}/mcp"


def metadata(public_url: str) -> dict[str, Any]:
    """Return the metadata of the protected resource (RFC 9728)."""
    return {
        "resource": audience(public_url),
        "authorization_servers": [public_url if settings().login_url else settings().issuer],
        "bearer_methods_supported": ["header"],
        "resource_name": "MCPist",
        **({"scopes_supported": _login_scopes()} if _login_scopes() else {}),
    }


def _login_scopes() -> list[str]:
    """Return the scopes that clients ask the own user pool for; none with another issuer, whose scopes are its own."""
    return ["openid", settings().login_scope] if settings().login_scope else []


def login_metadata(public_url: str) -> dict[str, Any] | None:
    """Return the authorization server's metadata (RFC 8414) where its own is incomplete; None elsewhere.

    Cognito supports PKCE but its metadata does not say so. Clients require `issuer` to be the address of this document;
    only this endpoint reads the issuer of an access token. Cognito's login sends no `iss`, so none is announced.
    """
    login_url = settings().login_url
    if not login_url:
        return None
    return {
        "issuer": public_url,
        "authorization_endpoint": f"{login_url}/oauth2/authorize",
        "token_endpoint": f"{login_url}/oauth2/token",
        "revocation_endpoint": f"{login_url}/oauth2/revoke",
        "jwks_uri": f"{settings().issuer}/.well-known/jwks.json",
        "scopes_supported": _login_scopes(),
        "response_types_supported": ["code"],
        "response_modes_supported": ["query"],
        "grant_types_supported": ["authorization_code", "refresh_token"],
        "token_endpoint_auth_methods_supported": ["none"],
        "revocation_endpoint_auth_methods_supported": ["none"],
        "code_challenge_methods_supported": ["S256"],
    }


def challenge(error: McpistError, public_url: str) -> dict[str, str]:
    """Return the headers that tell a client how to get a token, or one with more permissions.

    API Gateway renames a function's `www-authenticate`; the template maps the copy back to that name.
    """
    link = f'resource_metadata="{public_url}{METADATA_PATH}/mcp"'
    match error:
        case TokenMissing():
            scopes = " ".join(_login_scopes())
            value = f'Bearer scope="{scopes}", {link}' if scopes else f"Bearer {link}"
        case AuthenticationError():
            value = f'Bearer error="invalid_token", error_description="{error.text().message}", {link}'
        case AuthorizationError():
            value = f'Bearer error="insufficient_scope", {link}'
        case _:
            return {}
    return {"www-authenticate": value, "x-mcpist-www-authenticate": value}
