"""Operations that a vendor's description lacks, in few words, as the vendor's pages describe them.

A schema may be short: a type's name, a list of the values, a tuple of one short schema for a list (in a query joined by
commas), or a schema.
"""

import re
from collections.abc import Collection, Mapping
from typing import Any

JSON = "application/json"


def add(
    document: dict[str, Any],
    route: str,
    operation: str,
    *,
    query: Mapping[str, Any] | None = None,
    body: Mapping[str, Any] | None = None,
    required: Collection[str] = (),
    answer: Any = None,
    status: int = 200,
    media: str = JSON,
) -> None:
    """Add `METHOD /path/{id}` to a description that does not have it; `answer` is an example of its answer.

    `{+ref}` in the path may have slashes.
    """
    method, _, path = route.partition(" ")
    wide = re.findall(r"\{\+(.+?)\}", path)
    path = path.replace("{+", "{")
    places: list[tuple[str, str, bool, Any]] = [
        (name, "path", True, "string") for name in re.findall(r"\{(.+?)\}", path)
    ]
    places += [(name, "query", name in required, kind) for name, kind in (query or {}).items()]
    described: dict[str, Any] = {
        "operationId": operation,
        "parameters": [
            {"name": name, "in": place, "required": needed, "schema": schema(kind), "explode": False}
            | ({"x-multi-segment": True} if name in wide else {})
            for name, place, needed, kind in places
        ],
        "responses": {str(status): response(answer)},
    }
    if body is not None:
        content = {media: {"schema": closed(body, [name for name in required if name in body])}}
        described["requestBody"] = {"required": bool(required), "content": content}
    document["paths"].setdefault(path, {}).setdefault(method.lower(), described)


def closed(fields: Mapping[str, Any], required: Collection[str] = ()) -> dict[str, Any]:
    """A schema of an object with these fields and no other."""
    properties = {name: schema(kind) for name, kind in fields.items()}
    return {"type": "object", "properties": properties, "required": [*required], "additionalProperties": False}


def schema(kind: Any) -> dict[str, Any]:
    """A schema, from a short one."""
    match kind:
        case str():
            return {"type": kind}
        case list():
            return {"enum": kind}
        case tuple():
            return {"type": "array", "items": schema(kind[0])}
        case _:
            return dict(kind)


def response(answer: Any) -> dict[str, Any]:
    """A response with an example; of an answer without a body none."""
    if answer is None:
        return {"description": ""}
    return {"description": "", "content": {JSON: {"schema": _schema_of(answer), "example": answer}}}


def _schema_of(value: Any) -> dict[str, Any]:
    """The schema of an example, in which any field may be missing or null."""
    match value:
        case dict():
            return {
                "type": "object",
                "nullable": True,
                "properties": {name: _schema_of(inner) for name, inner in value.items()},
            }
        case list():
            return {"type": "array", "nullable": True, "items": _schema_of(value[0]) if value else {}}
        case None:
            return {}
    return {}
