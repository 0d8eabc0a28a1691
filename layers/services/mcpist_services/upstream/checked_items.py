"""Items of a server's lists, each checked alone: one broken tool is withheld with its reason, and nothing else.

A server may be hostile, so every item has bounds, and its schemas hold only what code that reads schemas expects.
"""

import json
import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import mcp_types
from pydantic import ValidationError
from pydantic_core import from_json

MAX_LISTED_ITEMS = 10_000
MAX_LISTED_BYTES = 20_000_000
"""The size of all pages of one list, as compact JSON."""
MAX_ITEM_BYTES = 100_000
MAX_ITEM_DEPTH = 40
MAX_MESSAGE_DEPTH = 190
"""Of a whole message: the SDK's parser reads 200 levels, and knows nothing of a message with more."""
MAX_ANSWER_DEPTH = MAX_MESSAGE_DEPTH - 10
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
_KEYWORDS_OF_KIND = {
    "type": "type",
    "text": "title description format pattern $ref $id $schema $anchor",
    "number": "minimum maximum",
    "bound": "exclusiveMinimum exclusiveMaximum",
    "factor": "multipleOf",
    "count": "minLength maxLength minItems maxItems minProperties maxProperties minContains maxContains",
    "texts": "required",
    "options": "enum",
    "flag": "uniqueItems",
    "map": "properties patternProperties $defs definitions dependentSchemas",
    "schemas": "allOf anyOf oneOf prefixItems",
    "items": "items",
    "schema": "additionalItems additionalProperties propertyNames contains not if then else unevaluatedItems "
    "unevaluatedProperties",
}
_STRING_OR_BRACKET = re.compile(rb'"(?:[^"\\]|\\.)*+"|[\[\]{}]', re.DOTALL)
_KIND_OF_KEYWORD = {keyword: kind for kind, keywords in _KEYWORDS_OF_KIND.items() for keyword in keywords.split()}


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
        if self._items > MAX_LISTED_ITEMS:
            raise ListTooLarge(f"its {self.kind} are more than {MAX_LISTED_ITEMS:,}")
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
        if self._bytes > MAX_LISTED_BYTES:
            raise ListTooLarge(f"its {self.kind} are larger than {MAX_LISTED_BYTES:,} bytes")
        return True


def shallow(message: bytes) -> bytes:
    """Return a message of JSON that the SDK can parse: what is nested too deeply in it is null.

    So one item of a list is withheld, which is too deep for a tool in any case, and the others are read.
    """
    if message.count(b"[") + message.count(b"{") <= MAX_MESSAGE_DEPTH or _is_parsed(message):
        return message
    kept, depth, start = bytearray(), 0, 0
    for found in _STRING_OR_BRACKET.finditer(message):
        if found[0] in {b"[", b"{"}:
            depth += 1
            if depth == MAX_MESSAGE_DEPTH + 1:
                kept += message[start : found.start()] + b"null"
        elif found[0] in {b"]", b"}"}:
            depth -= 1
            if depth == MAX_MESSAGE_DEPTH:
                start = found.end()
    return bytes(kept + message[start:])


def _is_parsed(message: bytes) -> bool:
    try:
        from_json(message)
    except ValueError as error:
        return "recursion limit" not in str(error)  # other broken messages are for the SDK to refuse
    return True


def is_too_deep(answer: Any) -> bool:
    """Whether an answer may have been cut by `shallow`."""
    return _depth_exceeds(answer, MAX_ANSWER_DEPTH)


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


# Not by JSON Schema's own metaschema: that takes milliseconds a tool, and a list may have thousands.
def check_schema(schema: Any, place: str) -> None:
    """Raise BrokenItem, with the place, where a keyword of a JSON Schema has a value of the wrong kind."""
    if not isinstance(schema, dict):
        raise BrokenItem(f"{place} is not an object")
    for keyword, value in schema.items():
        kind = _KIND_OF_KEYWORD.get(keyword, "")
        if kind and not _FITS[kind](value):
            raise BrokenItem(f"{place}.{keyword} is not as JSON Schema wants it")
        for inner, where in _subschemas(kind, value):
            if not isinstance(inner, bool):
                check_schema(inner, f"{place}.{keyword}{where}")


def _subschemas(kind: str, value: Any) -> Iterator[tuple[Any, str]]:
    """Yield the schemas in a keyword's value, each with its place there."""
    if kind == "map":
        yield from ((inner, f".{name[:MAX_QUOTED_NAME_CHARACTERS]}") for name, inner in value.items())
    elif kind in {"schemas", "items"} and isinstance(value, list):
        yield from ((inner, f".{position}") for position, inner in enumerate(value))
    elif kind in {"schema", "items"}:
        yield value, ""


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


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _is_schema(value: Any) -> bool:
    return isinstance(value, dict | bool)


def _are_schemas(value: Any) -> bool:
    return isinstance(value, list) and all(map(_is_schema, value))


def _is_type(value: Any) -> bool:
    names = value if isinstance(value, list) else [value]
    return bool(names) and all(isinstance(name, str) and name in _TYPE_NAMES for name in names)


_FITS: Mapping[str, Callable[[Any], bool]] = {
    "type": _is_type,
    "text": lambda value: isinstance(value, str),
    "number": _is_number,
    "bound": lambda value: isinstance(value, bool) or _is_number(value),  # a boolean in JSON Schema's draft 4
    "factor": lambda value: _is_number(value) and value > 0,
    "count": lambda value: _is_number(value) and value >= 0 and value == int(value),
    "texts": lambda value: isinstance(value, list) and all(isinstance(each, str) for each in value),
    "options": lambda value: isinstance(value, list) and bool(value),
    "flag": lambda value: isinstance(value, bool),
    "map": lambda value: isinstance(value, dict) and all(map(_is_schema, value.values())),
    "schemas": lambda value: _are_schemas(value) and bool(value),
    "items": lambda value: _is_schema(value) or _are_schemas(value),
    "schema": _is_schema,
}
