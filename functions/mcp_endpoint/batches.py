"""The meta-tool `batch`: plan, start, wait, and show."""

import time
from typing import Any

from mcp_endpoint.exchange import MOST_CHARACTERS, Exchange
from mcpist.batch import ledger
from mcpist.batch.machine import machine
from mcpist.batch.plan import Plan, plan
from mcpist.batch.records import Entry, Header
from mcpist.batch.start import start
from mcpist.caller import Caller
from mcpist.errors import BatchNotFound, from_message
from mcpist.files import fit
from mcpist.render.answer import compact, minified
from mcpist.settings import settings
from mcpist.sieve import Sieve

BUDGET_SECONDS = 20.0
FIRST_POLL_SECONDS = 0.1
SLOWEST_POLL_SECONDS = 1.0
POLL_GROWTH = 1.3

type Commands = str | list[dict[str, Any]]


def answer(exchange: Exchange, sieve: Sieve, commands: Commands, *, dry_run: bool, batch: str) -> list[str]:
    """The texts for a batch: a summary, then each step that is returned or has failed."""
    if batch:
        head = _own(exchange.caller, batch)
    else:
        planned = plan(commands, sieve)
        if dry_run:
            return [minified(_shown_plan(planned))]
        head = start(planned, sieve)
    return _shown(wait(exchange, head), sieve)


def wait(exchange: Exchange, head: Header) -> Header:
    """The header once the batch is done, or when the time budget is spent."""
    until = time.monotonic() + min(BUDGET_SECONDS, exchange.remaining)
    pause = FIRST_POLL_SECONDS
    while not head.done and time.monotonic() + pause < until:
        time.sleep(pause)
        head = ledger.close(ledger.header(head.pk))
        pause = min(pause * POLL_GROWTH, SLOWEST_POLL_SECONDS)
    return head


def _own(caller: Caller, batch: str) -> Header:
    """A batch that this caller started, or any of the organization for an administrator."""
    head = ledger.close(ledger.header(ledger.partition(caller.organization, batch)))
    if head.user != caller.user and caller.system_role != "admin":
        raise BatchNotFound(batch=batch)
    return head


def _shown_plan(planned: Plan) -> dict[str, Any]:
    made = machine(planned.graph, settings().step_runner)
    return planned.as_dict(made)


def _shown(head: Header, sieve: Sieve) -> list[str]:
    entries = ledger.entries(head.pk)
    returned = [entry for entry in entries if _is_returned(head, entry)]
    share = MOST_CHARACTERS // max(1, len(returned))
    blocks = [fit(head.organization, _block(head, entry, sieve), share) for entry in returned]
    return [_summary(head, entries), *blocks]


def _is_returned(head: Header, entry: Entry) -> bool:
    wanted = entry.output or entry.raw_output
    return entry.index in head.outcome and (wanted or entry.error is not None)


def _summary(head: Header, entries: list[Entry]) -> str:
    """`batch b_12: done, 3 of 3 steps: find succeeded, first succeeded, tags skipped (find did not succeed)`."""
    state = "done" if head.done else "running"
    steps = ", ".join(f"{entry.id} {_status(head, entry)}" for entry in entries)
    more = "" if head.done else f" Call batch with batch_id {head.batch} to fetch the rest."
    return f"batch {head.batch}: {state}, {len(head.seq)} of {len(head.ids)} steps: {steps}.{more}"


def _status(head: Header, entry: Entry) -> str:
    match head.outcome.get(entry.index, "open"):
        case "skipped":
            return f"skipped ({', '.join(head.failed_needs(entry.index))} did not succeed)"
        case "unknown":
            return "unknown (it may have happened: its sandbox was lost)"
        case status:
            return status


def _block(head: Header, entry: Entry, sieve: Sieve) -> str:
    status = head.outcome[entry.index]
    title = f"{entry.id}: {status}"
    if entry.error is not None:
        return f"{title}\n{minified(from_message(entry.error).as_dict(sieve.caller.locale))}"
    if status != "succeeded":
        return title
    raw = ledger.raw(head, entry)
    shows = sieve.catalogue.module(entry.module).tools[entry.tool].shows
    text = minified(raw) if entry.raw_output else compact(raw, shows)
    return "\n".join(filter(None, [title, entry.more, text]))
