"""Batches that were running when the machine stopped: at the next start they go on.

On AWS an execution outlives every function. Here all executions and sandboxes have ended with the process, but the
ledger is whole: a new execution replays the steps that have settled and runs the others. A claim of a sandbox that is
gone is ended, so that nobody waits for it: a read runs again, and a write that may have happened settles as unknown.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace

from mcpist.aws.attributes import encode
from mcpist.aws.table import ledger_table
from mcpist.batch.execution.start import restart
from mcpist.batch.ledger import ledger
from mcpist.batch.ledger.items import sort_key
from mcpist.batch.ledger.records import Header
from mcpist.errors import McpistError
from mcpist.people import directory, in_flight


def continue_batches(report: Callable[[str], None]) -> None:
    """Let all unfinished batches go on, and report each; call it before any sandbox has run."""
    for organization in directory.organizations():
        in_flight.release_all(organization)
        for head in _unfinished(organization):
            said = f"batch {head.batch} of {head.user} was interrupted after {len(head.seq)} of {len(head.ids)} steps"
            try:
                _end_claims(head)
                report(f"{said}, {_continue(head)}")
            except McpistError as error:
                report(f"{said}, and cannot go on: {error}")


def _continue(head: Header) -> str:
    """Let a batch go on, or end it where it was cancelled or its time is over; return what happened to it."""
    if head.cancelled_at is not None:
        ledger.cancel(head.pk)
        return "when it was being cancelled"
    if ledger.close(head).done:
        return f"and its time is over; to run the others: mcpist batch --resume {head.batch} --watch"
    restart(head)
    return f"and goes on; to see it: mcpist batch --id {head.batch} --watch"


def _unfinished(organization: str) -> Iterator[Header]:
    cursor: str | None = ""
    while cursor is not None:
        heads, following = ledger.list_recent(organization, before=cursor, limit=ledger.MAX_PAGE_BATCHES)
        yield from (head for head in heads if not head.done)
        cursor = following or None


def _end_claims(head: Header) -> None:
    for entry in ledger.get_entries(head.pk, head.open_steps):
        for claimed in (entry, *ledger.get_elements(head.pk, entry)):
            if claimed.claim is not None and claimed.status is None:
                ended = encode(replace(claimed.claim, until=0))
                ledger_table().set(head.pk, sort_key(claimed), {"claim": ended})
