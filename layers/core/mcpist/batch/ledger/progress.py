"""The progress of a batch: each step's state, what it waits for and when it ran, for people who watch it.

It contains no result and no param.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from mcpist.batch.ledger import ledger
from mcpist.batch.ledger.records import Entry, Header


def is_over(head: Header, now: float) -> bool:
    """Whether a batch is done, and nobody will begin to undo it any more.

    That is waited for as long as the batch might have taken: a step runner that was lost, or that of an older release,
    never says that it has declined.
    """
    return head.done and not (head.awaits_undo and now < head.closes_at)


def progress(head: Header, entries: Sequence[Entry], now: float) -> dict[str, Any]:
    """Return a batch as JSON, its steps in the order of their lines; times are seconds since the epoch."""
    return {
        "batch": head.batch,
        "done": head.done,
        "form": head.form,
        "resumes": head.resumes,
        "cancelled": head.cancelled_at is not None,
        "started_at": head.started_at,
        "closes_at": head.closes_at,
        "now": now,
        "steps": [_step_view(head, entry) for entry in entries],
    }


def _step_view(head: Header, entry: Entry) -> dict[str, Any]:
    needs = sorted(head.needs[entry.index])
    view: dict[str, Any] = {
        "id": entry.step.id,
        "line": entry.step.line,
        "tool": f"{entry.step.module}.{entry.step.tool}",
        "effect": entry.effect,
        "state": _state(head, entry),
        "needs": [head.ids[need] for need in needs],
        "waits_for": [head.ids[need] for need in needs if need not in head.seq],
        # Its result is that of the batch that this one resumes.
        "kept": bool(head.resumes) and entry.ended_at is not None and entry.ended_at < head.started_at,
    }
    if entry.step.each:
        view["elements"] = _count_elements(head, entry)
    if not view["kept"]:
        # A step that ran again after its sandbox was lost has the times of its last run, which led to its end.
        times = {"started_at": entry.started_at, "ended_at": entry.ended_at}
        view |= {name: time for name, time in times.items() if time is not None}
    return view


def _state(head: Header, entry: Entry) -> str:
    """Return how the step settled, else `running`, `ready` (opened, but not begun) or `waiting`."""
    if entry.index in head.outcome:
        return head.outcome[entry.index]
    if entry.claim is not None or entry.map_items is not None:
        return "running"
    return "ready" if head.is_ready(entry.index) else "waiting"


def _count_elements(head: Header, entry: Entry) -> dict[str, int]:
    """Count the elements of a step, and those that have ended, by status."""
    if entry.map_items is None:
        return {"count": 0, "settled": 0}
    if entry.statuses is not None:  # the item of a step that has ended holds those of all its elements
        ended = Counter(element["status"] for element in entry.statuses)
    else:
        elements = ledger.iterate_elements(head.pk, entry)
        ended = Counter(element.status for element in elements if element.status is not None)
    return {"count": entry.map_items.count, "settled": ended.total()} | dict(ended)
