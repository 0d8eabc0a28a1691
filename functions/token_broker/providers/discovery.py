"""Discovery: the OAuth server of a module's host, and our client there.

References: RFC 9728 (the resource names its server), RFC 8414 (the server describes itself), RFC 7591 (it registers a
client), and MCP's client id metadata documents (the client's id is the address of its description).
"""

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from mcpist.errors import InvalidRequest, McpistError
from mcpist.oauth.client_document import client_document, client_document_url
from mcpist.oauth.module_app import MAX_SCOPES_ASKED, ModuleAppRequest, origin
from mcpist.oauth.provider import ProviderRequest, check_public_url
from mcpist.settings import settings
from token_broker.providers.http_client import send

DISCOVERY_STEP_SECONDS = 2.5

_CHALLENGE_FIELD = re.compile(r'(resource_metadata|scope)="([^"]{1,2000})"')
_SERVER_PATHS = ("/.well-known/oauth-authorization-server{path}", "/.well-known/openid-configuration{path}")

type Metadata = Mapping[str, Any]


def discover(name: str, server: str, asked: ModuleAppRequest) -> dict[str, Any]:
    """Return the fields of an app for a server; InvalidRequest says what it lacks for that."""
    server = server.partition("?")[0]
    challenge = _challenge(name, server)
    resource = _resource_metadata(name, server, challenge.get("resource_metadata", ""))
    metadata = _server_metadata(name, str(resource["authorization_servers"][0]))
    scopes = asked.scopes or _scopes(challenge, resource, metadata)
    revoke_url = metadata.get("revocation_endpoint", "")
    is_near = bool(revoke_url) and origin(revoke_url) == origin(metadata["token_endpoint"])
    found = {
        "authorize_url": metadata["authorization_endpoint"],
        "token_url": metadata["token_endpoint"],
        "revoke_url": revoke_url if is_near else "",
        "issuer": metadata["issuer"] if metadata.get("authorization_response_iss_parameter_supported") else "",
        "resource": resource["resource"],
        "scopes": scopes,
    }
    methods = metadata.get("token_endpoint_auth_methods_supported", ["client_secret_basic"])
    given = {"client_auth": "basic" if "client_secret_basic" in methods else "body"} | asked.fields()
    made = {} if asked.client_id else make_client(name, metadata, scopes, methods)
    return found | given | {"scopes": scopes} | made


def _challenge(name: str, server: str) -> Metadata:
    """Return the fields with which a server refuses a request without a token."""
    try:
        refused = send(ProviderRequest("GET", server), name, DISCOVERY_STEP_SECONDS)
    except McpistError:  # one that begins a stream, or answers nothing: its metadata are where all have them
        return {}
    return dict(_CHALLENGE_FIELD.findall(refused.headers.get("www-authenticate", "")))


def _resource_metadata(name: str, server: str, named: str) -> Metadata:
    """Return the metadata of a resource (RFC 9728), which must be the server or an address above it."""
    root = "://".join(origin(server)) + "/.well-known/oauth-protected-resource"
    for url in dict.fromkeys(filter(None, (named, root + urlsplit(server).path.rstrip("/"), root))):
        found = _read(name, url)
        if found and isinstance(found.get("authorization_servers"), list) and found["authorization_servers"]:
            resource = str(found.get("resource", ""))
            below = f"{server.rstrip('/')}/".startswith(f"{resource.rstrip('/')}/")
            if not below or origin(resource) != origin(server):
                raise _lacking("its metadata are those of another resource")
            return found
    raise _lacking("it names no authorization server (RFC 9728): give authorize_url and token_url")


def _server_metadata(name: str, issuer: str) -> Metadata:
    """Return the metadata of an authorization server: of RFC 8414, or of OpenID Connect."""
    parts = urlsplit(issuer)
    path, base = parts.path.rstrip("/"), f"{parts.scheme}://{parts.netloc}"
    urls = [base + one.format(path=path) for one in _SERVER_PATHS]
    for url in dict.fromkeys([*urls, f"{base}{path}/.well-known/openid-configuration"]):
        found = _read(name, url)
        if found is None:
            continue
        if str(found.get("issuer", "")).rstrip("/") != issuer.rstrip("/"):
            raise _lacking("its authorization server calls itself by another issuer")
        if "S256" not in found.get("code_challenge_methods_supported", ()):
            raise _lacking("its authorization server does not announce PKCE with S256")
        if {"authorization_endpoint", "token_endpoint"} <= {*found}:
            return found
    raise _lacking("its authorization server does not describe itself (RFC 8414)")


def make_client(name: str, metadata: Metadata, scopes: tuple[str, ...], methods: list[str]) -> dict[str, Any]:
    """Return our client at a server: by the address of its description, or registered there."""
    if metadata.get("client_id_metadata_document_supported") and settings().public_url.startswith("https://"):
        return {"client_id": client_document_url(name)}
    endpoint = metadata.get("registration_endpoint")
    if not endpoint:
        raise _lacking("its authorization server registers no clients: give a client_id", "client_id")
    wanted = ("client_secret_basic", "client_secret_post", "none")
    method = next((one for one in wanted if one in methods), wanted[0])
    body = client_document(name) | {"token_endpoint_auth_method": method}
    del body["client_id"]
    body |= {"scope": " ".join(scopes)} if scopes else {}
    request = ProviderRequest("POST", _checked(str(endpoint)), json=body)
    made = send(request, name, DISCOVERY_STEP_SECONDS)
    client_id, secret = made.field("client_id"), made.field("client_secret")
    if not made.is_success or not isinstance(client_id, str):
        raise _lacking(f"its authorization server registers no client (it answered {made.status})", "client_id")
    named = made.field("token_endpoint_auth_method") or method
    client_auth = "body" if named == "client_secret_post" else "basic"
    return {"client_id": client_id, "client_auth": client_auth} | ({"client_secret": secret} if secret else {})


def _scopes(challenge: Metadata, resource: Metadata, metadata: Metadata) -> tuple[str, ...]:
    """Return the scopes to ask for: of the server's challenge, else of its metadata, and those of a refresh token."""
    named = str(challenge.get("scope", "")).split() or resource.get("scopes_supported") or []
    offline = ["offline_access"] if "offline_access" in (metadata.get("scopes_supported") or ()) else []
    return tuple(dict.fromkeys(map(str, [*named, *offline])))[:MAX_SCOPES_ASKED]


def _read(name: str, url: str) -> Metadata | None:
    """Return the JSON object at an address; None where there is none."""
    request = ProviderRequest("GET", _checked(url))
    try:
        response = send(request, name, DISCOVERY_STEP_SECONDS)
    except McpistError:
        return None
    return response.body if response.is_success and isinstance(response.body, dict) else None


def _checked(url: str) -> str:
    try:
        return check_public_url(url)
    except ValueError as error:
        raise _lacking(f"its metadata name an address that is refused: {error}") from None


def _lacking(problem: str, field: str = "authorize_url") -> InvalidRequest:
    return InvalidRequest(field=field, problem=problem)
