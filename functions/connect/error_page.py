"""The page that a person sees when a request failed, with links to continue."""

from urllib.parse import quote

from connect import pages
from connect.request import Request
from connect.response import html_response
from connect.texts import TEXTS
from mcpist.aws.http_request import HttpResponse
from mcpist.errors import AuthenticationError, McpistError, MembershipRequired, OrganizationAmbiguous


def respond(request: Request, error: McpistError) -> HttpResponse:
    """Return the page for an error."""
    locale = request.locale()
    texts = TEXTS[locale]
    path = f"/connect/{quote(request.path_parameters.get('service', ''), safe='')}".rstrip("/")
    heading, (text, hint), actions = texts.failed, error.text(locale), [(texts.again, path)]
    match error:
        case OrganizationAmbiguous():
            heading, hint = texts.which_organization, ""
            names = error.details["known"].split(", ")
            actions = [(name, f"{path}?organization={quote(name)}") for name in names]
        case MembershipRequired():
            actions = [(texts.other_login, f"{path}?again=1")]
        case AuthenticationError():
            heading, text, hint = texts.login_ended, texts.login_ended_note, ""
    return html_response(pages.message(texts, heading, text, actions, hint=hint), status=error.status)
