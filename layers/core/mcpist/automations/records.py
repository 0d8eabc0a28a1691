"""Automations and their runs as items of the ledger's table.

Under `pk` ORGANIZATION#automations:
    NAME                     the automation
under ORGANIZATION#automations#NAME:
    RUN                      a run; its id begins with the second of its event, and has a digest of it
and under `automations`, for all organizations:
    SECOND#ORGANIZATION#NAME#RUN    when to look after a run that is not over, or, without RUN, at the schedule
An automation changes only by `change`, on the condition that nobody else has changed it meanwhile.
"""

import hashlib
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from mcpist.aws.attributes import Item, decode, encode
from mcpist.aws.table import IS_NEW, holds, ledger_table
from mcpist.caller import Caller, Subject
from mcpist.errors import AutomationNotFound, VersionChanged
from mcpist.suggestions import nearest

RUN_RETENTION_SECONDS = 30 * 86_400
DELETED_RETENTION_SECONDS = 7 * 86_400
"""Longer than the events are kept for which it could be asked again."""
MAX_CHANGE_ATTEMPTS = 20
MAX_RUN_PROBLEM_CHARACTERS = 500
_DUE = "automations"

# No `type`: the form of tools would name them.
AutomationState = Literal["active", "paused", "ended"]
RunState = Literal["waiting", "running", "succeeded", "failed", "skipped"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Automation:
    """A saved batch, the events or the schedule on which it runs, and its person. Moments are in epoch seconds."""

    organization: str
    name: str
    user: str
    """The id of the person who set it up, as whom it runs."""
    subject: Subject
    roles: tuple[str, ...]
    """The roles with which it was set up."""
    batch: str
    """The name of the saved batch that it runs."""
    parameters: dict[str, Any]
    """The values of the saved batch's parameters, with references to fields of the event."""
    event: str = ""
    """The type of the events that it runs on; empty for a schedule."""
    arguments: dict[str, Any] = field(default_factory=dict)
    """What narrows the events."""
    schedule: str = ""
    time_zone: str = "UTC"
    when: list[Any] = field(default_factory=list)
    """The conditions on the event, all of which must hold."""
    own_events: bool = False
    """Whether it also runs on what its own person's accounts cause."""
    accounts: tuple[str, ...] = ()
    """The ids of these accounts at the event's service, and of the person here."""
    at_once: int = 1
    """How many runs may go on at once."""
    runs_a_day: int = 100
    retries: int = 0
    """How often a failed run goes on with what did not succeed."""
    permit: str
    """The id of its standing permission at the broker."""
    sealed: str = field(repr=False)
    """The standing permission, as the broker sealed it."""
    permitted_until: int
    fingerprint: str
    """The digest of the steps to which its person agreed."""
    state: AutomationState = "active"
    problem: str = ""
    """Why it has ended."""
    set_at: int
    revision: int = 0
    """Is counted with each change."""
    running: tuple[str, ...] = ()
    """The ids of the runs that go on."""
    day: str = ""
    """The day in UTC that `day_runs` is of."""
    day_runs: int = 0
    notified_at: int = 0
    """When people were last told of a failure."""

    @property
    def pk(self) -> str:
        """The partition key of its runs."""
        return f"{_partition(self.organization)}#{self.name}"

    def is_visible_to(self, caller: Caller) -> bool:
        """Whether a caller may see, pause and end it: its person and administrators."""
        return self.user == caller.user or caller.system_role == "admin"


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One run of an automation, for one event."""

    id: str
    event: str
    """The id of the event."""
    at: int
    """When the event happened."""
    noted_at: int
    """When it was stored."""
    params: dict[str, Any]
    """The values of the saved batch's parameters."""
    batch: str = ""
    """The id of its batch, or of the one that goes on with what did not succeed; empty where there can be none."""
    depth: int = 1
    """How many automations led to it, itself included."""
    attempt: int = 0
    state: RunState = "waiting"
    problem: str = ""
    replays: str = ""
    """The id of the run that it repeats."""
    ended_at: int = 0

    @property
    def is_over(self) -> bool:
        """Whether nothing more happens."""
        return self.state not in {"waiting", "running"}

    def ended(self, state: RunState, problem: str = "") -> "Run":
        """Return the run as it ends."""
        return replace(self, state=state, problem=problem[:MAX_RUN_PROBLEM_CHARACTERS], ended_at=int(time.time()))


@dataclass(frozen=True, slots=True)
class DueEntry:
    """A note that an automation, or a run of it, is to be looked after."""

    sk: str

    @property
    def parts(self) -> tuple[str, str, str]:
        """The organization, the automation and the run, which is empty for the schedule."""
        _, organization, name, run = self.sk.split("#")
        return organization, name, run

    @property
    def at(self) -> int:
        """When, in epoch seconds."""
        return int(self.sk.partition("#")[0])


def run_id(at: int, event: str) -> str:
    """Return the id of the run for an event: the same each time."""
    return f"{at:010d}.{_digest(event)}"


def batch_id(organization: str, name: str, event: str) -> str:
    """Return the id of the batch of an automation for an event: the same each time, so that there is one."""
    return f"b_{_digest(f'{organization}#{name}#{event}')}"


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def visible(caller: Caller) -> list[Automation]:
    """Return the automations that a caller may see, by their names."""
    items = ledger_table().query(_partition(caller.organization))
    return [one for one in map(_live, items) if one and one.is_visible_to(caller)]


def find(organization: str, name: str) -> Automation | None:
    """Return an automation; None if there is none."""
    return _live(ledger_table().get(_partition(organization), name))


def find_visible(caller: Caller, name: str) -> Automation:
    """Return one that a caller may see; AutomationNotFound if there is none."""
    found = find(caller.organization, name)
    if found is None or not found.is_visible_to(caller):
        raise AutomationNotFound(automation=name, known=nearest(name, (one.name for one in visible(caller))))
    return found


def find_own(caller: Caller, name: str) -> Automation:
    """Return one of the caller's own; AutomationNotFound for that of another person."""
    found = find_visible(caller, name)
    if found.user != caller.user:
        raise AutomationNotFound(automation=name, known="-")
    return found


def store(new: Automation, old: Automation | None) -> None:
    """Store an automation in the place of `old`; VersionChanged if somebody else was faster."""
    is_old = "#revision = :old" if old else "attribute_not_exists(pk) OR attribute_exists(#expires_at)"
    _set(new, is_old, {":old": old.revision} if old else {})


def change(organization: str, name: str, decide: Callable[[Automation], Automation | None]) -> Automation | None:
    """Store what `decide` makes of an automation, and return it; None for no change, or no automation.

    It is asked again where another change was faster.
    """
    for _ in range(MAX_CHANGE_ATTEMPTS):
        old = find(organization, name)
        new = decide(old) if old else None
        if old is None or new is None:
            return None
        new = replace(new, revision=old.revision + 1)
        try:
            _set(new, "#revision = :old", {":old": old.revision})
        except VersionChanged:
            continue
        return new
    raise VersionChanged(what=f"automations.{name}")


def delete(automation: Automation) -> None:
    """Delete an automation: what it may do ends now, and its runs vanish with their time."""
    expires = {"expires_at": int(time.time()) + DELETED_RETENTION_SECONDS, "sealed": ""}
    ledger_table().set(_partition(automation.organization), automation.name, expires)


def add_run(automation: Automation, run: Run) -> Run:
    """Store a run once, and return the one that is stored."""
    expires = {"expires_at": int(time.time()) + RUN_RETENTION_SECONDS}
    item = {"pk": automation.pk, "sk": run.id, **encode(run), **expires}
    return run if holds(ledger_table().put, item, condition=IS_NEW) else find_run(automation, run.id) or run


def find_run(automation: Automation, run: str) -> Run | None:
    """Return a run; None if there is none, or it is too old."""
    item = ledger_table().get(automation.pk, run)
    return decode(Run, item) if item else None


def update_run(automation: Automation, old: Run, new: Run) -> bool:
    """Store the next state of a run; False if it is not in the old one any more."""
    condition, values = "#state = :was AND #attempt = :before", {":was": old.state, ":before": old.attempt}
    return holds(ledger_table().set, automation.pk, old.id, encode(new), condition=condition, values=values)


def list_runs(automation: Automation, limit: int, before: str = "") -> list[Run]:
    """Return the last runs, the newest first."""
    items, _ = ledger_table().query_page("pk", automation.pk, ("0", before or "~"), limit=limit, descending=True)
    return [decode(Run, item) for item in items if item["sk"] != before]


def put_due(automation: Automation, run: str, at: int) -> DueEntry:
    """Note when to look after a run, or at the schedule."""
    entry = DueEntry(f"{at:010d}#{automation.organization}#{automation.name}#{run}")
    ledger_table().put({"pk": _DUE, "sk": entry.sk, "expires_at": at + RUN_RETENTION_SECONDS})
    return entry


def due(now: int, limit: int) -> Iterator[DueEntry]:
    """Yield the notes whose time has come, the oldest first."""
    items, _ = ledger_table().query_page("pk", _DUE, ("0", f"{now:010d}#~"), limit=limit)
    yield from (DueEntry(item["sk"]) for item in items)


def done(entry: DueEntry) -> None:
    """Delete a note that was followed."""
    ledger_table().delete(_DUE, entry.sk)


def _set(new: Automation, condition: str, values: Item) -> None:
    place, former = (_partition(new.organization), new.name), ("expires_at",)
    if not holds(ledger_table().set, *place, encode(new), remove=former, condition=condition, values=values):
        raise VersionChanged(what=f"automations.{new.name}")


def _live(item: Item | None) -> Automation | None:
    """Return the automation of an item; None for none, or a deleted one."""
    return decode(Automation, item) if item and "expires_at" not in item else None


def _partition(organization: str) -> str:
    return f"{organization}#automations"
