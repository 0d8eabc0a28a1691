"""Notion's events, polled: its webhooks need an administrator of the integration.

Reference: https://developers.notion.com/reference/post-search
"""

from typing import Any

from mcpist.events.event_type import Argument, Arguments, Occurrence, Polled, event_type
from mcpist.events.polled_rows import changed_rows
from mcpist.tools.declare.call import Call

MAX_CHANGED_PAGES = 100
MINUTE_SECONDS = 60


def _call(arguments: Arguments, cursor: str, now: int) -> Call:  # noqa: ARG001 - as all
    order = {"timestamp": "last_edited_time", "direction": "descending"}
    only = {"property": "object", "value": "page"}
    return Call("POST", "/v1/search", json={"sort": order, "filter": only, "page_size": MAX_CHANGED_PAGES})


def _read(answer: Any, cursor: str, now: int) -> tuple[list[Occurrence], str]:
    # Notion tells the minute of an edit: one in the minute of the cursor may be newer than it.
    minute = int(cursor or now) // MINUTE_SECONDS * MINUTE_SECONDS
    return changed_rows(answer["results"], str(minute), now, moment="last_edited_time", actor="last_edited_by.id")


TYPES = (
    event_type(
        "notion",
        "pages",
        "A page was created or edited; edits within a minute are one event.",
        tool="search",
        arguments={"database": Argument("parent.database_id", "Only pages of this database, by its id")},
        payload=(
            "id url created_time last_edited_time archived:boolean created_by.id last_edited_by.id parent.type "
            "parent.database_id parent.page_id properties:object"
        ),
        source=Polled(_call, _read),
    ),
)
