"""Random arguments that a tool's schema allows, for measuring what a vendor's description says of its requests."""

import random
import re
import string
from collections.abc import Mapping
from typing import Any

MAX_DEPTH = 5
OPTION_SHARE = 0.4  # of the optional arguments, and of the optional fields in objects

_FORMATS = {
    "date-time": "2026-01-31T09:00:00Z",
    "date": "2026-01-31",
    "time": "09:00:00Z",
    "uri": "https://example.com/a",
    "url": "https://example.com/a",
    "uri-reference": "/a",
    "email": "ada@example.com",
    "uuid": "59833787-2cf9-4fdf-8782-e53db20768a5",
    "ipv4": "192.0.2.1",
    "ipv6": "2001:db8::1",
    "hostname": "example.com",
    "byte": "YWJj",
    "duration": "P1D",
    "regex": "a",
}


def random_arguments(schema: Mapping[str, Any], seed: int, leave_out: tuple[str, ...] = ()) -> dict[str, Any]:
    """Return arguments with all required ones and some of the others; the same for the same seed."""
    return _Generator(schema, seed).arguments(leave_out)


class _Generator:
    def __init__(self, schema: Mapping[str, Any], seed: int) -> None:
        self._schema = schema
        self._random = random.Random(seed)  # noqa: S311 - no secret

    def arguments(self, leave_out: tuple[str, ...]) -> dict[str, Any]:
        properties = {name: one for name, one in self._schema["properties"].items() if name not in leave_out}
        return self._object({"properties": properties, "required": self._schema.get("required", [])}, 0)

    def value(self, spec: Mapping[str, Any], depth: int) -> Any:
        if "$ref" in spec:
            return self.value(self._schema.get("$defs", {}).get(spec["$ref"].rpartition("/")[2], {}), depth + 1)
        if "const" in spec:
            return spec["const"]
        if spec.get("enum"):
            return self._random.choice(spec["enum"])
        for key in ("anyOf",):
            if spec.get(key):
                chosen = self.value(self._random.choice(spec[key]), depth + 1)
                return (
                    {**self._object(spec, depth), **chosen}
                    if "properties" in spec and isinstance(chosen, dict)
                    else chosen
                )
        if "allOf" in spec:
            return self._all_of(spec, depth)
        kind = spec.get("type")
        return self._of_type(kind[0] if isinstance(kind, list) else kind, spec, depth)

    def _all_of(self, spec: Mapping[str, Any], depth: int) -> Any:
        """Return a value of all parts: of objects, one with the required fields of each."""
        parts = [self._target(one) for one in [*spec["allOf"], {key: spec[key] for key in spec if key != "allOf"}]]
        choices = [self.value(one, depth + 1) for one in parts if "anyOf" in one or "allOf" in one]
        properties = {name: one for part in parts for name, one in part.get("properties", {}).items()}
        if not properties:
            return choices[0] if choices else self.value(parts[0], depth + 1)
        required = [name for part in parts for name in part.get("required", ())]
        own = self._object({"properties": properties, "required": required}, depth)
        return own | {key: one for choice in choices if isinstance(choice, dict) for key, one in choice.items()}

    def _target(self, spec: Mapping[str, Any]) -> Mapping[str, Any]:
        while "$ref" in spec:
            spec = self._schema.get("$defs", {}).get(spec["$ref"].rpartition("/")[2], {})
        return spec

    def _of_type(self, kind: Any, spec: Mapping[str, Any], depth: int) -> Any:
        if kind == "object" or "properties" in spec:
            return self._object(spec, depth)
        if kind == "array":
            count = max(spec.get("minItems", 0), 0 if depth > MAX_DEPTH else 1)
            return [
                self.value(spec.get("items", {}), depth + 1) for _ in range(min(count, spec.get("maxItems", count)))
            ]
        if kind in {"integer", "number"}:
            return self._number(kind, spec)
        if kind == "boolean":
            return self._random.choice([True, False])
        return self._text(spec)

    def _object(self, spec: Mapping[str, Any], depth: int) -> dict[str, Any]:
        required = spec.get("required", ())
        share = 0.0 if depth > MAX_DEPTH else OPTION_SHARE
        names = [name for name in spec.get("properties", {}) if name in required or self._random.random() < share]
        return {name: self.value(spec["properties"][name], depth + 1) for name in names}

    def _number(self, kind: str, spec: Mapping[str, Any]) -> float:
        least = spec.get("minimum", spec.get("exclusiveMinimum", 0) + 1)
        most = spec.get("maximum", least + 50)
        if "exclusiveMaximum" in spec:
            most = spec["exclusiveMaximum"] - 1
        step = spec.get("multipleOf", 1)
        found = self._random.randint(int(least), max(int(least), int(most)))
        return int(found // step * step) if kind == "integer" else float(found)

    def _text(self, spec: Mapping[str, Any]) -> str:
        if "pattern" in spec:
            sizes = range(spec.get("minLength", 0), spec.get("maxLength", 10_000) + 1)
            fitting = (one for one in _BY_PATTERN if len(one) in sizes and re.search(spec["pattern"], one))
            return next(fitting, "")
        if spec.get("format") in _FORMATS:
            return _FORMATS[spec["format"]]
        length = self._random.randint(max(spec.get("minLength", 1), 1), max(spec.get("minLength", 1), 8))
        text = "".join(self._random.choices(string.ascii_lowercase, k=length))
        return text[: spec.get("maxLength", length)]


_BY_PATTERN = (
    *(
        "abc",
        "123",
        "2026-01-31T09:00:00Z",
        "2026-01-31",
        "abc-def",
        "#aabbcc",
        "https://example.com/",
        "a@example.com",
    ),
    *("abcdefghijklmnopqrst", "59833787-2cf9-4fdf-8782-e53db20768a5", "PT1H", "1.2.3", "a.b", "/a", "A1", "en", "1h"),
    *(
        "a" * 32,
        "0" * 40,
        "+123456789",
        "a/b",
        "ABC",
        "12:00:00Z",
        "sb_x",
        "(id.eq.1)",
        "return=minimal",
        "eq.1",
        "0-9",
        "id",
    ),
)
