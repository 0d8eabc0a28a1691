"""The browsers in which a person is signed in to the console: a session that has no item here has ended.

Item: `subject#ISSUER#SUB, browser#HASH` with the organization, what the browser says of itself, and its times. It is
beside the person's access, so that the Query that finds the caller finds it, too. It expires with the session.
"""

import hashlib
import time
from dataclasses import dataclass

from mcpist.aws.attributes import Item, decode
from mcpist.aws.table import directory_table
from mcpist.caller import ClientInfo, Subject
from mcpist.people import directory

MAX_BROWSERS = 20
_PREFIX = "browser#"
# A browser names those that it resembles, too: the most particular name comes first.
_BROWSERS = (("Edg/", "Edge"), ("OPR/", "Opera"), ("Firefox/", "Firefox"), ("Chrome/", "Chrome"), ("Safari/", "Safari"))
_SYSTEMS = (
    *(("iPhone", "iPhone"), ("iPad", "iPad"), ("Android", "Android"), ("Windows", "Windows")),
    *(("Mac OS X", "macOS"), ("Linux", "Linux")),
)


@dataclass(frozen=True, slots=True)
class Browser:
    """A browser in which a person is signed in."""

    key: str
    """The hash of its session's id."""
    organization: str
    description: str
    """What it says of itself."""
    began_at: int
    """When the person signed in, in epoch seconds."""
    expires_at: int
    """When the session ends at the latest, in epoch seconds."""


def key_of(session_id: str) -> str:
    """Return the key of a session's browser; the id itself is stored nowhere."""
    return hashlib.sha256(session_id.encode()).hexdigest()[:32]


def sign_in(subject: Subject, session_id: str, organization: str, description: str, *, expires_at: int) -> Browser:
    """Store that a browser is signed in, and return it."""
    item = {
        "pk": directory.subject_key(subject),
        "sk": _PREFIX + key_of(session_id),
        "organization": organization,
        "description": describe(description),
        "began_at": int(time.time()),
        "expires_at": expires_at,
    }
    directory_table().put(item)
    directory.read_subject(subject, fresh=True)
    return _parse(item)


def describe(user_agent: str) -> str:
    """Return a browser and its system for people, e.g. `Firefox, Linux`; what it says of itself if neither is known."""
    known = [next((name for mark, name in marks if mark in user_agent), "") for marks in (_BROWSERS, _SYSTEMS)]
    return ", ".join(filter(None, known)) or ClientInfo.described(user_agent).name


def find(subject: Subject, *, fresh: bool = False) -> list[Browser]:
    """Return the browsers in which a person is signed in, the latest first."""
    items = [item for item in directory.read_subject(subject, fresh=fresh) if item["sk"].startswith(_PREFIX)]
    live = [_parse(item) for item in items if item["expires_at"] > time.time()]
    return sorted(live, key=lambda browser: browser.began_at, reverse=True)


def is_signed_in(subject: Subject, session_id: str, *, fresh: bool = False) -> bool:
    """Whether a session has not ended; what is cached may be older than the login, so a missing one is read again."""
    key = key_of(session_id)
    if any(browser.key == key for browser in find(subject, fresh=fresh)):
        return True
    return not fresh and any(browser.key == key for browser in find(subject, fresh=True))


def sign_out(subject: Subject, key: str | None = None, *, kept: int = 0) -> list[Browser]:
    """End the sessions of a person but the latest `kept`, or that of one browser, and return their browsers."""
    browsers = [browser for browser in find(subject, fresh=True)[kept:] if key in {None, browser.key}]
    for browser in browsers:
        directory_table().delete(directory.subject_key(subject), _PREFIX + browser.key)
    if browsers:
        directory.read_subject(subject, fresh=True)
    return browsers


def _parse(item: Item) -> Browser:
    return decode(Browser, item, key=item["sk"].removeprefix(_PREFIX))
