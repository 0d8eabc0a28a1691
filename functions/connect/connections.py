"""A person's connections: look at them, begin one, come back from the provider, answer a question, end one."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any
from urllib.parse import quote, urlencode

from connect import login, pages
from connect.cookies import Session, session_of
from connect.request import Request
from connect.response import Response, go, show
from connect.words import WORDS, Words
from mcpist.errors import AuthenticationError, InvalidRequest
from mcpist.running import broker

# The broker asks the provider up to three times, and a state counts once: so one attempt, nearly as long as we live.
PATIENCE_SECONDS = 26


def overview(request: Request) -> Response:
    """All services, and how each stands."""
    words = WORDS[request.locale]
    return _shown(request, "/connect", (), lambda offer: pages.overview(words, offer))


def service(request: Request) -> Response:
    """One service: what is connected, and the forms; what happened just now stands above."""
    words, name = WORDS[request.locale], request.path["service"]
    note, role = _note(words, request.query.get("done", "")), request.query.get("role", "")
    return _shown(request, _place(name), (name,), lambda offer: pages.service(words, {**offer, "role": role}, note))


def act(request: Request) -> Response:
    """What a form of a service's page asks for: begin, paste or disconnect."""
    session, name = _acting(request), request.path["service"]
    role = {"role": request.one("role")} if request.one("whom") == "role" else {}
    match request.one("action"):
        case "begin":
            services = request.form.get("services", [])
            if not services:
                raise InvalidRequest(field="services", problem="choose at least one service")
            asked = {"services": services, **role, **_opened(request, role)}
            begun = _ask(session, "begin", **asked)
            return show(pages.leaving(WORDS[request.locale], begun["provider"], begun["url"]))
        case "paste":
            asked = {"service": name, "key": request.one("key"), **role, **_opened(request, role)}
            return _outcome(request, session, _ask(session, "paste", **asked))
        case "disconnect":
            shared = {"role": request.one("role")} if request.one("role") else {}
            _ask(session, "revoke", service=name, **shared)
            return _back(request, name, "disconnected")
    raise InvalidRequest(field="action", problem="there is no such action")


def callback(request: Request) -> Response:
    """The provider's answer; the address with its code is left at once."""
    session = session_of(request)
    if session is None:
        raise AuthenticationError(problem="nobody is logged in")
    names = ("state", "code", "error", "iss")
    said = {name: request.query[name] for name in names if request.query.get(name)}
    return _outcome(request, session, _ask(session, "finish", provider=request.path["provider"], **said))


def confirm(request: Request) -> Response:
    """The answer to a question."""
    session = _acting(request)
    agreed = request.one("agreed") == "yes"
    return _outcome(request, session, _ask(session, "confirm", question=request.one("question"), agreed=agreed))


def _shown(request: Request, place: str, services: Iterable[str], page: Callable[[Mapping[str, Any]], str]) -> Response:
    """A page for who is logged in; others go to the login and come back."""
    words, wanted = WORDS[request.locale], {name: request.query.get(name, "") for name in ("organization", "user")}
    kept = {name: value for name, value in request.query.items() if name in {"organization", "user", "role"}}
    target = f"{place}?{urlencode(kept)}" if kept else place
    session, again = session_of(request), "again" in request.query
    if session is None or again or wanted["organization"] not in {"", session.organization}:
        return login.begin(request, target, organization=wanted["organization"], again=again)
    try:
        offer = _ask(session, "offer", services=list(services))
    except AuthenticationError:
        return login.begin(request, target, organization=wanted["organization"])
    if wanted["user"] not in {"", offer["user"]}:
        text = words.not_yours_note.format(wanted=wanted["user"], user=offer["user"])
        ways = [(words.others_login, f"{target}&again=1"), (words.back, "/connect")]
        return show(pages.message(words, words.not_yours, text, ways), status=403)
    return show(page(offer))


def _acting(request: Request) -> Session:
    """Who sent a form of ours; a login that changed since the page was shown does not act."""
    if request.origin != request.url:
        raise InvalidRequest(field="origin", problem=f"forms are sent from {request.url}/connect only")
    session = session_of(request)
    if session is None or (session.organization, session.user) != (request.one("organization"), request.one("user")):
        raise AuthenticationError(problem="somebody else is logged in by now")
    return session


def _opened(request: Request, role: Mapping[str, str]) -> dict[str, list[str]]:
    """The roles that may use an own account, where the form asks; all are not named, so that later ones count too."""
    chosen, offered = request.form.get("open_to", []), request.form.get("could_open_to", [])
    if role or not offered or set(chosen) == set(offered):
        return {}
    if not chosen:
        raise InvalidRequest(field="open_to", problem="choose at least one role")
    return {"open_to": chosen}


def _outcome(request: Request, session: Session, made: Mapping[str, Any]) -> Response:
    if made["outcome"] == "asks":
        about = {"organization": session.organization, "user": session.user}
        return show(pages.question(WORDS[request.locale], made, about))
    return _back(request, made["service"], made["outcome"])


def _back(request: Request, name: str, done: str) -> Response:
    return go(f"{request.url}{_place(name)}?done={done}")


def _place(name: str) -> str:
    return f"/connect/{quote(name, safe='')}"


def _note(words: Words, done: str) -> str:
    match done:
        case "connected":
            return pages.note(words.connected, words.connected_note, kind="good")
        case "declined":
            return pages.note(words.declined, kind="bad")
        case "disconnected":
            return pages.note(words.disconnected)
        case "kept":
            return pages.note(words.kept)
    return ""


def _ask(session: Session, operation: str, **fields: Any) -> dict[str, Any]:
    proof = {"kind": "session", "value": session.session}
    asked = {"operation": operation, "proof": proof, "organization": session.organization, **fields}
    return broker.send(asked, seconds=PATIENCE_SECONDS, attempts=1)
