"""Items of a server's lists, each checked alone: one broken tool is withheld with its reason, and nothing else.

A server may be hostile, so every item has bounds, and its schemas hold only what code that reads schemas expects.
"""

import json
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import mcp_types
from pydantic import ValidationError

MAX_LIST_ITEMS = 10_000
MAX_LIST_BYTES = 20_000_000
"""The size of all pages of one list, as compact JSON."""
MAX_ITEM_BYTES = 100_000
MAX_ITEM_DEPTH = 40
MAX_QUOTED_NAME_CHARACTERS = 200

SCHEMA_FIELDS = ("inputSchema", "outputSchema")
# A list's key in the protocol, and the type of its items.
ITEM_TYPES: Mapping[str, Any] = {
    "tools": mcp_types.Tool,
    "resources": mcp_types.Resource,
    "resourceTemplates": mcp_types.ResourceTemplate,
    "prompts": mcp_types.Prompt,
}
_TYPE_NAMES = frozenset({"array", "boolean", "integer", "null", "number", "object", "string"})


class BrokenItem(ValueError):
    """The reason why an item cannot be offered; the text names the place."""


class ListTooLarge(ValueError):
    """A list over its limit of items or bytes."""


@dataclass(frozen=True, slots=True)
class RejectedItem:
    """An item that is not offered."""

    kind: str
    """The list that it is of: `tools`, `resources`, `resourceTemplates` or `prompts`."""
    name: str
    problem: str


class ListCheck:
    """The check of one list over all its pages."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.rejected: list[RejectedItem] = []
        self._items = 0
        self._bytes = 0

    def sift(self, page: dict[str, Any]) -> dict[str, Any]:
        """Return a page with its good items only; ListTooLarge if the pages together are over a limit."""
        given = page.get(self.kind)
        if not isinstance(given, list):
            return page
        self._items += len(given)
        if self._items > MAX_LIST_ITEMS:
            raise ListTooLarge(f"its {self.kind} are more than {MAX_LIST_ITEMS:,}")
        return {**page, self.kind: [item for item in given if self._accept(item)]}

    def _accept(self, item: Any) -> bool:
        try:
            size = check_item(self.kind, item)
        except BrokenItem as error:
            name = item.get("name") if isinstance(item, dict) else None
            label = name[:MAX_QUOTED_NAME_CHARACTERS] if isinstance(name, str) else ""
            self.rejected.append(RejectedItem(self.kind, label, str(error)))
            return False
        self._bytes += size
        if self._bytes > MAX_LIST_BYTES:
            raise ListTooLarge(f"its {self.kind} are larger than {MAX_LIST_BYTES:,} bytes")
        return True


def check_item(kind: str, item: Any) -> int:
    """Return an item's size in bytes of JSON, or raise BrokenItem."""
    if not isinstance(item, dict):
        raise BrokenItem("it is not an object")
    if _depth_exceeds(item, MAX_ITEM_DEPTH):
        raise BrokenItem(f"it is nested deeper than {MAX_ITEM_DEPTH} levels")
    size = len(json.dumps(item, ensure_ascii=False, separators=(",", ":")).encode(errors="replace"))
    if size > MAX_ITEM_BYTES:
        raise BrokenItem(f"it is larger than {MAX_ITEM_BYTES:,} bytes")
    for field in SCHEMA_FIELDS:
        if item.get(field) is not None:
            check_schema(item[field], field)
    try:
        ITEM_TYPES[kind].model_validate(item, by_name=False)
    except (ValidationError, RecursionError) as error:
        raise BrokenItem(_first_problem(error)) from None
    return size


def check_schema(schema: Any, place: str) -> None:
    """Raise BrokenItem, with the place, where a keyword of a JSON Schema has a value of the wrong kind."""
    if not isinstance(schema, dict):
        raise BrokenItem(f"{place} is not an object")
    for keyword, value in schema.items():
        is_right = _KEYWORDS.get(keyword)
        if is_right is not None and not is_right(value):
            raise BrokenItem(f"{place}.{keyword} is not as JSON Schema wants it")
        for inner, where in _subschemas(keyword, value):
            if not isinstance(inner, bool):
                check_schema(inner, f"{place}.{where}")


def _subschemas(keyword: str, value: Any) -> Iterator[tuple[Any, str]]:
    if keyword in _SCHEMA_MAPS:
        yield from ((inner, f"{keyword}.{name[:MAX_QUOTED_NAME_CHARACTERS]}") for name, inner in value.items())
    elif keyword in _SCHEMA_LISTS or (keyword == "items" and isinstance(value, list)):
        yield from ((inner, f"{keyword}.{position}") for position, inner in enumerate(value))
    elif keyword in _SCHEMAS:
        yield value, keyword


def _depth_exceeds(value: Any, levels: int) -> bool:
    layer = [value]
    for _ in range(levels):
        layer = [
            inner
            for outer in layer
            if isinstance(outer, dict | list)
            for inner in (outer.values() if isinstance(outer, dict) else outer)
        ]
        if not layer:
            return False
    return True


def _first_problem(error: Exception) -> str:
    if not isinstance(error, ValidationError):
        return "it is nested too deeply"
    first = error.errors(include_input=False, include_url=False)[0]
    return f"{'.'.join(map(str, first['loc'])) or 'it'}: {first['msg']}"


def _is_count(value: Any) -> bool:
    return _is_number(value) and value >= 0 and value == int(value)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _are_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(each, str) for each in value)


def _is_type(value: Any) -> bool:
    names = value if isinstance(value, list) else [value]
    return bool(names) and all(isinstance(name, str) and name in _TYPE_NAMES for name in names)


def _is_schema(value: Any) -> bool:
    return isinstance(value, dict | bool)


def _are_schemas(value: Any) -> bool:
    return isinstance(value, list) and all(map(_is_schema, value))


def _is_map_of_schemas(value: Any) -> bool:
    return isinstance(value, dict) and all(map(_is_schema, value.values()))


_SCHEMA_MAPS = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas")
_SCHEMA_LISTS = ("allOf", "anyOf", "oneOf", "prefixItems")
_SCHEMAS = (
    *("items", "additionalItems", "additionalProperties", "propertyNames", "contains", "not", "if", "then", "else"),
    *("unevaluatedItems", "unevaluatedProperties"),
)
_KEYWORDS: Mapping[str, Callable[[Any], bool]] = {
    "type": _is_type,
    **dict.fromkeys(("title", "description", "format", "pattern", "$ref", "$id", "$schema", "$anchor"), _is_text),
    **dict.fromkeys(("minimum", "maximum"), _is_number),
    # A boolean in JSON Schema's draft 4.
    **dict.fromkeys(
        ("exclusiveMinimum", "exclusiveMaximum"), lambda value: isinstance(value, bool) or _is_number(value)
    ),
    "multipleOf": lambda value: _is_number(value) and value > 0,
    **dict.fromkeys(
        (
            *("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"),
            *("minContains", "maxContains"),
        ),
        _is_count,
    ),
    "required": _are_texts,
    "enum": lambda value: isinstance(value, list) and bool(value),
    "uniqueItems": lambda value: isinstance(value, bool),
    **dict.fromkeys(_SCHEMA_MAPS, _is_map_of_schemas),
    **dict.fromkeys(_SCHEMA_LISTS, lambda value: _are_schemas(value) and bool(value)),
    **dict.fromkeys(_SCHEMAS, _is_schema),
    "items": lambda value: _is_schema(value) or _are_schemas(value),
}
