"""What a batch looks like to the model: its plan, and later a summary with each step that brings something."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from mcp_types import ResourceLink

from mcp_endpoint.content.blocks import BATCH_TYPE, BATCH_URI, MAX_BINARY_CHARACTERS, Part, to_parts
from mcp_endpoint.content.rendering import render
from mcp_endpoint.elicitation.confirmation import DestructiveStep
from mcp_endpoint.exchange import MAX_ANSWER_CHARACTERS
from mcpist.batch.execution.plan import Plan
from mcpist.batch.language.steps import Step
from mcpist.batch.ledger import ledger
from mcpist.batch.ledger.records import Entry, Header
from mcpist.errors import from_message
from mcpist.files.storage import truncate
from mcpist.render.answer import compact_json
from mcpist.render.contents import Block, split_content
from mcpist.settings import settings
from mcpist.tools.permissions import Permissions
from mcpist.tools.tool import Tool

MAX_LISTED_FAILURES = 20


def describe_plan(
    planned: Plan, runs: Iterable[tuple[Step, Tool]], destroys: Sequence[DestructiveStep]
) -> dict[str, Any]:
    """A plan that has been checked; `destructive` are the steps that ask for confirmation."""
    shown = planned.as_dict(planned.build_machine(settings().step_runner))
    running = [step.id for step, _ in runs]
    resumed = {"runs": running} if len(running) < len(planned.steps) else {}
    return shown | resumed | {"destructive": [one.as_dict() for one in destroys]}


def build_parts(head: Header, permissions: Permissions) -> list[Part]:
    """The batch as it is now, in the order of the lines that its user wrote."""
    entries = ledger.get_entries(head.pk)
    returned = [entry for entry in entries if _is_returned(head, entry)]
    share = MAX_ANSWER_CHARACTERS // max(1, len(returned))
    binary = MAX_BINARY_CHARACTERS // max(1, len(returned))
    found: list[Part] = [_summary(head, entries)]
    for entry in returned:
        raw = _load_raw(head, entry)
        found.append(truncate(head.organization, _step_text(head, entry, permissions, raw), share))
        found += to_parts(head.organization, _step_blocks(entry, raw), binary)
    return found


def resource_link(batch: str) -> ResourceLink:
    """The way to a batch that is still under way."""
    uri = BATCH_URI.replace("{id}", batch)
    return ResourceLink(name=batch, uri=uri, description="The batch as it will be", mime_type=BATCH_TYPE)


def count_settled(head: Header) -> str:
    """`4 of 7 steps`."""
    return f"{len(head.seq)} of {len(head.ids)} steps"


def describe_state(head: Header) -> str:
    """How the batch stands, in one word."""
    if head.cancelled_at is not None:
        return "cancelled" if head.done else "being cancelled"
    return "done" if head.done else "running"


def _is_returned(head: Header, entry: Entry) -> bool:
    wanted = entry.step.output or entry.step.raw_output
    return entry.index in head.outcome and (wanted or entry.error is not None or bool(_failures(entry)))


def _summary(head: Header, entries: list[Entry]) -> str:
    """`batch b_12: done, 3 of 3 steps: find succeeded, first succeeded, tags skipped (find did not succeed)`."""
    steps = ", ".join(f"{entry.step.id} {_status(head, entry)}" for entry in entries)
    more = "" if head.done else f" Call batch with batch_id {head.batch} to fetch the rest."
    return f"batch {head.batch}: {describe_state(head)}, {count_settled(head)}: {steps}.{more}"


def _status(head: Header, entry: Entry) -> str:
    match head.outcome.get(entry.index, "open"):
        case "skipped":
            why = ", ".join(head.failed_needs(entry.index))
            return f"skipped ({why} did not succeed)" if why else "skipped (its `when` did not hold)"
        case "unknown":
            return f"unknown (it may have happened: its sandbox was lost){_element_counts(entry)}"
        case "open" if entry.index in head.elements:
            return f"running ({head.elements[entry.index]} elements)"
        case status:
            return f"{status}{_element_counts(entry)}"


def _step_text(head: Header, entry: Entry, permissions: Permissions, raw: Any) -> str:
    more, account = (entry.ending.more, entry.ending.account) if entry.ending else ("", "")
    title = f"{entry.step.id}: {_status(head, entry)}" + (f" (account: {account})" if account else "")
    error = (
        compact_json(from_message(entry.error).as_dict(permissions.caller.locale)) if entry.error is not None else ""
    )
    return "\n".join(filter(None, [title, *_failed_elements(entry), error, more, _step_json(entry, permissions, raw)]))


def _load_raw(head: Header, entry: Entry) -> Any:
    """What the step brought, where it is wanted."""
    return ledger.load_json(head, entry.result) if entry.step.output or entry.step.raw_output else None


def _step_blocks(entry: Entry, raw: Any) -> list[Block]:
    """What the step brought besides text; of one with `each` what all its elements did."""
    return [block for one in (raw if entry.step.each and raw else [raw]) for block in split_content(one)[1]]


def _step_json(entry: Entry, permissions: Permissions, raw: Any) -> str:
    """The JSON that the step brought, as it was wanted; of one with `each` what all its elements did."""
    if raw is None:
        return ""
    raw = [split_content(one)[0] for one in raw] if entry.step.each else split_content(raw)[0]
    if raw is None or entry.step.raw_output:
        return "" if raw is None else compact_json(raw)
    shows = permissions.catalogue.shows(entry.step.module, entry.step.tool)
    return render(raw, shows, each=bool(entry.step.each))


def _element_counts(entry: Entry) -> str:
    """` (10 elements: 9 succeeded, 1 failed)`."""
    statuses = entry.statuses
    if statuses is None:
        return ""
    counts = ", ".join(f"{count} {status}" for status, count in Counter(one["status"] for one in statuses).items())
    return f" ({len(statuses)} elements: {counts})" if statuses else " (no elements)"


def _failed_elements(entry: Entry) -> list[str]:
    """The elements that failed, each by its place in the list, with its error."""
    failures = _failures(entry)
    lines = [f"[{place}] {one['status']}: {_format_error(one)}" for place, one in failures[:MAX_LISTED_FAILURES]]
    more = len(failures) - len(lines)
    return [*lines, f"and {more} more"] if more else lines


def _format_error(one: Mapping[str, Any]) -> str:
    error = one.get("error")
    return f"{error['code']} {error['message']}" if error else "it may have happened: its sandbox was lost"


def _failures(entry: Entry) -> list[tuple[int, Mapping[str, Any]]]:
    return [(place, one) for place, one in enumerate(entry.statuses or ()) if one["status"] in {"failed", "unknown"}]
