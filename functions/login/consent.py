"""The three steps of a person's login for a client: to the issuer, back from it, and the decision on our own page.

Where several issuers know people, an address chooses one of them: the client's `login_hint`, or what our page asks for.

A login goes on only in the browser that began it, which a cookie shows, so that nobody can be made to end another's.
"""

import re
import secrets
from dataclasses import replace

from authlib.oauth2 import OAuth2Error
from authlib.oauth2.rfc6749.errors import InvalidClientError

from login import admission, clients, endpoints, enterprise, identity_provider, logins, pages
from login.clients import LoginClient
from login.logins import KnownPerson, PendingLogin
from mcpist.audit import record as audit
from mcpist.caller import Caller, ClientInfo
from mcpist.errors import AuthenticationError, FormRefused, StaleConnection
from mcpist.http.browser import BrowserRequest
from mcpist.http.page import redirect
from mcpist.http.request import HttpResponse
from mcpist.people.issuers import issuer_of

BROWSER_SECONDS = 3600
_BROWSER = re.compile(r"[A-Za-z0-9_-]{43}")


def begin(request: BrowserRequest) -> HttpResponse:
    """Lead a browser to the issuer, if a client's request is right."""
    values = endpoints.read_query(request)
    try:
        endpoints.check(values)
    except OAuth2Error as error:
        # Anybody registers a client: a link to us leads nobody to its host before they have agreed to it (RFC 9700).
        if error.redirect_uri and not error.redirect_uri.startswith("https:"):
            return endpoints.redirect_error(error)
        described = "" if error.redirect_uri else error.description  # the texts for clients quote their requests
        client_id = next(iter(values.get("client_id", ())), "")
        if isinstance(error, InvalidClientError) and clients.describes_itself(client_id):
            return pages.show(request, "unread_client", status=400, problem=client_id)
        # Its address is not to be trusted, so the client is not told.
        return pages.show(request, "wrong_client", status=400, problem=str(described or error.error))
    parameters = {name: given[0] for name, given in values.items()}
    address = parameters.get("login_hint", "").strip()
    if identity_provider.must_ask_address(address):
        return pages.ask_address(request, values)
    verifier, nonce = secrets.token_urlsafe(48), secrets.token_urlsafe(24)
    browser = _browser(request) or secrets.token_urlsafe(32)
    handle = logins.begin(parameters, verifier=verifier, nonce=nonce, browser=browser)
    more = {"prompt": "login"} if parameters.get("prompt") == "login" else {}
    more |= {"login_hint": address} if address else {}
    url = identity_provider.client_at(issuer_of(address)).authorization_url(
        state=handle, verifier=verifier, nonce=nonce, scope=identity_provider.SCOPE, **more
    )
    return redirect(url, cookies=[request.set_cookie("browser", browser, BROWSER_SECONDS)])


def identify(request: BrowserRequest) -> HttpResponse:
    """Take the issuer's answer, and ask the person whether the client may act for them, unless they have said so."""
    handle = request.query.get("state", "")
    pending = _pending(request, handle)
    issuer = issuer_of(pending.parameters.get("login_hint", "").strip())
    if request.path != issuer.callback_path:
        raise AuthenticationError(problem="the login's response comes from another issuer")
    identity_provider.client_at(issuer).check_issuer(request.query.get("iss", ""))
    if "code" not in request.query:
        return _end(handle, pending, None)
    person = identity_provider.identify(issuer, request.query["code"], verifier=pending.verifier, nonce=pending.nonce)
    client, redirect_uri = _check_again(pending)
    members = admission.memberships(person.subject, person.organization)
    if not members and person.organization:
        members = enterprise.add_person(person, client, request.id)
    # Who is no member yet joins by an invitation, which the console serves.
    if client.is_ours:
        return _end(handle, pending, person)
    if not members:
        return pages.show(request, "no_member", status=403, person=person.name)
    organizations = admission.organizations(members, client)
    if logins.remembers(person, client, redirect_uri):
        return _end(handle, pending, person)
    if not logins.identify(handle, person):
        raise StaleConnection
    return pages.ask(request, handle, client, person, redirect_uri, organizations)


def decide(request: BrowserRequest) -> HttpResponse:
    """Take the person's decision; FormRefused if our own page has not sent it."""
    if not request.is_from_own_page:
        raise FormRefused(field="origin", url=request.public_url)
    handle = request.form_value("login")
    pending = _pending(request, handle)
    if pending.person is None:
        raise StaleConnection
    if request.form_value("decision") != "allow":
        return _end(handle, pending, None)
    client, redirect_uri = _check_again(pending)
    response = _end(handle, pending, pending.person)
    logins.remember(pending.person, client, redirect_uri)
    for caller in admission.memberships(pending.person.subject, pending.person.organization):
        _record(caller, client, redirect_uri, request.id)
    return response


def _end(handle: str, pending: PendingLogin, person: KnownPerson | None) -> HttpResponse:
    """End a login, once, with a code for the person or with their refusal."""
    if not logins.finish(handle):
        raise StaleConnection
    return endpoints.answer(pending.parameters, person)


def _check_again(pending: PendingLogin) -> tuple[LoginClient, str]:
    """Return the client of a login, and where its answer goes; StaleConnection if it has changed meanwhile."""
    try:
        return endpoints.check({name: [value] for name, value in pending.parameters.items()})
    except OAuth2Error:
        raise StaleConnection from None


def _pending(request: BrowserRequest, handle: str) -> PendingLogin:
    """Return the login that this browser has begun; StaleConnection for another one."""
    browser = _browser(request)
    pending = logins.find(handle, browser) if browser else None
    if pending is None:
        raise StaleConnection
    return pending


def _browser(request: BrowserRequest) -> str:
    """Return the secret of the browser's cookie; empty for none."""
    value = request.cookies.get(request.cookie_name("browser"), "")
    return value if _BROWSER.fullmatch(value) else ""


def _record(caller: Caller, client: LoginClient, redirect_uri: str, request_id: str) -> None:
    """Write the audit row of a client that may act for a person from now on."""
    allowed = {"client": client.name, "answers_to": pages.place_of(redirect_uri)}
    acting = replace(caller, client=ClientInfo.described(client.name, client_id=client.id))
    with audit.best_effort():
        audit.record_event(acting, "sign_in", "login.allow", request=request_id, target="clients", after=allowed)
