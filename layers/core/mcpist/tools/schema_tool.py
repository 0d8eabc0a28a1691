"""Schema tools: those whose arguments are checked against a JSON Schema that somebody else gives."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from mcpist.tools.argument_problems import schema_problems, unknown_field
from mcpist.tools.schema import without_null
from mcpist.tools.tool import Tool

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
                raise self.invalid([unknown_field(name, properties)])
        loose = {keyword: schema[keyword] for keyword in _LOCAL_KEYWORDS if keyword in schema}
        loose["required"] = [name for name in schema.get("required", ()) if name not in unresolved]
        known = {name: value for name, value in arguments.items() if name not in unresolved}
        self._raise_if_invalid(loose, known)

    def _raise_if_invalid(self, schema: Mapping[str, Any], arguments: Mapping[str, Any]) -> None:
        from referencing.exceptions import Unresolvable

        from mcpist.tools.bounded_schema import OverBudget, all_errors

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
