"""Items of a DynamoDB table: plain Python values, and the typed attributes that DynamoDB takes."""

from base64 import b64decode
from collections.abc import Mapping
from typing import Any

type Item = dict[str, Any]


def serialize(item: Mapping[str, Any]) -> dict[str, Any]:
    """Return an item as DynamoDB's typed attributes."""
    return {name: _serialize_value(value) for name, value in item.items()}


def deserialize(item: Mapping[str, Any]) -> Item:
    """Return the plain values of DynamoDB's typed attributes."""
    return {name: _deserialize_value(value) for name, value in item.items()}


def _serialize_value(value: Any) -> dict[str, Any]:
    """Return `{type: value}`."""
    match value:
        case str():  # most attributes are texts
            return {"S": value}
        case None:
            return {"NULL": True}
        case bool():
            return {"BOOL": value}
        case int() | float():
            return {"N": repr(value)}
        case bytes():
            return {"B": value}
        case Mapping():
            return {"M": serialize(value)}
        case list() | tuple():
            return {"L": [_serialize_value(inner) for inner in value]}
        case _:
            raise TypeError(f"{type(value).__name__} cannot be stored in a table")


def _deserialize_value(typed: Mapping[str, Any]) -> Any:
    """Return the value of `{type: value}`."""
    ((kind, value),) = typed.items()
    match kind:
        case "NULL":
            return None
        case "N":
            return int(value) if value.lstrip("-").isdecimal() else float(value)
        case "B":
            return value if isinstance(value, bytes) else b64decode(value)  # botocore has decoded it already
        case "M":
            return deserialize(value)
        case "L":
            return [_deserialize_value(inner) for inner in value]
        case _:
            return value
