"""Runs of automations: each is begun once for its event, and followed until it is over.

Whatever is repeated, because an event is delivered again or somebody was interrupted, finds the same run and the same
batch: the run is stored on the condition that there is none, and the batch's id is derived from the event, so that its
ledger is written once. A run that is not over has a note in the table that says when to look at it again.
"""

import logging
import time
from collections import defaultdict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from mcpist.automations import records
from mcpist.automations.ending import end_run, first_problem, notify, release, tell
from mcpist.automations.occasions import (
    conditions_hold,
    is_moment,
    is_own,
    note_schedule,
    parameters_for,
    scheduled_event,
)
from mcpist.automations.records import Automation, DueEntry, Run
from mcpist.automations.starting import Stopped, start_batch, take_place
from mcpist.batch.ledger import ledger
from mcpist.errors import BatchNotFound, McpistError, TransientError, problem_text
from mcpist.events import store
from mcpist.events.event import Event
from mcpist.telemetry import invocation
from mcpist.telemetry.invocation import with_context
from mcpist.tools.search.catalogue import Catalogue

MAX_AUTOMATION_DEPTH = 3
"""Of automations that lead to each other."""
CHECK_SECONDS = 60
"""How often somebody looks at a run that goes on, or that waits for another one."""
MAX_RUN_WAIT_SECONDS = 86_400
"""After these a run that could not begin has failed."""
MAX_DUE, MAX_WORKERS = 1_000, 8

logger = logging.getLogger(__name__)


def offer(automation: Automation, event: Event, catalogue: Catalogue) -> Run | None:
    """Begin the run of an automation for an event, unless that was done; None where it does not run on this event."""
    if automation.state != "active" or is_own(automation, event):
        return None
    if not conditions_hold(automation, event):
        return None
    return begin(automation, new_run(automation, event), catalogue)


def take(organization: str, name: str, event: str, catalogue: Catalogue) -> str:
    """Begin the run of an automation for a stored event of its person, and return its id; empty where it has none."""
    automation, stored = records.find(organization, name), store.get(organization, event)
    if automation is None or stored is None:
        return ""
    if (stored.event.user, stored.event.type) != (automation.user, automation.event):
        return ""
    run = offer(automation, stored.event, catalogue)
    return run.id if run else ""


def new_run(automation: Automation, event: Event) -> Run:
    """Return the run for an event, which is over where the event is not what the automation expects."""
    at, noted_at, depth = event.occurred_at, int(time.time()), event.depth + 1
    run = Run(id=records.run_id(at, event.id), event=event.id, at=at, noted_at=noted_at, params={}, depth=depth)
    if event.depth >= MAX_AUTOMATION_DEPTH:
        return run.ended("skipped", f"{event.depth} automations led to this event: it is perhaps a loop")
    try:
        params = parameters_for(automation, event)
    except McpistError as error:
        return run.ended("failed", problem_text(error))
    return replace(run, params=params, batch=records.batch_id(automation.organization, automation.name, event.id))


def begin(automation: Automation, run: Run, catalogue: Catalogue) -> Run:
    """Store a run once, and go on with it as far as possible now."""
    new, run = run, records.add_run(automation, run)
    if run.is_over:
        if run.state == "failed":
            tell(automation, run)
        if run is new and run.state == "failed":
            notify(automation, run, catalogue)
        return run
    entry = records.put_due(automation, run.id, int(time.time()) + CHECK_SECONDS)
    return follow(automation, run, catalogue, entry)


def tick(catalogue: Catalogue, may_go_on: Callable[[], bool]) -> dict[str, int]:
    """Follow the runs and schedules that are due, as long as there is time; the next tick does what is left.

    Those of one automation are followed in their order, so that the first one that waits is the first that begins.
    """
    entries = list(records.due(int(time.time()), MAX_DUE))
    queues: defaultdict[tuple[str, str], list[DueEntry]] = defaultdict(list)
    for entry in entries:
        queues[entry.parts[:2]].append(entry)

    def look(entry: DueEntry) -> bool:
        if not may_go_on():
            return False
        try:
            _look_after(entry, catalogue)
        except Exception as error:  # noqa: BLE001 - the other automations must not wait for it
            code = error.code if isinstance(error, McpistError) else type(error).__name__
            logger.warning("automation not followed", extra={"entry": entry.sk, "code": code})
            invocation.count_error(code)
            return False
        return True

    def look_in_order(queue: list[DueEntry]) -> int:
        return sum(map(look, queue))

    with ThreadPoolExecutor(MAX_WORKERS) as workers:
        followed = sum(workers.map(with_context(look_in_order), queues.values()))
    return {"followed": followed, "left": len(entries) - followed}


