"""Runs of automations: each is begun once for its event, and followed until it is over.

Whatever is repeated, because an event is delivered again or somebody was interrupted, finds the same run and the same
batch: the run is stored on the condition that there is none, and the batch's id is derived from the event, so that its
ledger is written once. A run that is not over has a note in the table that says when to look at it again.
"""

import logging
import time
from collections import defaultdict
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlencode

from mcpist.automations import records
from mcpist.automations.agreement import agreed_steps
from mcpist.automations.records import Automation, AutomationState, DueEntry, Run, RunState
from mcpist.automations.schedule import parse_schedule
from mcpist.batch.execution.start import resume, start
from mcpist.batch.execution.submission import Submission, prepare, prepare_resumption
from mcpist.batch.language.references import EachElement, resolve
from mcpist.batch.language.steps import holds
from mcpist.batch.ledger import ledger
from mcpist.batch.ledger.records import Header
from mcpist.batch.options import DEFAULT_OPTIONS
from mcpist.batch.saved.expansion import call_line
from mcpist.batch.saved.records import MODULE as SAVED
from mcpist.caller import Caller, ClientInfo, Proof, Role
from mcpist.errors import (
    AlreadyResumed,
    AuthenticationError,
    AuthorizationError,
    BatchNotFound,
    InvalidRequest,
    McpistError,
    TransientError,
    from_message,
)
from mcpist.events import store
from mcpist.events.event import Event
from mcpist.people import directory
from mcpist.running import broker, notification
from mcpist.running.confirmation import Confirmed
from mcpist.settings import settings
from mcpist.telemetry import invocation
from mcpist.telemetry.invocation import with_context
from mcpist.tools.access.permissions import Permissions
from mcpist.tools.search.catalogue import Catalogue

MAX_DEPTH = 3
"""Of automations that lead to each other."""
CHECK_SECONDS = 60
"""How often somebody looks at a run that goes on, or that waits for another one."""
MAX_WAIT_SECONDS = 86_400
"""After these a run that could not begin has failed."""
NOTIFY_SECONDS = 3_600
"""People are told of the failures of one automation once in this time."""
MAX_DUE, MAX_WORKERS = 1_000, 8
SCHEDULE = "schedule"
"""The type of the event that a schedule makes."""
EVENT = "event"
"""The word with which references to its fields begin."""

logger = logging.getLogger(__name__)


def offer(automation: Automation, event: Event, catalogue: Catalogue) -> Run | None:
    """Begin the run of an automation for an event, unless that was done; None where it does not run on this event."""
    if automation.state != "active" or is_own(automation, event):
        return None
    find = event_source(event.data)
    if not all(holds(condition, find) for condition in automation.when):
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


def new_run(automation: Automation, event: Event, replays: str = "") -> Run:
    """Return the run for an event, which is over where the event is not what the automation expects."""
    run = Run(
        id=records.run_id(event.occurred_at, event.id),
        event=event.id,
        at=event.occurred_at,
        noted_at=int(time.time()),
        params={},
        batch=records.batch_id(automation.organization, automation.name, event.id),
        depth=event.depth + 1,
        replays=replays,
    )
    if event.depth >= MAX_DEPTH:
        return replace(run, batch="").ended(
            "skipped", f"{event.depth} automations led to this event: it is perhaps a loop"
        )
    try:
        return replace(run, params=parameters_for(automation, event))
    except McpistError as error:
        return replace(run, batch="").ended("failed", _problem(error))


def begin(automation: Automation, run: Run, catalogue: Catalogue) -> Run:
    """Store a run once, and go on with it as far as possible now."""
    new, run = run, records.add_run(automation, run)
    if run.is_over:
        if run is new and run.state == "failed":
            _notify(automation, run, catalogue)
        return run
    entry = records.put_due(automation, run.id, int(time.time()) + CHECK_SECONDS)
    return follow(automation, run, catalogue, entry)


def parameters_for(automation: Automation, event: Event) -> dict[str, Any]:
    """Return the values of the saved batch's parameters; UnresolvedReference where the event lacks a field."""
    values: dict[str, Any] = resolve(automation.parameters, event_source(event.data), "parameters")
    return values


def event_source(data: Mapping[str, Any]) -> Callable[[str], EachElement]:
    """Return the function that finds what a reference begins with: the event alone."""

    def find(_: str) -> EachElement:
        return EachElement(data)

    return find


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


def is_moment(automation: Automation, at: int) -> bool:
    """Whether a moment is one of the schedule, which may be another one since it was noted."""
    return parse_schedule(automation.schedule, automation.time_zone).next_after(at - 1) == at


