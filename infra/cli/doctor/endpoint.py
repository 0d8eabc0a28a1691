"""The public address: TLS, and what it tells a client that has no token."""

import socket
import ssl
import time
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import httpx2

from infra.cli.doctor.deployment import Deployment, redeploy_hint
from infra.cli.doctor.finding import Finding, ok, problem, skipped, warning
from infra.cli.doctor.web import PROBE_TIMEOUT_SECONDS, ask, document

MIN_CERTIFICATE_DAYS = 14
RESOURCE_PATH = "/.well-known/oauth-protected-resource"
LOGIN_PATH = "/.well-known/oauth-authorization-server"
REMAPPED = "x-amzn-remapped-www-authenticate"


def tls(deployment: Deployment) -> Iterator[Finding]:
    """Whether clients will trust the certificate, and for how long."""
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
    said = f"{version}, the certificate ends in {days} days"
    yield warning(said, _renew(parts.hostname)) if days < MIN_CERTIFICATE_DAYS else ok(said)


def resource(deployment: Deployment) -> Iterator[Finding]:
    """Whether clients learn what to log in for, and where."""
    server = deployment.url if deployment.login_url else deployment.issuer
    said = {"resource": deployment.resource, "authorization_servers": [server]}
    for path in (RESOURCE_PATH, f"{RESOURCE_PATH}/mcp"):
        url = f"{deployment.url}{path}"
        try:
            found = document(url)
        except httpx2.HTTPError as error:
            yield problem(f"{url} cannot be reached: {error}", _unreached(deployment))
            continue
        if found is None:
            yield problem(f"{url} answers no metadata", _unreached(deployment))
            continue
        wrong = [name for name, value in said.items() if found.get(name) != value]
        for name in wrong:
            meant = f"{url} says {name} {found.get(name)}, and this stack means {said[name]}"
            yield problem(meant, f"{_unreached(deployment)} Or deploy again: the functions have other parameters.")
        if not wrong:
            yield ok(f"{path} names the resource and the issuer")


def challenge(deployment: Deployment) -> Iterator[Finding]:
    """Whether a client without a token is told to log in."""
    url = f"{deployment.url}/mcp"
    try:
        answer = ask("POST", url, json={"jsonrpc": "2.0", "id": 1, "method": "ping"})
    except httpx2.HTTPError as error:
        yield problem(f"{url} cannot be reached: {error}", _unreached(deployment))
        return
    told = {name: "resource_metadata=" in answer.headers.get(name, "") for name in ("www-authenticate", REMAPPED)}
    if answer.status_code != httpx2.codes.UNAUTHORIZED:
        yield problem(f"POST {url} without a token is {answer.status_code}, not 401", _log(deployment))
    elif told["www-authenticate"]:
        yield ok("401 with www-authenticate")
    elif told[REMAPPED]:
        yield ok(f"401; www-authenticate arrives as {REMAPPED}, so clients look at the host's root, where it stands")
    else:
        yield problem(f"POST {url} is 401 without resource_metadata", _log(deployment))


def login_metadata(deployment: Deployment) -> Iterator[Finding]:
    """Whether the endpoint describes the user pool's login, whose own metadata clients refuse."""
    if not deployment.login_url:
        yield skipped("the issuer describes its login itself")
        return
    url = f"{deployment.url}{LOGIN_PATH}"
    found = document(url) or {}
    authorize = f"{deployment.login_url}/oauth2/authorize"
    if (found.get("issuer"), found.get("authorization_endpoint")) == (deployment.url, authorize):
        yield ok(f"{url} leads to {deployment.login_url}")
    else:
        yield problem(f"{url} does not lead to {deployment.login_url}", redeploy_hint(PublicUrl=deployment.url))


def _unreached(deployment: Deployment) -> str:
    if deployment.embedded:
        return "Start `mcpist up` again."
    api = deployment.resources.get("HttpApi", "")
    return f"Point {deployment.url} at the stack's API {api}, or deploy with the PublicUrl that the API has."


def _log(deployment: Deployment) -> str:
    if deployment.embedded:
        return "See .mcpist/logs/McpEndpointFunction.log."
    return deployment.aws(f"logs tail /aws/lambda/{deployment.name}-mcp-endpoint")


def _renew(host: str) -> str:
    return f"Give API Gateway's custom domain name a certificate (ACM, in the stack's region) for {host}."
