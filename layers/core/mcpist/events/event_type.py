"""Event types: what a service's folder declares about the events that can be subscribed to."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from mcpist.errors import InvalidRequest
from mcpist.events.event import Event
from mcpist.files.reference import schema_errors
from mcpist.render.shows import value_at
from mcpist.tools.declare.argument_problems import schema_problems
from mcpist.tools.declare.call import Call

_TYPES = {"list": "array"}
_FIELD = re.compile(r"^([\w.]+)(?::(\w+))?(?:=(\S+))?$")


@dataclass(frozen=True, slots=True)
class Argument:
    """One argument of a subscription."""

    path: str
    """The field of the payload that must have its value; empty for an argument that only says where to listen."""
    description: str
    locates: bool = False
    """Whether it says where to listen: it is needed, and each value has a source of its own."""
    schema: Mapping[str, Any] = field(default_factory=lambda: {"type": "string", "minLength": 1, "maxLength": 256})


@dataclass(frozen=True, slots=True, kw_only=True)
class HookRequest:
    """A request to the address of a source."""

    headers: Mapping[str, str]
    """By their lower-case names."""
    body: bytes
    source: str
    """The id of the source."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Signature:
    """A request's signature: the HMAC-SHA256 of `message` by the source's secret must be `given`."""

    message: bytes
    given: str
    """In hexadecimal digits."""
    signed_at: int | None = None
    """When the vendor signed it, in epoch seconds; None where the vendor does not say so."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Occurrence:
    """An event before it is one of a source: as the vendor's data says it."""

    delivery: str
    """The vendor's id, the same for each delivery."""
    occurred_at: int | None
    """In epoch seconds; None for now."""
    data: Mapping[str, Any]
    """The vendor's JSON, of which the payload's fields are kept."""
    actor: str | None = None


@dataclass(frozen=True, slots=True)
class Subscribed:
    """A subscription as the vendor made or renewed it."""

    id: str
    """The vendor's id, with which it is renewed and removed."""
    renew_at: int | None = None
    """When to renew it, in epoch seconds; None for never."""


type Arguments = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Webhook:
    """A source that the vendor calls. All functions are pure."""

    signature: Callable[[HookRequest], Signature | None]
    """None where the request has none."""
    occurrences: Callable[[HookRequest, str], Iterable[Occurrence]]
    """From a verified request and a type's name: its events of this type."""
    answer: Callable[[HookRequest], Mapping[str, Any] | None] = lambda _: None
    """The answer to a verified request that only asks for one, such as a challenge."""
    subscribe: Callable[[str, Arguments, str, str], Call] | None = None
    """From the type's name, arguments, address and secret; None where a person enters both at the vendor's page."""
    subscribed: Callable[[Any], Subscribed] | None = None
    """From the JSON that the vendor answers."""
    renew: Callable[[Arguments, str], Call] | None = None
    """From arguments and the vendor's id; None where a subscription does not end."""
    unsubscribe: Callable[[Arguments, str], Call] | None = None


@dataclass(frozen=True, slots=True)
class Polled:
    """A source that we ask again and again. Both functions are pure."""

    call: Callable[[Arguments, str, int], Call]
    """From arguments, cursor (empty at first) and now: the request for what happened after the cursor."""
    read: Callable[[Any, str, int], tuple[list[Occurrence], str]]
    """From the answer's JSON, the cursor and now: what happened, and the next cursor. The first poll only begins."""
    seconds: int = 120
    """How often."""


type Origin = Webhook | Polled | None


