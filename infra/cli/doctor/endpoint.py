"""The public endpoint: TLS, and its responses to a client without a token."""

import socket
import ssl
import time
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import httpx2

from infra.cli.doctor.deployment import Deployment
from infra.cli.doctor.finding import Finding, ok, problem, skipped, warning
from infra.cli.doctor.web import PROBE_TIMEOUT_SECONDS, ask, document

MIN_CERTIFICATE_DAYS = 14
RESOURCE_PATH = "/.well-known/oauth-protected-resource"
LOGIN_PATH = "/.well-known/oauth-authorization-server"
REMAPPED = "x-amzn-remapped-www-authenticate"


def tls(deployment: Deployment) -> Iterator[Finding]:
    """Check the certificate and its end."""
    parts = urlsplit(deployment.url)
    if parts.scheme != "https" or not parts.hostname:
        yield skipped(f"{deployment.url} is not https")
        return
    try:
        with (
            socket.create_connection((parts.hostname, parts.port or 443), PROBE_TIMEOUT_SECONDS) as plain,
            ssl.create_default_context().wrap_socket(plain, server_hostname=parts.hostname) as secured,
        ):
            certificate: Any = secured.getpeercert()
            version = secured.version()
    except OSError as error:
        yield problem(f"{deployment.url}: {error}", _renew(parts.hostname))
        return
    days = int((ssl.cert_time_to_seconds(certificate["notAfter"]) - time.time()) // 86_400)
    summary = f"{version}, the certificate ends in {days} days"
    yield warning(summary, _renew(parts.hostname)) if days < MIN_CERTIFICATE_DAYS else ok(summary)


def resource(deployment: Deployment) -> Iterator[Finding]:
    """Check the metadata that tells clients the resource and the issuer."""
    server = deployment.url if deployment.login_url else deployment.issuer
    expected = {"resource": deployment.resource, "authorization_servers": [server]}
    for path in (RESOURCE_PATH, f"{RESOURCE_PATH}/mcp"):
        url = f"{deployment.url}{path}"
        try:
            found = document(url)
        except httpx2.HTTPError as error:
            yield problem(f"{url} cannot be reached: {error}", _unreached(deployment))
            continue
        if found is None:
            yield problem(f"{url} returns no metadata", _unreached(deployment))
            continue
        wrong = [name for name, value in expected.items() if found.get(name) != value]
        for name in wrong:
            difference = f"{url} has {name} {found.get(name)}, but this stack has {expected[name]}"
            yield problem(difference, f"{_unreached(deployment)} Or deploy again: the functions have old parameters.")
        if not wrong:
            yield ok(f"{path} names the resource and the issuer")


def challenge(deployment: Deployment) -> Iterator[Finding]:
    """Check that a client without a token gets the challenge to log in."""
    url = f"{deployment.url}/mcp"
    try:
        response = ask("POST", url, json={"jsonrpc": "2.0", "id": 1, "method": "ping"})
    except httpx2.HTTPError as error:
        yield problem(f"{url} cannot be reached: {error}", _unreached(deployment))
        return
    announced = {
        name: "resource_metadata=" in response.headers.get(name, "") for name in ("www-authenticate", REMAPPED)
    }
    if response.status_code != httpx2.codes.UNAUTHORIZED:
        yield problem(f"POST {url} without a token returns {response.status_code}, not 401", _log(deployment))
    elif announced["www-authenticate"]:
        yield ok("401 with www-authenticate")
    elif announced[REMAPPED]:
        yield ok(f"401; www-authenticate arrives as {REMAPPED}, and clients find the metadata at the host's root")
    else:
        yield problem(f"POST {url} returns 401 without resource_metadata", _log(deployment))


def login_metadata(deployment: Deployment) -> Iterator[Finding]:
    """Check the endpoint's metadata of the user pool's login, since clients refuse the pool's own."""
    if not deployment.login_url:
        yield skipped("the issuer has its own metadata")
        return
    url = f"{deployment.url}{LOGIN_PATH}"
    found = document(url) or {}
    authorize = f"{deployment.login_url}/oauth2/authorize"
    if (found.get("issuer"), found.get("authorization_endpoint")) == (deployment.url, authorize):
        yield ok(f"{url} names {deployment.login_url}")
    else:
        yield problem(f"{url} does not name {deployment.login_url}", f"Deploy again; {_unreached(deployment)}")


def _unreached(deployment: Deployment) -> str:
    if deployment.embedded:
        return "Start `mcpist up` again."
    api = deployment.resources.get("Api", "")
    return f"Point {deployment.url} at the stack's API {api}, or deploy without PublicUrl and DomainName."


def _log(deployment: Deployment) -> str:
    if deployment.embedded:
        return "See .mcpist/logs/McpEndpointFunction.log."
    return deployment.aws(f"logs tail /aws/lambda/{deployment.name}-mcp-endpoint")


def _renew(host: str) -> str:
    return f"Give API Gateway's custom domain name a certificate (ACM, in the stack's region) for {host}."
