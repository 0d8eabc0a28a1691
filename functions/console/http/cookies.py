"""The cookies: the session of the signed-in person, a login that has begun, and what the person chose.

Scripts cannot read them, and browsers do not send them with other sites' forms. On https the prefix of their names
binds them to this host; a loopback address without https cannot use it.
"""

from dataclasses import asdict, dataclass, field
from urllib.parse import parse_qsl, urlencode

from mcpist.http.browser import BrowserRequest

LOGIN_SECONDS = 600
CHOICE_SECONDS = 400 * 86_400


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
    invitation: str = field(default="", repr=False)
    """The secret of the invitation that the person has agreed to use; empty for a login without one."""
    answer: str = ""
    """The person's answer, `accepted` or `declined`, to the organization that added them; empty without one."""


def read_session(request: BrowserRequest) -> BrowserSession | None:
    """Return the session that the browser sent."""
    return _read_cookie(request, "session", BrowserSession)


def read_login_attempt(request: BrowserRequest) -> LoginAttempt | None:
    """Return the login that the browser began."""
    return _read_cookie(request, "login", LoginAttempt)


def set_session_cookie(request: BrowserRequest, session: BrowserSession, *, seconds: int) -> str:
    """Return the `set-cookie` header of a session."""
    return request.set_cookie("session", urlencode(asdict(session)), seconds)


def set_login_cookie(request: BrowserRequest, attempt: LoginAttempt) -> str:
    """Return the `set-cookie` header of a login that has begun."""
    return request.set_cookie("login", urlencode(asdict(attempt)), LOGIN_SECONDS)


def set_choice_cookie(request: BrowserRequest, name: str, value: str) -> str:
    """Return the `set-cookie` header of a choice of the person: the `language` or the `density` of pages."""
    return request.set_cookie(name, value, CHOICE_SECONDS)


def clear_cookie(request: BrowserRequest, name: str) -> str:
    """Return the `set-cookie` header that removes the cookie `session` or `login`."""
    return request.set_cookie(name, "", 0)


def _read_cookie[Kind: (BrowserSession, LoginAttempt)](
    request: BrowserRequest, name: str, kind: type[Kind]
) -> Kind | None:
    """Return the fields of a cookie as an object; None if one is missing."""
    fields = dict(parse_qsl(request.cookies.get(request.cookie_name(name), ""), keep_blank_values=True))
    return kind(**fields) if set(fields) == set(kind.__slots__) else None
