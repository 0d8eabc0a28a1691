"""Setting up, showing, trying, pausing and ending of automations, as the module's tools ask for it."""

import secrets
import time
from collections.abc import Mapping
from dataclasses import asdict, replace
from datetime import UTC, datetime
from typing import Any

from pydantic_core import PydanticCustomError

from mcpist.automations import occasions, records
from mcpist.automations.records import Automation, AutomationState, Run
from mcpist.automations.schedule import parse_schedule
from mcpist.automations.starting import agreed_steps
from mcpist.batch.execution.start import services_of
from mcpist.batch.execution.submission import prepare
from mcpist.batch.language.references import Reference, find_references, unresolved_error
from mcpist.batch.language.steps import is_reference, parse_condition
from mcpist.batch.options import DEFAULT_OPTIONS
from mcpist.batch.saved.expansion import SavedTool, call_line
from mcpist.batch.saved.records import MODULE as SAVED
from mcpist.caller import Caller
from mcpist.errors import AlreadyExists, AutomationNotFound, InvalidRequest, McpistError
from mcpist.events import store
from mcpist.events.event import Event
from mcpist.events.interests import Interest
from mcpist.moments import utc_text
from mcpist.running import broker
from mcpist.suggestions import nearest
from mcpist.telemetry import invocation
from mcpist.tools.access.permissions import Permissions
from mcpist.tools.declare.call import OtherTools
from mcpist_services.events import find_type, listen, stop

MAX_AUTOMATIONS = 50
"""Of one person."""
MAX_SHOWN_RUNS = 20
MAX_PAST_EVENTS = 50
"""Among which the last one is looked for that an automation would hear of."""
_SCHEDULED = {"type": "object", "properties": {"scheduled_at": {"type": "string"}}}
_FITS = {("string", "integer"), ("string", "number"), ("number", "integer")}
"""Types of a parameter, and others of an event's field that it takes."""


def set_up(tools: OtherTools, deadline: float, wanted: dict[str, Any], *, replaces: bool) -> dict[str, Any]:  # noqa: ARG001
    """Check an automation, let the broker seal its standing permission, and store it; `wanted` are its fields."""
    permissions: Permissions = tools.permissions
    caller, name, event = permissions.caller, wanted["name"], wanted["event"]
    old = _replaced(caller, name, replaces=replaces)
    agreed = agreed_steps(permissions, wanted["batch"])
    payload = _payload_of(permissions, wanted)
    when = [_condition(value) for value in wanted["when"]]
    _check_references(wanted["parameters"], when, payload)
    _check_parameters(agreed.tool, wanted["parameters"], payload)
    permit = broker.permit(caller, services_of(agreed.plan, permissions), f"automation {name}")
    new = Automation(
        **wanted | {"when": when},
        organization=caller.organization,
        user=caller.user,
        subject=caller.subject,
        roles=caller.role_names,
        accounts=_accounts_of(permissions, event),
        permit=permit.id,
        sealed=permit.value,
        permitted_until=permit.expires_at,
        fingerprint=agreed.fingerprint,
        set_at=int(time.time()),
        revision=old.revision + 1 if old else 0,
    )
    _store(permissions, new, old)
    if new.schedule:
        occasions.note_schedule(new)
    return whole(new)


def _store(permissions: Permissions, new: Automation, old: Automation | None) -> None:
    """Let events come in for an automation, and store it in the place of the old one."""
    try:
        if new.event:
            listen(permissions, _interest_of(new))
        records.store(new, old)
    except McpistError:
        _forget(permissions.caller, new)
        raise
    if old:
        _forget(permissions.caller, old)


def _forget(caller: Caller, found: Automation) -> None:
    """End the permission of an automation, and its interest in events."""
    broker.request(caller, "end_permit", permit=found.permit, user=found.user)
    if found.event:
        stop(_interest_of(found), caller.modules)


def _interest_of(found: Automation) -> Interest:
    return Interest(
        id=f"{found.name}.{found.permit}",
        organization=found.organization,
        user=found.user,
        type=found.event,
        arguments=found.arguments,
        kind="automation",
        target={"automation": found.name},
    )


def list_automations(tools: OtherTools, deadline: float) -> list[dict[str, Any]]:  # noqa: ARG001 - a lookup's
    """Return the automations that a caller may see."""
    return [summary(one) for one in records.visible(tools.permissions.caller)]


def show(tools: OtherTools, deadline: float, name: str) -> dict[str, Any]:  # noqa: ARG001
    """Return an automation with its last runs."""
    caller: Caller = tools.permissions.caller
    return shown_to(caller, records.find_visible(caller, name))


