"""Operations that a vendor documents and its stored description leaves out, added to the description."""

from collections.abc import Mapping
from typing import Any

JSON = "application/json"
MULTIPART = "multipart/form-data"
TEXT: dict[str, Any] = {"type": "string"}
NUMBER: dict[str, Any] = {"type": "integer"}
FLAG: dict[str, Any] = {"type": "boolean"}


def record(required: tuple[str, ...] = (), **fields: dict[str, Any]) -> dict[str, Any]:
    """The schema of an object that has these fields alone."""
    return {"type": "object", "required": list(required), "properties": fields, "additionalProperties": False}


def listed(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema of a list."""
    return {"type": "array", "items": schema}


def nullable(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema of a value that may be null."""
    return schema | {"nullable": True}


def add(
    document: dict[str, Any],
    name: str,
    where: str,
    *,
    scopes: tuple[str, ...] = (),
    body: dict[str, Any] | None = None,
    answer: Any = None,
    media: str = JSON,
    query: Mapping[str, dict[str, Any]] | None = None,
) -> None:
    """Add the operation `POST /path/{id}` to a description."""
    method, _, path = where.partition(" ")
    parts = [part.strip("{}") for part in path.split("/") if part.startswith("{")]
    parameters = [{"name": part, "in": "path", "required": True, "schema": TEXT} for part in parts]
    parameters += [{"name": parameter, "in": "query", "schema": schema} for parameter, schema in (query or {}).items()]
    content = {} if answer is None else {"content": {JSON: {"schema": {}, "example": answer}}}
    operation: dict[str, Any] = {
        "operationId": name,
        "parameters": parameters,
        "responses": {"204" if answer is None else "200": {"description": ""} | content},
    }
    if scopes:
        operation["security"] = [{"OAuth2": list(scopes)}]
    if body is not None:
        operation["requestBody"] = {"required": True, "content": {media: {"schema": body}}}
    document["paths"].setdefault(path, {})[method.lower()] = operation
