"""The login: an authorization code with PKCE from the same issuer whose tokens the endpoint accepts.

The access token is sent to the broker once, in exchange for a session, and is not stored.
"""

import secrets
import time
from typing import cast

from console import messages
from console.cookies import BrowserSession, LoginAttempt, clear_cookie, read, set_cookie
from console.sign_in import sessions
from mcpist.caller import Role
from mcpist.errors import (
    AcceptanceRequired,
    FormRefused,
    InvalidRequest,
    MembershipRequired,
    NotConfigured,
    StaleConnection,
)
from mcpist.http import bearer
from mcpist.http.browser import OWN_PATH, START_PAGE, BrowserRequest
from mcpist.http.page import redirect
from mcpist.http.request import HttpResponse
from mcpist.people import browsers, directory, invitations, memberships, provisioning
from mcpist.people.administration import Administration, operator
from mcpist.people.oidc_client import OidcClient, metadata
from mcpist.people.organization import Organization, User
from mcpist.running import broker
from mcpist.running.accounts import BrokerAccounts
from mcpist.settings import settings
from mcpist_services import NAMES

LOGIN_CALLBACK_PATH = "/connect/login"


def begin(
    request: BrowserRequest,
    target: str,
    *,
    organization: str = "",
    again: bool = False,
    invitation: str = "",
    answer: str = "",
) -> HttpResponse:
    """Redirect to the issuer, which redirects back and so to the target; `again` asks for a new login."""
    if not settings().connect_client_id:
        raise NotConfigured(service="connect", problem="the parameter ConnectClientId is not set")
    state, verifier = secrets.token_urlsafe(32), secrets.token_urlsafe(48)
    client = _client(request)
    # Some issuers refuse a scope that they do not announce.
    scopes = {"scope": "openid"} if "openid" in metadata(client.issuer).get("scopes_supported", []) else {}
    more = {"resource": _audience(request), **scopes, **({"prompt": "login"} if again else {})}
    url = client.authorization_url(state=state, verifier=verifier, **more)
    attempt = LoginAttempt(state, verifier, organization, target, invitation, answer)
    return redirect(url, cookies=[set_cookie(request, attempt)])


def finish(request: BrowserRequest) -> HttpResponse:
    """Take the issuer's response, and redirect to the target with a new session; StaleConnection for another login."""
    attempt = read(request, LoginAttempt)
    if attempt is None or not secrets.compare_digest(attempt.state.encode(), request.query.get("state", "").encode()):
        raise StaleConnection
    client = _client(request)
    client.check_issuer(request.query.get("iss", ""))
    if "code" not in request.query:
        # The person refused, or the issuer did: the cookie of this attempt is of no more use.
        actions, cookies = [("error.sign_in", _target(attempt))], [clear_cookie(request, "login")]
        texts = "error.not_logged_in", "error.not_logged_in_note"
        return messages.show(request, *texts, actions, status=403, cookies=cookies)
    token = client.redeem(request.query["code"], attempt.verifier, resource=_audience(request))["access_token"]
    # Before the session: the broker opens none for somebody who is no member yet.
    create_organization(request, token)
    person = bearer.verify(token, request.public_url)
    if person.organizations and attempt.organization not in {"", *person.organizations}:
        raise MembershipRequired(organization=attempt.organization)
    provisioning.meet(person.subject, person.email, request.id, person.organizations)
    return _join(request, attempt, token) or _open_session(request, attempt, token)


def _join(request: BrowserRequest, attempt: LoginAttempt, token: str) -> HttpResponse | None:
    """Use the invitation or give the answer with which a login began; a page if the person is no member after it."""
    if not (attempt.invitation or attempt.answer):
        return None
    subject = bearer.verify(token, request.public_url).subject
    if attempt.invitation:
        outcome = invitations.accept(attempt.organization, attempt.invitation, subject, request.id)
        return None if outcome in {"joined", "already_member"} else _refusal(request, outcome)
    given = cast("memberships.Answer", attempt.answer)
    memberships.answer(subject, attempt.organization, given, request.id)
    if given == "accepted":
        return None
    actions, cookies = [("error.sign_in", START_PAGE)], [clear_cookie(request, "login")]
    return messages.show(request, "asked.declined", "asked.declined_note", actions, cookies=cookies)


