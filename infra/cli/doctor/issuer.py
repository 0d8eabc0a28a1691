"""The issuer: its metadata, its keys and its clients."""

from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import httpx2
import jwt

from infra.cli.doctor.deployment import CheckFinding, Deployment, ok, problem, skipped, warning
from infra.cli.doctor.endpoint import LOGIN_PATH, ask, document
from mcpist.errors import UpstreamUnavailable
from mcpist.people.identity import ALGORITHMS, METADATA_PATHS

CHALLENGE = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"  # the example of RFC 7636; no code is redeemed


def discovery(deployment: Deployment) -> Iterator[CheckFinding]:
    """Check that the issuer's metadata has the name that tokens must have."""
    issuer = deployment.issuer
    if not issuer:
        yield problem("no issuer is configured: nobody can log in", deployment.redeploy(Issuer="YOUR_OIDC_ISSUER"))
        return
    try:
        found = _described(issuer)
    except UpstreamUnavailable:
        tried = " and ".join(METADATA_PATHS)
        yield problem(
            f"{issuer} cannot be read at {tried}",
            f"{deployment.redeploy(Issuer='ITS_URL')} Or wait until it is available again.",
        )
        return
    named = str(found.get("issuer", ""))
    if named.rstrip("/") == issuer:
        yield ok(named)
    else:
        yield problem(f"{issuer} calls itself {named}, and so do its tokens", deployment.redeploy(Issuer=named))


def keys(deployment: Deployment) -> Iterator[CheckFinding]:
    """Check that the issuer publishes keys with which tokens can be verified."""
    uri = str(_described(deployment.issuer).get("jwks_uri", ""))
    try:
        published = jwt.PyJWKSet.from_dict(document(uri) or {}).keys
    except (jwt.PyJWTError, httpx2.HTTPError, httpx2.InvalidURL) as error:
        yield problem(f"{uri or 'jwks_uri'}: {error}", "Let the issuer publish its signing keys there.")
        return
    usable = [key for key in published if key.key_id and key.algorithm_name in ALGORITHMS]
    if usable:
        yield ok(f"{len(usable)} keys at {uri}: {', '.join(sorted({key.algorithm_name for key in usable}))}")
    else:
        remedy = f"Let the issuer sign with {', '.join(ALGORITHMS)}, under a key id."
        yield problem(f"no key at {uri} has an id and an algorithm that is accepted", remedy)


def login(deployment: Deployment) -> Iterator[CheckFinding]:
    """Check that the issuer fulfils what MCP clients need for a login."""
    shim = f"{deployment.url}{LOGIN_PATH}"
    found = (document(shim) or {}) if deployment.login_url else _described(deployment.issuer)
    if "S256" not in found.get("code_challenge_methods_supported", ()):
        yield problem(
            "PKCE with S256 is not announced: MCP clients refuse", "Enable it at the issuer, or use another issuer."
        )
    else:
        yield ok("PKCE with S256 is announced")
    if found.get("client_id_metadata_document_supported"):
        yield ok("clients need no registration: their ids are URLs of metadata documents")
    elif found.get("registration_endpoint"):
        yield ok("clients register themselves")
    elif deployment.login_url:
        yield ok("clients are given the ids in the outputs ClaudeClientId and LocalClientId (docs/clients.md)")
    else:
        remedy = "Register each client's redirect URIs (docs/clients.md), and give the client ids to people."
        yield warning("clients cannot register themselves", remedy)


def connect_client(deployment: Deployment) -> Iterator[CheckFinding]:
    """Check that the issuer accepts the client of the pages under /connect."""
    found = _described(deployment.issuer)
    redirect = f"{deployment.url}/connect/login"
    place = str(found.get("authorization_endpoint", ""))
    asked = {
        "response_type": "code",
        "client_id": deployment.connect_client,
        "redirect_uri": redirect,
        "state": "mcpist-doctor",
        "code_challenge": CHALLENGE,
        "code_challenge_method": "S256",
        "resource": deployment.resource,
        **({"scope": "openid"} if "openid" in found.get("scopes_supported", ()) else {}),
    }
    response = ask("GET", f"{place}{'&' if urlsplit(place).query else '?'}{urlencode(asked)}")
    errors = parse_qs(urlsplit(response.headers.get("location", "")).query).get("error", [])
    if response.is_server_error:
        yield skipped(f"the login returned {response.status_code}")
    elif response.is_client_error or errors:
        reason = errors[0] if errors else str(response.status_code)
        remedy = f"Give the issuer's client the redirect URI {redirect}; it must be public and use PKCE."
        yield problem(f"the login refuses the client {deployment.connect_client} ({reason})", remedy)
    else:
        yield ok(f"the login accepts {deployment.connect_client} with {redirect}")


def _described(issuer: str) -> dict[str, Any]:
    """Read the issuer's metadata where the functions read it."""
    for path in METADATA_PATHS:
        try:
            found = document(issuer + path)
        except (httpx2.HTTPError, httpx2.InvalidURL):
            found = None
        if found is not None and "jwks_uri" in found:
            return found
    raise UpstreamUnavailable(service="login", problem="the issuer's metadata cannot be read")
