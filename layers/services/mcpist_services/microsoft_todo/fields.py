"""The fields of a task, from arguments to Graph's form and back."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Literal, Required, TypedDict

from pydantic import Field, with_config

from mcpist.errors import InvalidRequest

Weekday = Literal["sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"]


@with_config(extra="forbid")
class Repetition(TypedDict, total=False):
    """How a task repeats, by the names of Graph's recurrencePattern and recurrenceRange.

    An end by a date is refused for tasks: https://github.com/microsoftgraph/msgraph-sdk-dotnet/issues/2677
    """

    type: Required[Literal["daily", "weekly", "absoluteMonthly", "relativeMonthly", "absoluteYearly", "relativeYearly"]]
    interval: Required[Annotated[int, Field(ge=1)]]
    daysOfWeek: list[Weekday]
    firstDayOfWeek: Weekday
    dayOfMonth: Annotated[int, Field(ge=1, le=31)]
    month: Annotated[int, Field(ge=1, le=12)]
    index: Literal["first", "second", "third", "fourth", "last"]
    numberOfOccurrences: Annotated[int, Field(ge=1)]


def _day(time: Mapping[str, str] | None) -> str | None:
    """Return the day of a due date in UTC: it is midnight where it was set, up to twelve hours away."""
    if not time:
        return None
    return f"{datetime.fromisoformat(time['dateTime'][:19]) + timedelta(hours=11, minutes=59):%Y-%m-%d}"


def _moment(time: Mapping[str, str] | None) -> str | None:
    return f"{time['dateTime'][:19]}Z" if time else None


def _repetition(recurrence: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Return how a task repeats as its arguments say it: without what Graph fills in."""
    if not recurrence:
        return None
    kept = {
        name: value for name, value in recurrence["pattern"].items() if value and name in Repetition.__annotations__
    }
    times = recurrence.get("range", {}).get("numberOfOccurrences")
    return kept | ({"numberOfOccurrences": times} if times else {})


FIELDS: dict[str, Any] = {
    "title": lambda task: task["title"],
    "body": lambda task: (task.get("body") or {}).get("content") or "",
    "status": lambda task: task["status"],
    "importance": lambda task: task["importance"],
    "due": lambda task: _day(task.get("dueDateTime")),
    "reminder": lambda task: _moment(task.get("reminderDateTime")),
    "recurrence": lambda task: _repetition(task.get("recurrence")),
    "categories": lambda task: task.get("categories") or [],
}


def times(
    due: str | None, reminder: str | None, recurrence: Repetition | Literal["none"] | None, timezone: str | None
) -> dict[str, Any]:
    """Return the due date, the reminder and the recurrence of a task; null clears one of them."""
    if isinstance(recurrence, dict) and due in {None, "none"}:
        raise InvalidRequest(field="due", problem="a task that repeats needs a day when it is first due")
    fields: dict[str, Any] = {}
    if due is not None:
        day = {"dateTime": f"{due}T00:00:00", "timeZone": timezone or "UTC"}
        fields["dueDateTime"] = None if due == "none" else day
    if reminder == "none":
        fields["reminderDateTime"] = None
    elif reminder is not None:
        fields |= {"reminderDateTime": _reminder_time(reminder, timezone), "isReminderOn": True}
    if recurrence is not None:
        fields["recurrence"] = None if recurrence == "none" else _recurrence(recurrence)
    return fields


def _recurrence(repetition: Repetition) -> dict[str, Any]:
    """Return a recurrence whose range has no dates: Graph refuses them for a task, and begins on its due date."""
    pattern: dict[str, Any] = {**repetition}
    times = pattern.pop("numberOfOccurrences", None)
    end = {"type": "numbered", "numberOfOccurrences": times} if times else {"type": "noEnd"}
    return {"pattern": pattern, "range": end}


def _reminder_time(text: str, timezone: str | None) -> dict[str, str]:
    """Return a reminder as Graph takes it: a moment in UTC, and a time without an offset only with its zone."""
    if "T" not in text:
        raise InvalidRequest(field="reminder", problem="it needs a time of day, e.g. 2026-01-31T09:00 Asia/Tokyo")
    time = datetime.fromisoformat(text)
    if time.tzinfo:
        return {"dateTime": f"{time.astimezone(UTC):%Y-%m-%dT%H:%M:%S}", "timeZone": "UTC"}
    if timezone is None:
        raise InvalidRequest(field="timezone", problem="without it a reminder that has no offset rings hours too late")
    return {"dateTime": text, "timeZone": timezone}


def document(task: Mapping[str, Any]) -> str:
    """Return a task's text, then its steps as a task list."""
    steps: Sequence[Mapping[str, Any]] = task.get("checklistItems", [])
    step_list = "\n".join(f"- [{'x' if step['isChecked'] else ' '}] {step['displayName']}" for step in steps)
    text = ((task.get("body") or {}).get("content") or "").strip()
    return "\n\n".join(part for part in (text, step_list) if part)
