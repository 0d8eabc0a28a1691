"""The owner's configuration of upstream MCP servers, `upstreams.json`, typed and checked."""

import hashlib
import re
from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal, Self
from urllib.parse import urlsplit

from pydantic import (
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    WithJsonSchema,
    field_validator,
    model_validator,
)
from pydantic_core import PydanticCustomError

from mcpist.errors import InvalidConfiguration
from mcpist.memory import cached
from mcpist.settings import settings
from mcpist.tools.declare.tool import Effect
from mcpist_services.definitions import (
    DefinitionPart,
    Description,
    Noise,
    is_forbidden_header,
    is_own_name,
    parse_commented_json,
)
from mcpist_services.upstream.secret_detection import is_secret, secret_arguments, secret_in_url

LOOPBACK = re.compile(r"^(localhost|127(\.\d{1,3}){3}|::1)$")
USE_REFERENCE = "looks like a secret: write ssm:/path of a parameter, or grant:service of a connected account, instead"
_REFERENCE = re.compile(r"^(?:ssm:(?:/[A-Za-z0-9_.-]+)+|grant:[a-z][a-z0-9_]{0,63})$")

# Also the default, with `:-` before it; an empty variable has none.
VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)(:-[^}]*)?\}")

type Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$")]
type Variable = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]
type HeaderName = Annotated[str, Field(pattern=r"^[A-Za-z0-9!#$%&'*+.^_`|~-]+$")]
type Value = Annotated[str, Field(pattern=r"^[^\x00-\x1f\x7f]*$", max_length=4000)]
_STRING_OR_STRINGS = {
    "anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}, "minItems": 1, "uniqueItems": True}]
}

type Servers = Annotated[
    tuple[str, ...],
    BeforeValidator(lambda server: (server,) if isinstance(server, str) else server),
    WithJsonSchema(_STRING_OR_STRINGS),
]


_REQUIRED_BY_TYPE: dict[str, Any] = {
    "if": {"properties": {"type": {"enum": ["http", "sse"]}}, "required": ["type"]},
    "then": {"required": ["url"]},
    "else": {"required": ["command"]},
}


class UpstreamServer(DefinitionPart):
    """An MCP server: a command that speaks over stdio, or a URL.

    Values of `env` and `headers` are plain, or a reference: `ssm:/path` is a stored parameter, `grant:service` the
    caller's own connected account.
    """

    model_config = ConfigDict(json_schema_extra=_REQUIRED_BY_TYPE)

    description: Description
    """What it is for, as a model reads it."""
    type: Literal["stdio", "http", "sse"] = "stdio"
    command: str = ""
    args: tuple[str, ...] = ()
    env: Mapping[Variable, Value] = Field(default_factory=dict)
    """The child's variables: plain values, or ssm:/path; it gets none of ours."""
    url: str = ""
    headers: Mapping[HeaderName, Value] = Field(default_factory=dict)
    """Sent with each request: plain values, ssm:/path, or grant:service."""
    timeout_seconds: float = Field(20, gt=0, le=55)
    """How long a call may take."""
    result_bytes: int = Field(5_000_000, ge=1_000, le=50_000_000)
    """How large an answer may be."""
    concurrency: int = Field(8, ge=1, le=100)
    """How many calls a sandbox sends at once."""
    noise: Noise = ()
    """Fields of its answers that a model need not read: `node_id`, `*_url`, `user.url`, or `!html_url` to keep one."""
    effect: Effect | None = None
    """What those of its tools do that declare nothing; without it they count as destroying, and ask before they run."""

    @property
    def references(self) -> frozenset[str]:
        """The references among its values."""
        return frozenset(value for value in (*self.env.values(), *self.headers.values()) if _REFERENCE.match(value))

    @property
    def grants(self) -> frozenset[str]:
        """The services whose accounts it uses: each caller's own."""
        return frozenset(one.removeprefix("grant:") for one in self.references if one.startswith("grant:"))

    def resolve_values(self, secrets: Mapping[str, str]) -> dict[str, str]:
        """Return its headers, or a child's variables, with references replaced by secrets.

        A grant's token becomes `Bearer ...` in the header `Authorization`; a parameter is sent as it is stored.
        """
        values = self.env if self.type == "stdio" else self.headers
        return {name: _resolve_value(name, value, secrets) for name, value in values.items()}

    @field_validator("env", "headers")
    @classmethod
    def _require_references(cls, values: Mapping[str, str]) -> Mapping[str, str]:
        for name, value in values.items():
            if value.startswith(("ssm:", "grant:")) and not _REFERENCE.match(value):
                raise ValueError(f"{name} is no reference: write ssm:/path or grant:service")
            if not _REFERENCE.match(value) and is_secret(name, value):
                raise ValueError(f"{name} {USE_REFERENCE}")
            _refuse_variable(name, value)
        return values

    @field_validator("headers")
    @classmethod
    def _refuse_headers(cls, headers: Mapping[str, str]) -> Mapping[str, str]:
        for name, value in headers.items():
            if is_forbidden_header(name, holds_key=bool(_REFERENCE.match(value))):
                raise ValueError(f"{name} is no header that a module may set")
        if len({name.lower() for name in headers}) < len(headers):
            raise ValueError("a header stands twice, in capitals and in small letters")
        return headers

    @field_validator("args")
    @classmethod
    def _reject_secret_arguments(cls, args: tuple[str, ...]) -> tuple[str, ...]:
        for argument in args:
            _refuse_variable("an argument", argument)
        for place in secret_arguments(args):
            raise ValueError(f"argument {place + 1} looks like a secret: give it in env, as a reference ssm:/path")
        return args

    @field_validator("url")
    @classmethod
    def _check_url(cls, url: str) -> str:
        parts = urlsplit(url)
        if parts.scheme not in {"http", "https"} or not parts.hostname:
            raise ValueError("not a URL that begins with https:// or http://")
        if part := secret_in_url(url):
            raise ValueError(f"its {part} {USE_REFERENCE}, in a header")
        return url

    @model_validator(mode="after")
    def _check_fields_of_type(self) -> Self:
        local = self.type == "stdio"
        needed, others = ("command", ("url", "headers")) if local else ("url", ("command", "args", "env"))
        if not getattr(self, needed):
            raise _located_error(needed, f"a server of the type {self.type} needs one")
        for other in others:
            if getattr(self, other):
                raise _located_error(other, f"a server of the type {self.type} has none")
        if local and self.grants:
            problem = "a child process serves all callers, and takes no account of one: use ssm:/path, or the type http"
            raise _located_error("env", problem)
        parts = urlsplit(self.url)
        if self.references and parts.scheme == "http" and not LOOPBACK.match(parts.hostname or ""):
            raise _located_error("url", "secrets are sent over https only")
        return self


