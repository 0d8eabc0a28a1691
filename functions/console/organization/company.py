"""The company's directory: its token, how long it keeps accounts, and its groups with the roles that they give."""

import re
from urllib.parse import urlencode

from console.organization.review import LIST_PAGE_ROWS, review
from console.visit import Visit
from mcpist.errors import InvalidRequest
from mcpist.http.request import HttpResponse
from mcpist.paging import page_of, search
from mcpist.people import provisioning
from mcpist.people.company import MAX_GRANT_DAYS

PAGE = "/directory"


def show(visit: Visit) -> HttpResponse:
    """Show the directory's access and its groups, and the panel of one group."""
    _, organization = visit.administration.read()
    query = visit.request.query
    found = search(organization.groups.values(), query.get("q", ""), lambda group: (group.name, *group.roles))
    page = page_of(found, lambda group: group.id, query.get("cursor", ""), LIST_PAGE_ROWS)
    return visit.page(
        "organization/company.html",
        organization=organization,
        groups=page.items,
        cursor=page.cursor,
        group=provisioning.find_group(organization, query["id"]) if query.get("id") else None,
        url=f"{visit.request.public_url}{provisioning.SCIM_PATH}",
        max_days=MAX_GRANT_DAYS,
    )


def submit(visit: Visit) -> HttpResponse:
    """Make or revoke the token, set how long accounts are kept, or give a group roles."""
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
            group, back = form("id"), f"{PAGE}?{urlencode({'id': form('id')})}"
            edit = provisioning.give_roles(group, tuple(visit.request.form.get("roles", ())))
            return review(visit, "groups.update", f"groups.{group}", edit, back=back, done="group_changed")
    raise InvalidRequest(field="action", problem="this action is unknown")
