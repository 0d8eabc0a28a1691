"""Rows of a poll: what changed since the cursor, by the moment of its last change."""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

from mcpist.events.event_type import Occurrence
from mcpist.render.shows import value_at


def changed_rows(
    rows: Iterable[Mapping[str, Any]], cursor: str, now: int, *, moment: str, id_: str = "id", actor: str = ""
) -> tuple[list[Occurrence], str]:
    """Return the changes since a cursor, and the next one: the last moment that was seen.

    `moment`, `id_` and `actor` are paths in a row. A change at the moment of the cursor is returned again, since others
    may have happened in the same second; its delivery is the same.
    """
    since, found = int(cursor or now), []
    for row in rows:
        changed = epoch_seconds(value_at(row, moment))
        if changed is not None and changed >= since:
            who = value_at(row, actor) if actor else None
            delivery = f"{value_at(row, id_)} {value_at(row, moment)}"
            found.append(Occurrence(delivery=delivery, occurred_at=changed, data=row, actor=who and str(who)))
    return found, str(max([since, *(one.occurred_at or 0 for one in found)]))


def epoch_seconds(text: Any) -> int | None:
    """Return a moment of ISO 8601 in epoch seconds, in UTC where it names no zone; None for anything else."""
    try:
        moment = datetime.fromisoformat(text)
    except (TypeError, ValueError):
        return None
    return int((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp())


def utc_text(seconds: int) -> str:
    """Return a moment as vendors take it, e.g. 2026-01-31T09:00:00Z."""
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%SZ}"
