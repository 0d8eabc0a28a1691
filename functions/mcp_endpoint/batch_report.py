"""Batches as the model reads them: the plan, and later a summary with the results of the steps."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from mcp_types import ResourceLink

from mcp_endpoint.blocks import (
    BATCH_TYPE,
    BATCH_URI,
    MAX_BINARY_CHARACTERS,
    Part,
    file_link,
    render,
    to_parts,
    tokens_of,
)
from mcpist.batch.execution import opening
from mcpist.batch.ledger import ledger
from mcpist.batch.ledger.records import Entry, Header
from mcpist.batch.timeline import describe_end
from mcpist.caller import AnswerFormat
from mcpist.errors import Locale, from_message
from mcpist.files.answers import content_of, describe_file
from mcpist.render.answer import compact_json, estimate_tokens, fitting_characters
from mcpist.render.contents import split_content
from mcpist.render.shows import Shows
from mcpist.tools.access.permissions import Permissions
from mcpist.visible_text import visible

MAX_LISTED_FAILURES = 20
NO_OUTPUT = ' No step has "output":true, so no result is shown.'
HIDDEN_RESULTS = " Its results are {user}'s: an administrator opens them in the console, with a reason."
FOREIGN_FILE = "\n[the result is in a file of {user}, which you cannot read]"


def build_parts(head: Header, permissions: Permissions, max_tokens: int | None = None) -> list[Part]:
    """Return the current state of a batch: a summary, and the results in the order of its lines.

    The results share the tokens that the batch's options allow, or so many; a small one leaves its rest to the others.
    """
    entries = opening.readable_entries(head, permissions.caller)
    returned = [entry for entry in entries if _is_returned(head, entry)]
    binary = MAX_BINARY_CHARACTERS // max(1, len(returned))
    is_hidden = not opening.is_readable(head, permissions.caller)
    parts: list[Part] = [_summary(head, entries) + (HIDDEN_RESULTS.format(user=head.user) if is_hidden else "")]
    left = (max_tokens or head.options.max_tokens) - tokens_of(parts)
    for place, entry in enumerate(returned):
        # The file of a result belongs to its user: an administrator does not read its content.
        if entry.result and entry.result.file and head.user != permissions.caller.user:
            parts.append(_above(head, entry, permissions) + FOREIGN_FILE.format(user=head.user))
            continue
        raw = ledger.load_json(head, entry.result) if entry.step.output or entry.step.raw_output else None
        share = max(0, left) // (len(returned) - place)
        text = _step_text(entry, permissions, raw, head.options.format or permissions.caller.answer_format)
        shown = _step_parts(_above(head, entry, permissions), entry, permissions, raw, text, share)
        blocks = [block for one in (raw if entry.step.each and raw else [raw]) for block in split_content(one)[1]]
        shown += to_parts(permissions.caller, blocks, binary, max_tokens=share - tokens_of(shown))
        left -= tokens_of(shown)
        parts += shown
    return parts


def resource_link(batch: str) -> ResourceLink:
    """Return the link to an unfinished batch."""
    uri = BATCH_URI.replace("{id}", batch)
    return ResourceLink(name=batch, uri=uri, description="The batch with its results so far", mime_type=BATCH_TYPE)


def count_settled(head: Header) -> str:
    """Return e.g. `4 of 7 steps`; steps that were cancelled did not run."""
    ran = sum(status != "cancelled" for status in head.outcome.values())
    return f"{ran} of {len(head.ids)} steps"


def describe_state(head: Header) -> str:
    """Return the state of a batch in a few words."""
    if head.state == "done":
        return describe_end(head.outcome.values())
    return "being cancelled" if head.state == "cancelling" else head.state


def _is_returned(head: Header, entry: Entry) -> bool:
    requested = entry.step.output or entry.step.raw_output
    return entry.index in head.outcome and (requested or entry.error is not None or bool(_failures(entry)))


def _summary(head: Header, entries: Sequence[Entry]) -> str:
    """Return e.g. `batch b_12: done, 3 of 3 steps: find succeeded, tags skipped (find did not succeed)`."""
    steps = ", ".join(f"{entry.step.id} {_status(head, entry)}" for entry in entries)
    more = _hint(head, entries)
    return f"batch {head.batch}: {describe_state(head)}, {count_settled(head)}: {steps}.{more}"


def _hint(head: Header, entries: Sequence[Entry]) -> str:
    """Return the advice for the next request: fetch the rest, or ask for results where a reading batch has none."""
    if not head.done:
        return f" Call batch with batch_id {head.batch} to fetch the rest."
    if head.undone_by:
        return f" Batch {head.undone_by} takes back what succeeded."
    is_silent = all(entry.reads and not _is_returned(head, entry) for entry in entries)
    return NO_OUTPUT if is_silent else ""


def _status(head: Header, entry: Entry) -> str:
    match head.outcome.get(entry.index, "open"):
        case "skipped":
            failed = ", ".join(head.failed_needs(entry.index))
            return f"skipped ({failed} did not succeed)" if failed else "skipped (its `when` did not hold)"
        case "unknown":
            return f"unknown (it may have happened){_element_counts(entry)}"
        case "open" if entry.index in head.elements:
            return f"running ({head.elements[entry.index]} elements)"
        case status:
            return f"{status}{_element_counts(entry)}"


def _above(head: Header, entry: Entry, permissions: Permissions) -> str:
    """Return the lines above a result: how its step ended, its errors, and the way to the rest of a list."""
    more, account = (entry.ending.more, entry.ending.account) if entry.ending else ("", "")
    title = f"{entry.step.id}: {_status(head, entry)}" + (f" (account: {visible(account)})" if account else "")
    return "\n".join(filter(None, [title, *_error_lines(entry, permissions.caller.locale), more]))


def _step_parts(above: str, entry: Entry, permissions: Permissions, raw: Any, text: str, max_tokens: int) -> list[Part]:
    """Return a step's text with its result, or with a preview of it and a link to its file."""
    stored = None if entry.step.each else _shows(entry, permissions).stored_file(raw)
    left = max_tokens - estimate_tokens(f"{above}\n")
    if not text or estimate_tokens(text) < left:
        return [f"{above}\n{text}" if text else above, *([file_link(stored)] if stored else [])]
    step, shows = entry.step, _shows(entry, permissions)
    made = content_of(raw, shows, step.tool, each=bool(step.each), raw_output=step.raw_output)
    shown, file = describe_file(permissions.caller, made, fitting_characters(text, left))
    return [f"{above}\n{shown}", file_link(file.reference.model_dump())]


