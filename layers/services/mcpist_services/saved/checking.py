"""The check of saved batches in each night: against the catalogue as their owners see it, who are told of changes."""

import time

from mcpist.batch.execution.found_steps import Saving
from mcpist.batch.execution.plan import plan
from mcpist.batch.saved import records
from mcpist.batch.saved.records import SavedBatch
from mcpist.errors import McpistError, problem_text
from mcpist.events import own
from mcpist.people import directory
from mcpist.tools.access.effects import permissions_of
from mcpist.tools.search.catalogue import Catalogue

MAX_CHECKS = 200
CHECKED_SECONDS = 2 * 3600
"""A check of this age is repeated at night; a younger one is of the same night."""


def check_all(organization: str, catalogue: Catalogue) -> int:
    """Check the saved batches that were not checked lately, each as its owner, and return how many are broken."""
    known = records.read(organization, fresh=True).by_name.values()
    due = [one for one in known if one.checked_at < time.time() - CHECKED_SECONDS][:MAX_CHECKS]
    for one in due:
        try:
            permissions = permissions_of(directory.read(organization), catalogue, one.owner)
            plan(one.commands, permissions, Saving(one.name, one.parameters))
            problem = ""
        except McpistError as error:
            if error.retryable:  # a server that is down tonight breaks nothing: the next night checks again
                continue
            problem = problem_text(error)
        note_check(organization, one, problem)
    return sum(bool(one.problem) for one in records.read(organization, fresh=True).by_name.values())


def note_check(organization: str, one: SavedBatch, problem: str) -> None:
    """Record the outcome of a check; its owner is told first, so that whoever is interrupted repeats the same event."""
    tell_owner(organization, one, problem)
    records.mark_checked(organization, one, problem)


def tell_owner(organization: str, former: SavedBatch, problem: str) -> None:
    """Tell the owner of a saved batch that it broke, or works again, since it was as `former` says."""
    if bool(problem) != bool(former.problem):
        check = f"{former.version} {former.checked_at}"
        own.saved_batch_checked(organization, former.owner, former.name, check, problem)
