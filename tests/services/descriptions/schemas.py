"""The schemas of a description: what they refuse, what they do not know, and values made of them."""

from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import unquote

from openapi_schema_validator import OAS30ReadValidator, OAS30WriteValidator, OAS31Validator
from referencing import Registry, Resource
from referencing.jsonschema import DRAFT202012

MAX_ERRORS = 6
MAX_MESSAGE_CHARACTERS = 300
MAX_ALTERNATIVES = 200
REQUESTS, ANSWERS = "urn:spec", "urn:reply"
_TEXTS = {
    "date-time": "2026-01-15T09:30:00Z",
    "date": "2026-01-15",
    "uri": "https://example.com/x",
    "uuid": "59833787-2cf9-4fdf-8782-e53db20768a5",
    "email": "a@example.com",
}

type Schema = Mapping[str, Any]


class Schemas:
    """A description's schemas, once as requests are checked by them, and once as answers are."""

    def __init__(self, document: dict[str, Any]) -> None:
        self.is_3_1 = document["openapi"].startswith("3.1")
        self.documents = {base: _absolute(document, base) for base in (REQUESTS, ANSWERS)}
        resources = ((base, Resource(contents=one, specification=DRAFT202012)) for base, one in self.documents.items())
        self.registry: Any = Registry().with_resources(resources)
        self._validators: dict[tuple[int, bool], tuple[Any, Any]] = {}

    def deref(self, node: Any) -> Any:
        """Return what a reference refers to, else the node itself."""
        while isinstance(node, dict) and "$ref" in node:
            base, pointer = node["$ref"].split("#/", 1)
            node = self.documents[base]
            for key in pointer.split("/"):
                node = node[unquote(key).replace("~1", "/").replace("~0", "~")]
        return node

    def errors(self, schema: Any, value: Any, *, writing: bool = False) -> list[str]:
        """Return what a schema refuses in a value: `.place: why`."""
        key = id(schema), writing
        if key not in self._validators:
            kind: Any = OAS31Validator if self.is_3_1 else OAS30WriteValidator if writing else OAS30ReadValidator
            # The schema is kept too, so that no other gets its identity.
            self._validators[key] = kind(schema, registry=self.registry, format_checker=kind.FORMAT_CHECKER), schema
        found = self._validators[key][0].iter_errors(value)
        first = sorted(found, key=lambda error: [str(part) for part in error.absolute_path])[:MAX_ERRORS]
        return [_described(_deepest(error)) for error in first]

    def is_array(self, schema: Any) -> bool:
        """Whether a schema, or an alternative of it, is a list."""
        schema = self.deref(schema)
        options = (option for word in ("oneOf", "anyOf", "allOf") for option in schema.get(word, []))
        return schema.get("type") == "array" or any(map(self.is_array, options))

    def unknown(self, schemas: list[Any], value: Any, where: str = "") -> list[str]:
        """Return fields that no alternative knows, in objects that the description leaves open by saying nothing."""
        flat = self._flattened(schemas)
        if isinstance(value, dict):
            return self._unknown_fields(flat, value, where)
        items = [schema["items"] for schema in flat if isinstance(schema.get("items"), dict)]
        if not isinstance(value, list) or not items:
            return []
        return [one for number, item in enumerate(value) for one in self.unknown(items, item, f"{where}[{number}]")]

    def _unknown_fields(self, flat: list[Any], value: dict[str, Any], where: str) -> list[str]:
        known: dict[str, list[Any]] = {}
        for schema in flat:
            for name, inner in schema.get("properties", {}).items():
                known.setdefault(name, []).append(inner)
        is_open = not known or any(one.get("additionalProperties") or one.get("patternProperties") for one in flat)
        found: list[str] = []
        for name, inner in value.items():
            if name in known:
                found += self.unknown(known[name], inner, f"{where}.{name}")
            elif not is_open and not name.startswith("@"):
                names = ", ".join(sorted(known))[:MAX_MESSAGE_CHARACTERS]
                found.append(f"{where}.{name}: unknown field (known: {names})")
        return found

    def _flattened(self, schemas: list[Any]) -> list[Any]:
        flat: list[Any] = []
        left = list(schemas)
        while left and len(flat) < MAX_ALTERNATIVES:
            schema = self.deref(left.pop())
            flat.append(schema)
            left += [option for word in ("allOf", "oneOf", "anyOf") for option in schema.get(word, [])]
        return flat

    # -- values ---------------------------------------------------------------------------------------

    def example(self, schema: Any, depth: int = 0, seen: tuple[str, ...] = ()) -> Any:
        """Return a value of a schema; None where it refers to itself."""
        if "$ref" in schema:
            if schema["$ref"] in seen:
                return None
            seen, schema = (*seen, schema["$ref"]), self.deref(schema)
        stated = next(self._stated(schema), None)
        if stated is not None:
            return stated
        if schema.get("enum"):
            return schema["enum"][0]
        if "allOf" in schema:
            return self._joined(schema, depth, seen)
        for word in ("oneOf", "anyOf"):
            if word in schema:
                return self._chosen(schema, word, depth, seen)
        return self._plain(schema, depth, seen)

    def _stated(self, schema: Any) -> Iterator[Any]:
        values = [schema[word] for word in ("const", "example", "default") if word in schema]
        values += schema["examples"] if isinstance(schema.get("examples"), list) else []
        return (value for value in values if not self.errors(schema, value))

    def _joined(self, schema: Any, depth: int, seen: tuple[str, ...]) -> Any:
        own = {word: schema[word] for word in ("type", "properties", "required") if word in schema}
        parts = [self.example(part, depth, seen) for part in [*schema["allOf"], own] if part]
        objects = [part for part in parts if isinstance(part, dict)]
        if objects:
            return {name: value for part in objects for name, value in part.items()}
        return next((part for part in parts if part is not None), None)

    def _chosen(self, schema: Any, word: str, depth: int, seen: tuple[str, ...]) -> Any:
        plain = {name: schema[name] for name in ("type", "properties", "required") if name in schema}
        own = self.example(plain, depth, seen) if "properties" in schema else None
        value = None
        for option in schema[word]:
            value = self.example(option, depth, seen)
            if isinstance(own, dict) and isinstance(value, dict):
                value = {**own, **value}
            if not self.errors(schema, value):
                break
        return value

    def _plain(self, schema: Any, depth: int, seen: tuple[str, ...]) -> Any:
        kind = schema.get("type")
        kind = kind[0] if isinstance(kind, list) else kind
        if kind == "object" or "properties" in schema:
            return self._object(schema, depth, seen)
        if kind == "array":
            value, least = self.example(schema.get("items", {}), depth + 1, seen), schema.get("minItems", 0)
            return [value] * max(1, least) if value is not None and (depth < 3 or least) else []
        if kind == "string":
            text = _TEXTS.get(schema.get("format"), "text")
            return text.ljust(schema.get("minLength", 0), "x")[: schema.get("maxLength", 999)]
        return {"integer": max(1, int(schema.get("minimum", 1))), "number": 1.0, "boolean": True}.get(kind)

    def _object(self, schema: Any, depth: int, seen: tuple[str, ...]) -> dict[str, Any]:
        required, found = set(schema.get("required", ())), {}
        for name, inner in schema.get("properties", {}).items():
            if name not in required and depth >= 2:
                continue
            value = self.example(inner, depth + 1, seen)
            if name in required or (value is not None and not self.errors(inner, value)):
                found[name] = value
        return found


