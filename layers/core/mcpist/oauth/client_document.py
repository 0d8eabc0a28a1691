"""Client document: what an OAuth server reads of our client, whose id is the address of this document."""

from typing import Any

from mcpist.settings import settings


def callback_url(provider: str) -> str:
    """Return the address at which consents for a provider come back."""
    return f"{settings().public_url}/connect/callback/{provider}"


def client_document_url(provider: str) -> str:
    """Return the address of our client's description, which is its id."""
    return f"{settings().public_url}/connect/clients/{provider}"


def client_document(provider: str) -> dict[str, Any]:
    """Return the description of our client for one provider; the client has no secret."""
    return {
        "client_id": client_document_url(provider),
        "client_name": "MCPist",
        "redirect_uris": [callback_url(provider)],
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "token_endpoint_auth_method": "none",
    }
