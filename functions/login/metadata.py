"""The metadata of the login (RFC 8414), at both addresses where clients look for it."""

from typing import Any

from mcpist.settings import settings

METADATA_PATHS = ("/.well-known/oauth-authorization-server", "/.well-known/openid-configuration")
SCOPES = ("mcp", "offline_access")
REGISTERED_METHODS = ("none", "client_secret_post", "client_secret_basic")
CONFIDENTIAL_METHODS = ("private_key_jwt", "client_secret_post", "client_secret_basic")
AUTH_METHODS = ("none", *CONFIDENTIAL_METHODS)
CLIENT_CREDENTIALS, JWT_BEARER = "client_credentials", "urn:ietf:params:oauth:grant-type:jwt-bearer"
PERSON_GRANTS, SERVICE_GRANTS = ("authorization_code", "refresh_token", JWT_BEARER), (CLIENT_CREDENTIALS, JWT_BEARER)
ASSERTION_ALGORITHMS = ("ES256", "RS256")


def describe(public_url: str) -> dict[str, Any]:
    """Return the metadata of the login at an address."""
    return {
        "issuer": public_url,
        "authorization_endpoint": f"{public_url}/login/authorize",
        "token_endpoint": f"{public_url}/login/token",
        "registration_endpoint": f"{public_url}/login/register",
        "revocation_endpoint": f"{public_url}/login/revoke",
        "jwks_uri": f"{public_url}/login/jwks.json",
        "scopes_supported": list(SCOPES),
        "response_types_supported": ["code"],
        "response_modes_supported": ["query"],
        "grant_types_supported": [*PERSON_GRANTS, CLIENT_CREDENTIALS],
        "authorization_grant_profiles_supported": ["urn:ietf:params:oauth:grant-profile:id-jag"],
        "token_endpoint_auth_methods_supported": list(AUTH_METHODS),
        "token_endpoint_auth_signing_alg_values_supported": list(ASSERTION_ALGORITHMS),
        "revocation_endpoint_auth_methods_supported": list(AUTH_METHODS),
        "revocation_endpoint_auth_signing_alg_values_supported": list(ASSERTION_ALGORITHMS),
        "code_challenge_methods_supported": ["S256"],
        "authorization_response_iss_parameter_supported": True,
        # A stack on one machine may have no way to the internet, where the documents of most clients are.
        "client_id_metadata_document_supported": not settings().local_services,
        "subject_types_supported": ["public"],
        "id_token_signing_alg_values_supported": ["ES256"],
    }
