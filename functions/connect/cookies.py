"""The two cookies: who is logged in, and the login under way.

No script reads them, and other sites' forms do not bring them. On https their names bind them to this host alone; a
loopback address without https cannot have such names.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from urllib.parse import parse_qsl, urlencode

from connect.request import Request

LOGIN_SECONDS = 600


@dataclass(frozen=True, slots=True)
class BrowserSession:
    """The broker's sealed word for this browser, and whose it says that it is."""

    organization: str
    user: str
    session: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class LoginAttempt:
    """A login under way: what it must come back with, and where it leads."""

    state: str = field(repr=False)
    verifier: str = field(repr=False)
    organization: str
    target: str


def read_session(request: Request) -> BrowserSession | None:
    """The session that the browser brings."""
    fields = _read_cookie(request, "session", BrowserSession)
    return BrowserSession(**fields) if fields else None


def read_login_attempt(request: Request) -> LoginAttempt | None:
    """The login that the browser began."""
    fields = _read_cookie(request, "login", LoginAttempt)
    return LoginAttempt(**fields) if fields else None


def set_session_cookie(request: Request, session: BrowserSession, *, seconds: int) -> str:
    """The header that makes the browser remember who is logged in."""
    return _set_cookie(request, "session", urlencode(asdict(session)), seconds)


def set_login_cookie(request: Request, attempt: LoginAttempt) -> str:
    """The header that makes the browser remember the login under way."""
    return _set_cookie(request, "login", urlencode(asdict(attempt)), LOGIN_SECONDS)


def clear_login_cookie(request: Request) -> str:
    """The header that ends a login."""
    return _set_cookie(request, "login", "", 0)


def _set_cookie(request: Request, name: str, value: str, seconds: int) -> str:
    secure = "; Secure" if _is_https(request) else ""
    return f"{_cookie_name(request, name)}={value}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Lax{secure}"


def _read_cookie(request: Request, name: str, kind: type[BrowserSession | LoginAttempt]) -> Mapping[str, str]:
    """The cookie's fields, or nothing where one is missing."""
    fields = dict(parse_qsl(request.cookies.get(_cookie_name(request, name), ""), keep_blank_values=True))
    return fields if set(fields) == set(kind.__slots__) else {}


def _cookie_name(request: Request, name: str) -> str:
    return f"__Host-mcpist-{name}" if _is_https(request) else f"mcpist-{name}"


def _is_https(request: Request) -> bool:
    return request.public_url.startswith("https://")
