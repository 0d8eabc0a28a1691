"""The end of a run: its place is released, and people are told of a failure."""

import time
from dataclasses import replace
from urllib.parse import urlencode

from mcpist.automations import records
from mcpist.automations.records import Automation, Run, RunState
from mcpist.batch.ledger import ledger
from mcpist.batch.ledger.records import Header
from mcpist.caller import Caller, Proof, Role
from mcpist.errors import from_message, problem_text
from mcpist.events import own
from mcpist.running import notification
from mcpist.settings import settings
from mcpist.tools.access.permissions import Permissions
from mcpist.tools.search.catalogue import Catalogue

NOTIFY_SECONDS = 3_600
"""People are told of the failures of one automation once in this time."""


def end_run(automation: Automation, run: Run, state: RunState, problem: str, catalogue: Catalogue) -> Run:
    """End a run once, and tell people of a failure."""
    over = run.ended(state, problem)
    if state != "succeeded":  # before it is over: whoever is interrupted repeats it, as the same event
        tell(automation, over)
    is_first = records.update_run(automation, run, over)
    release(automation, run)
    if is_first and state != "succeeded":
        notify(automation, over, catalogue)
    return over


def tell(automation: Automation, run: Run) -> None:
    """Tell the automation's person of a run that did not succeed, by an event."""
    facts = {"run": run.id, "state": run.state, "problem": run.problem, "batch": run.batch}
    own.automation_failed(automation.organization, automation.user, automation.name, facts, run.depth)


def release(automation: Automation, run: Run) -> None:
    """Give a run's place to the next one."""

    def decide(now: Automation) -> Automation | None:
        if run.id not in now.running:
            return None
        return replace(now, running=tuple(one for one in now.running if one != run.id))

    records.change(automation.organization, automation.name, decide)


def notify(automation: Automation, run: Run, catalogue: Catalogue) -> None:
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
    """Return the notice of a failure, which has no value of the run."""
    url = f"{settings().public_url}/automations?{urlencode({'name': automation.name})}"
    facts = {"automation": automation.name, "run": run.id, "state": run.state, "owner": automation.user, "url": url}
    names = {"user": automation.user, "automation": automation.name}
    target = f"automations.{automation.name}"
    return notification.Notice("automation.failed", f"{automation.name}.{run.id}", target, facts, names)


def first_problem(head: Header) -> str:
    """Return the first failure of a batch."""
    for step in sorted(head.seq, key=head.seq.__getitem__):
        if head.outcome[step] in {"failed", "unknown", "cancelled"}:
            (entry,) = ledger.get_entries(head.pk, [step])
            problem = problem_text(from_message(entry.error)) if entry.error else head.outcome[step]
            return f"{head.ids[step]}: {problem}"
    return "cancelled"
