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
class Session:
    """The broker's sealed word for this browser, and whose it says that it is."""

    organization: str
    user: str
    session: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Attempt:
    """A login under way: what it must come back with, and where it leads."""

    state: str = field(repr=False)
    verifier: str = field(repr=False)
    organization: str
    target: str


def session_of(request: Request) -> Session | None:
    """The session that the browser brings."""
    fields = _read(request, "session", Session)
    return Session(**fields) if fields else None


def attempt_of(request: Request) -> Attempt | None:
    """The login that the browser began."""
    fields = _read(request, "login", Attempt)
    return Attempt(**fields) if fields else None


def keep_session(request: Request, session: Session, *, seconds: int) -> str:
    """The header that makes the browser remember who is logged in."""
    return _set(request, "session", urlencode(asdict(session)), seconds)


def keep_attempt(request: Request, attempt: Attempt) -> str:
    """The header that makes the browser remember the login under way."""
    return _set(request, "login", urlencode(asdict(attempt)), LOGIN_SECONDS)


def drop_attempt(request: Request) -> str:
    """The header that ends a login."""
    return _set(request, "login", "", 0)


def _set(request: Request, name: str, value: str, seconds: int) -> str:
    secure = "; Secure" if _secure(request) else ""
    return f"{_name(request, name)}={value}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Lax{secure}"


def _read(request: Request, name: str, kind: type[Session | Attempt]) -> Mapping[str, str]:
    """The cookie's fields, or nothing where one is missing."""
    fields = dict(parse_qsl(request.cookies.get(_name(request, name), ""), keep_blank_values=True))
    return fields if set(fields) == set(kind.__slots__) else {}


def _name(request: Request, name: str) -> str:
    return f"__Host-mcpist-{name}" if _secure(request) else f"mcpist-{name}"


def _secure(request: Request) -> bool:
    return request.url.startswith("https://")
