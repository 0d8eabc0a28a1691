"""Upstream tools: those of other MCP servers, with the schemas and descriptions that the servers give."""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from mcpist.render.answer import compact_json
from mcpist.render.shows import Shows, shows
from mcpist.tools.call import ProxiedCall
from mcpist.tools.schema import parameter_lines, without_null
from mcpist.tools.search import Field
from mcpist.tools.tool import Effect, ModuleMetadata, Tool

if TYPE_CHECKING:
    import mcp_types

UNKNOWN_COLUMNS = shows("*")  # the columns of its answers are known only when they come
MAX_PROBLEM_CHARACTERS = 300
# The keywords that hold while some fields are not known: others could depend on one of these.
_LOCAL_KEYWORDS = (
    "$schema",
    "$id",
    "$defs",
    "definitions",
    "type",
    "properties",
    "patternProperties",
    "additionalProperties",
)


@dataclass(frozen=True, eq=False, kw_only=True)
class UpstreamTool(Tool):
    """A tool of an MCP server."""

    given: "mcp_types.Tool"
    """The tool as the server describes it."""
    server: str
    service: str | None = None
    """The service whose grant is sent to the server; None sends none."""
    shows: Shows = UNKNOWN_COLUMNS
    about: ModuleMetadata = field(default_factory=ModuleMetadata)

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
        fields = ", ".join(_properties(self.given.output_schema or {}))
        parameters = parameter_lines({**self.input_schema, "properties": _properties(self.input_schema)})
        return f"{self.name}({', '.join(parameters)}){f' -> {fields}' if fields else ''}"

    @property
    def words(self) -> dict[Field, str]:
        """The words that a search finds the tool by: the server's name counts as the module's does."""
        return {
            "name": self.name,
            "service": f"{self.module} {self.server}",
            "description": self.description,
            "parameters": " ".join(_properties(self.input_schema)),
        }

    def validate(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Return the arguments unchanged, or raise InvalidArguments; the server fills in its own defaults."""
        self._raise_if_invalid(self._validator(self.input_schema), arguments)
        return dict(arguments)

    def check(self, arguments: Mapping[str, Any], unresolved: Collection[str]) -> None:
        """Refuse arguments that are wrong already, while the values of the `unresolved` fields are not known yet."""
        if not unresolved:
            self.validate(arguments)
            return
        schema = self.input_schema
        properties = _properties(schema)
        closed = schema.get("additionalProperties") is False and not schema.get("patternProperties")
        for name in unresolved:
            if closed and name not in properties:
                raise self.invalid(name, "there is no such field")
        loose = {keyword: schema[keyword] for keyword in _LOCAL_KEYWORDS if keyword in schema}
        loose["required"] = [name for name in schema.get("required", ()) if name not in unresolved]
        known = {name: value for name, value in arguments.items() if name not in unresolved}
        self._raise_if_invalid(self._validator(loose), known)

    def describe_work(self, arguments: Mapping[str, Any]) -> ProxiedCall:
        """Return the call of the server's tool."""
        return ProxiedCall(self.server, self.name, arguments, self.service)

    def _validator(self, schema: Mapping[str, Any]) -> Any:
        """Return a validator; None where the server's schema is broken: then only the server validates.

        References outside the schema are not followed, so no schema makes us fetch an address.
        """
        from jsonschema.exceptions import SchemaError
        from jsonschema.validators import Draft202012Validator, validator_for
        from jsonschema_specifications import REGISTRY

        kind = validator_for(schema, default=Draft202012Validator)
        try:
            kind.check_schema(schema)
        except (SchemaError, RecursionError, re.error):
            return None
        return kind(schema, registry=REGISTRY)

    def _raise_if_invalid(self, validator: Any, arguments: Mapping[str, Any]) -> None:
        from jsonschema.exceptions import best_match
        from referencing.exceptions import Unresolvable

        if validator is None:
            return
        try:
            error = best_match(validator.iter_errors(dict(arguments)))
        except (Unresolvable, RecursionError, re.error):
            return
        if error is not None:
            raise self.invalid(*_describe_error(error, arguments))


def effect_of(given: "mcp_types.Tool") -> Effect:
    """Return a tool's effect by the server's hints; without hints it is assumed to destroy."""
    hints = given.annotations
    if hints is not None and hints.read_only_hint:
        return "reads"
    return "writes" if hints is not None and hints.destructive_hint is False else "destroys"


def _properties(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the properties of a schema that may be broken."""
    found = schema.get("properties")
    if not isinstance(found, dict):
        return {}
    return {name: without_null(spec) if isinstance(spec, dict) else {} for name, spec in found.items()}


def _describe_error(error: Any, arguments: Mapping[str, Any]) -> tuple[str, str]:
    """Return the field and the problem, without the value itself."""
    path = [str(part) for part in error.absolute_path]
    wanted = error.validator_value
    match error.validator:
        case "required":
            missing = next((name for name in wanted if name not in error.instance), "")
            return ".".join([*path, missing]), "Field required"
        case "additionalProperties" if not path:
            known = error.schema.get("properties", {})
            return next((name for name in arguments if name not in known), "params"), "there is no such field"
        case "type":
            problem = f"it must be of type {' or '.join(wanted) if isinstance(wanted, list) else wanted}"
        case "enum":
            problem = f"it must be one of {compact_json(wanted)}"
        case keyword:
            problem = f"it must satisfy {compact_json({keyword: wanted})}"
    return ".".join(path) or "params", problem[:MAX_PROBLEM_CHARACTERS]
