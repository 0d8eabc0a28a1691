"""The page of an invitation's link, and what becomes of the link after the login.

The page only describes the invitation: programs that preview links use up nothing. A button begins the login, and the
person whom the issuer then names is the one who joins.
"""

from console import messages
from console.http.cookies import LoginAttempt, clear_cookie
from console.http.request import START_PAGE, Request
from mcpist.http import bearer
from mcpist.http.request import HttpResponse
from mcpist.people import invitations


def show(request: Request) -> HttpResponse:
    """Show what an invitation is for, with the button that begins the login."""
    organization, secret = request.query.get("organization", ""), request.query.get("code", "")
    found = invitations.read(organization, secret)
    if found is None:
        return _refusal(request, "invalid")
    return messages.show_template(
        request, "join.html", invitation=found, organization=organization, code=secret, path=invitations.PATH
    )


def join(request: Request, attempt: LoginAttempt, token: str) -> HttpResponse | None:
    """Use an invitation for the person whom a token names; return a page if that is refused."""
    subject = bearer.verify(token, request.public_url).subject
    outcome = invitations.accept(attempt.organization, attempt.invitation, subject, request.id)
    return None if outcome in {"joined", "already_member"} else _refusal(request, outcome)


def _refusal(request: Request, outcome: str) -> HttpResponse:
    actions = [("error.sign_in", START_PAGE)]
    cookies = [clear_cookie(request, "login")]
    return messages.show(request, "join.refused", f"join.{outcome}", actions, status=410, cookies=cookies)
