"""Results of another user's batch: an administrator reads them after giving a reason, which the user sees."""

import time
from collections.abc import Sequence
from dataclasses import replace

from mcpist.batch.execution.submission import find_own
from mcpist.batch.ledger import ledger, transitions
from mcpist.batch.ledger.records import Entry, Header, Opening
from mcpist.caller import Caller
from mcpist.errors import AuthorizationError, InvalidRequest

OPEN_SECONDS = 3600
MAX_REASON_CHARACTERS = 200
ACTION = "batches.open"


def is_readable(head: Header, caller: Caller) -> bool:
    """Whether a caller may read a batch's results: its user, or an administrator who has opened it."""
    is_open = any(one.by == caller.user and one.until > time.time() for one in head.openings)
    return head.user == caller.user or is_open


def readable_entries(head: Header, caller: Caller) -> Sequence[Entry]:
    """Return a batch's steps; how they ended without what they gave where the caller may not read the results."""
    entries = ledger.get_entries(head.pk)
    if is_readable(head, caller):
        return entries
    return [
        replace(entry, ending=entry.ending and replace(entry.ending, result=None, more="", account=""))
        for entry in entries
    ]


def open_results(caller: Caller, batch: str, reason: str) -> None:
    """Let an administrator read the results of another user's batch for an hour, with an audit row that has the reason.

    Without the row nothing is opened.
    """
    now = int(time.time())
    opening = Opening(caller.user, reason.strip(), now, now + OPEN_SECONDS)
    if not 1 <= len(opening.reason) <= MAX_REASON_CHARACTERS:
        raise InvalidRequest(field="reason", problem=f"it has 1 to {MAX_REASON_CHARACTERS} characters")
    head = find_own(caller, batch, ACTION, after={"reason": opening.reason, "until": opening.until})
    if head.user == caller.user:
        raise AuthorizationError(name=ACTION)
    if not is_readable(head, caller):
        transitions.mark_opened(head, opening)
