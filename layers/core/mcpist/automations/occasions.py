"""The events on which automations run: their fields, their causes, and the moments of schedules."""

import time
from collections.abc import Callable, Mapping
from typing import Any

from mcpist.automations import records
from mcpist.automations.records import Automation
from mcpist.automations.schedule import parse_schedule
from mcpist.batch.language.references import EachElement, resolve
from mcpist.batch.language.steps import holds
from mcpist.events.event import Event
from mcpist.moments import utc_text

SCHEDULE = "schedule"
"""The type of the event that a schedule makes."""
EVENT = "event"
"""The word with which references to its fields begin."""


def parameters_for(automation: Automation, event: Event) -> dict[str, Any]:
    """Return the values of the saved batch's parameters; UnresolvedReference where the event lacks a field."""
    values: dict[str, Any] = resolve(automation.parameters, event_source(event.data), "parameters")
    return values


def event_source(data: Mapping[str, Any]) -> Callable[[str], EachElement]:
    """Return the function that finds what a reference begins with: the event alone."""

    def find(_: str) -> EachElement:
        return EachElement(data)

    return find


def conditions_hold(automation: Automation, event: Event) -> bool:
    """Whether all conditions of an automation hold for an event."""
    find = event_source(event.data)
    return all(holds(condition, find) for condition in automation.when)


def is_own(automation: Automation, event: Event) -> bool:
    """Whether the automation's own person caused an event, while it does not ask for these."""
    return not automation.own_events and event.actor is not None and event.actor in automation.accounts


def scheduled_event(automation: Automation, at: int) -> Event:
    """Return the event that a moment of a schedule is."""
    return Event(
        id=f"{SCHEDULE}.{at}",
        organization=automation.organization,
        user=automation.user,
        type=SCHEDULE,
        occurred_at=at,
        data={"scheduled_at": utc_text(at)},
    )


def is_moment(automation: Automation, at: int) -> bool:
    """Whether a moment is one of the schedule, which may be another one since it was noted."""
    return parse_schedule(automation.schedule, automation.time_zone).next_after(at - 1) == at


def next_moment(automation: Automation) -> int:
    """Return the next moment of an automation's schedule."""
    return parse_schedule(automation.schedule, automation.time_zone).next_after(int(time.time()))


def note_schedule(automation: Automation) -> None:
    """Note the next moment of an automation's schedule."""
    records.put_due(automation, "", next_moment(automation))
