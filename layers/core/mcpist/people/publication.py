"""The publication of an organization: what each user may do, where a request reads it.

The first transaction of a change that is published after it writes a mark, and the end of the publication removes it:
the mark of an interrupted one remains, and the janitor publishes the rest.
"""

import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

from mcpist.aws.attributes import Item
from mcpist.aws.clients import ConditionFailed
from mcpist.aws.table import directory_table
from mcpist.people.organization import Organization
from mcpist.people.part import MAX_ITEMS_PER_REQUEST

MAX_CONCURRENT_WRITES = 16
MARKS = "publications"
"""The partition of the marks."""


def publish(version: int, state: Organization, users: set[str]) -> None:
    """Rewrite the access items of these users, some at once.

    Each has the version of the organization that it was made of, and replaces none of a later one: so any number of
    changes may be published at once.
    """
    accesses = [access | {"version": version} for access in state.access_items() if access["user"] in users]
    if accesses:
        with ThreadPoolExecutor(MAX_CONCURRENT_WRITES) as workers:
            list(workers.map(replace_access_item, accesses))


def stale_users(state: Organization) -> set[str]:
    """Return the users whose access items are not what they should be."""
    expected = {(access["pk"], access["sk"]): access for access in state.access_items()}
    keys = list(expected)
    chunks = [keys[start : start + MAX_ITEMS_PER_REQUEST] for start in range(0, len(keys), MAX_ITEMS_PER_REQUEST)]
    with ThreadPoolExecutor(MAX_CONCURRENT_WRITES) as workers:
        found = [item for items in workers.map(directory_table().get_many, chunks) for item in items]
    wanted = [(item, expected[item["pk"], item["sk"]]) for item in found]
    # The version says when an item was written, not what its user may do.
    fresh = {item["user"] for item, access in wanted if item | {"version": 0} == access | {"version": 0}}
    return set(state.users) - fresh


def replace_access_item(access: Item) -> None:
    """Replace an access item, unless it was deleted or published with a later version meanwhile."""
    is_older = "attribute_not_exists(#version) OR #version <= :version"
    with suppress(ConditionFailed):
        values = {":user": access["user"], ":version": access["version"]}
        directory_table().put(access, condition=f"#user = :user AND ({is_older})", values=values)


def mark(organization: str, version: int) -> Item:
    """Return the mark of a change; `version` is the one that the organization has after its first transaction."""
    return {
        "pk": MARKS,
        "sk": f"{organization}#{version}",
        "organization": organization,
        "created_at": int(time.time()),
    }


def unfinished(created_before: float) -> list[Item]:
    """Return the marks of publications that began before a moment and have not ended."""
    return [item for item in directory_table().query(MARKS) if item["created_at"] < created_before]


def remove_mark(item: Item) -> None:
    """Remove the mark of a publication that has ended."""
    directory_table().delete(item["pk"], item["sk"])
