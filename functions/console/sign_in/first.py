"""The first organization of a stack: who first logs in with the address that its owner named administers it."""

from mcpist.caller import Role
from mcpist.http import bearer
from mcpist.http.browser import BrowserRequest
from mcpist.people import directory
from mcpist.people.administration import Administration, operator
from mcpist.people.organization import Organization, User
from mcpist.running.accounts import BrokerAccounts
from mcpist.settings import settings
from mcpist_services import NAMES

FIRST_ORGANIZATION = "main"
ROLE = "members"


def create_organization(request: BrowserRequest, token: str) -> None:
    """Create the first organization for its administrator; nothing for anybody else, and where there is one already."""
    if not settings().administrator or directory.organizations():
        return
    person = bearer.verify(token, request.public_url)
    if person.organizations or person.email.casefold() != settings().administrator.casefold():
        return
    id_ = person.email.partition("@")[0]
    first = User(id_, id_, person.subject, "admin", (ROLE,))
    caller = operator(FIRST_ORGANIZATION)
    new = Organization(
        FIRST_ORGANIZATION, FIRST_ORGANIZATION, roles={ROLE: Role(ROLE, modules=NAMES)}, users={first.id: first}
    )
    Administration(caller, request.id, BrokerAccounts(caller)).create(new)
