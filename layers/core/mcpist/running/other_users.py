"""Another user's permissions and accounts, for an administrator who explains what that user can use."""

from mcpist.people.administration import Administration
from mcpist.running.connected_accounts import BrokerAccounts
from mcpist.running.explanation import AccountFinder, listed_account
from mcpist.tools.access.effects import permissions_of
from mcpist.tools.access.permissions import Permissions
from mcpist.tools.search.catalogue import Catalogue


def look_as(administration: Administration, catalogue: Catalogue, user: str) -> tuple[Permissions, AccountFinder]:
    """Return another user's permissions, and the finder of the account that would act; UserNotFound if there is none.

    A caller who is no administrator is refused; the refusal has an audit row.
    """
    with administration.permitted("why.read", f"users.{user}"):
        permissions = permissions_of(administration.read()[1], catalogue, user)
    accounts = BrokerAccounts(administration.caller)
    owners = [f"user#{user}", *(f"role#{role}" for role in permissions.caller.role_names)]
    return permissions, listed_account(lambda: [row for owner in owners for row in accounts.rows(owner)])
