"""The company: its directory with groups and their roles, its logins, its clients, and issuers whose word counts."""

import re

from console.lists import LIST_PAGE_ROWS
from console.organization.review import review
from console.rendering import address
from console.visit import Visit
from mcpist.errors import InvalidRequest
from mcpist.http.request import HttpResponse
from mcpist.paging import page_of, search
from mcpist.people import edits, provisioning
from mcpist.people.company import MAX_GRANT_DAYS, MAX_ISSUER_CHARACTERS
from mcpist.people.edits import Edit
from mcpist.people.organization import Organization, TrustedIssuer
from mcpist.settings import settings

PAGE = "/directory"
NEW_ISSUER = "new"
"""In the page's address: the panel of an issuer that is to be added."""


def show(visit: Visit) -> HttpResponse:
    """Show the directory's access, its groups, clients and issuers, and the panel of one group or issuer."""
    from mcpist.people import company_logins, issuers  # no other page needs them

    _, organization = visit.administration.read()
    query = visit.request.query
    found = search(organization.groups.values(), query.get("q", ""), lambda group: (group.name, *group.roles))
    page = page_of(found, lambda group: group.id, query.get("cursor", ""), LIST_PAGE_ROWS)
    issuer = query.get("issuer", "")
    return visit.page(
        "organization/company.html",
        organization=organization,
        groups=page.items,
        cursor=page.cursor,
        group=provisioning.find_group(organization, query["id"]) if query.get("id") else None,
        issuer=next((one for one in organization.trusted_issuers if one.issuer == issuer), None),
        is_new_issuer=issuer == NEW_ISSUER,
        logins={one.domain: one for one in company_logins.find(organization.id)} if settings().login_secrets else None,
        proof_line=company_logins.proof_line(organization.id),
        callback=f"{visit.request.public_url}{issuers.ISSUER_CALLBACK_PATH}",
        max_issuer=MAX_ISSUER_CHARACTERS,
        url=f"{visit.request.public_url}{provisioning.SCIM_PATH}",
        max_days=MAX_GRANT_DAYS,
    )


def submit(visit: Visit) -> HttpResponse:
    """Change what the page shows; all but a new token is reviewed first."""
    form = visit.request.form_value
    match form("action"):
        case "token":
            token = provisioning.make_token(visit.administration)
            url = f"{visit.request.public_url}{provisioning.SCIM_PATH}"
            return visit.page("organization/directory_token.html", token=token, url=url)
        case "revoke_token":
            edit = provisioning.REVOKE_TOKEN
            return review(visit, "directory.disconnect", "directory", edit, back=PAGE, done="directory_disconnected")
        case "days":
            # A form has a text where REST has a number; core checks the bounds.
            if not re.fullmatch("[0-9]{1,3}", form("days")):
                raise InvalidRequest(field="grant_days", problem=f"it is a number from 0 to {MAX_GRANT_DAYS}")
            edit = provisioning.change_directory(grant_days=int(form("days")))
            return review(visit, "directory.update", "directory", edit, back=PAGE, done="directory_changed")
        case "group":
            group, back = form("id"), address(PAGE, id=form("id"))
            edit = provisioning.give_roles(group, tuple(visit.request.form.get("roles", ())))
            return review(visit, "groups.update", f"groups.{group}", edit, back=back, done="group_changed")
        case "clients":
            clients = [name for line in form("clients").splitlines() if (name := line.strip())]
            edit = edits.change_own_fields(clients=clients)
            return review(visit, "organization.update", "organization", edit, back=PAGE, done="clients_changed")
        case "login" | "remove_login":
            return _change_login(visit)
        case "issuer" | "remove_issuer":
            edit = _change_issuer(visit)
            return review(visit, "organization.update", "organization", edit, back=PAGE, done="issuers_changed")
    raise InvalidRequest(field="action", problem="this action is unknown")


def _change_login(visit: Visit) -> HttpResponse:
    """Set the login of a domain's people, or remove it."""
    from mcpist.people import company_logins

    form = visit.request.form_value
    if form("action") == "remove_login":
        company_logins.remove(visit.administration, form("domain"))
        return visit.redirect(PAGE, done="login_removed")
    values = {name: form(name) for name in ("issuer", "client_id", "client_secret")}
    company_logins.save(visit.administration, form("domain"), **values)
    return visit.redirect(PAGE, done="login_saved")


def _change_issuer(visit: Visit) -> Edit:
    """Return the edit that adds the form's issuer, replaces the one that was shown, or removes that one."""
    form = visit.request.form_value
    roles = tuple(visit.request.form.get("roles", ()))
    given = TrustedIssuer(form("issuer").strip().rstrip("/"), form("adds_people") == "yes", roles)
    issuers = () if form("action") == "remove_issuer" else (given,)

    def edit(before: Organization) -> Organization:
        others = [one for one in before.trusted_issuers if one.issuer != form("shown")]
        return edits.change_own_fields(trusted_issuers=(*others, *issuers))(before)

    return edit
