"""Automations: saved batches that run on an event or a schedule, as the person who set them up."""

from typing import Annotated, Any

from pydantic import Field

from mcpist.render.shows import shows
from mcpist.tools.declare.call import ToolLookup
from mcpist.tools.declare.module import Module
from mcpist.tools.search.catalogue import DefinedModules
from mcpist.tools.search.index import Index
from mcpist_services.automations import setting

AUTOMATIONS = "automations"

automations = Module(
    AUTOMATIONS, __doc__, api_version="1", kind="saved", category="automation", tags=("event", "schedule", "batch")
)

Name = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,56}$"), "Small letters, digits and _, e.g. monday_report"]
Batch = Annotated[str, Field(min_length=1, max_length=57), "The saved batch that it runs, e.g. weekly_report"]
Parameters = Annotated[
    dict[str, Any],
    Field(max_length=30),
    'The values of its parameters; ${event.x} is a field of the event, e.g. {"issue": "${event.issue.number}"}',
]
EventName = Annotated[str, Field(max_length=128), "The type of the events that it runs on, e.g. github.issues"]
Arguments = Annotated[dict[str, Any], Field(max_length=20), "What narrows the events, as their type says, e.g. {}"]
Cron = Annotated[
    str, Field(max_length=200), "Instead of event: minute hour day month weekday as in crontab, e.g. 0 9 * * 1-5"
]
TimeZone = Annotated[str, Field(max_length=64), "The time zone of the schedule, e.g. Asia/Tokyo"]
Conditions = Annotated[
    list[Any],
    Field(max_length=20),
    'Conditions on the event, as the when of a step; all must hold, e.g. [{"equals": ["${event.action}", "opened"]}]',
]
AtOnce = Annotated[int, Field(ge=1, le=20), "Runs at once; others wait"]
RunsADay = Annotated[int, Field(ge=1, le=1_000), "Further runs of a day are left out"]
Retries = Annotated[int, Field(ge=0, le=5), "How often a failed run goes on with what did not succeed"]
RunId = Annotated[str, Field(pattern=r"^[0-9]{10}\.[0-9a-f]{16}$"), "Its id, e.g. 1795510800.0123456789abcdef"]
EventId = Annotated[str, Field(max_length=128), "The id of a past event; the last one if left out, e.g. 0f3a"]

AUTOMATION = shows("name", "batch", "event", "schedule", "state", "problem", "next", "today", "running", "user")
WHOLE = shows(
    *(*AUTOMATION.fields, "parameters", "arguments", "time_zone", "when", "own_events", "at_once", "runs_a_day"),
    *("retries", "roles", "set_at", "permitted_until", "runs"),
)


@automations.asks(WHOLE)
def set(  # noqa: A001 - its name and its arguments
    name: Name,
    batch: Batch,
    parameters: Parameters = {},  # noqa: B006 - never changed
    event: EventName = "",
    arguments: Arguments = {},  # noqa: B006 - never changed
    schedule: Cron = "",
    time_zone: TimeZone = "UTC",
    when: Conditions = [],  # noqa: B006 - never changed
    own_events: Annotated[bool, "Also on events that your own accounts cause"] = False,
    at_once: AtOnce = 1,
    runs_a_day: RunsADay = 100,
    retries: Retries = 0,
    replaces: Annotated[bool, "Replace the automation of this name, and agree to its batch as it is now"] = False,
) -> ToolLookup:
    """Run a saved batch on an event or a schedule, with a standing permission of yours until you end it."""
    limits = {"at_once": at_once, "runs_a_day": runs_a_day, "retries": retries}
    starts = {"event": event, "arguments": arguments, "schedule": schedule, "time_zone": time_zone}
    about = {"name": name, "batch": batch, "parameters": parameters, "when": when, "own_events": own_events}
    return ToolLookup(setting.set_up, replaces=replaces, wanted={**about, **starts, **limits})


@automations.reads(AUTOMATION)
def list() -> ToolLookup:  # noqa: A001 - its name
    """List your automations; for an administrator those of everybody."""
    return ToolLookup(setting.list_automations)


@automations.reads(WHOLE)
def show(name: Name) -> ToolLookup:
    """Show an automation with its last runs, and why one failed."""
    return ToolLookup(setting.show, name=name)


@automations.reads(shows("name", "event", "happened_at", "runs", "reason", "parameters", "steps"))
def preview(name: Name, event: EventId = "") -> ToolLookup:
    """Say what an automation would do with a past event, without running anything."""
    return ToolLookup(setting.preview, name=name, event=event)


@automations.writes(shows("run", "state"))
def replay(name: Name, run: RunId) -> ToolLookup:
    """Run an automation again with the values of a run that is over; it begins within a minute."""
    return ToolLookup(setting.replay, name=name, run=run)


@automations.writes(AUTOMATION, idempotent=True)
def pause(name: Name) -> ToolLookup:
    """Pause an automation: what happens meanwhile is left out."""
    return ToolLookup(setting.pause, name=name)


@automations.writes(AUTOMATION, idempotent=True)
def resume(name: Name) -> ToolLookup:
    """Let a paused automation of yours go on."""
    return ToolLookup(setting.resume, name=name)


@automations.destroys(shows("name", "state"))
def delete(name: Name) -> ToolLookup:
    """Delete an automation, and end its standing permission."""
    return ToolLookup(setting.delete, name=name)


source = DefinedModules((AUTOMATIONS,), lambda _: automations, lambda: Index.of([automations]))