@dataclass(frozen=True, slots=True, kw_only=True)
class EventType:
    """A kind of event that can be subscribed to; `event_type` makes one."""

    module: str
    name: str
    description: str
    tool: str
    """The reading tool whose permission, and whose scopes, a subscriber needs; empty for our own events."""
    arguments: dict[str, Any]
    """The JSON Schema of a subscription's arguments."""
    payload: dict[str, Any]
    """The JSON Schema of an event's data."""
    channel: str
    """The types of a module with the same one, at the same place, share a source."""
    tool_arguments: Callable[[Arguments], dict[str, Any]]
    """From the arguments that say where to listen: those of the tool, which permissions and policies judge."""
    source: Origin
    """How events come in; None for our own."""
    paths: Mapping[str, str]
    """The field of the payload that each narrowing argument is compared with."""
    locating: tuple[str, ...]
    """The arguments that say where to listen."""
    fields: tuple[tuple[str, str], ...]
    """For each field of the payload: its path there, and in the vendor's JSON."""

    @property
    def is_entered_by_hand(self) -> bool:
        """Whether a person enters the address at the vendor's page, and the vendor's secret here."""
        return isinstance(self.source, Webhook) and self.source.subscribe is None

    @property
    def full_name(self) -> str:
        """The name that subscribers use, e.g. `tracker.issues`."""
        return f"{self.module}.{self.name}"

    def check(self, arguments: Arguments) -> None:
        """Raise InvalidRequest for arguments that do not fit the schema."""
        for problem in schema_problems(schema_errors(self.arguments, dict(arguments)), arguments):
            raise InvalidRequest(field=problem.field, problem=problem.problem)

    def location(self, arguments: Arguments) -> dict[str, Any]:
        """Return the arguments that say where to listen."""
        return {name: arguments[name] for name in self.locating}

    def matches(self, arguments: Arguments, event: Event) -> bool:
        """Whether a subscription with these arguments is for an event; texts are compared without regard to case."""
        if event.type != self.full_name:
            return False
        compared = (
            (value_at(event.data, self.paths[name]), value) for name, value in arguments.items() if name in self.paths
        )
        return all(_equal(found, value) for found, value in compared)

    def project(self, data: Mapping[str, Any]) -> dict[str, Any]:
        """Return the payload's fields of the vendor's JSON, and nothing else."""
        projected: dict[str, Any] = {}
        for path, vendors in self.fields:
            found = value_at(data, vendors)
            if found is not None:
                *parents, last = path.split(".")
                place = projected
                for parent in parents:
                    place = place.setdefault(parent, {})
                place[last] = found
        return projected


def event_type(
    module: str,
    name: str,
    description: str,
    *,
    tool: str,
    payload: str,
    arguments: Mapping[str, Argument] | None = None,
    channel: str = "",
    tool_arguments: Callable[[Arguments], dict[str, Any]] = dict,
    source: Origin = None,
) -> EventType:
    """Declare an event type.

    The payload names its fields with spaces between them: `issue.number:integer`, a text without a type, and
    `labels:list=labels[*].name` where the vendor's JSON has a field elsewhere.
    """
    given = arguments or {}
    typed = list(map(_typed, payload.split()))
    locating = tuple(name for name, one in given.items() if one.locates)
    return EventType(
        module=module,
        name=name,
        description=description,
        tool=tool,
        arguments={
            "type": "object",
            "properties": {name: {**one.schema, "description": one.description} for name, one in given.items()},
            "required": list(locating),
            "additionalProperties": False,
        },
        payload=_schema((path, kind) for path, kind, _ in typed),
        channel=channel or name,
        tool_arguments=tool_arguments,
        source=source,
        paths={name: one.path for name, one in given.items() if one.path},
        locating=locating,
        fields=tuple((path, vendors) for path, _, vendors in typed),
    )


def _typed(field: str) -> tuple[str, str, str]:
    found = _FIELD.match(field)
    if found is None:
        raise ValueError(f"{field} is no field of a payload")
    return found[1], _TYPES.get(found[2], found[2] or "string"), found[3] or found[1]


def _schema(typed: Iterable[tuple[str, str]]) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "object", "properties": {}}
    for path, kind in typed:
        *parents, last = path.split(".")
        place = schema
        for parent in parents:
            place = place["properties"].setdefault(parent, {"type": "object", "properties": {}})
        place["properties"][last] = {"type": kind}
    return schema


def _equal(found: Any, wanted: Any) -> bool:
    """Whether a value is, or a list has, what is wanted; of several wanted values one is enough."""
    values, wishes = set(_texts(found)), set(_texts(wanted))
    return not values.isdisjoint(wishes)


def _texts(value: Any) -> Iterator[str]:
    for one in value if isinstance(value, list) else [value]:
        yield str(one).casefold()
