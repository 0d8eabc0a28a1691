"""OAuth for the command line: discovery, the authorization code with PKCE on loopback, refresh and revocation.

Sources: RFC 9728 (the resource's metadata), 8414 (the server's), 7591 (registration), 7636 (PKCE), 8252 (loopback),
8707 (resource), 9207 (iss), 7009 (revocation).
"""

import secrets
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlencode, urlsplit

import httpx2

from infra.cli import login_store
from infra.cli.document import CommandError
from infra.cli.login_store import KeptLogin
from infra.cli.loopback import CallbackServer
from mcpist.loopback import is_loopback_url
from mcpist.oauth.pkce import challenge_of
from mcpist.strict_json import json_object

TOKEN_TIMEOUT_SECONDS = 30
LOGIN_TIMEOUT_SECONDS = 300
LOGIN_MARGIN_SECONDS = 60
USEFUL_SCOPES = ("openid", "offline_access")
# The port of a client that was given its id: its address must be registered. Others register the address that is used.
REGISTERED_PORT = 8787


@dataclass(frozen=True, slots=True)
class AuthorizationServer:
    """An authorization server, by its metadata, and the resource that its tokens are for."""

    resource: str
    issuer: str
    authorization_endpoint: str
    token_endpoint: str
    registration_endpoint: str = ""
    revocation_endpoint: str = ""
    scopes: tuple[str, ...] = ()
    names_itself: bool = False
    """Whether its redirects carry `iss`."""


def discover(url: str) -> AuthorizationServer:
    """Return the authorization server of a deployment."""
    resource = _first_document(f"{url}/.well-known/oauth-protected-resource{path}" for path in ("/mcp", ""))
    servers = resource.get("authorization_servers") or []
    if not servers:
        raise _unusable(url, "it names no authorization server")
    issuer = str(servers[0]).rstrip("/")
    place = urlsplit(issuer)
    well_known = f"{place.scheme}://{place.netloc}/.well-known/oauth-authorization-server{place.path}"
    found = _first_document((well_known, f"{issuer}/.well-known/openid-configuration"))
    if str(found.get("issuer", "")).rstrip("/") != issuer:
        raise _unusable(issuer, "its metadata names another issuer")
    if "S256" not in found.get("code_challenge_methods_supported", ["S256"]):
        raise _unusable(issuer, "it does not support PKCE with S256")
    supported = found.get("scopes_supported") or []
    return AuthorizationServer(
        resource=str(resource.get("resource") or f"{url}/mcp"),
        issuer=issuer,
        scopes=tuple(scope for scope in USEFUL_SCOPES if scope in supported),
        names_itself=bool(found.get("authorization_response_iss_parameter_supported")),
        **{
            name: _secure(str(found.get(name) or ""), required=name in {"authorization_endpoint", "token_endpoint"})
            for name in ("authorization_endpoint", "token_endpoint", "registration_endpoint", "revocation_endpoint")
        },
    )


def log_in(url: str, client_id: str, port: int, show: Callable[[str], None]) -> KeptLogin:
    """Log a person in by a browser, for which `show` gets the address, and return the tokens."""
    server = discover(url)
    state, verifier = secrets.token_urlsafe(32), secrets.token_urlsafe(64)
    # Without a fixed client, any port will do: the client registers with the one that is free.
    with CallbackServer(port or (REGISTERED_PORT if client_id else 0), state) as callback:
        client = client_id or _register(server, callback.url)
        own = {"client_id": client, "redirect_uri": callback.url, "state": state}
        own["code_challenge"] = challenge_of(verifier)
        show(authorization_url(server.authorization_endpoint, server.resource, " ".join(server.scopes), **own))
        answer = callback.wait(LOGIN_TIMEOUT_SECONDS)
        _check_answer(answer, server)
        tokens = _request_tokens(
            server.token_endpoint,
            grant_type="authorization_code",
            code=answer["code"],
            redirect_uri=callback.url,
            client_id=client,
            code_verifier=verifier,
            resource=server.resource,
        )
    login = KeptLogin(
        url, server.resource, client, server.token_endpoint, server.revocation_endpoint, "", "", expires_at=None
    )
    return _with_tokens(login, tokens)


def fresh(login: KeptLogin, *, refused: bool = False) -> KeptLogin:
    """Return a login whose access token is still valid, refreshed if it ends soon or was `refused`."""
    if not refused and not _is_ending(login):
        return login
    with login_store.locked():
        stored = login_store.find(login.url)
        if stored and stored.access_token != login.access_token and not _is_ending(stored):
            return stored  # another process was faster
        if stored is None or not stored.refresh_token:
            hint = f"Run: mcpist login --url {login.url}"
            raise CommandError("AUTHENTICATION_ERROR", f"The login at {login.url} has ended.", hint)
        tokens = _request_tokens(
            stored.token_endpoint,
            grant_type="refresh_token",
            refresh_token=stored.refresh_token,
            client_id=stored.client_id,
            resource=stored.resource,
        )
        renewed = _with_tokens(stored, tokens)
        login_store.replace(renewed)
        return renewed


