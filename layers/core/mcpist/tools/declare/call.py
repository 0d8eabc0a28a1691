"""The work that a tool describes; `running` performs it."""

import re
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, Self
from urllib.parse import quote, urlsplit, urlunsplit

from mcpist.errors import InvalidRequest
from mcpist.files.content import FileContent
from mcpist.render.shows import Shows

_SLASHES = re.compile(r"[/\\]")
_TEMPLATE_PART = re.compile(r"{(\w+)}")

type Method = Literal["GET", "POST", "PUT", "PATCH", "DELETE"]


@dataclass(frozen=True, slots=True)
class Call:
    """One HTTP request to the module's service."""

    method: Method
    path: str
    """It begins with a slash and is escaped already."""
    query: Mapping[str, Any] = field(default_factory=dict)
    """Parameters by their names; a list is sent as a repeated parameter."""
    json: Any = None
    """The body; None sends none."""
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Headers besides the module's; they may be secret."""
    origin: str = ""
    """Another origin of the service that the module allows; no token is sent there unless the module says so."""
    form: Mapping[str, Any] | None = None
    """The fields of a form-encoded body, instead of JSON; a list is sent as a repeated field."""
    content: FileContent | None = None
    """The bytes of the body and their type, instead of JSON; the response to it may be a text."""
    multipart: Mapping[str, "str | FilePart | Sequence[str | FilePart]"] | None = None
    """The fields of a multipart body, instead of JSON; a list is sent as a repeated field."""
    text: bool = False
    """Whether the response may be a text, which then is its JSON."""
    download: bool = False
    """Whether the response's body is kept as a file of the caller; its JSON is then `{file, preview}`. A redirect to
    another origin is followed with no header of ours."""
    prepares: bool = False
    """Whether a write may be repeated: what it makes is seen only once a later Call uses it."""

    def __post_init__(self) -> None:
        """Refuse a path that would become part of the host: it must begin with a slash."""
        if not self.path.startswith("/"):
            raise ValueError(f"{self.path} does not begin with a slash")

    @classmethod
    def to(cls, method: Method, url: str, **more: Any) -> "Call":
        """Return the request to an address at another origin, which the service has answered with."""
        parts = urlsplit(url)
        return cls(
            method, urlunsplit(("", "", parts.path, parts.query, "")), origin=f"{parts.scheme}://{parts.netloc}", **more
        )


class NewPassword(str):
    """A password in a body that nobody needs to know: a random one takes its place when the request is sent."""

    __slots__ = ()

    def __new__(cls) -> Self:
        """Return a text that says what it stands for."""
        return super().__new__(cls, "<a random password>")


@dataclass(frozen=True, slots=True)
class FilePart:
    """A file in a multipart body."""

    filename: str
    content: FileContent


@dataclass(frozen=True, slots=True)
class ServiceResponse:
    """The response to a Call; header names are lower-case."""

    status: int
    headers: Mapping[str, str]
    json: Any
    downloaded: FileContent | None = None
    """The body of a download, before it is a file."""


@dataclass(frozen=True, slots=True)
class PartialList:
    """A list that ends before the service's own end."""

    json: Any
    more: str
    """How to read the rest, for the model."""


class Lookup:
    """One query to a store of our own, for modules that do not use HTTP.

    `function` receives the store that the module opens for the caller, then the arguments.
    """

    __slots__ = ("arguments", "function")

    def __init__(self, function: Callable[..., Any], **arguments: Any) -> None:
        self.function = function
        self.arguments = arguments


class TimedLookup(Lookup):
    """A Lookup that takes long: its function also gets `deadline`, the moment on the monotonic clock when it ends."""

    __slots__ = ()


class AuthoredLookup(Lookup):
    """A Lookup that changes its store: its function also gets `caller`, the author of the change."""

    __slots__ = ()


class OtherTools(Protocol):
    """The other tools of a caller that read."""

    @property
    def permissions(self) -> Any:
        """The Permissions of the caller in all its roles."""

    def may_use(self, module: str, tool: str) -> bool:
        """Whether the caller may use a tool."""

    def read(self, module: str, tool: str, arguments: Mapping[str, Any], seconds: float) -> tuple[Any, Shows]:
        """Return a tool's JSON and what it shows, as if the caller had called it; AccountError without an account."""


class ToolLookup(Lookup):
    """A Lookup by other tools: its function receives OtherTools, a deadline on the monotonic clock, and arguments."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Measured:
    """The JSON of a Lookup, with numbers about the work for its audit row."""

    json: Any
    measures: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class ProxiedCall:
    """One call of a tool of an upstream MCP server."""

    server: str
    tool: str
    """The server's own name of the tool."""
    arguments: Mapping[str, Any]
    service: str | None = None
    """The service whose grant is sent to the server; None sends none."""


@dataclass(frozen=True, slots=True)
class ProxiedResponse:
    """The response to a ProxiedCall: its JSON, and the server's `result` unchanged."""

    json: Any
    result: Mapping[str, Any]


type Calls = Generator[Call, ServiceResponse, Any]
type Work = Call | Lookup | ProxiedCall | Calls


def path(template: str, **parts: str | int | list[str]) -> str:
    """Return the template with every part percent-escaped, so no id can change the path; a list is several segments.

    InvalidRequest for a part that is empty, or has a segment `.` or `..`: services resolve these escaped too.
    """
    return template.format_map({name: _part(name, value) for name, value in parts.items()})


def path_template(template: str) -> Callable[..., str]:
    """Return a function that fills in a template's parts in their order, then appends a rest with parts of its own.

    `path_template("/pages/{page}")("7", "/versions/{version}", version=2)` is `/pages/7/versions/2`, escaped by `path`.
    """
    names = _TEMPLATE_PART.findall(template)

    def fill(*parts: str | int | list[str], **named: str | int | list[str]) -> str:
        *own, rest = parts if len(parts) > len(names) else (*parts, "")
        return path(f"{template}{rest}", **dict(zip(names, own, strict=True)), **named)

    return fill


def given(**fields: Any) -> dict[str, Any]:
    """Return the fields that have a value."""
    return {name: value for name, value in fields.items() if value is not None}


def changes(**fields: Any) -> dict[str, Any]:
    """Return the fields that have a value, for an update; InvalidRequest if there is none."""
    changed = given(**fields)
    if not changed:
        raise InvalidRequest(field=" or ".join(fields), problem="give at least one field to change")
    return changed


def comma_separated(values: Sequence[str] | None) -> str | None:
    """Join the values of a query parameter; none are left out."""
    return ",".join(values) if values else None


def _part(name: str, value: str | int | list[str]) -> str:
    texts = value if isinstance(value, list) else [str(value)]
    if value == "" or any(segment in {".", ".."} for text in texts for segment in _SLASHES.split(text)):
        raise InvalidRequest(field=name, problem="it may not be empty, and no segment of it may be . or ..")
    return "/".join(quote(text, safe="") for text in texts)