class Override(DefinitionPart):
    """Settings of a single tool: whether it is enabled, its effect, and its description."""

    enabled: bool = Field(True, strict=True)
    """Whether it is shown and run; a tool that runs commands only if this says so, or includeNames names it."""
    effect: Effect | None = None
    """What it does, whatever the server says; a tool that reads by this needs no allow mask."""
    description: Annotated[str, Field(min_length=1, max_length=4000)] | None = None
    """What stands in the place of the server's own description."""


class ToolSelection(DefinitionPart):
    """Which of its servers' tools a category has; without names and patterns to include, all of them.

    A name includes a tool even if a pattern excludes it. Names may be written as clients show them:
    `mcp__serena__read_file`.
    """

    include_names: tuple[str, ...] = Field((), alias="includeNames", json_schema_extra={"uniqueItems": True})
    """Tools that are approved as they are seen first."""
    include_patterns: tuple[str, ...] = Field((), alias="includePatterns")
    """Tools that wait for `mcpist upstream approve`, e.g. read_*."""
    exclude_patterns: tuple[str, ...] = Field((), alias="excludePatterns")
    overrides: Mapping[str, Override] = Field(default_factory=dict)

    @field_validator("include_names")
    @classmethod
    def _reject_duplicates(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        for name in names:
            if names.count(name) > 1:
                raise ValueError(f'"{name}" stands twice')
        return names


class Category(DefinitionPart):
    """A named subset of the tools of one or several servers: a module like any other."""

    description: Description
    """What it is for, as a model reads it."""
    servers: Servers = Field(alias="server")
    """A key of mcpServers, or several: of two tools of one name the first server's counts."""
    tools: ToolSelection = ToolSelection()
    effect: Effect | None = None
    """What those of its tools do that declare nothing, whatever their server's `effect` says."""
    skill: Annotated[str, Field(max_length=20_000)] = ""
    """How to work with its tools; it comes with their schemas."""

    @field_validator("servers")
    @classmethod
    def _check_servers(cls, servers: tuple[str, ...]) -> tuple[str, ...]:
        if not servers or len(set(servers)) < len(servers):
            raise ValueError("name one server, or several, each once")
        return servers


class UpstreamConfiguration(DefinitionPart):
    """The servers, and the categories that their tools are split into."""

    model_config = ConfigDict(title="Upstream MCP servers behind MCPist", ignored_types=(cached_property,))

    schema_address: str = Field("", alias="$schema")
    """Where this schema is, for editors."""
    servers: Mapping[Name, UpstreamServer] = Field(default_factory=dict, alias="mcpServers")
    categories: Mapping[Name, Category] = Field(default_factory=dict)

    @cached_property
    def digest(self) -> str:
        """The hash of it all."""
        return hashlib.sha256(self.model_dump_json().encode()).hexdigest()

    @cached_property
    def all_categories(self) -> Mapping[str, Category]:
        """All configured categories, and for each server without one a category of the server's name."""
        named = {server for category in self.categories.values() for server in category.servers}
        alone = {
            name: Category(description=server.description, servers=(name,))
            for name, server in self.servers.items()
            if name not in named
        }
        return {**alone, **self.categories}

    @model_validator(mode="after")
    def _check_names(self) -> Self:
        for name, category in self.categories.items():
            for server in category.servers:
                if server not in self.servers:
                    place, known = location("categories", name), ", ".join(self.servers) or "none"
                    raise _located_error(f"{place}.server", f'no server "{server}"; there are: {known}')
        for name in self.all_categories:
            place = location("categories" if name in self.categories else "mcpServers", name)
            if is_own_name(name.partition(".")[0]):
                raise _located_error(place, "the name is one of MCPist's own; choose another")
            servers = self.all_categories[name].servers
            if name in self.servers and name not in servers:
                raise _located_error(place, f"a server has this name, but the category is of {servers[0]}")
        return self


def load(path: Path) -> UpstreamConfiguration:
    """Load a configuration file; raises InvalidConfiguration with the file, the place in it and the reason."""
    return validated(path, read_content(path))


def read_content(path: Path) -> Any:
    """Return the content of a file, which may be wrong."""
    try:
        return parse_commented_json(path.read_text("utf-8"))
    except OSError as error:
        raise invalid(path, "file", error.strerror or "cannot be read") from None
    except ValueError as error:
        raise invalid(path, "file", f"no JSON: {error}") from None


def validated(path: Path, content: Any) -> UpstreamConfiguration:
    """Return the configuration of a file's content; InvalidConfiguration names the first problem and all others."""
    try:
        return UpstreamConfiguration.model_validate(content, by_alias=True, by_name=False)
    except ValidationError as error:
        problems = list(problems_of(error))
        field, problem = problems[0]
        others = [{"field": field, "problem": problem} for field, problem in problems]
        raise invalid(path, field, problem).with_details(problems=others) from None


@cached
def configuration() -> UpstreamConfiguration:
    """Return this process's configuration: the file in the config layer or in the settings, else empty."""
    path = Path(settings().upstreams)
    return load(path) if path.is_file() and path.stat().st_size else UpstreamConfiguration()


def _refuse_variable(name: str, value: str) -> None:
    if found := VARIABLE.search(value):
        raise ValueError(
            f"{name} has {found[0]}, which is filled in on one machine alone: write ssm:/path of a parameter"
        )


def _resolve_value(name: str, value: str, secrets: Mapping[str, str]) -> str:
    if not _REFERENCE.match(value):
        return value
    bearer = value.startswith("grant:") and name.lower() == "authorization"
    return f"Bearer {secrets[value]}" if bearer else secrets[value]


def _located_error(field: str, problem: str) -> PydanticCustomError:
    return PydanticCustomError("misplaced", "{problem}", {"field": field, "problem": problem})


def problems_of(error: ValidationError) -> Iterator[tuple[str, str]]:
    """Yield the places and the problems of a configuration."""
    for one in error.errors(include_url=False, include_input=False):
        place = location(*one["loc"])
        within = one.get("ctx", {}).get("field", "")
        yield ".".join(part for part in (place, within) if part) or "file", one["msg"].removeprefix("Value error, ")


def location(*places: str | int) -> str:
    """Return a place in the file: `categories["serena.fs"].tools.includeNames[0]`."""
    parts = (
        f".{place}" if isinstance(place, str) and place.replace("_", "").isalnum() else f"[{_quoted_key(place)}]"
        for place in places
        if place != "[key]"
    )
    return "".join(parts).removeprefix(".")


def _quoted_key(place: str | int) -> str:
    return str(place) if isinstance(place, int) else f'"{place}"'


def invalid(path: Path, field: str, problem: str) -> InvalidConfiguration:
    """Return the error for a place of a file."""
    return InvalidConfiguration(path=str(path), field=field, problem=problem)
