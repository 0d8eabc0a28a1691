"""Samples: a value that a schema allows, for an example of a call."""

from collections.abc import Mapping
from typing import Any

MAX_DEPTH = 6

_FORMATS = {
    "date-time": "2026-01-31T09:00:00Z",
    "date": "2026-01-31",
    "time": "09:00:00Z",
    "uri": "https://example.com/",
    "url": "https://example.com/",
    "email": "ada@example.com",
    "uuid": "59833787-2cf9-4fdf-8782-e53db20768a5",
}


def sample(spec: Mapping[str, Any], definitions: Mapping[str, Any], depth: int = 0) -> Any:
    """Return the plainest value of a schema: its default, its first choice, or the least of its type."""
    if "$ref" in spec:
        return sample(definitions.get(spec["$ref"].removeprefix("#/$defs/"), {}), definitions, depth + 1)
    for key in ("default", "const"):
        if key in spec:
            return spec[key]
    if spec.get("enum"):
        return spec["enum"][0]
    if depth > MAX_DEPTH:
        return None
    if "allOf" in spec:
        parts = [sample(one, definitions, depth + 1) for one in spec["allOf"]]
        objects = [one for one in parts if isinstance(one, dict)]
        return {key: value for one in objects for key, value in one.items()} if objects else parts[0]
    for key in ("oneOf", "anyOf"):
        if spec.get(key):
            return sample(spec[key][0], definitions, depth + 1)
    kind = spec.get("type")
    return _of_type(kind[0] if isinstance(kind, list) else kind, spec, definitions, depth)


def _of_type(kind: Any, spec: Mapping[str, Any], definitions: Mapping[str, Any], depth: int) -> Any:
    if kind == "object" or "properties" in spec:
        properties = spec.get("properties", {})
        return {name: sample(properties.get(name, {}), definitions, depth + 1) for name in spec.get("required", ())}
    if kind == "array":
        return [sample(spec.get("items", {}), definitions, depth + 1)] * max(1, spec.get("minItems", 0))
    if kind in {"integer", "number"}:
        least = spec.get("minimum", spec.get("exclusiveMinimum", 0) + 1 if "exclusiveMinimum" in spec else 1)
        return int(least) if kind == "integer" else least
    if kind == "boolean":
        return True
    text = _FORMATS.get(str(spec.get("format")), "example")
    return text.ljust(spec.get("minLength", 0), "x")[: spec.get("maxLength", 1000)]