def preview(tools: OtherTools, deadline: float, name: str, event: str) -> dict[str, Any]:  # noqa: ARG001
    """Return the steps of the run that an automation would have for a past event."""
    permissions: Permissions = tools.permissions
    found = records.find_own(permissions.caller, name)
    happened = _past_event(permissions, found, event)
    about = {"name": name, "event": happened.id, "happened_at": utc_text(happened.occurred_at)}
    if not occasions.conditions_hold(found, happened):
        return about | {"runs": False, "reason": "its conditions do not hold", "parameters": {}, "steps": []}
    values = occasions.parameters_for(found, happened)
    line = call_line(permissions, SAVED, found.batch, values)
    planned = prepare(permissions, [line], DEFAULT_OPTIONS, invocation.request_id())
    own = occasions.is_own(found, happened)
    reason = "its own person caused this event" if own else ""
    steps = [{"id": step.id, "tool": f"{step.module}.{step.tool}", "params": step.params} for step, _ in planned.runs]
    return about | {"runs": not own, "reason": reason, "parameters": values, "steps": steps}


def replay(tools: OtherTools, deadline: float, name: str, run: str) -> dict[str, str]:  # noqa: ARG001
    """Note a run with the values of another one, which begins at the next tick."""
    found = records.find_own(tools.permissions.caller, name)
    old = records.find_run(found, run)
    if old is None or not old.is_over:
        known = [one.id for one in records.list_runs(found, MAX_SHOWN_RUNS) if one.is_over]
        raise InvalidRequest(field="run", problem=f"there is no such run that is over: {nearest(run, known)}")
    if not old.batch:
        raise InvalidRequest(field="run", problem="it never had its values")
    now, event = int(time.time()), f"replay.{secrets.token_hex(8)}"
    new = replace(
        Run(id=records.run_id(now, event), event=old.event, at=now, noted_at=now, params=old.params, depth=old.depth),
        batch=records.batch_id(found.organization, name, event),
        replays=run,
    )
    records.add_run(found, new)
    records.put_due(found, new.id, now)
    return {"run": new.id, "state": new.state}


def pause(tools: OtherTools, deadline: float, name: str) -> dict[str, Any]:  # noqa: ARG001
    """Pause an automation of the caller's, or for an administrator anybody's."""
    return _moved(records.find_visible(tools.permissions.caller, name), "active", "paused")


def resume(tools: OtherTools, deadline: float, name: str) -> dict[str, Any]:  # noqa: ARG001
    """Let a paused automation of the caller's go on."""
    return _moved(records.find_own(tools.permissions.caller, name), "paused", "active")


def delete(tools: OtherTools, deadline: float, name: str) -> dict[str, str]:  # noqa: ARG001
    """End an automation and its permission."""
    caller: Caller = tools.permissions.caller
    end(caller, records.find_visible(caller, name))
    return {"name": name, "state": "deleted"}


def end(caller: Caller, found: Automation) -> None:
    """End an automation and its permission: no run of it begins after this."""
    records.delete(found)
    _forget(caller, found)


def _replaced(caller: Caller, name: str, *, replaces: bool) -> Automation | None:
    """Return the automation that another one replaces; AlreadyExists for a name that is taken."""
    old = records.find(caller.organization, name)
    if old and (old.user != caller.user or not replaces):
        raise AlreadyExists(kind="automation", name=name)
    if replaces and old is None:
        raise AutomationNotFound(automation=name, known="-")
    own = sum(one.user == caller.user for one in records.visible(caller))
    if old is None and own >= MAX_AUTOMATIONS:
        raise InvalidRequest(field="name", problem=f"a person has at most {MAX_AUTOMATIONS} automations")
    return old


