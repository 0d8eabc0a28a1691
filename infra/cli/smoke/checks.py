"""Checks of the way on which a client finds the login, of the token that it gets, and of tools, a call and a batch."""

import json
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlsplit

import httpx2
import jwt

from infra.cli.doctor.deployment import CheckFinding, ok, problem, warning
from infra.cli.doctor.endpoint import LOGIN_PATH, REMAPPED, RESOURCE_PATH, ask, document
from infra.cli.document import CommandError
from infra.cli.endpoint import Endpoint
from mcpist.people.identity import METADATA_PATHS
from mcpist.polling import Polling

COPY = "x-mcpist-www-authenticate"
PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
ADDRESS_HINT = "Use the output McpUrl of the stack: `mcpist doctor --stack STACK` says what is wrong with its address."
SHOWN = ("iss", "aud", "scope", "client_id", "token_use")
LOGIN_HINT = "Get a token for this URL: log in with a client of docs/clients.md, and give its access token by --token."
TOOLS = {"get_module_schema", "call", "batch"}
STEPS = (
    {"id": "tags", "module": "rag", "tool": "list_tags", "output": True},
    {"id": "find", "module": "rag", "tool": "search_docs", "after": ["tags"], "params": {"query": "mcpist"}},
)
BATCH_SECONDS = 60
POLLING = Polling(initial_seconds=0.5, max_seconds=3)


def resource(url: str) -> Iterator[CheckFinding]:
    """Check the metadata of the protected resource (RFC 9728) at both of its addresses."""
    for address in resource_addresses(url):
        found = document(address)
        if found is None:
            yield problem(f"{address} returns no metadata", ADDRESS_HINT)
        elif not f"{url}/".startswith(f"{str(found.get('resource', '')).rstrip('/')}/"):
            named = f"{address} names the resource {found.get('resource')}, and strict clients of {url} refuse"
            yield problem(named, "Deploy with the empty Audience: `make deploy ARGS=Audience=`.")
        else:
            yield ok(f"{urlsplit(address).path}: tokens for {found['resource']} from {', '.join(issuers(found))}")


def login(url: str) -> Iterator[CheckFinding]:
    """Check that the authorization server describes a login that MCP clients accept."""
    for issuer in issuers(document(resource_addresses(url)[0]) or {}):
        found = login_metadata(issuer)
        if found is None:
            yield problem(
                f"{issuer} publishes no metadata", "Let the issuer publish it, or deploy with another Issuer."
            )
        elif "S256" not in found.get("code_challenge_methods_supported", ()):
            yield problem(f"{issuer} does not announce PKCE with S256", "Enable it at the issuer, or use another one.")
        elif str(found.get("issuer", "")).rstrip("/") != issuer.rstrip("/"):
            yield problem(f"{issuer} calls itself {found.get('issuer')}", "Deploy with the name that it gives itself.")
        else:
            yield ok(f"{issuer}: authorization code with PKCE, {_registration(found)}")


def challenge(url: str) -> CheckFinding:
    """Check the response to a client without a token, with its headers as they arrive."""
    response = ask("POST", url, json=PING)
    if response.status_code != httpx2.codes.UNAUTHORIZED:
        return problem(f"POST {url} without a token returns {response.status_code}, not 401", ADDRESS_HINT)
    headers = {
        name: response.headers[name] for name in ("www-authenticate", REMAPPED, COPY) if name in response.headers
    }
    arrived = "; ".join(f"{name}: {value}" for name, value in headers.items())
    if not any("resource_metadata=" in value for value in headers.values()):
        return problem(f"401 without the address of the metadata, {arrived or 'and no challenge'}", ADDRESS_HINT)
    if "www-authenticate" in headers or REMAPPED in headers:
        return ok(f"401, {arrived}")  # clients that do not see the renamed header look at the host's root
    remedy = "Clients find the metadata at the host's root; a proxy in front of the API may remove the header."
    return warning(f"401 without www-authenticate, {arrived}", remedy)


def resource_addresses(url: str) -> tuple[str, str]:
    """Return the addresses of the metadata: at the host's root, and for the endpoint's path."""
    parts = urlsplit(url)
    root = f"{parts.scheme}://{parts.netloc}{RESOURCE_PATH}"
    return root, f"{root}{parts.path}"


def issuers(metadata: dict[str, Any]) -> tuple[str, ...]:
    """Return the authorization servers that the metadata names."""
    return tuple(str(one) for one in metadata.get("authorization_servers", ()))


