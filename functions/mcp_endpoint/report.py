"""What a batch looks like to the model: its plan, and later a summary with each step that brings something."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from mcp_types import ResourceLink

from mcp_endpoint.blocks import BATCH_TYPE, BATCH_URI, MOST_BINARY_CHARACTERS, Part, shown
from mcp_endpoint.confirmation import Destruction
from mcp_endpoint.exchange import MOST_CHARACTERS
from mcp_endpoint.rendering import rendered
from mcpist.batch.execution.plan import Plan
from mcpist.batch.language.steps import Step
from mcpist.batch.ledger import ledger
from mcpist.batch.ledger.items import unpack
from mcpist.batch.ledger.records import Entry, Header
from mcpist.errors import from_message
from mcpist.files.storage import fit
from mcpist.render.answer import minified
from mcpist.render.contents import Block, parted
from mcpist.settings import settings
from mcpist.tools.permissions import Sieve
from mcpist.tools.tool import Tool

MOST_FAILURES = 20


def plan(planned: Plan, runs: Iterable[tuple[Step, Tool]], destroys: Sequence[Destruction]) -> dict[str, Any]:
    """A plan that has been checked; `destructive` are the steps that ask for confirmation."""
    shown = planned.as_dict(planned.made(settings().step_runner))
    running = [step.id for step, _ in runs]
    resumed = {"runs": running} if len(running) < len(planned.steps) else {}
    return shown | resumed | {"destructive": [one.as_dict() for one in destroys]}


def parts(head: Header, sieve: Sieve) -> list[Part]:
    """The batch as it is now, in the order of the lines that its user wrote."""
    entries = ledger.entries(head.pk)
    returned = [entry for entry in entries if _is_returned(head, entry)]
    share = MOST_CHARACTERS // max(1, len(returned))
    binary = MOST_BINARY_CHARACTERS // max(1, len(returned))
    found: list[Part] = [_summary(head, entries)]
    for entry in returned:
        raw = _raw(head, entry)
        found.append(fit(head.organization, _block(head, entry, sieve, raw), share))
        found += shown(head.organization, _blocks(entry, raw), binary)
    return found


def link(batch: str) -> ResourceLink:
    """The way to a batch that is still under way."""
    uri = BATCH_URI.replace("{id}", batch)
    return ResourceLink(name=batch, uri=uri, description="The batch as it will be", mime_type=BATCH_TYPE)


def settled(head: Header) -> str:
    """`4 of 7 steps`."""
    return f"{len(head.seq)} of {len(head.ids)} steps"


def state(head: Header) -> str:
    """How the batch stands, in one word."""
    if head.cancelled_at is not None:
        return "cancelled" if head.done else "being cancelled"
    return "done" if head.done else "running"


def _is_returned(head: Header, entry: Entry) -> bool:
    wanted = entry.output or entry.raw_output
    return entry.index in head.outcome and (wanted or entry.error is not None or bool(_failures(entry)))


def _summary(head: Header, entries: list[Entry]) -> str:
    """`batch b_12: done, 3 of 3 steps: find succeeded, first succeeded, tags skipped (find did not succeed)`."""
    steps = ", ".join(f"{entry.id} {_status(head, entry)}" for entry in entries)
    more = "" if head.done else f" Call batch with batch_id {head.batch} to fetch the rest."
    return f"batch {head.batch}: {state(head)}, {settled(head)}: {steps}.{more}"


def _status(head: Header, entry: Entry) -> str:
    match head.outcome.get(entry.index, "open"):
        case "skipped":
            why = ", ".join(head.failed_needs(entry.index))
            return f"skipped ({why} did not succeed)" if why else "skipped (its `when` did not hold)"
        case "unknown":
            return f"unknown (it may have happened: its sandbox was lost){_counted(entry)}"
        case "open" if entry.index in head.elements:
            return f"running ({head.elements[entry.index]} elements)"
        case status:
            return f"{status}{_counted(entry)}"


def _block(head: Header, entry: Entry, sieve: Sieve, raw: Any) -> str:
    title = f"{entry.id}: {_status(head, entry)}" + (f" (account: {entry.account})" if entry.account else "")
    error = minified(from_message(entry.error).as_dict(sieve.caller.locale)) if entry.error is not None else ""
    return "\n".join(filter(None, [title, *_named(entry), error, entry.more, _result(entry, sieve, raw)]))


def _raw(head: Header, entry: Entry) -> Any:
    """What the step brought, where it is wanted."""
    brought = entry.content is not None or entry.file is not None
    return ledger.raw(head, entry) if brought and (entry.output or entry.raw_output) else None


def _blocks(entry: Entry, raw: Any) -> list[Block]:
    """What the step brought besides text; of one with `each` what all its elements did."""
    return [block for one in (raw if entry.each and raw else [raw]) for block in parted(one)[1]]


def _result(entry: Entry, sieve: Sieve, raw: Any) -> str:
    """The JSON that the step brought, as it was wanted; of one with `each` what all its elements did."""
    if raw is None:
        return ""
    raw = [parted(one)[0] for one in raw] if entry.each else parted(raw)[0]
    if raw is None or entry.raw_output:
        return "" if raw is None else minified(raw)
    shows = sieve.catalogue.shows(entry.module, entry.tool)
    return rendered(raw, shows, each=bool(entry.each))


def _counted(entry: Entry) -> str:
    """` (10 elements: 9 succeeded, 1 failed)`."""
    statuses = _statuses(entry)
    if not entry.each or entry.statuses is None:
        return ""
    counts = ", ".join(f"{count} {status}" for status, count in Counter(one["status"] for one in statuses).items())
    return f" ({len(statuses)} elements: {counts})" if statuses else " (no elements)"


def _named(entry: Entry) -> list[str]:
    """The elements that failed, each by its place in the list, with its error."""
    failures = _failures(entry)
    lines = [f"[{place}] {one['status']}: {_error(one)}" for place, one in failures[:MOST_FAILURES]]
    more = len(failures) - len(lines)
    return [*lines, f"and {more} more"] if more else lines


def _error(one: dict[str, Any]) -> str:
    error = one.get("error")
    return f"{error['code']} {error['message']}" if error else "it may have happened: its sandbox was lost"


def _failures(entry: Entry) -> list[tuple[int, dict[str, Any]]]:
    return [(place, one) for place, one in enumerate(_statuses(entry)) if one["status"] in {"failed", "unknown"}]


def _statuses(entry: Entry) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = unpack(entry.statuses) if entry.statuses is not None else []
    return found
