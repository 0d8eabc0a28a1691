"""The page of one batch: its live picture, its timeline, its results, and a panel for each step."""

from collections.abc import Mapping, Sequence
from typing import Any

from console.batches import results
from console.batches.chart import bars
from console.batches.layout import BOX_HEIGHT, BOX_WIDTH
from console.batches.listing import state_of
from console.batches.picture import count_states, picture
from console.visit import Visit
from mcpist.aws.http_request import HttpResponse
from mcpist.batch.execution import submission
from mcpist.batch.ledger import ledger
from mcpist.batch.ledger.progress import progress
from mcpist.batch.ledger.records import Entry, Header
from mcpist.batch.view.progress import Progress, parse_progress
from mcpist.batch.view.timeline import critical_path
from mcpist.errors import UnknownStep
from mcpist.suggestions import nearest

MIN_POLL_SECONDS, MAX_POLL_SECONDS = 1, 10


def show(visit: Visit) -> HttpResponse:
    """Show a batch; an administrator's look at another user's has an audit row, and shows no results."""
    head = submission.find_own(visit.caller, visit.request.query["id"])
    entries = ledger.get_entries(head.pk)
    seen = parse_progress(progress(head, entries, visit.now))
    own = head.user == visit.caller.user
    step = visit.request.query.get("step", "")
    critical = critical_path(seen) if seen.done else []
    return visit.page(
        "batches/watch.html",
        head=head,
        own=own,
        state=state_of(head),
        progress=seen,
        counts=count_states(seen),
        picture=picture(seen, critical),
        box_width=BOX_WIDTH,
        box_height=BOX_HEIGHT,
        bars=bars(seen),
        critical=critical,
        poll_seconds=poll_seconds(head, visit.now) if own else 0,
        results=results.inline_results(head, entries, visit.permissions) if own and not step else [],
        repeatable=_repeatable(head),
        doubtful=[head.ids[step] for step, status in sorted(head.outcome.items()) if status == "unknown"],
        panel=_panel(visit, head, entries, seen) if step else None,
    )


def poll_seconds(head: Header, now: float) -> int:
    """Return after how many seconds a page asks again: a tenth of the batch's age; 0 once it is done."""
    return 0 if head.done else round(min(max((now - head.started_at) / 10, MIN_POLL_SECONDS), MAX_POLL_SECONDS))


def find_entry(entries: Sequence[Entry], step: str) -> Entry:
    """Return the step with an id; UnknownStep if there is none."""
    found = {entry.step.id: entry for entry in entries}
    if step not in found:
        raise UnknownStep(field="step", step=step, known=nearest(step, found))
    return found[step]


def _repeatable(head: Header) -> int:
    """Return how many steps a resumption would run; those whose writes are in doubt only where they are chosen."""
    return sum(status in {"failed", "skipped", "cancelled"} for status in head.outcome.values())


def _panel(visit: Visit, head: Header, entries: Sequence[Entry], seen: Progress) -> Mapping[str, Any]:
    """Return what the panel of a step shows; its params and its result only to the batch's own user."""
    entry = find_entry(entries, visit.request.query["step"])
    own = head.user == visit.caller.user
    shown = results.result_of(head, entry, visit.permissions, results.MAX_SHOWN_CHARACTERS) if own else None
    return {
        "entry": entry,
        "step": next(step for step in seen.steps if step.id == entry.step.id),
        "result": shown,
        "failures": results.failures(entry, visit.caller.locale),
        "more": entry.ending.more if own and entry.ending else "",
        "account": entry.ending.account if own and entry.ending else "",
    }
