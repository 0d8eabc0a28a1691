"""Clients: the console, service users, those that register (RFC 7591), and those that a document at their id describes.

Item of the table of logins: `client#ID, client`, a registered client; it expires unless people use it.
Source: https://modelcontextprotocol.io/specification/2026-07-28/basic/authorization/client-registration
"""

import hashlib
import json
import secrets
import time
from dataclasses import dataclass, field
from typing import Annotated, Any
from urllib.parse import urlsplit

from authlib.oauth2.rfc6749 import ClientMixin

from login.metadata import PERSON_GRANTS, REGISTERED_METHODS, SCOPES, SERVICE_GRANTS
from mcpist.aws.attributes import Attribute, decode, encode
from mcpist.aws.table import holds
from mcpist.errors import MembershipRequired
from mcpist.loopback import is_loopback_url
from mcpist.memory import Memory
from mcpist.people import directory, service_credentials
from mcpist.people.client_logins import CONSOLE_CLIENT, logins_table
from mcpist.settings import settings

UNUSED_SECONDS, USED_SECONDS = 86_400, 90 * 86_400
MAX_DOCUMENT_BYTES, DOCUMENT_SECONDS, MAX_CACHED_DOCUMENTS, DOCUMENT_CACHE_SECONDS = 20_000, 3.0, 200, 600
MAX_REDIRECT_URIS, MAX_URI_CHARACTERS, MAX_NAME_LENGTH = 20, 1_000, 100
SECRET_METHODS = {"client_secret_post", "client_secret_basic"}
FORBIDDEN_SCHEMES = {"about", "blob", "data", "file", "ftp", "javascript", "vbscript", "view-source", "ws", "wss"}


@dataclass(frozen=True, slots=True)
class LoginClient(ClientMixin):  # type: ignore[misc]
    """A client, as the grants of authlib ask for it."""

    id: Annotated[str, Attribute("client")]
    name: str
    """What it calls itself."""
    redirect_uris: tuple[str, ...]
    auth_method: str = "none"
    secret_hash: str = field(default="", repr=False)
    expires_at: int = 0
    """When a registered client ends unless it is used, in epoch seconds."""
    jwks_url: str = ""
    """Where it publishes its keys, if it proves itself by one."""
    public_key: str = ""
    """Its key as a JWK's text, if it publishes none."""
    organization: str = ""
    """Of a service user alone: its organization."""
    credentials: str = ""
    """Of a service user alone: the id of its credentials."""

    @property
    def host(self) -> str:
        """The host that describes the client; empty for one that only says its name."""
        return (urlsplit(self.id).hostname or "") if describes_itself(self.id) else ""

    @property
    def is_ours(self) -> bool:
        """Whether it is the console, which needs no consent."""
        return self.id == CONSOLE_CLIENT

    def get_client_id(self) -> str:
        """Return its id."""
        return self.id

    def get_default_redirect_uri(self) -> str | None:
        """Return where answers go if a request does not say: nowhere, if there are several addresses."""
        return self.redirect_uris[0] if len(self.redirect_uris) == 1 else None

    def get_allowed_scope(self, scope: str | None) -> str:
        """Return the scopes that we know; others are left out, since a token says what it has."""
        return " ".join(one for one in (scope or "").split() if one in SCOPES) or SCOPES[0]

    def check_redirect_uri(self, redirect_uri: str) -> bool:
        """Whether answers may go to an address: one of the client's, on loopback with any port (RFC 8252)."""
        return _is_safe(redirect_uri) and any(
            _without_port(redirect_uri) == _without_port(known) for known in self.redirect_uris
        )

    def check_client_secret(self, client_secret: str) -> bool:
        """Whether this is its secret."""
        return bool(self.secret_hash) and secrets.compare_digest(digest(client_secret), self.secret_hash)

    def check_endpoint_auth_method(self, method: str, endpoint: str) -> bool:  # noqa: ARG002 - authlib's signature
        """Whether it proves itself in this way."""
        return method == self.auth_method or {method, self.auth_method} <= SECRET_METHODS

    def check_response_type(self, response_type: str) -> bool:
        """Whether it may ask for this response."""
        return response_type == "code"

    def check_grant_type(self, grant_type: str) -> bool:
        """Whether it may ask for tokens in this way."""
        return grant_type in (SERVICE_GRANTS if self.organization else PERSON_GRANTS)


def digest(secret: str) -> str:
    """Return the hash by which a random secret is stored."""
    return hashlib.sha256(secret.encode()).hexdigest()


def find(client_id: str) -> LoginClient | None:
    """Return the client with an id; None if there is none."""
    if len(client_id) > MAX_URI_CHARACTERS:
        return None
    if client_id == CONSOLE_CLIENT:
        return LoginClient(CONSOLE_CLIENT, "MCPist", (f"{settings().public_url}/connect/login",))
    if describes_itself(client_id):
        return documents.get(client_id) or _described(client_id)
    if client_id.startswith(service_credentials.SERVICE_CLIENT_PREFIX):
        return _service(client_id)
    item = logins_table().get(f"client#{client_id}", "client")
    return decode(LoginClient, item) if item and item["expires_at"] > time.time() else None


