"""Arguments of a tool on the command line: `limit=3`, each value typed by the tool's schema."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from infra.cli.document import CommandError

_WORDS = {"true": True, "false": False, "null": None}


def typed_arguments(words: Iterable[str], schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of words such as `query=broker`; the endpoint refuses a value of a wrong type."""
    given: dict[str, Any] = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not equals or not name:
            hint = "Write NAME=VALUE, or --params with a JSON object."
            raise CommandError("VALIDATION_ERROR", f"{word} is no argument of a tool.", hint)
        given[name] = _typed(value, schema.get("properties", {}).get(name, {}), schema)
    return given


def _typed(text: str, kind: Mapping[str, Any], whole: Mapping[str, Any]) -> Any:
    """Return a text as the type that a schema names: the first of several that the text can be."""
    if place := str(kind.get("$ref", "")).removeprefix("#/"):
        return _typed(text, _part(whole, place), whole)
    if choices := kind.get("anyOf") or kind.get("oneOf"):
        return next((value for choice in choices if (value := _typed(text, choice, whole)) != text), text)
    types = kind.get("type", [])
    for name in [types] if isinstance(types, str) else types:
        value = _as_type(text, name, kind, whole)
        if value is not text:
            return value
    return text


def _as_type(text: str, name: str, kind: Mapping[str, Any], whole: Mapping[str, Any]) -> Any:
    """Return a text as one type, or the same text where it is not of this type."""
    match name:
        case "integer" | "number":
            value = parsed(text)
            return value if isinstance(value, int | float) and not isinstance(value, bool) else text
        case "boolean" | "null":
            value = _WORDS.get(text, text)
            return value if (value is None) == (name == "null") else text
        case "array":
            value = parsed(text) if text.startswith("[") else text
            items = kind.get("items", {})
            return value if isinstance(value, list) else [_typed(one.strip(), items, whole) for one in text.split(",")]
        case "object":
            value = parsed(text)
            return value if isinstance(value, dict) else text
    return text


def parsed(text: str) -> Any:
    """Return JSON parsed, and any other text unchanged."""
    try:
        return json.loads(text)
    except ValueError:
        return text


def _part(schema: Mapping[str, Any], place: str) -> Mapping[str, Any]:
    for name in place.split("/"):
        schema = schema.get(name, {})
    return schema
