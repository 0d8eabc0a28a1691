"""People: by name or e-mail address, and by account id."""

from typing import Annotated

from pydantic import Field

from mcpist.render.shows import shows
from mcpist.tools.declare.call import Call
from mcpist.tools.declare.paging import Paging, by_offset
from mcpist_services.confluence.module import confluence

PERSON = shows("accountId as account_id", "displayName as name", "email", rows="results")
FOUND = shows(
    "user.accountId as account_id",
    "user.displayName as name",
    "user.email as email",
    "user.accountType as type",
    rows="results",
)
BY_OFFSET = Paging("limit", 100, ("start",), by_offset("start", last=lambda page, end: end >= page["totalSize"]))

AccountIds = Annotated[
    list[Annotated[str, Field(min_length=1, max_length=128)]],
    Field(min_length=1, max_length=250),
    "Account ids, e.g. 712020:70035bdf",
]


@confluence.lists(FOUND, "searchUser", paging=BY_OFFSET, scopes=("read:content-details:confluence",))
def search_users(name: Annotated[str, Field(min_length=1), "Words of the name, e.g. Aiko"]) -> Call:
    """Find people by name, with the account ids that mentions, tasks and searches take."""
    words = name.replace("\\", "\\\\").replace('"', '\\"')
    return Call("GET", "/wiki/rest/api/search/user", {"cql": f'user.fullname ~ "{words}"'})


@confluence.reads(PERSON, "createBulkUserLookup", scopes=("read:user:confluence",))
def get_users(account_ids: AccountIds) -> Call:
    """Read who people are by their account ids: authors, editors and those who are mentioned."""
    return Call("POST", "/wiki/api/v2/users-bulk", json={"accountIds": account_ids})
