"""Event types of all services, as a caller may use them, and the subscriptions of callers.

A service's folder declares its types in `events.py`, which is imported only when somebody asks for them.
"""

from dataclasses import replace
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from mcpist.caller import Caller
from mcpist.errors import EventTypeNotFound, InvalidRequest, McpistError, SourceNotFound
from mcpist.events import interests, publish, sources
from mcpist.events.event_type import EventType
from mcpist.events.interests import Interest
from mcpist.events.sources import EventSource
from mcpist.memory import cached, wall_clock
from mcpist.people import directory
from mcpist.registry import definitions
from mcpist.running import broker
from mcpist.running.gate import CONFIRMED, AdmittedUse, ToolUse, weigh
from mcpist.suggestions import nearest
from mcpist.telemetry import invocation
from mcpist.tools.access.permissions import Permissions
from mcpist_services import NAMES
from mcpist_services.deployed import deployed_names
from mcpist_services.described.compiled import imported_apis
from mcpist_services.described.registered import registered_types

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from mcpist.caller import RegisteredModule


@cached
def deployed_types() -> dict[str, list[EventType]]:
    """Return the event types of written services and imported APIs by their modules; this imports them."""
    places = (f"mcpist_services.{name}.events" for name in NAMES)
    modules = (import_module(place) for place in places if find_spec(place))
    written = [one for module in modules for one in module.TYPES]
    apis = imported_apis()
    found: dict[str, list[EventType]] = {}
    for one in (*written, *(apis.event_types() if apis else ())):
        found.setdefault(one.module, []).append(one)
    return found


def types_of_module(
    organization: str, module: str, registered: "Iterable[RegisteredModule] | None" = None
) -> "Sequence[EventType]":
    """Return the event types of a module as an organization has it.

    `registered` are the organization's modules; without them the directory is read. The deployment's module counts
    where both have one of this name.
    """
    deployed = deployed_types().get(module, ())
    if deployed or module in deployed_names():
        return deployed
    if registered is None:
        registered = directory.read(organization).modules.values()
    return next((registered_types(organization, one) for one in registered if one.name == module), ())


def type_in(organization: str, name: str, registered: "Iterable[RegisteredModule] | None" = None) -> EventType | None:
    """Return the event type of a full name as an organization has it; None if there is none."""
    types = types_of_module(organization, name.partition(".")[0], registered)
    return next((one for one in types if one.full_name == name), None)


def type_of(caller: Caller, name: str) -> EventType | None:
    """Return the event type of a full name as the organization of a caller has it, whether or not it may use it."""
    return type_in(caller.organization, name, caller.modules)


def types_of(source: EventSource, registered: "Iterable[RegisteredModule] | None" = None) -> list[EventType]:
    """Return the types that a source brings in."""
    types = types_of_module(source.organization, source.module, registered)
    return [one for one in types if one.channel == source.channel]


def visible_types(permissions: Permissions) -> list[EventType]:
    """Return the types that a caller may subscribe to."""
    caller = permissions.caller

    def types(module: "RegisteredModule") -> "Sequence[EventType]":
        return types_of_module(caller.organization, module.name, [module])

    registered, _ = definitions.of_caller(caller, "api", types)
    by_module = {**deployed_types(), **registered}
    return [one for types in by_module.values() for one in types if is_permitted(permissions, one)]


def is_permitted(permissions: Permissions, event_type: EventType) -> bool:
    """Whether a caller may hear of events of a type."""
    try:
        require(permissions, event_type)
    except McpistError:
        return False
    return True


def require(permissions: Permissions, event_type: EventType) -> None:
    """Raise why a caller may not hear of events of a type: the refusal of its tool."""
    if event_type.tool:
        permissions.tool(event_type.module, event_type.tool)


def find_type(permissions: Permissions, name: str) -> EventType:
    """Return a type that a caller may subscribe to; what a caller may not use reads as unknown."""
    found = type_of(permissions.caller, name)
    if found is None or not is_permitted(permissions, found):
        raise unknown_type(permissions, name)
    return found


def unknown_type(permissions: Permissions, name: str) -> EventTypeNotFound:
    """Return the refusal of a name that is no type's, with the types that it resembles."""
    return EventTypeNotFound(name=name, known=nearest(name, (one.full_name for one in visible_types(permissions))))


