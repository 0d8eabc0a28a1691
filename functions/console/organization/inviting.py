"""Invitations of the organization: their links are shown once, and can be withdrawn."""

import re
from typing import cast

from console.visit import Visit
from mcpist.aws.http_request import HttpResponse
from mcpist.errors import InvalidRequest, Locale
from mcpist.people import invitations


def invite(visit: Visit) -> HttpResponse:
    """Make an invitation, and show its link."""
    form = visit.request.form_value
    days, locale = form("days"), form("locale")
    if not re.fullmatch("[0-9]{1,2}", days):
        raise InvalidRequest(field="days", problem=f"it is a number from 1 to {invitations.MAX_INVITATION_DAYS}")
    if locale not in {"en", "ja"}:
        raise InvalidRequest(field="locale", problem="it is one of en, ja")
    secret = invitations.invite(
        visit.administration,
        form("id"),
        name=form("name"),
        roles=tuple(visit.request.form.get("roles", ())),
        locale=cast("Locale", locale),
        days=int(days),
    )
    link = invitations.link(visit.request.public_url, visit.caller.organization, secret)
    return visit.page("organization/invited.html", user=form("id"), link=link, days=int(days))


def withdraw(visit: Visit) -> HttpResponse:
    """Make a link useless."""
    invitations.withdraw(visit.administration, visit.request.form_value("invitation"))
    return visit.redirect("/users", done="invitation_withdrawn")
