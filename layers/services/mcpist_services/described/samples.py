"""Schemas as a tool uses them: a value that one allows, for examples, and the shared ones that it needs."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from mcpist.errors import InvalidRequest
from mcpist.patterns import compile_pattern

MAX_SAMPLE_DEPTH = 6
MAX_OPTIONAL_DEPTH = 3
MAX_SAMPLE_VALUES = 2_000
"""Of one sample, however often its schema refers to itself; what is left then has no value."""
MAX_SAMPLE_CHARACTERS = 1_000
MAX_SAMPLE_ITEMS = 20
STEP = 0.1  # the depth of a reference or a choice, which may lead in a circle as properties may

_CLASSES = {"\\d": "1", "\\w": "a", "\\s": " "}
_ALTERNATIVES = re.compile(r"\((?:\?:)?([^()|]*)(?:\|[^()]*)?\)(?![*+?{])")
_ATOM = re.compile(r"(?:\\(.)|\[(\^?)((?:\\.|[^\]\\])+)\]|([^\\\[\](){}*+?|]))(?:\{(\d+)(?:,\d*)?\}|([*+?]))?")
_FORMATS = {
    "date-time": "2026-01-31T09:00:00Z",
    "date": "2026-01-31",
    "time": "09:00:00Z",
    "uri": "https://example.com/",
    "url": "https://example.com/",
    "email": "ada@example.com",
    "uuid": "59833787-2cf9-4fdf-8782-e53db20768a5",
}


def sample(spec: Mapping[str, Any], definitions: Mapping[str, Any], *, optional: bool = False) -> Any:
    """Return the plainest value of a schema: its example or default, its first choice, or the least of its type.

    An object has its required properties, and with `optional` all of them.
    """
    return _Sampler(definitions, optional=optional).value(spec, 0)


def closure(spec: Any, schemas: Mapping[str, Any]) -> dict[str, Any]:
    """Return the shared schemas that a schema needs, and those that these need."""
    found: dict[str, Any] = {}
    todo: list[Any] = [spec]
    while todo:
        node = todo.pop()
        if isinstance(node, dict):
            reference = node.get("$ref")
            if isinstance(reference, str) and reference.startswith("#/$defs/"):
                name = reference.removeprefix("#/$defs/")
                if name in schemas and name not in found:
                    found[name] = schemas[name]
                    todo.append(schemas[name])
            todo += node.values()
        elif isinstance(node, list):
            todo += node
    return found


def fitting_text(pattern: Any) -> str:
    """Return the plainest text that fits a simple pattern, as those of ids are; empty for any other."""
    try:
        compiled = compile_pattern(pattern) if isinstance(pattern, str) else None
    except InvalidRequest:
        return ""
    if compiled is None:
        return ""
    plain = _ALTERNATIVES.sub(r"\1", pattern).removeprefix("^").removesuffix("$")
    parts = [_characters(found) for found in _ATOM.finditer(plain)]
    text = "".join(parts)[:MAX_SAMPLE_CHARACTERS]
    return text if compiled.search(text) else ""


def _characters(atom: re.Match[str]) -> str:
    """Return the characters of one atom of a pattern with its quantifier, such as `[0-9a-f]{32}` or `a?`."""
    escaped, negated, members, literal, least, sign = atom.groups()
    first = members or (f"\\{escaped}" if escaped else literal)
    one = "_" if negated else _CLASSES.get(first[:2], first[1:2] if first[0] == "\\" else first[0])
    return one * (min(int(least), MAX_SAMPLE_CHARACTERS) if least else 0 if sign in {"*", "?"} else 1)


class _Sampler:
    def __init__(self, definitions: Mapping[str, Any], *, optional: bool) -> None:
        self._definitions = definitions
        self._optional = optional
        self._values = 0

    def value(self, spec: Mapping[str, Any], depth: float) -> Any:
        self._values += 1
        if depth > MAX_SAMPLE_DEPTH or self._values > MAX_SAMPLE_VALUES:
            return None
        if "$ref" in spec:
            return self.value(self._definitions.get(spec["$ref"].removeprefix("#/$defs/"), {}), depth + STEP)
        stated = next((spec[key] for key in ("example", "default", "const") if key in spec), None)
        if stated is not None:
            return stated
        if spec.get("enum"):
            return spec["enum"][0]
        if spec.get("allOf"):
            return self._all_of(spec, depth)
        if spec.get("anyOf") and "properties" not in spec:
            return self.value(spec["anyOf"][0], depth + STEP)
        kind = spec.get("type")
        return self._of_type(kind[0] if isinstance(kind, list) else kind, spec, depth)

    def _all_of(self, spec: Mapping[str, Any], depth: float) -> Any:
        parts = [self.value(one, depth + STEP) for one in spec["allOf"]]
        own = self._object(spec, depth) if "properties" in spec else {}
        objects = [one for one in parts if isinstance(one, dict)]
        if not objects and not own:
            return parts[0]
        made = {key: one for part in [*objects, own] for key, one in part.items()}
        # One part may require what another describes, or narrows to a few values.
        stated = [properties for properties in self._properties(spec, depth) if not made.keys().isdisjoint(properties)]
        narrow = {
            key: one for properties in stated for key, one in properties.items() if {"enum", "const"} & one.keys()
        }
        return made | {key: self.value(one, depth + 1) for key, one in narrow.items() if key in made}

    def _properties(self, spec: Mapping[str, Any], depth: float) -> Iterator[Mapping[str, Any]]:
        """Yield the properties of an object and of its parts, those of the parts first."""
        if depth <= MAX_SAMPLE_DEPTH:
            found = self._definitions.get(str(spec.get("$ref", "")).removeprefix("#/$defs/"), {})
            for part in (*spec.get("allOf", ()), *([found] if found else ())):
                yield from self._properties(part, depth + STEP)
            yield spec.get("properties", {})

    def _of_type(self, kind: Any, spec: Mapping[str, Any], depth: float) -> Any:
        if kind == "object" or "properties" in spec:
            return self._object(spec, depth)
        if kind == "array":
            count = min(max(1, spec.get("minItems", 0)), MAX_SAMPLE_ITEMS)
            return [self.value(spec.get("items", {}), depth + 1)] * count
        if kind in {"integer", "number"}:
            least = spec.get("minimum", spec.get("exclusiveMinimum", 0) + 1 if "exclusiveMinimum" in spec else 1)
            return int(least) if kind == "integer" else least
        if kind == "boolean":
            return True
        text = _FORMATS.get(str(spec.get("format"))) or fitting_text(spec.get("pattern")) or "example"
        length = min(spec.get("minLength", 0), MAX_SAMPLE_CHARACTERS)
        return text.ljust(length, "x")[: spec.get("maxLength", MAX_SAMPLE_CHARACTERS)]

    def _object(self, spec: Mapping[str, Any], depth: float) -> dict[str, Any]:
        properties = spec.get("properties", {})
        names = properties if self._optional and depth < MAX_OPTIONAL_DEPTH else spec.get("required", ())
        return {name: self.value(properties.get(name, {}), depth + 1) for name in names}
