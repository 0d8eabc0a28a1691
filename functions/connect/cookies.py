"""The two cookies: the session of the logged-in person, and a login that has begun.

Scripts cannot read them, and browsers do not send them with other sites' forms. On https the prefix of their names
binds them to this host; a loopback address without https cannot use it.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from urllib.parse import parse_qsl, urlencode

from connect.request import Request

LOGIN_SECONDS = 600


@dataclass(frozen=True, slots=True)
class BrowserSession:
    """The session that the broker issued and sealed, and the person it is for."""

    organization: str
    user: str
    session: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class LoginAttempt:
    """A login that has begun."""

    state: str = field(repr=False)
    """The issuer's response must have the same state."""
    verifier: str = field(repr=False)
    """The secret of PKCE."""
    organization: str
    target: str
    """The path to show after the login."""


def read_session(request: Request) -> BrowserSession | None:
    """Return the session that the browser sent."""
    fields = _read_cookie(request, "session", BrowserSession)
    return BrowserSession(**fields) if fields else None


def read_login_attempt(request: Request) -> LoginAttempt | None:
    """Return the login that the browser began."""
    fields = _read_cookie(request, "login", LoginAttempt)
    return LoginAttempt(**fields) if fields else None


def set_session_cookie(request: Request, session: BrowserSession, *, seconds: int) -> str:
    """Return the `set-cookie` header of a session."""
    return _set_cookie(request, "session", urlencode(asdict(session)), seconds)


def set_login_cookie(request: Request, attempt: LoginAttempt) -> str:
    """Return the `set-cookie` header of a login that has begun."""
    return _set_cookie(request, "login", urlencode(asdict(attempt)), LOGIN_SECONDS)


def clear_login_cookie(request: Request) -> str:
    """Return the `set-cookie` header that removes a login."""
    return _set_cookie(request, "login", "", 0)


def _set_cookie(request: Request, name: str, value: str, seconds: int) -> str:
    secure = "; Secure" if _is_https(request) else ""
    return f"{_cookie_name(request, name)}={value}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Lax{secure}"


def _read_cookie(request: Request, name: str, kind: type[BrowserSession | LoginAttempt]) -> Mapping[str, str]:
    """Return the fields of a cookie, or nothing if one is missing."""
    fields = dict(parse_qsl(request.cookies.get(_cookie_name(request, name), ""), keep_blank_values=True))
    return fields if set(fields) == set(kind.__slots__) else {}


def _cookie_name(request: Request, name: str) -> str:
    return f"__Host-mcpist-{name}" if _is_https(request) else f"mcpist-{name}"


def _is_https(request: Request) -> bool:
    return request.public_url.startswith("https://")
