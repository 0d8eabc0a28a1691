"""Reminders of your own."""

from typing import Annotated, Any

from pydantic import Field

from mcpist.render.shows import shows
from mcpist.tools.declare.argument_types import UtcMoment
from mcpist.tools.declare.call import Call, Calls
from mcpist.tools.declare.undo import row_where, undone_by
from mcpist_services.slack.module import seconds_of, slack, time_of

REMINDERS = shows("id", "text", "due", "recurring", "completed")

When = Annotated[UtcMoment, "Within five years, e.g. 2026-01-31T09:00:00+09:00"]
ReminderId = Annotated[str, Field(pattern=r"^Rm[A-Z0-9]+$"), "The id that list_reminders shows, e.g. Rm12345678"]


@slack.reads(REMINDERS, "reminders.list", scopes=("reminders:read",))
def list_reminders() -> Calls:
    """List your reminders."""
    answer = yield Call("GET", "/reminders.list")
    return [_reminder(one) for one in answer.json.get("reminders", [])]


@slack.writes(
    shows("reminder.id as id"),
    "reminders.add",
    scopes=("reminders:write",),
    undo=undone_by(
        "complete_reminder(reminder_id=answer.reminder.id)",
        read="list_reminders",
        select=row_where("id", "answer.reminder.id"),
        creates=True,
        fields={"text": lambda one: one.get("reminder", one)["text"]},
    ),
)
def create_reminder(text: Annotated[str, Field(min_length=1), "e.g. Send the invoice"], time: When) -> Call:
    """Have Slack remind you."""
    return Call("POST", "/reminders.add", json={"text": text, "time": seconds_of(time)})


@slack.writes(
    shows("ok"),
    "reminders.complete",
    idempotent=True,
    scopes=("reminders:write",),
    irreversible="Slack opens no reminder again",
)
def complete_reminder(reminder_id: ReminderId) -> Call:
    """Mark a reminder as done."""
    return Call("POST", "/reminders.complete", json={"reminder": reminder_id})


def _reminder(one: Any) -> dict[str, Any]:
    return {
        "id": one["id"],
        "text": one["text"],
        "due": time_of(one.get("time")),
        "recurring": one.get("recurring"),
        "completed": time_of(one.get("complete_ts")),
    }
