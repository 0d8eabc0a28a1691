"""Arguments as Cedar sees them: the types of a tool's parameters, and values of these types."""

from collections.abc import Mapping
from decimal import Decimal, InvalidOperation
from typing import Any

type CedarType = dict[str, Any]
"""A type as Cedar's JSON schema has it."""

MAX_TYPE_DEPTH = 4
DECIMAL_STEP = Decimal("0.0001")  # Cedar's decimals have four digits
_PLAIN = {"string": "String", "integer": "Long", "boolean": "Boolean"}
_DECIMAL: CedarType = {"type": "Extension", "name": "decimal"}
NUMBERS = frozenset({"Long", "Boolean", "Extension"})
"""The types that hold no text."""


class WrongValue(ValueError):
    """A value that is not of its parameter's type."""


def argument_type(schema: Mapping[str, Any], name: str) -> CedarType | None:
    """Return the type of a tool's parameter; one of several types has none, and no policy may look at it."""
    one = schema.get("properties", {}).get(name, {})
    kind = _type_of(one, schema)
    is_present = name in schema.get("required", ()) or one.get("default") is not None
    return kind if kind is None or is_present else {**kind, "required": False}


def cedar_value(kind: CedarType, value: Any) -> Any:
    """Return a value for Cedar; WrongValue if it is not of this type."""
    match kind["type"], value:
        case ("String", str()) | ("Boolean", bool()):
            return value
        case ("String", int()) if not isinstance(value, bool):
            return str(value)  # tools take an integer where they want a text
        case ("Long", int()) if not isinstance(value, bool):
            return value
        case ("Extension", int() | float()) if not isinstance(value, bool):
            return {"__extn": {"fn": "decimal", "arg": _decimal(value)}}
        case ("Set", list()):
            return [cedar_value(kind["element"], one) for one in value]
        case ("Record", dict()):
            known = {name: one for name, one in kind["attributes"].items() if value.get(name) is not None}
            return {name: cedar_value(one, value[name]) for name, one in known.items()}
    raise WrongValue(f"it is not of the type {kind['type']}")


def _type_of(schema: Mapping[str, Any], root: Mapping[str, Any], depth: int = 0) -> CedarType | None:
    """Return the type of a part of a schema; None for a union, or for what has no type."""
    if "$ref" in schema:
        name = str(schema["$ref"]).rpartition("/")[2]
        schema = root.get("$defs", {}).get(name, {})
    options = [one for one in schema.get("anyOf", schema.get("oneOf", ())) if one.get("type") != "null"]
    if len(options) == 1:
        return _type_of(options[0], root, depth + 1) if depth < MAX_TYPE_DEPTH else None
    kind = schema.get("type")
    if isinstance(kind, list):
        rest = [one for one in kind if one != "null"]
        kind = rest[0] if len(rest) == 1 else None
    if kind in _PLAIN:
        return {"type": _PLAIN[kind]}
    if kind == "number":
        return dict(_DECIMAL)
    if depth >= MAX_TYPE_DEPTH:
        return None
    if kind == "array":
        element = _type_of(schema.get("items", {}), root, depth + 1)
        return {"type": "Set", "element": element} if element else None
    if kind == "object" and schema.get("properties"):
        parts = {name: _type_of(one, root, depth + 1) for name, one in schema["properties"].items()}
        attributes = {name: {**one, "required": False} for name, one in parts.items() if one}
        return {"type": "Record", "attributes": attributes}
    return None


def _decimal(value: float) -> str:
    try:
        return str(Decimal(repr(value)).quantize(DECIMAL_STEP))
    except InvalidOperation:
        raise WrongValue("the number is too large") from None
