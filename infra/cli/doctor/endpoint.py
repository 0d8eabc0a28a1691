"""The public endpoint as a client without a token sees it: TLS, its responses, the clock; and its issuer."""

import socket
import ssl
import time
from collections.abc import Iterator
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import urlsplit

import httpx2

from infra.cli.doctor.deployment import CheckFinding, Deployment, ok, problem, skipped, warning
from mcpist.people.identity import METADATA_PATHS
from mcpist.strict_json import json_object

MIN_CERTIFICATE_DAYS = 14
RESOURCE_PATH = "/.well-known/oauth-protected-resource"
LOGIN_PATH = "/.well-known/oauth-authorization-server"
REMAPPED, COPY = "x-amzn-remapped-www-authenticate", "x-mcpist-www-authenticate"
PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
PROBE_TIMEOUT_SECONDS = 10
WARNING_SKEW_SECONDS = 60
MAX_SKEW_SECONDS = 300
CLOCK_REMEDY = "Set this machine's clock: `sudo timedatectl set-ntp true`, or on macOS `sudo sntp -sS time.apple.com`."


def tls(deployment: Deployment) -> CheckFinding:
    """Check the certificate and its end."""
    parts = urlsplit(deployment.url)
    if parts.scheme != "https" or not parts.hostname:
        return skipped(f"{deployment.url} is not https")
    try:
        with (
            socket.create_connection((parts.hostname, parts.port or 443), PROBE_TIMEOUT_SECONDS) as plain,
            ssl.create_default_context().wrap_socket(plain, server_hostname=parts.hostname) as secured,
        ):
            certificate: Any = secured.getpeercert()
            version = secured.version()
    except OSError as error:
        return problem(f"{deployment.url}: {error}", _renew(parts.hostname))
    days = int((ssl.cert_time_to_seconds(certificate["notAfter"]) - time.time()) // 86_400)
    summary = f"{version}, the certificate ends in {days} days"
    return warning(summary, _renew(parts.hostname)) if days < MIN_CERTIFICATE_DAYS else ok(summary)


def resource(deployment: Deployment) -> Iterator[CheckFinding]:
    """Check the metadata that tells clients the resource and the issuer."""
    expected = {"resource": deployment.resource, "authorization_servers": [deployment.login_issuer]}
    for path in (RESOURCE_PATH, f"{RESOURCE_PATH}/mcp"):
        url = f"{deployment.url}{path}"
        try:
            found = document(url)
        except httpx2.HTTPError as error:
            yield problem(f"{url} cannot be reached: {error}", _unreached(deployment))
            continue
        if not found:
            yield problem(f"{url} returns no metadata", _unreached(deployment))
            continue
        wrong = [name for name, value in expected.items() if found.get(name) != value]
        for name in wrong:
            difference = f"{url} has {name} {found.get(name)}, but this stack has {expected[name]}"
            yield problem(difference, f"{_unreached(deployment)} Or deploy again: the functions have old parameters.")
        if not wrong:
            yield ok(f"{path} names the resource and the issuer")


def challenge(deployment: Deployment) -> CheckFinding:
    """Check that a client without a token gets the challenge to log in."""
    url = f"{deployment.url}/mcp"
    try:
        return challenge_at(url, _log(deployment))
    except httpx2.HTTPError as error:
        return problem(f"{url} cannot be reached: {error}", _unreached(deployment))


def challenge_at(url: str, remedy: str) -> CheckFinding:
    """Check the response to a client without a token, with its headers as they arrive."""
    response = ask("POST", url, json=PING)
    if response.status_code != httpx2.codes.UNAUTHORIZED:
        return problem(f"POST {url} without a token returns {response.status_code}, not 401", remedy)
    names = ("www-authenticate", REMAPPED, COPY)
    headers = {name: response.headers[name] for name in names if name in response.headers}
    arrived = "; ".join(f"{name}: {value}" for name, value in headers.items())
    if not any("resource_metadata=" in value for value in headers.values()):
        return problem(f"401 without the address of the metadata, {arrived or 'and no challenge'}", remedy)
    if "www-authenticate" in headers or REMAPPED in headers:
        return ok(f"401, {arrived}")  # clients that do not see the renamed header look at the host's root
    proxy = "Clients find the metadata at the host's root; a proxy in front of the API may remove the header."
    return warning(f"401 without www-authenticate, {arrived}", proxy)


def login_metadata(deployment: Deployment) -> CheckFinding:
    """Check that the stack's own login describes itself, and publishes the key that it signs with."""
    if not deployment.has_login:
        return skipped("clients log in at the issuer")
    url = f"{deployment.url}{LOGIN_PATH}"
    found = document(url)
    if found.get("issuer") != deployment.url:
        return problem(f"{url} does not name {deployment.url}", f"Deploy again; {_unreached(deployment)}")
    keys = document(str(found.get("jwks_uri", ""))).get("keys", [])
    if not keys:
        return problem(f"{found.get('jwks_uri')} has no key", _log(deployment))
    return ok(f"{url} names {deployment.url}, which signs with {keys[0].get('alg')}")


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


def ask(method: str, url: str, **more: Any) -> httpx2.Response:
    """Return a response of any status; redirects are not followed."""
    return httpx2.request(method, url, timeout=PROBE_TIMEOUT_SECONDS, **more)


def document(url: str) -> dict[str, Any]:
    """Return the JSON object at a URL; an empty one where there is none."""
    response = ask("GET", url)
    return json_object(response.content) if response.status_code == httpx2.codes.OK else {}


def resource_addresses(url: str) -> tuple[str, str]:
    """Return the addresses of the metadata: at the host's root, and for the endpoint's path."""
    parts = urlsplit(url)
    root = f"{parts.scheme}://{parts.netloc}{RESOURCE_PATH}"
    return root, f"{root}{parts.path}"


def issuers(metadata: dict[str, Any]) -> tuple[str, ...]:
    """Return the authorization servers that the metadata names."""
    return tuple(str(one) for one in metadata.get("authorization_servers", ()))


def server_metadata(issuer: str) -> dict[str, Any] | None:
    """Return an authorization server's metadata, found as clients find it."""
    return next(
        filter(None, map(document, (f"{issuer.rstrip('/')}{path}" for path in (LOGIN_PATH, *METADATA_PATHS)))), None
    )


def registration(metadata: dict[str, Any]) -> str:
    """Return how clients get their ids at an authorization server."""
    if metadata.get("client_id_metadata_document_supported"):
        return "clients name themselves by a document"
    return "clients register themselves" if metadata.get("registration_endpoint") else "clients are given an id"


def clock(deployment: Deployment) -> CheckFinding:
    """Compare this machine's clock with the endpoint's."""
    return _skew(deployment.url)


def clock_of_aws(profile: str | None, region: str | None) -> CheckFinding:
    """Compare this machine's clock with AWS's; this needs neither a right nor a stack."""
    import botocore.session

    session = botocore.session.Session(profile=profile)
    region = region or session.get_config_variable("region") or "us-east-1"
    return _skew(session.create_client("sts", region_name=region).meta.endpoint_url)


def _skew(url: str) -> CheckFinding:
    """Compare this machine's clock with the header `Date` of a response."""
    before = time.time()
    try:
        date = ask("GET", url).headers.get("date")
    except httpx2.HTTPError as error:
        return skipped(f"{url} cannot be reached: {error}")
    try:
        there = parsedate_to_datetime(date or "").timestamp() + 0.5  # the header's seconds are whole
    except ValueError:
        return skipped(f"{url} sends no usable header Date")
    ahead = (before + time.time()) / 2 - there
    found = f"this machine is {abs(ahead):.0f} s {'ahead of' if ahead > 0 else 'behind'} {url}"
    if abs(ahead) > MAX_SKEW_SECONDS:
        return problem(f"{found}: AWS refuses its signatures", CLOCK_REMEDY)
    return warning(found, CLOCK_REMEDY) if abs(ahead) > WARNING_SKEW_SECONDS else ok(found)