def _step_text(entry: Entry, permissions: Permissions, raw: Any, form: AnswerFormat) -> str:
    """Return the result in a form, or its JSON as its line asks; of a step with `each` that of all elements."""
    if raw is None:
        return ""
    raw = [split_content(value)[0] for value in raw] if entry.step.each else split_content(raw)[0]
    if raw is None or entry.step.raw_output:
        return "" if raw is None else compact_json(raw)
    return render(raw, _shows(entry, permissions), form, each=bool(entry.step.each))


def _shows(entry: Entry, permissions: Permissions) -> Shows:
    return permissions.catalogue.shows(entry.step.module, entry.step.tool)


def _element_counts(entry: Entry) -> str:
    """Return e.g. ` (10 elements: 9 succeeded, 1 failed)`."""
    statuses = entry.statuses
    if statuses is None:
        return ""
    counts = ", ".join(
        f"{count} {status}" for status, count in Counter(element["status"] for element in statuses).items()
    )
    return f" ({len(statuses)} elements: {counts})" if statuses else " (no elements)"


def _error_lines(entry: Entry, locale: Locale) -> list[str]:
    """Return a step's whole error, and a line for each failed element; the error of an element is whole in its line."""
    whole = compact_json(from_message(entry.error).as_dict(locale)) if entry.error else ""
    place = entry.error["details"].get("element") if entry.error else None
    failures = _failures(entry)
    lines = [
        f"[{index}] {element['status']}: {whole if index == place else _format_error(element)}"
        for index, element in failures[:MAX_LISTED_FAILURES]
    ]
    if more := len(failures) - len(lines):
        lines.append(f"and {more} more")
    return lines if any(index == place for index, _ in failures[:MAX_LISTED_FAILURES]) else [*lines, whole]


def _format_error(element: Mapping[str, Any]) -> str:
    error = element.get("error")
    return f"{error['code']} {visible(error['message'])}" if error else "it may have happened: its sandbox was lost"


def _failures(entry: Entry) -> list[tuple[int, Mapping[str, Any]]]:
    return [
        (i, element) for i, element in enumerate(entry.statuses or ()) if element["status"] in {"failed", "unknown"}
    ]