def note_schedule(automation: Automation) -> int:
    """Note the next moment of an automation's schedule, and return it."""
    at = parse_schedule(automation.schedule, automation.time_zone).next_after(int(time.time()))
    records.put_due(automation, "", at)
    return at


def scheduled_event(automation: Automation, at: int) -> Event:
    """Return the event that a moment of a schedule is."""
    return Event(
        id=f"{SCHEDULE}.{at}",
        organization=automation.organization,
        user=automation.user,
        type=SCHEDULE,
        occurred_at=at,
        data={"scheduled_at": datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")},
    )


def follow(automation: Automation, run: Run, catalogue: Catalogue, entry: DueEntry) -> Run:
    """Go on with a run as far as possible now, and replace the note about it."""
    if run.state == "waiting":
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
    if time.time() > run.noted_at + MAX_WAIT_SECONDS:
        return _end(automation, run, "failed", "it could not begin within a day", catalogue)
    place = _take_place(automation, run)
    if place == "full" and _look_at_running(automation, catalogue):
        place = _take_place(automation, run)
    if place:
        return run if place == "full" else _end(automation, run, "skipped", place, catalogue)
    try:
        head = _start(automation, run, catalogue)
    except TransientError as error:
        logger.warning("automation waits", extra={"automation": automation.name, "code": error.code})
        return run
    except _Stopped as stopped:
        records.change(automation.organization, automation.name, stopped.applied_to)
        return _end(automation, run, "failed", stopped.problem, catalogue)
    except McpistError as error:
        return _end(automation, run, "failed", _problem(error), catalogue)
    started = replace(run, state="running", batch=head.batch)
    records.update_run(automation, run, started)
    return started


def _take_place(automation: Automation, run: Run) -> str:
    """Take one of the automation's places, and one of the day's runs; else return why: `full`, or a problem."""
    today, why = datetime.now(UTC).date().isoformat(), ""

    def decide(now: Automation) -> Automation | None:
        nonlocal why
        used = now.day_runs if now.day == today else 0
        why = _refusal(now, run, used)
        if why or run.id in now.running:
            return None
        return replace(now, running=(*now.running, run.id), day=today, day_runs=used + (not run.attempt))

    records.change(automation.organization, automation.name, decide)
    return why


def _refusal(now: Automation, run: Run, used: int) -> str:
    if run.id in now.running:
        return ""
    if now.state != "active":
        return f"the automation is {now.state}"
    if used >= now.runs_a_day and not run.attempt:
        return f"its {now.runs_a_day} runs of the day are used up"
    return "full" if len(now.running) >= now.at_once else ""


def _look_at_running(automation: Automation, catalogue: Catalogue) -> bool:
    """Look at the runs that go on, and return whether one of them gave its place back."""
    now = records.find(automation.organization, automation.name)
    runs = [records.find_run(automation, id_) for id_ in now.running] if now else []
    looked = [_look_at_batch(automation, run, catalogue) for run in runs if run and run.state == "running"]
    return any(run.state != "running" for run in looked)


class _Stopped(Exception):
    """The automation itself must not go on."""

    def __init__(self, state: AutomationState, problem: str) -> None:
        super().__init__(problem)
        self.state, self.problem = state, problem

    def applied_to(self, automation: Automation) -> Automation:
        """Return the automation as it is from now on."""
        return replace(automation, state=self.state, problem=self.problem)


def _start(automation: Automation, run: Run, catalogue: Catalogue) -> Header:
    """Start the batch of a run, or what goes on with it, as the automation's person and once."""
    permissions = Permissions(_caller(automation), catalogue)
    try:  # the broker knows whether the permission was ended, even for a batch that needs no account
        broker.request(permissions.caller, "status", services=[])
    except AuthenticationError as error:
        raise _Stopped("ended", _problem(error)) from None
    if agreed_steps(permissions, automation.batch).fingerprint != automation.fingerprint:
        raise _Stopped("paused", _CHANGED.format(batch=automation.batch))
    line = call_line(permissions, SAVED, automation.batch, run.params)
    try:
        if run.attempt:
            again = prepare_resumption(permissions, run.batch, (), DEFAULT_OPTIONS, invocation.request_id())
            _check_unasked(again)
            assert again.resumption
            return resume(again.resumption, permissions, depth=run.depth)
        prepared = prepare(permissions, [line], DEFAULT_OPTIONS, invocation.request_id())
        _check_unasked(prepared)
        return start(prepared.plan, permissions, confirmed=Confirmed(question=run.batch), depth=run.depth)
    except AlreadyResumed as error:
        return ledger.get_header(ledger.partition_key(automation.organization, str(error.details["by"])))


_CHANGED = "saved.{batch} has changed: set the automation again to agree to its steps as they are now"


def _caller(automation: Automation) -> Caller:
    """Return the automation's person as the directory knows it now, with the roles of then."""
    try:
        caller = directory.identify(
            automation.subject,
            organization=automation.organization,
            roles=automation.roles,
            proof=Proof("permit", automation.sealed),
        )
    except AuthorizationError as error:
        raise _Stopped("ended", _problem(error)) from None
    if caller.user != automation.user:
        raise _Stopped("ended", "its person is another one now")
    return replace(caller, client=ClientInfo(f"automation {automation.name}"))


def _check_unasked(prepared: Submission) -> None:
    """Refuse a batch about which a person would be asked now, by a policy or since a tool destroys."""
    if asked := sorted({f"{one.module}.{one.tool}" for one in prepared.destructive}):
        problem = f"a person must agree to {', '.join(asked)}, and nobody is there to be asked"
        raise InvalidRequest(field="batch", problem=problem)


def _look_at_batch(automation: Automation, run: Run, catalogue: Catalogue) -> Run:
    """Return a run that goes on as its batch is now; once that is done the run gives its place back."""
    try:
        head = ledger.close(ledger.get_header(ledger.partition_key(automation.organization, run.batch)))
    except BatchNotFound:
        return _end(automation, run, "failed", "its batch is not kept any more", catalogue)
    if not head.done:
        return run
    outcomes = set(head.outcome.values())
    if outcomes.isdisjoint({"failed", "unknown", "cancelled"}):
        return _end(automation, run, "succeeded", "", catalogue)
    if run.attempt < automation.retries and "failed" in outcomes and not outcomes & {"unknown", "cancelled"}:
        again = replace(run, state="waiting", attempt=run.attempt + 1, problem=_problem_of(head))
        records.update_run(automation, run, again)
        _release(automation, run)
        return again
    return _end(automation, run, "failed", _problem_of(head), catalogue)


def _problem_of(head: Header) -> str:
    """Return what went wrong first in a batch."""
    for step in sorted(head.seq, key=head.seq.__getitem__):
        if head.outcome[step] in {"failed", "unknown", "cancelled"}:
            (entry,) = ledger.get_entries(head.pk, [step])
            problem = _problem(from_message(entry.error)) if entry.error else head.outcome[step]
            return f"{head.ids[step]}: {problem}"
    return "cancelled"


def _problem(error: McpistError) -> str:
    return f"{error.code}: {error.text().message}"


def _end(automation: Automation, run: Run, state: RunState, problem: str, catalogue: Catalogue) -> Run:
    """End a run once, and tell people of a failure."""
    over = run.ended(state, problem)
    is_first = records.update_run(automation, run, over)
    _release(automation, run)
    if is_first and state != "succeeded":
        _notify(automation, over, catalogue)
    return over


def _release(automation: Automation, run: Run) -> None:
    def decide(now: Automation) -> Automation | None:
        if run.id not in now.running:
            return None
        return replace(now, running=tuple(one for one in now.running if one != run.id))

    records.change(automation.organization, automation.name, decide)


def _notify(automation: Automation, run: Run, catalogue: Catalogue) -> None:
    """Tell people of a failure, unless they were told of one of this automation a while ago."""
    now = int(time.time())

    def decide(known: Automation) -> Automation | None:
        return replace(known, notified_at=now) if known.notified_at <= now - NOTIFY_SECONDS else None

    if not records.change(automation.organization, automation.name, decide):
        return
    caller = Caller(
        automation.organization, automation.user, automation.subject, "user", tuple(map(Role, automation.roles))
    )
    caller = replace(caller, proof=Proof("permit", automation.sealed))
    notification.send(Permissions(caller, catalogue), automation_failed(automation, run))


def automation_failed(automation: Automation, run: Run) -> notification.Notice:
    """Return what people are told of a failure, which has no value of the run."""
    url = f"{settings().public_url}/automations?{urlencode({'name': automation.name})}"
    facts = {"automation": automation.name, "run": run.id, "state": run.state, "owner": automation.user, "url": url}
    names = {"user": automation.user, "automation": automation.name}
    target = f"automations.{automation.name}"
    return notification.Notice("automation.failed", f"{automation.name}.{run.id}", target, facts, names)


def is_own(automation: Automation, event: Event) -> bool:
    """Whether the automation's own person caused an event, while it does not ask for these."""
    return not automation.own_events and event.actor is not None and event.actor in automation.accounts
