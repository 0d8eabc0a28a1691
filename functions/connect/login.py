"""The login: an authorization code with PKCE from the same issuer whose tokens the endpoint accepts.

The access token goes once to the broker, for a session, and is forgotten here.
Sources: RFC 6749, 7636 (PKCE), 8707 (resource), 8414 (metadata), 9207 (iss).
"""

import base64
import hashlib
import re
import secrets
import time
from typing import Any
from urllib.parse import urlencode, urlsplit

from connect import pages
from connect.cookies import Attempt, Session, attempt_of, drop_attempt, keep_attempt, keep_session
from connect.request import Request
from connect.response import Response, go, show
from connect.words import WORDS
from mcpist.errors import AuthenticationError, NotConfigured, StaleConnection, Timeout, UpstreamUnavailable
from mcpist.people.identity import METADATA_PATHS
from mcpist.running import broker
from mcpist.settings import settings

CALLBACK = "/connect/login"
CONNECT_SECONDS = 3
READ_SECONDS = 10
METADATA_SECONDS = 3600
LONGEST_ANSWER_BYTES = 1_000_000

_OURS = re.compile(r"/connect([/?][!-~]*)?")
_metadata: dict[str, tuple[float, dict[str, Any]]] = {}


def begin(request: Request, target: str, *, organization: str = "", again: bool = False) -> Response:
    """On to the issuer, which sends the browser back to CALLBACK and so to the target; `again` asks who it is."""
    if not settings().connect_client:
        raise NotConfigured(service="connect", problem="the parameter ConnectClientId is not set")
    state, verifier = secrets.token_urlsafe(32), secrets.token_urlsafe(48)
    found = metadata()
    asked = {
        "response_type": "code",
        "client_id": settings().connect_client,
        "redirect_uri": request.url + CALLBACK,
        "state": state,
        "code_challenge": base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).decode().rstrip("="),
        "code_challenge_method": "S256",
        "resource": _audience(request),
        **({"scope": "openid"} if "openid" in found.get("scopes_supported", []) else {}),
        **({"prompt": "login"} if again else {}),
    }
    place = found["authorization_endpoint"]
    url = f"{place}{'&' if urlsplit(place).query else '?'}{urlencode(asked)}"
    return go(url, cookies=[keep_attempt(request, Attempt(state, verifier, organization, target))])


def finish(request: Request) -> Response:
    """The issuer's answer: to the target, with a session; AuthenticationError for a login that nobody began here."""
    attempt = attempt_of(request)
    if attempt is None or not secrets.compare_digest(attempt.state.encode(), request.query.get("state", "").encode()):
        raise StaleConnection
    _check_issuer(request.query.get("iss", ""))
    if "code" not in request.query:
        words = WORDS[request.locale]
        ways = [(words.again, _target(attempt))]
        return show(
            pages.message(words, words.ended, words.not_logged_in, ways), status=403, cookies=[drop_attempt(request)]
        )
    token = _redeem(request, request.query["code"], attempt.verifier)
    asked = {"operation": "login", "proof": {"kind": "jwt", "value": token}, "organization": attempt.organization}
    made = broker.send(asked)
    session = Session(made["organization"], made["user"], made["session"])
    seconds = max(0, int(made["expires_at"] - time.time()))
    cookies = [keep_session(request, session, seconds=seconds), drop_attempt(request)]
    return go(request.url + _target(attempt), cookies=cookies)


def _target(attempt: Attempt) -> str:
    """Where the login leads: a page of ours, whatever the browser remembers."""
    return attempt.target if _OURS.fullmatch(attempt.target) else "/connect"


def metadata() -> dict[str, Any]:
    """What the issuer says of itself, as of an hour ago at most."""
    issuer = settings().issuer
    read_at, known = _metadata.get(issuer, (0.0, {}))
    if known and time.monotonic() - read_at < METADATA_SECONDS:
        return known
    for path in METADATA_PATHS:
        status, found = _ask("GET", issuer + path)
        if status == 200 and _is_of(found, issuer):
            _metadata[issuer] = time.monotonic(), found
            return found
    raise UpstreamUnavailable(service="login", problem="the issuer's metadata cannot be read")


def _is_of(found: dict[str, Any], issuer: str) -> bool:
    places = [found.get("authorization_endpoint"), found.get("token_endpoint")]
    scheme = f"{urlsplit(issuer).scheme}://"
    return str(found.get("issuer", "")).rstrip("/") == issuer and all(
        isinstance(place, str) and place.startswith(("https://", scheme)) for place in places
    )


def _check_issuer(named: str) -> None:
    """Another authorization server's answer is not ours (RFC 9207)."""
    announced = metadata().get("authorization_response_iss_parameter_supported") is True
    if (named or announced) and named.rstrip("/") != settings().issuer:
        raise AuthenticationError(problem="the login's answer comes from another issuer")


def _redeem(request: Request, code: str, verifier: str) -> str:
    sent = {
        "grant_type": "authorization_code",
        "code": code,
        "redirect_uri": request.url + CALLBACK,
        "client_id": settings().connect_client,
        "code_verifier": verifier,
        "resource": _audience(request),
    }
    status, found = _ask("POST", metadata()["token_endpoint"], sent)
    token = found.get("access_token")
    if status >= 500:
        raise UpstreamUnavailable(service="login", problem=f"it answered {status}")
    if not isinstance(token, str):
        raise AuthenticationError(problem="the login's code was not accepted")
    return token


def _ask(method: str, url: str, form: dict[str, str] | None = None) -> tuple[int, dict[str, Any]]:
    """The status and the JSON object of the issuer's answer; no redirect is followed."""
    import httpx  # a third of the import time of this door, and most requests do not need it

    timeout = httpx.Timeout(READ_SECONDS, connect=CONNECT_SECONDS)
    try:
        with (
            httpx.Client(timeout=timeout) as web,
            web.stream(method, url, data=form, headers={"accept": "application/json"}) as answer,
        ):
            body = b""
            for chunk in answer.iter_bytes():
                body += chunk
                if len(body) > LONGEST_ANSWER_BYTES:
                    raise UpstreamUnavailable(service="login", problem="its answer is too long")
            found = httpx.Response(200, content=body).json() if body else {}
    except httpx.TimeoutException:
        raise Timeout(service="login", seconds=READ_SECONDS) from None
    except httpx.HTTPError:
        raise UpstreamUnavailable(service="login", problem="it cannot be reached") from None
    except ValueError:
        found = {}
    return answer.status_code, found if isinstance(found, dict) else {}


def _audience(request: Request) -> str:
    return settings().audience or f"{request.url}/mcp"
