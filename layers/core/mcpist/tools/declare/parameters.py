"""A tool's parameters as a list, from its JSON Schema."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, cast, get_args

type ParameterType = Literal["string", "number", "boolean", "object", "array"]

PARAMETER_TYPES = get_args(ParameterType.__value__)
_COPIED_KEYWORDS: dict[str, Any] = {
    "default": object,
    "enum": list,
    "pattern": str,
    "minimum": (int, float),
    "maximum": (int, float),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """A parameter of a tool."""

    name: str
    type: ParameterType
    description: str
    required: bool
    default: Any = None
    enum: Sequence[Any] | None = None
    pattern: str | None = None
    minimum: float | None = None
    maximum: float | None = None


def parameters_of(schema: Mapping[str, Any]) -> list[Parameter]:
    """Return the parameters that a schema of arguments has; the schema itself says more about nested ones."""
    required, definitions = schema.get("required", ()), schema.get("$defs", {})
    properties = schema.get("properties")
    return [
        _parameter(name, _resolved(spec, definitions), required=name in required)
        for name, spec in (properties if isinstance(properties, dict) else {}).items()
    ]


def _parameter(name: str, spec: Mapping[str, Any], *, required: bool) -> Parameter:
    # A schema of an upstream server may be broken.
    copied = {name: value for name, kinds in _COPIED_KEYWORDS.items() if isinstance(value := spec.get(name), kinds)}
    description = spec.get("description", "")
    return Parameter(name=name, type=_type(spec), description=str(description), required=required, **copied)


def _resolved(spec: Any, definitions: Any) -> Mapping[str, Any]:
    """Return a parameter's schema without `null`, and with the definition that it refers to."""
    if not isinstance(spec, dict):
        return {}
    own = {key: value for key, value in spec.items() if key not in {"anyOf", "oneOf", "$ref"}}
    choices = spec.get("anyOf") or spec.get("oneOf") or []
    chosen = next((one for one in choices if isinstance(one, dict) and one.get("type") != "null"), {})
    name = str(spec.get("$ref") or chosen.get("$ref") or "").rpartition("/")[2]
    defined = definitions.get(name, {}) if isinstance(definitions, dict) else {}
    return {**(defined if isinstance(defined, dict) else {}), **chosen, **own}


def _type(spec: Mapping[str, Any]) -> ParameterType:
    stated = spec.get("type")
    names = stated if isinstance(stated, list) else [stated]
    name = next((one for one in names if one != "null"), None)
    if name in PARAMETER_TYPES or name == "integer":
        return "number" if name == "integer" else cast("ParameterType", name)
    examples = spec.get("enum") or [spec.get("const")]
    if isinstance(examples[0], bool):
        return "boolean"
    if isinstance(examples[0], int | float):
        return "number"
    if "properties" in spec:
        return "object"
    return "array" if "items" in spec else "string"
