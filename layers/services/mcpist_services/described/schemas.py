"""Schemas: those of a description as JSON Schema 2020-12, with what they share kept once."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from mcpist_services.described.description import Description
from mcpist_services.described.references import pointer_keys
from mcpist_services.described.wording import first_sentence, listed

MAX_SCHEMA_TEXT_CHARACTERS = 160
MAX_MERGED_DEPTH = 20

_KEPT = listed(
    "type enum const format pattern minimum maximum multipleOf minLength maxLength minItems maxItems uniqueItems "
    "minProperties maxProperties exclusiveMinimum exclusiveMaximum required default additionalProperties "
    "dependentRequired"
)
_SCHEMA_LISTS = ("allOf", "anyOf", "oneOf", "prefixItems")
_SCHEMAS = ("items", "additionalProperties", "not", "contains", "propertyNames", "if", "then", "else")
_SCHEMA_MAPS = ("properties", "patternProperties")
_SHARED = ("properties", "allOf", "anyOf", "oneOf", "patternProperties")  # a schema with one of these is kept once


@dataclass(slots=True)
class Schemas:
    """The schemas of one description that its tools' parameters need."""

    description: Description
    answers: bool = False
    """Whether they are of answers, which have properties that no request has."""
    shared: dict[str, Any] = field(default_factory=dict)
    """By name: the schemas that others refer to as `#/$defs/NAME`."""
    _names: dict[str, str] = field(default_factory=dict)

    def convert(self, schema: Any) -> dict[str, Any]:
        """Return a schema as JSON Schema: `nullable` as a type, without examples, and without what only answers have.

        What a reference leads to is kept once if it is an object or a choice, else it is put in its place.
        """
        self.description.count_steps()
        if not isinstance(schema, dict):
            return {}
        if isinstance(schema.get("$ref"), str):
            return self._reference(schema)
        found = {key: schema[key] for key in schema if key in _KEPT or (key == "example" and self.answers)}
        found |= description_of(schema) | self._inner(schema)
        if "oneOf" in found:  # vendors write it over alternatives that overlap, and accept what fits several
            choice = {"anyOf": found.pop("oneOf")}
            found |= {"allOf": [*found.get("allOf", []), choice]} if "anyOf" in found else choice
        self._drop_answered(found, schema)
        return _simplified(_of_2020(found, nullable=schema.get("nullable") is True))

    def _inner(self, schema: Mapping[str, Any]) -> dict[str, Any]:
        """Return the schemas within a schema, converted."""
        lists = {key: schema[key] for key in _SCHEMA_LISTS if isinstance(schema.get(key), list)}
        maps = {key: schema[key] for key in _SCHEMA_MAPS if isinstance(schema.get(key), dict)}
        return {
            **{key: [self.convert(one) for one in parts] for key, parts in lists.items()},
            **{key: self.convert(schema[key]) for key in _SCHEMAS if isinstance(schema.get(key), dict)},
            **{
                key: {name: self.convert(one) for name, one in parts.items() if not self._answers(one)}
                for key, parts in maps.items()
            },
        }

    def _reference(self, schema: dict[str, Any]) -> dict[str, Any]:
        target = self.description.deref(schema)
        if not isinstance(target, dict):
            return {}
        if not any(key in target for key in _SHARED):
            return self.convert(target)
        return {"$ref": f"#/$defs/{self._share(schema['$ref'], target)}", **description_of(schema)}

    def _share(self, reference: str, target: dict[str, Any]) -> str:
        """Keep a schema under a name of its own, and return the name."""
        if reference not in self._names:
            wanted = re.sub(r"\W+", "_", pointer_keys(reference)[-1]).strip("_") or "schema"
            name, number = wanted, 2
            while name in self.shared:
                name, number = f"{wanted}_{number}", number + 1
            self._names[reference] = name
            self.shared[name] = {}  # a recursive schema refers to itself while it is converted
            self.shared[name] = self.convert({key: target[key] for key in target if key != "description"})
        return self._names[reference]

    def _answers(self, schema: Any) -> bool:
        """Whether a property is only in answers, where these are of requests."""
        if self.answers:
            return False
        return self.description.object(schema).get("readOnly") is True

    def _drop_answered(self, found: dict[str, Any], schema: Mapping[str, Any]) -> None:
        if isinstance(found.get("required"), list):
            properties = schema.get("properties") or {}
            found["required"] = [name for name in found["required"] if not self._answers(properties.get(name, {}))]
        if not found.get("required"):
            found.pop("required", None)

    def object_of(self, schema: Any, depth: int = 0) -> tuple[dict[str, Any], set[str]] | None:
        """Return the properties of an object and the required ones, over all parts of an `allOf`.

        Of a choice between one object and other types it is the object's. None where it is no such object.
        """
        schema = self.description.deref(schema)
        if not isinstance(schema, dict) or depth > MAX_MERGED_DEPTH:
            return None
        options = [one for key in ("oneOf", "anyOf") for one in schema.get(key) or []]
        if options and not isinstance(schema.get("properties"), dict):
            objects = [one for option in options if (one := self.object_of(option, depth + 1)) is not None]
            return objects[0] if len(objects) == 1 else None
        if any(self.description.object(option).get("properties") for option in options):
            return None
        parts = [self.object_of(part, depth + 1) for part in schema.get("allOf") or []]
        if None in parts:
            return None
        stated: dict[str, Any] = schema.get("properties") or {}
        properties = {name: one for part in parts if part for name, one in part[0].items()} | stated
        required = {name for part in parts if part for name in part[1]} | set(schema.get("required") or ())
        if required and set(schema) <= {"required", "type", "description"}:
            return {}, required  # one part of an `allOf`, which only says what the others need
        is_empty = schema.get("type") == "object" and schema.get("additionalProperties") is False
        kept = {name: one for name, one in properties.items() if not self._answers(one)}
        return (kept, required & set(kept)) if properties or is_empty else None


def description_of(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the first sentence of a schema's description as its keyword; nothing where it has none."""
    text = first_sentence(str(schema.get("description") or ""), MAX_SCHEMA_TEXT_CHARACTERS)
    return {"description": text} if text else {}


def _of_2020(found: dict[str, Any], *, nullable: bool) -> dict[str, Any]:
    """Return a converted schema without the keywords' older meanings, and without what Python cannot check."""
    for word, bound in (("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")):
        if isinstance(found.get(word), bool) and found.pop(word) and bound in found:
            found[word] = found.pop(bound)
    kind = found.get("type")
    if nullable and isinstance(kind, str) and ("enum" not in found or None in found["enum"]):
        found["type"] = [kind, "null"]
    if kind == "file":
        del found["type"]
    if isinstance(found.get("required"), bool):
        del found["required"]
    if "pattern" in found and not _is_pattern(found["pattern"]):
        del found["pattern"]
    if found.get("default", 0) is None or isinstance(found.get("default"), dict | list):
        del found["default"]
    return found


def _simplified(found: dict[str, Any]) -> dict[str, Any]:
    """Return a schema without an `allOf`, `anyOf` or `oneOf` of one part, if nothing beside it says more."""
    for key in ("allOf", "anyOf"):
        parts = found.get(key)
        if isinstance(parts, list) and len(parts) == 1 and set(found) <= {key, "description", "default"}:
            rest = {name: value for name, value in found.items() if name != key}
            return {**parts[0], **rest}
    return found


def _is_pattern(pattern: Any) -> bool:
    try:
        re.compile(pattern)
    except (re.error, TypeError, RecursionError, OverflowError):
        return False
    return len(pattern) <= 500
