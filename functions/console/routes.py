"""The routes: one line a page, and the path of a request to it."""

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace

from console import approvals, automations, changes, connections, files, home, logs, modules, profile, rendering, search
from console.batches import pages as batches
from console.cookies import BrowserSession, read, set_cookie
from console.organization import company, policies, roles, skills, users
from console.sign_in import login, sessions
from console.tools import pages as tools
from console.visit import Visit
from console.workbench import pages as workbench
from mcpist.errors import AuthenticationError, AuthorizationError, McpistError, MethodNotAllowed, PageNotFound
from mcpist.http.browser import BrowserRequest
from mcpist.http.front import Exchange
from mcpist.http.page import HEADERS, redirect
from mcpist.http.request import HttpResponse
from mcpist.people.in_flight import in_flight
from mcpist.spending import spending
from mcpist.telemetry import invocation

type Page = Callable[[Visit], HttpResponse]


def for_administrators(page: Page) -> Page:
    """Return a page that is refused to others, with a row in the audit; a change writes its own row."""

    def show(visit: Visit) -> HttpResponse:
        name, reads = visit.request.path.strip("/"), visit.request.method != "POST"
        with visit.administration.permitted(f"console.{name}", name, event="look" if reads else "change"):
            if reads:
                return page(visit)
        return page(visit)

    return show


PUBLIC: dict[str, Callable[[BrowserRequest], HttpResponse]] = {
    "GET /assets/{file}": rendering.show_asset,
    "GET /connect/login": login.finish,
    "GET /connect/clients/{provider}": connections.show_client,
    "GET /signed-out": login.show_signed_out,
    "GET /join": login.show_invitation,
    "POST /join": login.begin_joining,
}
PROGRAMS: dict[str, Callable[[BrowserRequest], HttpResponse]] = {
    "GET /": home.show_status,
    "GET /tools": home.redirect_to_tools,
}
"""The answers to programs, which do not ask for a page."""
PAGES: dict[str, Page] = {
    "GET /": home.show,
    "GET /connect": connections.overview,
    "GET /connect/{service}": connections.service,
    "POST /connect/{service}": connections.submit,
    "GET /connect/callback/{provider}": connections.callback,
    "POST /connect/confirm": connections.confirm,
    "GET /search": search.show,
    "GET /workbench": workbench.show,
    "POST /workbench": workbench.submit,
    "GET /batches": batches.show,
    "POST /batches": batches.submit,
    "GET /automations": automations.show,
    "POST /automations": automations.submit,
    "GET /approvals": approvals.show,
    "POST /approvals": approvals.submit,
    "GET /changes": changes.show,
    "POST /changes": changes.submit,
    "GET /files": files.show,
    "GET /tools": tools.show,
    "POST /tools": tools.submit,
    "GET /profile": profile.show,
    "POST /profile": profile.submit,
    "GET /modules": for_administrators(modules.show),
    "POST /modules": for_administrators(modules.submit),
    "GET /adoption": for_administrators(home.show_adoption),
    "GET /logs": for_administrators(logs.show),
    "GET /users": for_administrators(users.show),
    "POST /users": for_administrators(users.submit),
    "GET /roles": for_administrators(roles.show),
    "POST /roles": for_administrators(roles.submit),
    "GET /directory": for_administrators(company.show),
    "POST /directory": for_administrators(company.submit),
    "GET /policies": for_administrators(policies.show),
    "POST /policies": for_administrators(policies.submit),
    "GET /skills": for_administrators(skills.show),
    "POST /skills": for_administrators(skills.submit),
}


def respond(request: BrowserRequest, arrived: Exchange) -> HttpResponse:
    """Return the response to a request."""
    route = _route(request)
    if route in PROGRAMS and not request.accepts_html and not request.is_partial:
        return PROGRAMS[route](request)
    if route in PUBLIC:
        return PUBLIC[route](request)
    page, cookie = _find_page(route, request), read(request, BrowserSession)
    wanted = request.query.get("organization", "")
    if request.method == "GET" and (
        cookie is None or "again" in request.query or wanted not in {"", cookie.organization}
    ):
        return _to_login(request, wanted)
    try:
        visit = _begin(request, cookie, arrived)
    except AuthenticationError:
        # A filled form would vanish behind the login, and a provider's code is good only once.
        if request.method != "GET" or route.startswith("GET /connect/callback/"):
            raise
        return _to_login(request, wanted)
    if request.method == "POST":
        visit.check_form()
    with in_flight.counted(visit.caller) if request.method == "POST" else nullcontext():  # a tool or a batch may wait
        response = page(visit) if request.method != "POST" else _submit(visit, page, PAGES.get(f"GET{route[4:]}"))
    spending.add(visit.caller.organization, "bytes", len(response.get("body") or ""))
    # The broker renews a session that is used, so that it ends an hour after the last use.
    if visit.session.sealed != visit.sent:
        response["cookies"] = [*response.get("cookies", ()), _renewed(visit)]
    return response


def _submit(visit: Visit, page: Page, form: Page | None) -> HttpResponse:
    """Perform the action of a form; one that is refused is shown again, with its problem and what was typed.

    So is one whose button `search` only looks for something in the form, such as a role among many.
    """
    if form and visit.request.form_value("search"):
        return form(visit)
    try:
        return page(visit)
    except McpistError as error:
        if form is None or isinstance(error, AuthenticationError | AuthorizationError):
            raise
        try:
            response = form(replace(visit, refused=error))
        except McpistError:  # of a page that is no more, as that of a user who was removed
            raise error from None
        invocation.count_error(error.code)
        return response


def _begin(request: BrowserRequest, cookie: BrowserSession | None, arrived: Exchange) -> Visit:
    """Return the visit of a session; AuthenticationError if there is none that is valid."""
    if cookie is None:
        raise AuthenticationError(problem="there is no login")
    session = sessions.read(cookie)
    caller = sessions.identify(session)
    return Visit(arrived.request_id, arrived.deadline, request, session, caller, sent=cookie.session)


def _renewed(visit: Visit) -> str:
    """Return the cookie of a session that the broker has renewed."""
    session = visit.session
    cookie = BrowserSession(session.organization, session.user, session.sealed)
    return set_cookie(visit.request, cookie, max(0, int(session.expires_at - visit.now)))


def _to_login(request: BrowserRequest, organization: str) -> HttpResponse:
    """Lead to the login and back to the page; the header makes htmx load the whole page again."""
    if request.is_partial:
        return {"statusCode": 401, "headers": {**HEADERS, "hx-refresh": "true"}, "body": ""}
    if request.asked_url != request.public_url:  # the login leads back to this one, where its cookie must be
        return redirect(request.public_url + request.target)
    return login.begin(request, request.target, organization=organization, again="again" in request.query)


def _route(request: BrowserRequest) -> str:
    """Return a request's route: its method, with HEAD as GET, and the path of one page where a variable took it."""
    method = "GET" if request.method == "HEAD" else request.method
    path = request.route.partition(" ")[2]
    return f"{method} {request.path if path == '/{page}' else path}"


def _find_page(route: str, request: BrowserRequest) -> Page:
    if route in PAGES:
        return PAGES[route]
    _, _, path = route.partition(" ")
    allowed = [known.partition(" ")[0] for known in (*PAGES, *PUBLIC) if known.partition(" ")[2] == path]
    if not allowed:
        raise PageNotFound(method=request.method, path=request.path)
    raise MethodNotAllowed(method=request.method, path=request.path, allowed=", ".join(allowed))