def _look_after(entry: DueEntry, catalogue: Catalogue) -> None:
    organization, name, id_ = entry.parts
    automation = records.find(organization, name)
    if automation is None:
        records.done(entry)
    elif not id_:
        _keep_schedule(automation, entry, catalogue)
    elif run := records.find_run(automation, id_):
        follow(automation, run, catalogue, entry)
    else:
        records.done(entry)


def _keep_schedule(automation: Automation, entry: DueEntry, catalogue: Catalogue) -> None:
    """Begin the run of a moment of the schedule, and note the next one; moments that were missed have one run."""
    if automation.schedule and automation.state == "active" and is_moment(automation, entry.at):
        offer(automation, scheduled_event(automation, entry.at), catalogue)
        note_schedule(automation)
    records.done(entry)


def follow(automation: Automation, run: Run, catalogue: Catalogue, entry: DueEntry) -> Run:
    """Go on with a run as far as possible now, and replace the note about it."""
    if run.is_over:  # whoever ended it was perhaps interrupted before its place was free
        release(automation, run)
    elif run.state == "waiting":
        run = _try_to_start(automation, run, catalogue)
    elif run.state == "running":
        run = _look_at_batch(automation, run, catalogue)
    if run.is_over:
        records.done(entry)
        return run
    delay = CHECK_SECONDS * (2**run.attempt if run.state == "waiting" else 1)
    if (at := int(time.time()) + delay) != entry.at:
        records.put_due(automation, run.id, at)
        records.done(entry)
    return run


def _try_to_start(automation: Automation, run: Run, catalogue: Catalogue) -> Run:
    """Start the batch of a run that waits, once it may."""
    if time.time() > run.noted_at + MAX_RUN_WAIT_SECONDS:
        return end_run(automation, run, "failed", "it could not begin within a day", catalogue)
    place = take_place(automation, run)
    if place == "full" and _look_at_running(automation, catalogue):
        place = take_place(automation, run)
    if place:
        return run if place == "full" else end_run(automation, run, "skipped", place, catalogue)
    try:
        head = start_batch(automation, run, catalogue)
    except TransientError as error:
        logger.warning("automation waits", extra={"automation": automation.name, "code": error.code})
        return run
    except Stopped as stopped:
        stopped.apply(automation)
        return end_run(automation, run, "failed", stopped.problem, catalogue)
    except McpistError as error:
        return end_run(automation, run, "failed", problem_text(error), catalogue)
    started = replace(run, state="running", batch=head.batch)
    records.update_run(automation, run, started)
    return started


def _look_at_running(automation: Automation, catalogue: Catalogue) -> bool:
    """Look at the runs that go on, and return whether one of them gave its place back."""
    now = records.find(automation.organization, automation.name)
    runs = [records.find_run(automation, id_) for id_ in now.running] if now else []
    looked = [_look_at_batch(automation, run, catalogue) for run in runs if run and run.state == "running"]
    return any(run.state != "running" for run in looked)


def _look_at_batch(automation: Automation, run: Run, catalogue: Catalogue) -> Run:
    """Return a run that goes on as its batch is now; once that is done the run gives its place back."""
    try:
        head = ledger.close(ledger.get_header(ledger.partition_key(automation.organization, run.batch)))
    except BatchNotFound:
        return end_run(automation, run, "failed", "its batch is not kept any more", catalogue)
    if not head.done:
        return run
    outcomes = set(head.outcome.values())
    if outcomes.isdisjoint({"failed", "unknown", "cancelled"}):
        return end_run(automation, run, "succeeded", "", catalogue)
    if run.attempt < automation.retries and "failed" in outcomes and not outcomes & {"unknown", "cancelled"}:
        again = replace(run, state="waiting", attempt=run.attempt + 1, problem=first_problem(head))
        records.update_run(automation, run, again)
        release(automation, run)
        return again
    return end_run(automation, run, "failed", first_problem(head), catalogue)
