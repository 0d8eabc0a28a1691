"""Schema tools: those whose arguments are checked against a JSON Schema that somebody else gives."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from mcpist.render.answer import compact_json
from mcpist.tools.schema import without_null
from mcpist.tools.tool import Tool

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
class SchemaTool(Tool):
    """A tool with a given schema; where it is broken, or too costly to check, only the service validates."""

    def validate(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Return the arguments unchanged, or raise InvalidArguments; the service fills in its own defaults."""
        self._raise_if_invalid(self.input_schema, arguments)
        return dict(arguments)

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
                raise self.invalid(name, "there is no such field")
        loose = {keyword: schema[keyword] for keyword in _LOCAL_KEYWORDS if keyword in schema}
        loose["required"] = [name for name in schema.get("required", ()) if name not in unresolved]
        known = {name: value for name, value in arguments.items() if name not in unresolved}
        self._raise_if_invalid(loose, known)

    def _raise_if_invalid(self, schema: Mapping[str, Any], arguments: Mapping[str, Any]) -> None:
        from referencing.exceptions import Unresolvable

        from mcpist.tools.bounded_schema import OverBudget, first_error

        if not self._is_usable:
            return
        try:
            error = first_error(schema, dict(arguments))
        except (Unresolvable, RecursionError, OverBudget):
            return
        if error is not None:
            raise self.invalid(*_describe_error(error, arguments))

    @cached_property
    def _is_usable(self) -> bool:
        """Whether we can validate by the schema; else only the service does."""
        from mcpist.tools.bounded_schema import OverBudget, is_schema

        try:
            return is_schema(self.input_schema)
        except (RecursionError, OverBudget):
            return False


def properties_of(schema: Mapping[str, Any]) -> dict[str, Any]:
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
