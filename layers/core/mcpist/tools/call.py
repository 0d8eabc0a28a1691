"""What a tool returns: the description of its work, performed elsewhere."""

import re
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal
from urllib.parse import quote

from mcpist.errors import InvalidRequest

_SLASHES = re.compile(r"[/\\]")

type Method = Literal["GET", "POST", "PUT", "PATCH", "DELETE"]


@dataclass(frozen=True, slots=True)
class Call:
    """One HTTP request to the module's service; `path` begins with a slash and is escaped already.

    `origin` is another origin of the service, one that the module allows. The grant's token never goes there: such a
    Call brings its own headers, which are secret.
    """

    method: Method
    path: str
    query: Mapping[str, Any] = field(default_factory=dict)
    json: Any = None
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    origin: str = ""

    def __post_init__(self) -> None:
        """Refuse a path that would become part of the host: it must begin with a slash."""
        if not self.path.startswith("/"):
            raise ValueError(f"{self.path} does not begin with a slash")


@dataclass(frozen=True, slots=True)
class CallResponse:
    """What a Call brought; header names are lower-case."""

    status: int
    headers: Mapping[str, str]
    json: Any


@dataclass(frozen=True, slots=True)
class PartialList:
    """A list that ends before the service's own end: its JSON, and how to go on."""

    json: Any
    more: str


class Lookup:
    """One question to a store of our own, for modules that do not speak HTTP.

    `function` receives the store that the module opens for the caller's organization, then the arguments.
    """

    __slots__ = ("arguments", "function")

    def __init__(self, function: Callable[..., Any], **arguments: Any) -> None:
        self.function = function
        self.arguments = arguments


@dataclass(frozen=True, slots=True)
class ProxiedCall:
    """One use of a tool of an MCP server behind ours, by the server's own names.

    `service` is the one whose grant the server is asked with, if it needs one.
    """

    server: str
    tool: str
    arguments: Mapping[str, Any]
    service: str | None = None


@dataclass(frozen=True, slots=True)
class ProxiedResponse:
    """What a proxied tool brought: its JSON, and the server's `result` as it came."""

    json: Any
    result: Mapping[str, Any]


type Calls = Generator[Call, CallResponse, Any]
type Work = Call | Lookup | ProxiedCall | Calls


def path(template: str, **parts: str | int | list[str]) -> str:
    """The template with every part percent-escaped, so that no id can leave its place; a list is several segments.

    InvalidRequest for a part that is empty, or has a segment `.` or `..`: services resolve these escaped too.
    """
    return template.format_map({name: _part(name, value) for name, value in parts.items()})


def given(**fields: Any) -> dict[str, Any]:
    """The fields that have a value."""
    return {name: value for name, value in fields.items() if value is not None}


def changes(**fields: Any) -> dict[str, Any]:
    """The fields that have a value, for an update; InvalidRequest if there is none."""
    found = given(**fields)
    if not found:
        raise InvalidRequest(field=" or ".join(fields), problem="say at least one thing to change")
    return found


def _part(name: str, value: str | int | list[str]) -> str:
    texts = value if isinstance(value, list) else [str(value)]
    if value == "" or any(segment in {".", ".."} for text in texts for segment in _SLASHES.split(text)):
        raise InvalidRequest(field=name, problem="it may not be empty, nor lead to another place by . or ..")
    return "/".join(quote(text, safe="") for text in texts)
