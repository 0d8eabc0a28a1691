"""The users of the organization: the list, one of them, and changes."""

import re
from datetime import UTC, datetime, timedelta
from typing import Any, cast

from console.lists import Columns, export, list_page, named_columns
from console.organization.review import review
from console.rendering import address
from console.visit import Visit
from mcpist.audit import search as audit_search
from mcpist.errors import InvalidRequest, Locale
from mcpist.http.request import HttpResponse
from mcpist.people import edits, invitations, services
from mcpist.people.organization import User
from mcpist.running import broker
from mcpist.running.accounts import BrokerAccounts

ACTIVITY_DAYS = 30
ACTIVITY_ROWS = 5
COLUMNS: Columns[User] = named_columns(
    "id name roles system_role kind membership", roles=lambda user: " ".join(user.roles)
)


def show(visit: Visit) -> HttpResponse:
    """Show the users, and the panel of one or of a new one; or all as CSV."""
    _, organization = visit.administration.read()
    query = visit.request.query
    found = organization.search_users(query.get("q", ""))
    if exported := export(visit, "users", found, COLUMNS):
        return exported
    page = list_page(visit, found, COLUMNS)
    user = organization.user(query["id"]) if query.get("id") else None
    return visit.page(
        "organization/users.html",
        organization=organization,
        users=page.items,
        cursor=page.cursor,
        count=page.total,
        user=user,
        about=_about(visit, user) if user else {},
        invitations=invitations.find(organization.id),
        default_days=invitations.DEFAULT_INVITATION_DAYS,
        max_days=invitations.MAX_INVITATION_DAYS,
    )


def submit(visit: Visit) -> HttpResponse:
    """Add, change or remove a user, or revoke all of a user's accounts."""
    form = visit.request.form_value
    user = form("id")
    if form("action") == "withdraw":
        invitations.withdraw(visit.administration, form("invitation"))
        return visit.redirect("/users", done="invitation_withdrawn")
    if not user:
        raise InvalidRequest(field="id", problem="name the user")
    target, back = f"users.{user}", address("/users", id=user)
    match form("action"):
        case "invite":
            return _invite(visit)
        case "create_program" | "renew":
            return _give_credentials(visit)
        case "create":
            edit = edits.add_user(user, sub=form("sub"), issuer=form("issuer"), **_fields(visit))
            return review(visit, "users.create", target, edit, back=back, done="user_created")
        case "update":
            edit = edits.change_user(user, sub=form("sub"), issuer=form("issuer"), **_fields(visit))
            return review(visit, "users.update", target, edit, back=back, done="user_changed")
        case "delete":
            return review(visit, "users.delete", target, edits.remove_user(user), back="/users", done="user_removed")
        case "kill":
            killed = broker.administer(visit.caller, "kill", user=user)
            return visit.page("organization/killed.html", user=user, killed=killed, back=back)
    raise InvalidRequest(field="action", problem="this action is unknown")


def _about(visit: Visit, user: User) -> dict[str, Any]:
    """Return a user's connected accounts, and the latest rows of the audit."""
    until = datetime.now(UTC)
    filters = audit_search.Filters(user=user.id)
    since = until - timedelta(days=ACTIVITY_DAYS)
    rows = audit_search.find(visit.caller.organization, since=since, until=until, filters=filters, limit=ACTIVITY_ROWS)
    return {"accounts": list(BrokerAccounts(visit.caller).rows(f"user#{user.id}")), "rows": rows.rows}


def _fields(visit: Visit) -> dict[str, Any]:
    form = visit.request.form_value
    fields = {name: form(name) for name in ("name", "system_role", "locale")}
    return {**fields, "roles": tuple(visit.request.form.get("roles", ()))}


def _give_credentials(visit: Visit) -> HttpResponse:
    """Add a service user, or give one new credentials, and show them."""
    form, administration = visit.request.form_value, visit.administration
    user, keys = form("id"), {name: form(name).strip() for name in ("public_key", "jwks_url")}
    if form("action") == "renew":
        made = services.replace_credentials(administration, user, **keys)
    else:
        roles = tuple(visit.request.form.get("roles", ()))
        made = services.create(administration, user, name=form("name"), roles=roles, **keys)
    endpoint = f"{visit.request.public_url}/login/token"
    return visit.page("organization/credentials.html", user=user, made=made, token_endpoint=endpoint)


def _invite(visit: Visit) -> HttpResponse:
    """Make an invitation, and show its link."""
    form = visit.request.form_value
    days = form("days")
    # A form has a text where REST has a number; core checks the bounds.
    if not re.fullmatch("[0-9]{1,2}", days):
        raise InvalidRequest(field="days", problem=f"it is a number from 1 to {invitations.MAX_INVITATION_DAYS}")
    roles, locale = tuple(visit.request.form.get("roles", ())), cast("Locale", form("locale"))
    made_by, name = visit.administration, form("name")
    secret = invitations.invite(made_by, form("id"), name=name, roles=roles, locale=locale, days=int(days))
    link = invitations.link(visit.request.public_url, visit.caller.organization, secret)
    return visit.page("organization/invited.html", user=form("id"), link=link, days=int(days))
