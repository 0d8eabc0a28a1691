"""`mcpist events`: the types of events that a person may subscribe to, and what has happened lately."""

from datetime import datetime
from typing import Annotated, Any

from typer import Option

from infra.cli.document import CommandResult, in_words
from infra.cli.rest_client import Access
from infra.cli.table import render_table
from mcpist.render.answer import compact_json

MAX_DATA_CHARACTERS = 200  # of an event on a terminal; the document has all


def list_events(
    access: Access,
    type_: Annotated[str, Option("--type", metavar="TYPE", help="List the last events of this type.")] = "",
    after: Annotated[str, Option(metavar="CURSOR", help="Only what came later; each answer names its cursor.")] = "",
    limit: Annotated[int, Option(metavar="EVENTS", help="How many events.")] = 20,
) -> CommandResult:
    """List the event types that you may subscribe to, or the last events of one that your sources brought in."""
    session = access.session(own=True)
    if not type_:
        found = session.get("/v1/events/types")
        rows = [(one["name"], in_words(one["delivery"]), one["description"]) for one in found["types"]]
        return CommandResult(metadata=found, drawing=render_table(("type", "from", "event"), rows))
    found = session.get("/v1/events", type=type_, after=after, limit=limit)
    rows = [_row(event) for event in found["events"]]
    drawing = render_table(("when (UTC)", "event", "data"), rows) if rows else in_words("no events")
    more = f"\nlater: --after {found['cursor']}" if found["cursor"] else ""
    return CommandResult(metadata=found, drawing=drawing + more)


def _row(event: dict[str, Any]) -> tuple[str, str, str]:
    data = compact_json(event["data"])
    shown = data if len(data) <= MAX_DATA_CHARACTERS else f"{data[: MAX_DATA_CHARACTERS - 1]}…"
    return f"{datetime.fromisoformat(event['occurredAt']):%Y-%m-%d %H:%M:%S}", event["id"], shown
