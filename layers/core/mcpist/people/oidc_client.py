"""A login at an OIDC issuer: an authorization code with PKCE, from the redirect to the issuer to its tokens.

Sources: RFC 6749, 7636 (PKCE), 8414 (metadata), 9207 (iss), and OpenID Connect Discovery.
"""

import time
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode, urlsplit

from mcpist.errors import AuthenticationError, Timeout, UpstreamUnavailable
from mcpist.memory import Memory
from mcpist.oauth.pkce import challenge_of
from mcpist.people.identity import METADATA_PATHS
from mcpist.settings import settings

ISSUER_CONNECT_TIMEOUT_SECONDS = 3
ISSUER_TIMEOUT_SECONDS = 10
METADATA_CACHE_SECONDS = 3600
MAX_ISSUER_RESPONSE_BYTES = 1_000_000
metadata_cache: Memory[str, dict[str, Any]] = Memory(METADATA_CACHE_SECONDS, max_entries=100)


@dataclass(frozen=True, slots=True)
class OidcClient:
    """A client of ours at an issuer."""

    issuer: str
    client_id: str
    redirect_uri: str
    secret: str = field(default="", repr=False)
    """Empty for a public client."""

    def authorization_url(self, *, state: str, verifier: str, **parameters: str) -> str:
        """Return where a browser logs in; `parameters` are further ones of the request."""
        known = metadata(self.issuer)
        query = {
            "response_type": "code",
            "client_id": self.client_id,
            "redirect_uri": self.redirect_uri,
            "state": state,
            "code_challenge": challenge_of(verifier),
            "code_challenge_method": "S256",
            **parameters,
        }
        endpoint = known["authorization_endpoint"]
        return f"{endpoint}{'&' if urlsplit(endpoint).query else '?'}{urlencode(query)}"

    def check_issuer(self, named: str) -> None:
        """Refuse the response of another authorization server (RFC 9207)."""
        announced = metadata(self.issuer).get("authorization_response_iss_parameter_supported") is True
        if (named or announced) and named.rstrip("/") != self.issuer:
            raise AuthenticationError(problem="the login's response comes from another issuer")

    def redeem(self, code: str, verifier: str, **parameters: str) -> dict[str, Any]:
        """Return the issuer's tokens for a code; AuthenticationError for a code that it refuses."""
        form = self.token_form(code, verifier) | parameters
        status, found = _fetch("POST", metadata(self.issuer)["token_endpoint"], form)
        if status >= 500:
            raise UpstreamUnavailable(service="login", problem=f"it answered {status}")
        if not isinstance(found.get("access_token"), str):
            raise AuthenticationError(problem="the login's code was not accepted")
        return found

    def token_form(self, code: str, verifier: str) -> dict[str, str]:
        """Return the form of a request for tokens."""
        return {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": self.redirect_uri,
            "client_id": self.client_id,
            "code_verifier": verifier,
            **({"client_secret": self.secret} if self.secret else {}),
        }


def metadata(issuer: str) -> dict[str, Any]:
    """Return an issuer's metadata, which is cached for an hour."""
    return metadata_cache.get_or_make(issuer, lambda: _read_metadata(issuer))


def _read_metadata(issuer: str) -> dict[str, Any]:
    for path in METADATA_PATHS:
        status, found = _fetch("GET", issuer + path)
        if status == 200 and has_endpoints(found, issuer):
            return found
    raise UpstreamUnavailable(service="login", problem="the issuer's metadata cannot be read")


def has_endpoints(found: dict[str, Any], issuer: str) -> bool:
    """Whether metadata is the issuer's own, and its addresses are as safe as that."""
    places = [found.get("authorization_endpoint"), found.get("token_endpoint")]
    scheme = f"{urlsplit(issuer).scheme}://"
    return str(found.get("issuer", "")).rstrip("/") == issuer and all(
        isinstance(place, str) and place.startswith(("https://", scheme)) for place in places
    )


def _fetch(method: str, url: str, form: dict[str, str] | None = None) -> tuple[int, dict[str, Any]]:
    """Return the status and the JSON object of the issuer's response; no redirect is followed."""
    from mcpist.bounded_http.client import HttpClient, parse_json  # most requests need not wait for its import
    from mcpist.bounded_http.failures import ExchangeFailed, ExchangeTimeout

    client = HttpClient(
        max_bytes=MAX_ISSUER_RESPONSE_BYTES,
        connect_seconds=ISSUER_CONNECT_TIMEOUT_SECONDS,
        keep_alive=False,
        # Our own login is behind our own API.
        embedded_aws=url.startswith(f"{settings().public_url}/"),
    )
    deadline = time.monotonic() + ISSUER_TIMEOUT_SECONDS
    try:
        response = client.exchange(method, url, deadline=deadline, form=form, headers={"accept": "application/json"})
    except ExchangeTimeout:
        raise Timeout(service="login", seconds=ISSUER_TIMEOUT_SECONDS) from None
    except ExchangeFailed:
        raise UpstreamUnavailable(service="login", problem="it cannot be reached") from None
    content = parse_json(response.body)
    return response.status, content if isinstance(content, dict) else {}