def _payload_of(permissions: Permissions, wanted: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the schema of the event's fields; InvalidRequest unless there is one event, or one schedule."""
    if bool(wanted["event"]) == bool(wanted["schedule"]):
        raise InvalidRequest(field="event", problem="give the type of an event, or a schedule")
    if wanted["event"]:
        return find_type(permissions, wanted["event"]).payload
    parse_schedule(wanted["schedule"], wanted["time_zone"]).next_after(int(time.time()))  # it comes at all
    return _SCHEDULED


def _condition(value: Any) -> Any:
    try:
        return parse_condition(value)
    except PydanticCustomError as error:
        raise InvalidRequest(field="when", problem=error.message()) from None


def _check_references(parameters: Mapping[str, Any], when: list[Any], payload: Mapping[str, Any]) -> None:
    """Refuse a reference to something else than a field that the event has."""
    for reference in (*find_references(parameters, "parameters"), *find_references(when, "when")):
        if reference.step != occasions.EVENT:
            known = f"Write ${{{occasions.EVENT}.field}}: {', '.join(payload['properties'])}."
            raise unresolved_error(reference, "here are no steps", known)
        _schema_at(reference, payload)


def _schema_at(reference: Reference, payload: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the schema of the field that a reference names; UnresolvedReference if there is none."""
    schema = payload
    for key in reference.keys:
        inner = schema.get("items", {}) if isinstance(key, int) or key == "*" else _property(reference, schema, key)
        schema = inner if isinstance(inner, dict) else {}
    return schema


def _property(reference: Reference, schema: Mapping[str, Any], key: str) -> Any:
    properties = schema.get("properties")
    if properties is None:
        return {}
    if key not in properties:
        raise unresolved_error(reference, f"the event has no {key}", f"There: {nearest(key, list(properties))}.")
    return properties[key]


def _check_parameters(tool: SavedTool, parameters: Mapping[str, Any], payload: Mapping[str, Any]) -> None:
    """Refuse values that the saved batch's parameters do not take, as far as they are known now."""
    unresolved = {name for name, value in parameters.items() if find_references(value)}
    tool.check(parameters, unresolved)
    for name in unresolved:
        value, wanted = parameters[name], tool.saved.parameters[name].get("type")
        if not is_reference(value):
            continue
        (reference,) = find_references(value, f"parameters.{name}")
        found = _schema_at(reference, payload).get("type")
        if isinstance(found, str) and isinstance(wanted, str) and found != wanted and (wanted, found) not in _FITS:
            problem = f"{value} is of type {found}, and the parameter of type {wanted}"
            raise InvalidRequest(field=f"parameters.{name}", problem=problem)


def _accounts_of(permissions: Permissions, event: str) -> tuple[str, ...]:
    """Return the ids by which the person's own accounts appear in events of a type."""
    caller, module = permissions.caller, event.partition(".")[0]
    if not event:
        return ()
    services = sorted(permissions.catalogue.module(module).services) if module in permissions.catalogue.names else []
    return caller.user, *(str(row["account_id"]) for row in broker.accounts(caller, services) if row["account_id"])


def _past_event(permissions: Permissions, found: Automation, event: str) -> Event:
    """Return the past event of an id, else the last one; a schedule's is made for its next moment."""
    if found.schedule:
        return occasions.scheduled_event(found, occasions.next_moment(found))
    if event:
        past = list(filter(None, [store.get(found.organization, event)]))
    else:
        about = found.organization, found.user, found.event
        past = [*store.read(*about, now=time.time(), limit=MAX_PAST_EVENTS, newest=True).events]
    event_type = find_type(permissions, found.event)
    matching = (one.event for one in past if event_type.matches(found.arguments, one.event))
    if (last := next((one for one in matching if one.user == found.user), None)) is None:
        raise InvalidRequest(field="event", problem="no such event has happened in the last days")
    return last


def _moved(found: Automation, before: AutomationState, after: AutomationState) -> dict[str, Any]:
    """Move an automation from a state to another; in any other state it stays as it is."""

    def decide(now: Automation) -> Automation | None:
        return replace(now, state=after, problem="") if now.state == before else None

    moved = records.change(found.organization, found.name, decide)
    if moved and moved.state == "active" and moved.schedule:
        occasions.note_schedule(moved)
    return summary(moved or found)


def shown_to(caller: Caller, found: Automation) -> dict[str, Any]:
    """Return an automation with its last runs; its values are for its person alone."""
    return whole(found) if found.user == caller.user else summary(found) | {"runs": _runs_of(found)}


def summary(found: Automation) -> dict[str, Any]:
    """Return the fields of an automation that a list has."""
    names = ("name", "batch", "event", "schedule", "state", "problem", "user")
    today = datetime.now(UTC).date().isoformat()
    return {name: getattr(found, name) for name in names} | {
        "next": utc_text(occasions.next_moment(found)) if found.schedule and found.state == "active" else "",
        "today": found.day_runs if found.day == today else 0,
        "running": len(found.running),
    }


def whole(found: Automation) -> dict[str, Any]:
    """Return an automation with its values and its last runs."""
    names = ("parameters", "arguments", "time_zone", "when", "own_events", "at_once", "runs_a_day", "retries")
    return {
        **summary(found),
        **{name: getattr(found, name) for name in names},
        "roles": [*found.roles],
        "set_at": utc_text(found.set_at),
        "permitted_until": utc_text(found.permitted_until),
        "runs": _runs_of(found),
    }


def _runs_of(found: Automation) -> list[dict[str, Any]]:
    """Return the last runs, without their values."""
    names = ("id", "event", "state", "problem", "batch", "attempt", "replays")
    rows = [asdict(run) for run in records.list_runs(found, MAX_SHOWN_RUNS)]
    return [{name: row[name] for name in names} | {"at": utc_text(row["at"])} for row in rows]
