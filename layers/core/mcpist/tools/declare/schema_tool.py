"""Tools whose arguments are checked against a JSON Schema that somebody else gives, those of MCP servers among them."""

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from mcpist.render.shows import Shows, shows
from mcpist.tools.declare.argument_problems import schema_problems, unknown_field
from mcpist.tools.declare.call import ProxiedCall
from mcpist.tools.declare.schema import parameter_lines, without_null
from mcpist.tools.declare.tool import Effect, ModuleMetadata, SearchField, Tool

if TYPE_CHECKING:
    import mcp_types

# The keywords that hold while some fields are not known: others could depend on one of these.
_LOCAL_KEYWORDS = (
    *("$schema", "$id", "$defs", "definitions"),
    *("type", "properties", "patternProperties", "additionalProperties"),
)


@dataclass(frozen=True, eq=False, kw_only=True)
class SchemaTool(Tool):
    """A tool with a given schema; where it is broken, or too costly to check, only the service validates."""

    def validate(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Return the arguments, or raise InvalidArguments; the service fills in its own defaults.

        A number is taken where a text is wanted, as from a reference to an id; nothing else changes.
        """
        read: dict[str, Any] = texts_for_numbers(self.input_schema, dict(arguments))
        self._raise_if_invalid(self.input_schema, read)
        return read

    def check(self, arguments: Mapping[str, Any], unresolved: Collection[str]) -> None:
        """Refuse arguments that are wrong already, while the values of the `unresolved` fields are not known yet."""
        if not unresolved:
            self.validate(arguments)
            return
        schema = self.input_schema
        properties = properties_of(schema)
        closed = schema.get("additionalProperties") is False and not schema.get("patternProperties")
        for name in unresolved:
            if closed and name not in properties:
                raise self.invalid([unknown_field(name, properties)])
        loose = {keyword: schema[keyword] for keyword in _LOCAL_KEYWORDS if keyword in schema}
        loose["required"] = [name for name in schema.get("required", ()) if name not in unresolved]
        known = {name: value for name, value in arguments.items() if name not in unresolved}
        self._raise_if_invalid(loose, texts_for_numbers(schema, known))

    def _raise_if_invalid(self, schema: Mapping[str, Any], arguments: Mapping[str, Any]) -> None:
        from referencing.exceptions import Unresolvable

        from mcpist.tools.declare.bounded_schema import OverBudget, all_errors

        if not self._is_usable:
            return
        try:
            errors = all_errors(schema, dict(arguments))
        except (Unresolvable, RecursionError, OverBudget):
            return
        if errors:
            raise self.invalid(schema_problems(errors, arguments))

    @cached_property
    def _is_usable(self) -> bool:
        """Whether we can validate by the schema; else only the service does."""
        from mcpist.tools.declare.bounded_schema import is_schema

        return is_schema(self.input_schema)


def properties_of(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the properties of a schema that may be broken."""
    found = schema.get("properties")
    if not isinstance(found, dict):
        return {}
    return {name: without_null(spec) if isinstance(spec, dict) else {} for name, spec in found.items()}


def texts_for_numbers(schema: Any, value: Any) -> Any:
    """Return a value with each number as a text where a schema, which may be broken, takes texts alone."""
    if not isinstance(schema, dict):
        return value
    match value:
        case dict():
            properties = properties_of(schema)
            return {name: texts_for_numbers(properties.get(name), inner) for name, inner in value.items()}
        case list():
            return [texts_for_numbers(schema.get("items"), inner) for inner in value]
        case int() | float() if not isinstance(value, bool) and _takes_texts_alone(schema.get("type")):
            return json.dumps(value)
        case _:
            return value


def _takes_texts_alone(kinds: Any) -> bool:
    return kinds == "string" or (isinstance(kinds, list) and set(map(str, kinds)) - {"null"} == {"string"})


def unknown_columns(noise: Sequence[str] = ()) -> Shows:
    """Return the columns of answers that are known only when they come."""
    return shows("*", noise=noise)


@dataclass(frozen=True, eq=False, kw_only=True)
class UpstreamTool(SchemaTool):
    """A tool of an MCP server."""

    given: "mcp_types.Tool"
    """The tool as the server describes it."""
    server: str
    service: str | None = None
    """The service whose grant is sent to the server; None sends none."""
    shows: Shows = field(default_factory=unknown_columns)
    about: ModuleMetadata = field(default_factory=ModuleMetadata)
    is_effect_configured: bool = False
    """Whether the operator has set the effect; else it is what the server says."""

    @property
    def name(self) -> str:
        """The server's own name of it."""
        return self.given.name

    @property
    def description(self) -> str:
        """The server's description."""
        return (self.given.description or self.given.title or "").strip()

    @property
    def input_schema(self) -> dict[str, Any]:
        """The server's schema of the arguments."""
        return self.given.input_schema

    @property
    def output_schema(self) -> dict[str, Any]:
        """The server's schema of the answer, where it gives one."""
        return self.given.output_schema or super().output_schema

    @cached_property
    def signature(self) -> str:
        """One line: `read_file(path, lines?: integer) -> content`, with the answer's fields where they are known."""
        fields = ", ".join(properties_of(self.given.output_schema or {}))
        parameters = parameter_lines({**self.input_schema, "properties": properties_of(self.input_schema)})
        return f"{self.name}({', '.join(parameters)}){f' -> {fields}' if fields else ''}"

    @property
    def needs_allow(self) -> bool:
        """Whether a role must allow it: always, unless the operator says that it reads."""
        return not (self.reads and self.is_effect_configured)

    @property
    def is_effect_declared(self) -> bool:
        """Whether the server or the operator says what it does."""
        return self.is_effect_configured or declares_effect(self.given)

    @property
    def is_closed_world(self) -> bool:
        """Whether the server says so by its hint, which is part of what the operator approves."""
        return self.given.annotations is not None and self.given.annotations.open_world_hint is False

    @property
    def words(self) -> dict[SearchField, str]:
        """The words that a search finds the tool by: the server's name counts as the module's does."""
        return {
            "name": self.name,
            "service": f"{self.module} {self.server.partition('@')[0]}",
            "description": self.description,
            "parameters": " ".join(properties_of(self.input_schema)),
        }

    def describe_work(self, arguments: Mapping[str, Any]) -> ProxiedCall:
        """Return the call of the server's tool."""
        return ProxiedCall(self.server, self.name, arguments, self.service)


def declares_effect(given: "mcp_types.Tool") -> bool:
    """Whether a server says of a tool whether it changes or destroys something."""
    hints = given.annotations
    return hints is not None and (bool(hints.read_only_hint) or hints.destructive_hint is not None)


def effect_of(given: "mcp_types.Tool") -> Effect:
    """Return a tool's effect by the server's hints; without hints it is assumed to destroy."""
    hints = given.annotations
    if hints is not None and hints.read_only_hint:
        return "reads"
    return "writes" if hints is not None and hints.destructive_hint is False else "destroys"
