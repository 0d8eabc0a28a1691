"""The cookies: the session of the signed-in person, a login that has begun, and what the person chose.

Scripts cannot read them, and browsers do not send them with other sites' forms. On https the prefix of their names
binds them to this host; a loopback address without https cannot use it.
"""

from dataclasses import asdict, dataclass, field
from typing import ClassVar
from urllib.parse import parse_qsl, urlencode

from mcpist.http.browser import BrowserRequest

LOGIN_SECONDS = 600
CHOICE_SECONDS = 400 * 86_400
"""Of what a person chose: the `language` and the `density` of pages."""


@dataclass(frozen=True, slots=True)
class BrowserSession:
    """The session that the broker issued and sealed, and the person it is for."""

    name: ClassVar = "session"
    organization: str
    user: str
    session: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class LoginAttempt:
    """A login that has begun."""

    name: ClassVar = "login"
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


def read[Kind: (BrowserSession, LoginAttempt)](request: BrowserRequest, kind: type[Kind]) -> Kind | None:
    """Return the values of a cookie that the browser sent; None if one is missing."""
    fields = dict(parse_qsl(request.cookies.get(request.cookie_name(kind.name), ""), keep_blank_values=True))
    return kind(**fields) if set(fields) == set(kind.__slots__) else None


def set_cookie(request: BrowserRequest, values: BrowserSession | LoginAttempt, seconds: int = LOGIN_SECONDS) -> str:
    """Return the `set-cookie` header of a session, or of a login that has begun."""
    return request.set_cookie(values.name, urlencode(asdict(values)), seconds)


def clear_cookie(request: BrowserRequest, name: str) -> str:
    """Return the `set-cookie` header that removes the cookie `session` or `login`."""
    return request.set_cookie(name, "", 0)