def login_metadata(issuer: str) -> dict[str, Any] | None:
    """Return an authorization server's metadata, found as clients find it."""
    return next(
        filter(None, map(document, (f"{issuer.rstrip('/')}{path}" for path in (LOGIN_PATH, *METADATA_PATHS)))), None
    )


def _registration(metadata: dict[str, Any]) -> str:
    if metadata.get("client_id_metadata_document_supported"):
        return "clients name themselves by a document"
    return "clients register themselves" if metadata.get("registration_endpoint") else "clients are given an id"


def claims(url: str, token: str) -> CheckFinding:
    """Check for whom, by whom and until when the token was issued."""
    try:
        found = jwt.decode(token, options={"verify_signature": False})
    except jwt.PyJWTError:
        return problem("the token is no JWT", LOGIN_HINT)
    shown = ", ".join(f"{name} {found[name]}" for name in SHOWN if name in found)
    ends = float(found.get("exp", 0))
    until = f"{datetime.fromtimestamp(ends, UTC):%Y-%m-%d %H:%M} UTC"
    metadata = document(resource_addresses(url)[0]) or {}
    audiences = {found["aud"]} if isinstance(found.get("aud"), str) else set(found.get("aud", ()))
    if ends < time.time():
        return problem(f"{shown}: it ended at {until}", LOGIN_HINT)
    if str(found.get("iss", "")).rstrip("/") not in _issuer_names(metadata):
        return problem(f"{shown}: of another issuer than {', '.join(issuers(metadata))}", LOGIN_HINT)
    if audiences and metadata.get("resource") not in audiences:
        return problem(f"{shown}: not issued for {metadata.get('resource')}", LOGIN_HINT)
    return ok(f"{shown}, until {until}")


def _issuer_names(metadata: dict[str, object]) -> set[str]:
    """Return the issuers' names; the one whose keys are elsewhere, as a user pool's, is named by those."""
    names = set()
    for issuer in issuers(metadata):
        described = login_metadata(issuer) or {}
        names |= {issuer.rstrip("/"), str(described.get("jwks_uri", "")).removesuffix("/.well-known/jwks.json")}
    return names


def three_tools(endpoint: Endpoint) -> CheckFinding:
    """Check that the endpoint lists its three tools to the token's user."""
    try:
        found = {str(tool["name"]) for tool in endpoint.tools()}
    except CommandError as error:
        return _refused("tools/list", error)
    if found >= TOOLS:
        return ok(", ".join(sorted(found)))
    return problem(f"tools/list has {', '.join(sorted(found)) or 'nothing'}", "Deploy this release: `make deploy`.")


def call(endpoint: Endpoint) -> CheckFinding:
    """Check one call of rag."""
    try:
        answer = endpoint.call("call", {"module": "rag", "tool": "list_tags"})
    except CommandError as error:
        return _refused("rag.list_tags", error)
    return ok(f"rag.list_tags: {len(answer.texts[0])} tags")


def batch(endpoint: Endpoint) -> CheckFinding:
    """Check a batch of two steps, of which one waits for the other, on a generated machine."""
    commands = "\n".join(map(json.dumps, STEPS))
    try:
        summary = _summary(endpoint, {"commands": commands})
        batch_id = summary.split()[1].rstrip(":")
        summary = POLLING.wait(
            summary,
            lambda text: ": running" not in text,
            lambda: _summary(endpoint, {"batch_id": batch_id}),
            BATCH_SECONDS,
        )
    except CommandError as error:
        return _refused("the batch", error)
    if ": done, 2 of 2 steps" in summary and "failed" not in summary:
        return ok(summary)
    return problem(summary, f"`mcpist batch --id {batch_id} --watch` and `mcpist timeline {batch_id}` show its steps.")


def _summary(endpoint: Endpoint, arguments: dict[str, Any]) -> str:
    return str(endpoint.call("batch", arguments).texts[0])


def _refused(what: str, error: CommandError) -> CheckFinding:
    """Return the problem with the endpoint's own hint; a role without the module is what an administrator mends."""
    remedy = str(error.error["hint"])
    if error.error["code"] in {"AUTHORIZATION_ERROR", "TOOL_DISABLED", "MODULE_NOT_FOUND", "TOOL_NOT_FOUND"}:
        remedy += " An administrator adds rag to the role: `mcpist role set ROLE --modules rag,... --stack STACK`."
    return problem(f"{what}: {error.error['code']}: {error}", remedy)
