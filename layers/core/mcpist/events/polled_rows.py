"""Rows of a poll: what changed since the cursor, by the moment of its last change."""

from collections.abc import Iterable, Mapping
from typing import Any

from mcpist.events.event_type import Occurrence
from mcpist.moments import epoch_seconds
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
