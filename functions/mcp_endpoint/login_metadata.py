"""The metadata that leads clients to the login.

Source: https://modelcontextprotocol.io/specification/2026-07-28/basic/authorization and RFC 9728.
"""

from typing import Any

from mcpist.people.bearer import audience, login_scopes
from mcpist.settings import settings


def metadata(public_url: str) -> dict[str, Any]:
    """Return the metadata of the protected resource (RFC 9728)."""
    return {
        "resource": audience(public_url),
        "authorization_servers": [public_url if settings().login_url else settings().issuer],
        "bearer_methods_supported": ["header"],
        "resource_name": "MCPist",
        **({"scopes_supported": login_scopes()} if login_scopes() else {}),
    }


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
        "scopes_supported": login_scopes(),
        "response_types_supported": ["code"],
        "response_modes_supported": ["query"],
        "grant_types_supported": ["authorization_code", "refresh_token"],
        "token_endpoint_auth_methods_supported": ["none"],
        "revocation_endpoint_auth_methods_supported": ["none"],
        "code_challenge_methods_supported": ["S256"],
    }