def _open_session(request: BrowserRequest, attempt: LoginAttempt, token: str) -> HttpResponse:
    """Redirect to the target with a session of the broker; a page that asks a person whose membership waits."""
    message = {"operation": "login", "proof": {"kind": "jwt", "value": token}, "organization": attempt.organization}
    try:
        session = sessions.parse(broker.invoke(message), "")
    except AcceptanceRequired:
        subject = bearer.verify(token, request.public_url).subject
        directory.read_subject(subject, fresh=True)
        asked = [one for one in directory.known(subject).waiting if attempt.organization in {"", one.organization}]
        return messages.show_template(request, "asked.html", asked=asked, path=invitations.PATH)
    sessions.record_sign_out(session.subject, browsers.sign_out(session.subject, kept=browsers.MAX_BROWSERS - 1))
    owner, agent = (session.subject, session.id, session.organization), request.headers.get("user-agent", "")
    sessions.record_sign_in(session.subject, browsers.sign_in(*owner, agent, expires_at=session.ends_at))
    cookie = BrowserSession(session.organization, session.user, session.sealed)
    seconds = max(0, int(session.expires_at - time.time()))
    cookies = [set_cookie(request, cookie, seconds), clear_cookie(request, "login")]
    return redirect(request.public_url + _target(attempt), cookies=cookies)


def begin_joining(request: BrowserRequest) -> HttpResponse:
    """Begin the login of a person who agreed to an invitation on our page, or answered whether to accept a membership.

    Whom the issuer then names, has answered; FormRefused if another site sends the form.
    """
    if not request.is_from_own_page:
        raise FormRefused(field="csrf", url=request.public_url)
    organization, invitation, answer = map(request.form_value, ("organization", "code", "answer"))
    if answer not in {"", *memberships.ACTIONS}:
        raise InvalidRequest(field="answer", problem=f"it is one of {', '.join(memberships.ACTIONS)}")
    return begin(request, START_PAGE, organization=organization, invitation=invitation, answer=answer)


def show_signed_out(request: BrowserRequest) -> HttpResponse:
    """Show that nobody is signed in."""
    return messages.show(request, "error.signed_out", "error.signed_out_note", [("error.sign_in", START_PAGE)])


def _target(attempt: LoginAttempt) -> str:
    """Return the path to show after the login; only our own pages are allowed."""
    return attempt.target if OWN_PATH.fullmatch(attempt.target) else START_PAGE


def _client(request: BrowserRequest) -> OidcClient:
    """Return the console as a client of the login."""
    redirect_uri = request.public_url + LOGIN_CALLBACK_PATH
    return OidcClient(settings().login_issuer, settings().connect_client_id, redirect_uri)


def _audience(request: BrowserRequest) -> str:
    return settings().audience or f"{request.public_url}/mcp"


def show_invitation(request: BrowserRequest) -> HttpResponse:
    """Show what an invitation is for, with the button that begins the login.

    The page only describes it: programs that preview links use up nothing. Whom the issuer then names, joins.
    """
    organization, secret = request.query.get("organization", ""), request.query.get("code", "")
    found = invitations.read(organization, secret)
    if found is None:
        return _refusal(request, "invalid")
    return messages.show_template(
        request, "join.html", invitation=found, organization=organization, code=secret, path=invitations.PATH
    )


def _refusal(request: BrowserRequest, outcome: str) -> HttpResponse:
    actions = [("error.sign_in", START_PAGE)]
    cookies = [clear_cookie(request, "login")]
    return messages.show(request, "join.refused", f"join.{outcome}", actions, status=410, cookies=cookies)


FIRST_ORGANIZATION = "main"
FIRST_ROLE = "members"


def create_organization(request: BrowserRequest, token: str) -> None:
    """Create the first organization for its administrator; nothing for anybody else, and where there is one already."""
    if not settings().administrator or directory.organizations():
        return
    person = bearer.verify(token, request.public_url)
    if person.organizations or person.email.casefold() != settings().administrator.casefold():
        return
    id_ = person.email.partition("@")[0]
    first = User(id_, id_, person.subject, "admin", (FIRST_ROLE,))
    caller = operator(FIRST_ORGANIZATION)
    roles = {FIRST_ROLE: Role(FIRST_ROLE, modules=NAMES)}
    new = Organization(FIRST_ORGANIZATION, FIRST_ORGANIZATION, roles=roles, users={first.id: first})
    Administration(caller, request.id, BrokerAccounts(caller)).create(new)