def _absolute(node: Any, base: str) -> Any:
    """Return a document whose references name it, and whose oneOf are anyOf: vendors write it over what overlaps.

    Answers are not closed, since vendors add fields, and some join closed objects by allOf, which nothing satisfies.
    """
    if isinstance(node, list):
        return [_absolute(item, base) for item in node]
    if not isinstance(node, dict):
        return node
    found = {}
    for word, value in node.items():
        if word == "oneOf" and isinstance(value, list):
            found["anyOf"] = _absolute(value, base)
        elif word == "$ref" and isinstance(value, str) and value.startswith("#"):
            found[word] = base + value
        else:
            found[word] = _absolute(value, base)
    if isinstance(found.get("discriminator"), dict):
        del found["discriminator"]  # its mapping looks like references
    if base == ANSWERS and found.get("additionalProperties") is False:
        del found["additionalProperties"]
    return found


def _deepest(error: Any) -> Any:
    """Return the error of the alternative that was meant: the right constant or type, then the fewest errors."""
    while error.context:
        groups: dict[Any, list[Any]] = {}
        for one in error.context:
            groups.setdefault(one.schema_path[0], []).append(one)
        error = max(min(groups.values(), key=_distance), key=lambda one: len(one.absolute_path))
    return error


def _distance(group: list[Any]) -> tuple[bool, bool, int]:
    is_other = any(one.validator in {"const", "enum", "type"} and len(one.path) < 2 for one in group)
    return is_other, any(one.validator == "required" for one in group), len(group)


def _described(error: Any) -> str:
    where = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in error.absolute_path)
    return f"{where}: {error.message[:MAX_MESSAGE_CHARACTERS]}"