def listen(permissions: Permissions, interest: Interest) -> EventType:
    """Store an interest of a caller, and see to it that events come in; an error says why it may not be."""
    event_type = _checked(permissions, interest.type, interest.arguments)
    interests.add(interest)
    try:
        ensure_source(permissions, event_type, interest.arguments)
    except McpistError:
        interests.remove(interest)
        raise
    return event_type


def stop(interest: Interest, registered: "Iterable[RegisteredModule] | None" = None) -> bool:
    """Delete an interest, and end its source unless another interest of its person uses it; whether it existed."""
    existed = interests.remove(interest)
    event_type = type_in(interest.organization, interest.type, registered)
    if event_type and event_type.source:
        token = sources.token_of(interest.user, event_type, event_type.location(interest.arguments))
        source = sources.find(f"{interest.organization}.{token}")
        if source and sources.end_unneeded(source, types_of(source, registered), wall_clock()):
            publish.send({"organization": source.organization, "source": source.id})
    return existed


def begin_source(
    permissions: Permissions, name: str, arguments: dict[str, Any], secret: str = ""
) -> EventSource | None:
    """Have events of a type come in whether or not anybody has an interest; None for our own, which always do.

    `secret` is the vendor's, where a person enters the address of the source at the vendor's page.
    """
    event_type = _checked(permissions, name, arguments)
    if event_type.is_entered_by_hand and not secret:
        raise InvalidRequest(field="secret", problem="this needs the signing secret that the vendor's page shows")
    return ensure_source(permissions, event_type, arguments, secret=secret, pinned=True)


def end_source(caller: Caller, id_: str) -> EventSource:
    """End a source of a caller, and return it; SourceNotFound for any other id."""
    source = sources.find(id_)
    if source is None or (source.organization, source.user) != (caller.organization, caller.user):
        raise SourceNotFound(id=id_)
    sources.end(source, wall_clock())
    publish.send({"organization": caller.organization, "source": id_})
    return replace(source, state="ending")


def ensure_source(
    permissions: Permissions,
    event_type: EventType,
    arguments: dict[str, Any],
    *,
    secret: str = "",
    pinned: bool = False,
) -> EventSource | None:
    """Return the caller's source of a type at a place, a new one if there is none; None for our own events."""
    if event_type.source is None:
        return None
    caller, location = permissions.caller, event_type.location(arguments)
    token = sources.token_of(caller.user, event_type, location)
    id_ = f"{caller.organization}.{token}"
    known = sources.find(id_)
    if known and known.state != "ending" and not secret:
        if pinned and not known.pinned:
            sources.change(known, pinned=True)
        return known
    if event_type.is_entered_by_hand and not secret:
        problem = "create its source first: the vendor's page needs its address, and it the vendor's signing secret"
        raise InvalidRequest(field="type", problem=problem)
    permit = broker.permit(caller, [event_type.module], f"events {event_type.module}.{event_type.channel}")
    source = EventSource(
        organization=caller.organization,
        token=token,
        user=caller.user,
        subject=caller.subject,
        roles=caller.role_names,
        module=event_type.module,
        channel=event_type.channel,
        location=location,
        permit=permit.value,
        secret=broker.keep_secret(caller, id_, secret)[0] if secret else "",
        pinned=pinned,
        begun_at=int(wall_clock()),
    )
    sources.put(source)
    publish.send({"organization": caller.organization, "source": id_})
    return source


def _checked(permissions: Permissions, name: str, arguments: dict[str, Any]) -> EventType:
    """Return a type whose arguments these are, and at which roles and policies let the caller listen."""
    event_type = find_type(permissions, name)
    event_type.check(arguments)
    if event_type.tool:
        weigh_listening(permissions, event_type, arguments)
    return event_type


def weigh_listening(permissions: Permissions, event_type: EventType, arguments: dict[str, Any]) -> AdmittedUse:
    """Return the use of a tool that listening is; PolicyUnasked where a person had to agree: nobody is there later."""
    return weigh(permissions, use_of(event_type, event_type.location(arguments)), CONFIRMED)[0]


def judge_listening(permissions: Permissions, event_type: EventType, arguments: dict[str, Any]) -> None:
    """Raise PolicyRefused, with its audit row, if policies do not let a caller hear of events now."""
    if permissions.caller.policies and event_type.tool:
        weigh_listening(permissions, event_type, arguments)


def use_of(event_type: EventType, location: dict[str, Any]) -> ToolUse:
    """Return the use of a tool that listening at a place is, for permissions and policies."""
    request = invocation.request_id()
    return ToolUse(event_type.module, event_type.tool, event_type.tool_arguments(location), request)