def revoke(login: KeptLogin) -> bool:
    """Revoke a login's tokens at its server; return whether the server did."""
    if not login.revocation_endpoint:
        return False
    form = {"token": login.refresh_token or login.access_token, "client_id": login.client_id}
    try:
        answer = _send("POST", login.revocation_endpoint, data=form)
        if answer.status_code == httpx2.codes.BAD_REQUEST:  # some servers want a public client's empty secret, too
            answer = _send("POST", login.revocation_endpoint, data={**form, "client_secret": ""})
    except CommandError:
        return False
    return answer.is_success


def authorization_url(endpoint: str, resource: str, scope: str, **own: str) -> str:
    """Return where a browser asks for a code with PKCE; `own` are the client's, the attempt's and the challenge."""
    query = {"response_type": "code", **own, "code_challenge_method": "S256", "resource": resource}
    query |= {"scope": scope} if scope else {}
    return f"{endpoint}{'&' if urlsplit(endpoint).query else '?'}{urlencode(query)}"


def _check_answer(answer: Mapping[str, str], server: AuthorizationServer) -> None:
    """Accept only a code of this server (RFC 9207)."""
    issuer = answer.get("iss", "").rstrip("/")
    if (issuer or server.names_itself) and issuer != server.issuer:
        raise CommandError("AUTHENTICATION_ERROR", "The answer comes from another server.", "Run it again.")
    if "code" not in answer:
        problem = answer.get("error_description") or answer.get("error", "no code")
        raise CommandError("AUTHENTICATION_ERROR", f"The login was refused: {problem}", "Run it again.")


def _register(server: AuthorizationServer, redirect: str) -> str:
    """Register this command line as a public client, and return its id."""
    if not server.registration_endpoint:
        hint = f"Register a public client with the redirect http://localhost:{REGISTERED_PORT}/callback at the "
        hint += "issuer, and name it with --client-id."
        raise CommandError("VALIDATION_ERROR", f"{server.issuer} registers no clients itself.", hint)
    metadata = {
        "client_name": "mcpist",
        "redirect_uris": [redirect],
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "token_endpoint_auth_method": "none",
    }
    answer = _send("POST", server.registration_endpoint, json=metadata)
    client_id = json_object(answer.content).get("client_id")
    if not answer.is_success or not client_id:
        raise _unusable(server.issuer, f"it answered the registration with {answer.status_code}")
    return str(client_id)


def _request_tokens(endpoint: str, **form: str) -> dict[str, Any]:
    answer = _send("POST", endpoint, data=form)
    tokens = json_object(answer.content)
    if not answer.is_success or not isinstance(tokens.get("access_token"), str):
        problem = str(tokens.get("error_description") or tokens.get("error") or answer.status_code)
        hint = "Log in again: mcpist login."
        raise CommandError("AUTHENTICATION_ERROR", f"The login's server gave no token: {problem}", hint)
    return tokens


def _with_tokens(login: KeptLogin, tokens: Mapping[str, Any]) -> KeptLogin:
    """Return a login with new tokens; a server that sends no new refresh token means the old one."""
    seconds = tokens.get("expires_in")
    return replace(
        login,
        access_token=str(tokens["access_token"]),
        refresh_token=str(tokens.get("refresh_token") or login.refresh_token),
        expires_at=time.time() + float(seconds) if seconds else None,
    )


def _is_ending(login: KeptLogin) -> bool:
    return login.expires_at is not None and login.expires_at - LOGIN_MARGIN_SECONDS < time.time()


def _first_document(urls: Any) -> dict[str, Any]:
    """Return the first JSON object that one of these URLs has."""
    urls = list(urls)
    for url in urls:
        answer = _send("GET", _secure(url))
        if answer.is_success and (found := json_object(answer.content)):
            return found
    raise _unusable(urls[0], "there is no such document")


def _secure(url: str, *, required: bool = True) -> str:
    """Return a URL to which a secret may be sent: over TLS, or on this machine."""
    scheme = urlsplit(url).scheme
    if scheme == "https" or (scheme == "http" and is_loopback_url(url)):
        return url
    if required:
        raise _unusable(url or "the login's server", "only https is accepted, and http on this machine")
    return ""


def _send(method: str, url: str, **more: Any) -> httpx2.Response:
    try:
        return httpx2.request(method, url, timeout=TOKEN_TIMEOUT_SECONDS, **more)
    except (httpx2.HTTPError, httpx2.InvalidURL) as error:
        raise _unusable(url, str(error)) from None


def _unusable(url: str, problem: str) -> CommandError:
    hint = "Give the URL of the deployment, e.g. https://mcp.example.com/mcp."
    return CommandError("UPSTREAM_UNAVAILABLE", f"{url} cannot be used for a login: {problem}", hint)
