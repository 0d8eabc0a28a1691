"""Pages that are only a message, for people who may not be signed in; one is that of an error.

That page says what happened and who must act, and has links to continue.
"""

from collections.abc import Iterable, Sequence
from typing import Any
from urllib.parse import quote

from console.rendering import address, render, texts
from mcpist.errors import (
    AccountError,
    AdministratorError,
    AuthenticationError,
    AuthorizationError,
    CallerError,
    McpistError,
    MembershipRequired,
    OrganizationAmbiguous,
    PageNotFound,
    TransientError,
)
from mcpist.errors import ToolExecutionError as ServiceError
from mcpist.http.browser import START_PAGE, BrowserRequest
from mcpist.http.page import html_response
from mcpist.http.request import HttpResponse, json_response

WHO_ACTS: tuple[tuple[type[McpistError], str], ...] = (
    (CallerError, "error.who_caller"),
    (AdministratorError, "error.who_administrator"),
    (AccountError, "error.who_user"),
    (TransientError, "error.who_nobody"),
    (ServiceError, "error.who_service"),
)


def show(
    request: BrowserRequest, heading: str, text: str, actions: Iterable[tuple[str, str]], **options: Any
) -> HttpResponse:
    """Return a page of texts' keys; an action is the key of its text and its address."""
    t = texts(request.language())
    return message_page(request, t(heading), t(text), [(t(key), url) for key, url in actions], **options)


def message_page(
    request: BrowserRequest,
    heading: str,
    text: str,
    actions: Iterable[tuple[str, str]],
    *,
    status: int = 200,
    cookies: Sequence[str] = (),
    **of_error: str,
) -> HttpResponse:
    """Return a page of texts; those of an error are its `hint` and its `code`, and `who` must act."""
    values = {"heading": heading, "text": text, "actions": list(actions), "hint": "", "who": "", "code": "", **of_error}
    html = render("message.html", texts(request.language()), values)
    return html_response(request, html, status=status, cookies=cookies)


def show_template(request: BrowserRequest, template: str, **values: Any) -> HttpResponse:
    """Return another page for people who may not be signed in."""
    return html_response(request, render(template, texts(request.language()), values))


def show_error(request: BrowserRequest, error: McpistError, request_id: str) -> HttpResponse:
    """Return the page for an error; a program that does not ask for a page gets JSON."""
    locale = request.language()
    # Programs try addresses where metadata may be; no page helps them.
    if isinstance(error, PageNotFound) and not request.accepts_html:
        return json_response(error.status, error.as_dict(locale))
    t, path = texts(locale), _start_again(request)
    heading, (text, hint) = t("error.failed"), error.text(locale)
    who = next((key for kind, key in WHO_ACTS if isinstance(error, kind)), "error.who_us")
    actions = [(t("error.again"), path)]
    match error:
        case OrganizationAmbiguous():
            heading, hint, who = t("error.which_organization"), "", ""
            names = error.details["known"].split(", ")
            actions = [(name, address(path, organization=name)) for name in names]
        case MembershipRequired():
            actions = [(t("error.other_login"), f"{path}?again=1")]
        case AuthenticationError():
            heading, text, hint, who = t("error.login_ended"), t("error.login_ended_note"), "", ""
        case AuthorizationError():
            heading, actions = t("error.forbidden"), [(t("error.home"), START_PAGE)]
        case PageNotFound():
            heading, actions = t("error.not_found"), [(t("error.home"), START_PAGE)]
    who = t(who, request=request_id) if who else ""
    return message_page(request, heading, text, actions, hint=hint, who=who, code=error.code, status=error.status)


def _start_again(request: BrowserRequest) -> str:
    """Return the page on which a person begins again what failed: a form has its page's path."""
    if request.path.startswith(("/connect/callback/", "/connect/confirm")):
        return "/connect"
    return START_PAGE if request.path == "/connect/login" else quote(request.path)
