"""The page of one batch: its live picture, its timeline, its results, and a panel for each step."""

from collections.abc import Mapping, Sequence
from typing import Any

from console.batches.picture import bars, count_states, picture
from console.rendering import ShownText, shown_text
from console.visit import Visit
from mcpist.batch.execution import opening, submission
from mcpist.batch.execution.undo import list_changes
from mcpist.batch.ledger import ledger
from mcpist.batch.ledger.progress import is_over, progress
from mcpist.batch.ledger.records import Entry, Header
from mcpist.batch.saved.records import MODULE as SAVED_BATCHES
from mcpist.batch.timeline import Progress, critical_path
from mcpist.errors import Locale, UnknownStep, from_message
from mcpist.files import access
from mcpist.files.answers import content_of
from mcpist.files.content import FileContent
from mcpist.http.request import HttpResponse
from mcpist.render.answer import compact, compact_each, compact_json
from mcpist.render.contents import split_content
from mcpist.suggestions import nearest
from mcpist.tools.access.permissions import Permissions

MIN_POLL_SECONDS, MAX_POLL_SECONDS = 1, 10
MAX_SHOWN_RESULT_CHARACTERS = 6_000
"""Of one result on a page; the rest is in the file."""
MAX_ALL_RESULTS_CHARACTERS = 12_000
"""Of all results on a page together."""
MAX_LISTED_FAILURES = 20


def show(visit: Visit) -> HttpResponse:
    """Show a batch; an administrator's look at another user's has an audit row, and no results unless it is opened."""
    head = submission.find_own(visit.caller, visit.request.query["id"])
    entries = opening.readable_entries(head, visit.caller)
    seen = Progress.model_validate(progress(head, entries, visit.now))
    # What its user may read is an administrator's to see only once it was opened: progress and errors always.
    own, readable = head.user == visit.caller.user, opening.is_readable(head, visit.caller)
    step = visit.request.query.get("step", "")
    critical = critical_path(seen) if seen.done else []
    has_written = own and head.done and not all(entry.reads for entry in entries)
    kept = list_changes(visit.caller, batch=head.batch) if has_written else []
    return visit.page(
        "batches/watch.html",
        head=head,
        own=own,
        can_save=own and SAVED_BATCHES in visit.permissions.catalogue.index.modules and _may_save(visit.permissions),
        readable=readable,
        max_reason=opening.MAX_REASON_CHARACTERS,
        state=state_of(head),
        progress=seen,
        counts=count_states(seen),
        picture=picture(seen),
        bars=bars(seen),
        critical=critical,
        can_undo=any(change.is_undoable for change in kept),
        undone_by=sorted({head.undone_by or "", *(change.undone_by for change in kept)} - {""}),
        poll_seconds=poll_seconds(head, visit.now) if own else 0,
        results=inline_results(head, entries, visit.permissions) if readable and not step else [],
        # A step whose write is in doubt is resumed only where a person chooses it: it may have happened.
        repeatable=sum(status in {"failed", "skipped", "cancelled"} for status in head.outcome.values()),
        doubtful=[head.ids[step] for step, status in sorted(head.outcome.items()) if status == "unknown"],
        panel=_panel(visit, head, entries, seen) if step else None,
    )


def _may_save(permissions: Permissions) -> bool:
    """Whether a person may save a batch."""
    return permissions.allows(permissions.catalogue.index.modules[SAVED_BATCHES].tools["save"])


def state_of(head: Header) -> str:
    """Return the state of a batch: running, done, failed (done, but not with all steps), cancelling or cancelled."""
    return "failed" if head.state == "done" and {"failed", "unknown"} & set(head.outcome.values()) else head.state


def poll_seconds(head: Header, now: float) -> int:
    """Return after how many seconds a page asks again: a tenth of the batch's age; 0 once it is done."""
    age = now - head.started_at
    return 0 if is_over(head, now) else round(min(max(age / 10, MIN_POLL_SECONDS), MAX_POLL_SECONDS))


def find_entry(entries: Sequence[Entry], step: str) -> Entry:
    """Return the step with an id; UnknownStep if there is none."""
    found = {entry.step.id: entry for entry in entries}
    if step not in found:
        raise UnknownStep(field="step", step=step, known=nearest(step, found))
    return found[step]


def _panel(visit: Visit, head: Header, entries: Sequence[Entry], seen: Progress) -> Mapping[str, Any]:
    """Return the values of a step's panel; its params and its result only for who may read the results."""
    entry = find_entry(entries, visit.request.query["step"])
    return {
        "entry": entry,
        "step": next(step for step in seen.steps if step.id == entry.step.id),
        "result": result_of(head, entry, visit.permissions, MAX_SHOWN_RESULT_CHARACTERS),
        "failures": failures_of(entry, visit.caller.locale),
        "more": entry.ending.more if entry.ending else "",
        "account": entry.ending.account if entry.ending else "",
    }


def result_of(head: Header, entry: Entry, permissions: Permissions, characters: int) -> ShownText | None:
    """Return a step's compact result; None where it has none. It may be read from the bucket."""
    if entry.result is None:
        return None
    return shown_text(_text(entry, ledger.load_json(head, entry.result), permissions), characters)


def inline_results(
    head: Header, entries: Sequence[Entry], permissions: Permissions
) -> Sequence[tuple[Entry, ShownText | None]]:
    """Return the steps whose results their lines ask for; those in the bucket are not read here, and have None."""
    asked = [entry for entry in entries if entry.result and (entry.step.output or entry.step.raw_output)]
    share = min(MAX_ALL_RESULTS_CHARACTERS // max(1, len(asked)), MAX_SHOWN_RESULT_CHARACTERS)
    return [
        (entry, None if entry.result and entry.result.file else result_of(head, entry, permissions, share))
        for entry in asked
    ]


def file_content(head: Header, entry: Entry, permissions: Permissions) -> FileContent:
    """Return the content of the file of a step's result."""
    step = entry.step
    raw = ledger.load_json(head, entry.result)
    shows = permissions.catalogue.shows(step.module, step.tool)
    if not step.each and (stored := shows.stored_file(raw)):
        file, content = access.load(permissions.caller, stored)
        return FileContent(content, file.content_type, file.name)
    return content_of(raw, shows, step.tool, each=bool(step.each), raw_output=step.raw_output)


def failures_of(entry: Entry, locale: Locale) -> Sequence[Mapping[str, Any]]:
    """Return the errors of a step and of its elements, each with the number of its `element` or None."""
    found = [from_message(entry.error).as_dict(locale) | {"element": None}] if entry.error is not None else []
    for number, element in enumerate(entry.statuses or ()):
        if error := element.get("error"):
            found.append({**error, "hint": "", "element": number})
    return found[: MAX_LISTED_FAILURES + 1]


def _text(entry: Entry, raw: Any, permissions: Permissions) -> str:
    """Return the text that a model would read of a result; blocks that are not text are left out."""
    step = entry.step
    value = [split_content(one)[0] for one in raw or ()] if step.each else split_content(raw)[0]
    if value is None:
        return ""
    if step.raw_output:
        return compact_json(value)
    shows = permissions.catalogue.shows(step.module, step.tool)
    return compact_each(value, shows) if step.each else compact(value, shows)
