"""The session of a signed-in browser: what the broker reads from the cookie, whose it is now, and its audit rows."""

import hashlib
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field, replace

from console.cookies import BrowserSession
from mcpist.audit import record as audit
from mcpist.caller import Caller, ClientInfo, Proof, Subject
from mcpist.errors import AuthenticationError, MembershipRequired
from mcpist.memory import Memory
from mcpist.people import browsers, directory
from mcpist.people.browsers import Browser
from mcpist.running import broker
from mcpist.settings import settings
from mcpist.version import VERSION

SESSION_CACHE_SECONDS = 60
MAX_CACHED_SESSIONS = 1_000
REFUSAL_ROW_SECONDS = 60
SIGN_OUT, SIGN_OUT_EVERYWHERE, END_CLIENT = "console.sign_out", "console.sign_out_everywhere", "login.end"


@dataclass(frozen=True, slots=True)
class OpenSession:
    """The content of a session, as the broker opened it."""

    organization: str
    user: str
    subject: Subject
    id: str = field(repr=False)
    expires_at: int
    """When it ends unless it is used, in epoch seconds."""
    ends_at: int
    """When it ends at the latest, in epoch seconds."""
    sealed: str = field(repr=False)
    """The form that the browser is to send from now on."""


session_cache: Memory[str, OpenSession] = Memory(SESSION_CACHE_SECONDS, MAX_CACHED_SESSIONS)
refused_sessions: Memory[str, bool] = Memory(REFUSAL_ROW_SECONDS, MAX_CACHED_SESSIONS)
"""The sessions about whose refusal there is a row of this minute."""


def parse(result: dict[str, object], sealed: str) -> OpenSession:
    """Return the session of the broker's answer; `sealed` is its form unless the answer has a new one."""
    return OpenSession(
        str(result["organization"]),
        str(result["user"]),
        Subject(str(result["issuer"]), str(result["sub"])),
        str(result["id"]),
        int(str(result["expires_at"])),
        int(str(result["ends_at"])),
        str(result.get("session", sealed)),
    )


def read(cookie: BrowserSession) -> OpenSession:
    """Return the session of a cookie; AuthenticationError for one that the broker does not open."""
    key = hashlib.sha256(f"{cookie.organization}\n{cookie.session}".encode()).hexdigest()
    session = session_cache.get_or_make(key, lambda: _ask_broker(cookie))
    if session.expires_at <= time.time():
        raise AuthenticationError(problem="the browser's session has ended")
    return session


def identify(session: OpenSession) -> Caller:
    """Return the signed-in person, as the directory has them now; AuthenticationError if the browser was signed out.

    A session that was not forged and is refused has an audit row: its cookie is used after its end, or its person was
    removed.
    """
    try:
        return _identify(session)
    except (AuthenticationError, MembershipRequired) as error:
        # One row a minute: a page that is open asks again and again.
        if not refused_sessions.get(session.id):
            refused_sessions.put(session.id, True)
            caller = Caller(session.organization, session.user, session.subject, "user", (), client=client())
            with audit.best_effort():
                target = f"browsers.{browsers.key_of(session.id)}"
                audit.record_event(caller, "sign_in", audit.SIGN_IN, target=target, outcome=error.code)
        raise


def _identify(session: OpenSession) -> Caller:
    if not browsers.is_signed_in(session.subject, session.id, fresh=True):
        raise AuthenticationError(problem="the browser's session has ended")
    proof = Proof("session", session.sealed)
    caller = directory.identify(session.subject, organization=session.organization, proof=proof)
    if caller.user != session.user:
        raise AuthenticationError(problem="the browser's session is another user's")
    return replace(caller, client=client())


def client() -> ClientInfo:
    """Return how the console's own requests appear in the audit."""
    return ClientInfo("mcpist-console", VERSION, settings().connect_client_id)


def _ask_broker(cookie: BrowserSession) -> OpenSession:
    proof = {"kind": "session", "value": cookie.session}
    result = broker.invoke({"operation": "session", "proof": proof, "organization": cookie.organization})
    return parse(result, cookie.session)


def record_sign_in(subject: Subject, browser: Browser) -> None:
    """Record that a person has signed in."""
    _record(subject, browser, "sign_in", audit.SIGN_IN)


def record_sign_out(subject: Subject, browsers: Iterable[Browser], action: str = SIGN_OUT) -> None:
    """Record that browsers of a person were signed out."""
    for browser in browsers:
        _record(subject, browser, "sign_out", action)


def record_end(caller: Caller, login: str) -> None:
    """Record that a person no longer lets a client act."""
    with audit.best_effort():
        audit.record_event(caller, "sign_out", END_CLIENT, target=f"clients.{login}")


def _record(subject: Subject, browser: Browser, event: audit.Event, action: str) -> None:
    """Write the row of a browser, unless its organization has removed the person."""
    with audit.best_effort(), suppress(MembershipRequired):
        caller = replace(directory.identify(subject, organization=browser.organization), client=client())
        described = {"browser": browser.description}
        before, after = (None, described) if event == "sign_in" else (described, None)
        audit.record_event(caller, event, action, target=f"browsers.{browser.key}", before=before, after=after)
