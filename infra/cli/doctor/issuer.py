"""The issuers of a deployment as its functions and its clients see them."""

from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx2
import jwt

from infra.cli.doctor.deployment import CheckFinding, Deployment, ok, problem, skipped, warning
from infra.cli.doctor.endpoint import ask, document
from infra.cli.oauth_client import authorization_url
from mcpist.errors import UpstreamUnavailable
from mcpist.people.identity import ALGORITHMS, METADATA_PATHS
from mcpist.people.issuers import by_domain

CHALLENGE = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"  # the example of RFC 7636; no code is redeemed


def discovery(deployment: Deployment) -> CheckFinding:
    """Check that the issuer's metadata has the name that tokens must have."""
    issuer = deployment.issuer
    if not issuer:
        return problem("no issuer is configured: nobody can log in", deployment.redeploy(Issuer="YOUR_OIDC_ISSUER"))
    try:
        found = _described(issuer)
    except UpstreamUnavailable:
        tried = " and ".join(METADATA_PATHS)
        return problem(
            f"{issuer} cannot be read at {tried}",
            f"{deployment.redeploy(Issuer='ITS_URL')} Or wait until it is available again.",
        )
    named = str(found.get("issuer", ""))
    if wrong := _misnamed(issuer, named):
        return problem(wrong, deployment.redeploy(Issuer=named))
    return ok(named)


def _misnamed(issuer: str, named: str) -> str:
    """Return the fault in the name that an issuer gives itself; empty for the right name."""
    return "" if named.rstrip("/") == issuer else f"{issuer} calls itself {named}, and so do its tokens"


def domains(deployment: Deployment) -> Iterator[CheckFinding]:
    """Check the issuers of domains: their metadata, their names, and our client at each."""
    given = deployment.parameters.get("IssuersByDomain", "")
    remedy = deployment.redeploy(IssuersByDomain="""'{"DOMAIN":{"issuer":"ITS_URL","client_id":"ITS_ID"}}'""")
    try:
        issuers = by_domain(given)
    except ValueError as error:
        yield problem(f"IssuersByDomain: {error}", remedy)
        return
    if not issuers:
        yield ok("no domain has its own")
    for issuer in issuers.values():
        try:
            found = _described(issuer.url)
        except UpstreamUnavailable:
            yield problem(f"{issuer.domain}: {issuer.url} cannot be read", remedy)
            continue
        if wrong := _misnamed(issuer.url, str(found.get("issuer", ""))):
            yield problem(f"{issuer.domain}: {wrong}", remedy)
        else:
            yield _accepts(found, deployment, issuer.client_id, f"{deployment.url}/login/callback/{issuer.domain}")


def keys(deployment: Deployment) -> CheckFinding:
    """Check that the issuer publishes keys with which tokens can be verified."""
    uri = str(_described(deployment.issuer).get("jwks_uri", ""))
    try:
        published = jwt.PyJWKSet.from_dict(document(uri)).keys
    except (jwt.PyJWTError, httpx2.HTTPError, httpx2.InvalidURL) as error:
        return problem(f"{uri or 'jwks_uri'}: {error}", "Let the issuer publish its signing keys there.")
    usable = [key for key in published if key.key_id and key.algorithm_name in ALGORITHMS]
    if usable:
        return ok(f"{len(usable)} keys at {uri}: {', '.join(sorted({key.algorithm_name for key in usable}))}")
    remedy = f"Let the issuer sign with {', '.join(ALGORITHMS)}, under a key id."
    return problem(f"no key at {uri} has an id and an algorithm that is accepted", remedy)


def login(deployment: Deployment) -> Iterator[CheckFinding]:
    """Check that the login fulfils what MCP clients need."""
    found = _described(deployment.login_issuer)
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
    else:
        remedy = f"Let the stack log clients in: {deployment.redeploy(LoginClientId='ITS_ID')} Or give out ids."
        yield warning("clients cannot register themselves", remedy)


def client(deployment: Deployment) -> CheckFinding:
    """Check that the issuer accepts our client: that of the stack's own login, or the console's."""
    return _accepts(_described(deployment.issuer), deployment, *deployment.issuer_client)


def _accepts(found: Mapping[str, Any], deployment: Deployment, client_id: str, redirect: str) -> CheckFinding:
    """Check that the issuer with this metadata accepts a client of ours with its redirect URI."""
    place = str(found.get("authorization_endpoint", ""))
    scope = "openid" if "openid" in found.get("scopes_supported", ()) else ""
    own = {"client_id": client_id, "redirect_uri": redirect, "state": "mcpist-doctor"}
    response = ask("GET", authorization_url(place, deployment.resource, scope, **own, code_challenge=CHALLENGE))
    errors = parse_qs(urlsplit(response.headers.get("location", "")).query).get("error", [])
    if response.is_server_error:
        return skipped(f"the issuer returned {response.status_code}")
    if response.is_client_error or errors:
        reason = errors[0] if errors else str(response.status_code)
        remedy = f"Give the issuer's client the redirect URI {redirect}, and let it use PKCE."
        return problem(f"the issuer refuses the client {client_id} ({reason})", remedy)
    return ok(f"the issuer accepts {client_id} with {redirect}")


def _described(issuer: str) -> dict[str, Any]:
    """Read the issuer's metadata where the functions read it."""
    for path in METADATA_PATHS:
        try:
            found = document(issuer + path)
        except (httpx2.HTTPError, httpx2.InvalidURL):
            continue
        if "jwks_uri" in found:
            return found
    raise UpstreamUnavailable(service="login", problem="the issuer's metadata cannot be read")
