"""How far a batch is: each step's state, what it waits for and when it ran, for people who watch.

It holds no result and no param.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from mcpist.batch.ledger import ledger
from mcpist.batch.ledger.items import unpack
from mcpist.batch.ledger.records import Entry, Header


def progress(head: Header, entries: Sequence[Entry], now: float) -> dict[str, Any]:
    """A batch as JSON, its steps in the order of their lines; times are seconds since the epoch, by AWS's clock."""
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
        "id": entry.id,
        "line": entry.line,
        "tool": f"{entry.module}.{entry.tool}",
        "effect": entry.effect,
        "state": _state(head, entry),
        "needs": [head.ids[need] for need in needs],
        "waits_for": [head.ids[need] for need in needs if need not in head.seq],
        "kept": _is_carried_over(head, entry),
    }
    if entry.each:
        view["elements"] = _elements(head, entry)
    if not view["kept"]:
        # Of a step that ran again after its sandbox was lost, this is the last time: it alone led to the end.
        times = {"started_at": entry.started_at, "ended_at": entry.ended_at}
        view |= {name: time for name, time in times.items() if time is not None}
    return view


def _state(head: Header, entry: Entry) -> str:
    """How it settled, else `running`, `ready` (opened, but not begun) or `waiting`."""
    if entry.index in head.outcome:
        return head.outcome[entry.index]
    if entry.claim is not None or entry.map_items is not None:
        return "running"
    return "ready" if head.is_ready(entry.index) else "waiting"


def _is_carried_over(head: Header, entry: Entry) -> bool:
    """Whether the step's result is that of the batch that this one resumes."""
    return bool(head.resumes) and entry.ended_at is not None and entry.ended_at < head.started_at


def _elements(head: Header, entry: Entry) -> dict[str, int]:
    """How many elements there are, and how many of them have ended in which way."""
    if entry.map_items is None:
        return {"count": 0, "settled": 0}
    ended = Counter(_ended_statuses(head, entry))
    return {"count": entry.map_items.count, "settled": ended.total()} | dict(ended)


def _ended_statuses(head: Header, entry: Entry) -> Sequence[str]:
    """The statuses of the elements that have ended; a settled step has them all in its own item."""
    if entry.statuses is not None:
        statuses: list[Mapping[str, Any]] = unpack(entry.statuses)
        return [status["status"] for status in statuses]
    return [element.status for element in ledger.get_elements(head.pk, entry) if element.status is not None]