def _service(client_id: str) -> LoginClient | None:
    """Return the client of a service user; None without the user, whatever credentials are left."""
    found = service_credentials.read(client_id)
    try:
        user = directory.identify(service_credentials.subject_of(client_id))
    except MembershipRequired:
        return None
    if found is None:
        return None
    return LoginClient(
        client_id,
        user.name,
        (),
        found.method,
        found.secret_hash,
        jwks_url=found.jwks_url,
        public_key=json.dumps(dict(found.public_key)),
        organization=user.organization,
        credentials=found.id,
    )


def keep(client: LoginClient) -> None:
    """Let a registered client that is used live on."""
    expires_at = int(time.time()) + USED_SECONDS
    if client.expires_at and client.expires_at < expires_at - UNUSED_SECONDS:
        place, change = (f"client#{client.id}", "client"), {"expires_at": expires_at}
        holds(logins_table().set, *place, change, condition="attribute_exists(pk)")  # else it has just expired


# -- clients that describe themselves ------------------------------------------------------------------

documents: Memory[str, LoginClient] = Memory(DOCUMENT_CACHE_SECONDS, MAX_CACHED_DOCUMENTS)


def _described(url: str) -> LoginClient | None:
    """Return the client that the document at a URL describes, None for a document that is not its own."""
    from mcpist.bounded_http.client import HttpClient, parse_json
    from mcpist.bounded_http.failures import ExchangeFailed, ExchangeTimeout

    if urlsplit(url).path in {"", "/"}:
        return None
    http = HttpClient(max_bytes=MAX_DOCUMENT_BYTES, connect_seconds=DOCUMENT_SECONDS, keep_alive=False)
    try:
        headers = {"accept": "application/json"}
        response = http.exchange("GET", url, deadline=time.monotonic() + DOCUMENT_SECONDS, headers=headers)
    except (ExchangeFailed, ExchangeTimeout):
        return None
    found = described_by(url, parse_json(response.body)) if response.status == 200 else None
    return found and documents.put(url, found)


def described_by(url: str, found: Any) -> LoginClient | None:
    """Return the client that a document at a URL describes, if it is its own and valid."""
    if not isinstance(found, dict) or found.get("client_id") != url:
        return None
    method, jwks_url = found.get("token_endpoint_auth_method", "none"), found.get("jwks_uri", "")
    has_keys = method == "private_key_jwt" and describes_itself(jwks_url)
    if (method != "none" and not has_keys) or problem_of(found):
        return None
    uris = tuple(found["redirect_uris"])
    return LoginClient(url, name_of(found), uris, method, jwks_url=jwks_url if has_keys else "")


def name_of(described: dict[str, Any]) -> str:
    """Return the name that a client gives itself, cut to what is shown."""
    return str(described.get("client_name") or "")[:MAX_NAME_LENGTH]


def problem_of(described: dict[str, Any]) -> str:
    """Return the fault of the addresses in a client's description; empty for none."""
    uris = described.get("redirect_uris")
    if not isinstance(uris, list) or not 0 < len(uris) <= MAX_REDIRECT_URIS:
        return f"redirect_uris must have 1 to {MAX_REDIRECT_URIS} addresses"
    wrong = [number for number, uri in enumerate(uris) if not _is_safe(uri)]
    return f"redirect_uris[{wrong[0]}] cannot be redirected to" if wrong else ""


def _is_safe(uri: Any) -> bool:
    """Whether a browser may be sent to an address: by https, to loopback, or to a program by a scheme of its own."""
    if not isinstance(uri, str) or not uri.isascii() or not uri.isprintable() or len(uri) > MAX_URI_CHARACTERS:
        return False
    try:
        parts = urlsplit(uri)
        named = parts.hostname
    except ValueError:
        return False
    if not parts.scheme or parts.scheme in FORBIDDEN_SCHEMES or "#" in uri or " " in uri or "\\" in uri:
        return False
    if parts.scheme in {"http", "https"}:
        return parts.username is None and bool(named) and (parts.scheme == "https" or is_loopback_url(uri))
    return True


def describes_itself(client_id: str) -> bool:
    """Whether an id is the address of a description; on one machine a program under development may have it there."""
    return _is_safe(client_id) and (
        client_id.startswith("https://") or (settings().local_services and client_id.startswith("http://"))
    )


def _without_port(uri: str) -> str:
    """Return an address to compare: that of a program on loopback may have any port."""
    parts = urlsplit(uri)
    if parts.scheme != "http" or not is_loopback_url(uri):
        return uri
    host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
    return parts._replace(netloc=str(host)).geturl()


# -- clients that register -----------------------------------------------------------------------------


def registered(described: dict[str, Any]) -> tuple[LoginClient, str]:
    """Store the client of a registration whose fields are valid, and return it with its secret, if it has one."""
    method = described["token_endpoint_auth_method"]
    secret = "" if method == "none" else secrets.token_urlsafe(32)
    client = LoginClient(
        secrets.token_urlsafe(16),
        name_of(described),
        tuple(described["redirect_uris"]),
        method if method in REGISTERED_METHODS else "none",
        digest(secret) if secret else "",
        expires_at=int(time.time()) + UNUSED_SECONDS,
    )
    logins_table().put({"pk": f"client#{client.id}", "sk": "client", **encode(client)})
    return client, secret
