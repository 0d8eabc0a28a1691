"""Descriptions in vendors' own forms, as OpenAPI 3."""

from collections.abc import Iterator
from typing import Any

from mcpist_services.described.swagger import as_openapi_3

METHODS = ("get", "put", "post", "delete", "patch")
FORM, JSON = "application/x-www-form-urlencoded", "application/json"
_ITEM = {"get": "Get", "patch": "Update", "delete": "Delete"}
_COLLECTION = {"get": "List", "post": "Create"}


def plain(document: dict[str, Any]) -> dict[str, Any]:
    """Return a description that is in OpenAPI 3 already."""
    return document


# -- Google -------------------------------------------------------------------------------------------


def discovery(document: dict[str, Any]) -> dict[str, Any]:
    """Return a description in Google's format: https://developers.google.com/discovery/v1/reference/apis"""
    paths: dict[str, Any] = {}
    for method in _methods(document):
        paths.setdefault(f"/{method.get('flatPath', method['path'])}", {})[method["httpMethod"].lower()] = _operation(
            document, method
        )
    schemas = {name: _schema(schema) for name, schema in document["schemas"].items()}
    flow = {"authorizationUrl": "https://accounts.google.com/o/oauth2/auth", "scopes": {}}
    schemes = {"Oauth2": {"type": "oauth2", "flows": {"implicit": flow}}}
    return {
        "openapi": "3.0.3",
        "info": {"title": document["name"], "version": document["version"]},
        "servers": [{"url": f"{document['rootUrl']}{document['servicePath']}".rstrip("/")}],
        "paths": paths,
        "components": {"schemas": schemas, "securitySchemes": schemes},
    }


def _methods(part: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield from part.get("methods", {}).values()
    for resource in part.get("resources", {}).values():
        yield from _methods(resource)


def _operation(document: dict[str, Any], method: dict[str, Any]) -> dict[str, Any]:
    parameters = [
        {"name": name, "in": one["location"], "required": one.get("required", False), "schema": _schema(one)}
        for name, one in method.get("parameters", {}).items()
    ]
    answer = method.get("response", {})
    content = {"content": {JSON: {"schema": _reference(answer["$ref"])}}} if answer else {}
    operation = {
        "operationId": method["id"],
        "parameters": parameters,
        "responses": {"200" if answer else "204": {"description": "", **content}},
        "security": [{"Oauth2": [scope]} for scope in method.get("scopes", [])],
    }
    if body := method.get("request"):
        operation["requestBody"] = {"required": True, "content": {JSON: {"schema": _body(document, method, body)}}}
    return operation


def _body(document: dict[str, Any], method: dict[str, Any], body: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of a body with the fields that this method requires: Google notes it at each field."""
    fields = document["schemas"][body["$ref"]].get("properties", {})
    needed = sorted(
        name for name, one in fields.items() if method["id"] in one.get("annotations", {}).get("required", ())
    )
    needing = [{"type": "object", "required": needed}] if needed else []
    return {"allOf": [_reference(body["$ref"]), *needing]}


def _reference(name: str) -> dict[str, Any]:
    return {"$ref": f"#/components/schemas/{name}"}


def _schema(one: dict[str, Any]) -> dict[str, Any]:
    if "$ref" in one:
        return _reference(one["$ref"])
    if one.get("repeated"):
        return {"type": "array", "items": _schema({**one, "repeated": False})}
    found = {word: one[word] for word in ("type", "format", "enum", "pattern") if word in one}
    found |= {word: int(one[word]) for word in ("minimum", "maximum") if word in one}
    found |= {"items": _schema(one["items"])} if "items" in one else {}
    found |= (
        {"properties": {name: _schema(inner) for name, inner in one["properties"].items()}}
        if "properties" in one
        else {}
    )
    found |= {"additionalProperties": _schema(one["additionalProperties"])} if "additionalProperties" in one else {}
    return {} if found.get("type") == "any" else found


# -- Slack --------------------------------------------------------------------------------------------


def slack(document: dict[str, Any]) -> dict[str, Any]:
    """Return Slack's Swagger 2: methods are named by their paths, take JSON, and a bearer token instead of a field."""
    found = as_openapi_3(_typed(document))
    for path, item in found["paths"].items():
        for operation in (item[method] for method in METHODS if method in item):
            operation["operationId"] = path.removeprefix("/")
            operation["parameters"] = [one for one in operation.get("parameters", []) if one.get("name") != "token"]
            _take_json(operation)
    found["components"]["securitySchemes"] = {"slackAuth": {"type": "http", "scheme": "bearer"}}
    return found


def _take_json(operation: dict[str, Any]) -> None:
    content = operation.get("requestBody", {}).get("content", {})
    if FORM in content:
        content[JSON] = content.pop(FORM)
        schema = content[JSON].get("schema", {})
        schema.get("properties", {}).pop("token", None)
        schema["required"] = [name for name in schema.get("required", []) if name != "token"]


def _typed(node: Any) -> Any:
    """Return a description in which a list of types is a choice between them."""
    if isinstance(node, list):
        return [_typed(one) for one in node]
    if not isinstance(node, dict):
        return node
    found = {word: _typed(value) for word, value in node.items()}
    kinds = found.get("type")
    if isinstance(kinds, list):
        del found["type"]
        found["anyOf"] = [{"type": kind} for kind in kinds if kind != "null"]
        found["nullable"] = "null" in kinds
    return found


# -- Microsoft ----------------------------------------------------------------------------------------


def graph(document: dict[str, Any]) -> dict[str, Any]:
    """Return Microsoft's description with operations named by their paths: `me.todo.lists.tasks.List`."""
    for path, item in document["paths"].items():
        nouns = [part for part in path.strip("/").split("/") if not part.startswith("{")]
        verbs = _ITEM if path.rstrip("/").endswith("}") else _COLLECTION
        for method, operation in ((one, item[one]) for one in METHODS if one in item):
            operation["operationId"] = ".".join([*nouns, verbs.get(method, method)])
            for parameter in operation.get("parameters", []):
                _open_order(parameter)
    for parameter in document.get("components", {}).get("parameters", {}).values():
        _open_order(parameter)
    return document


def _open_order(parameter: dict[str, Any]) -> None:
    """Let a list be ordered and expanded by any field: the description enumerates some."""
    if parameter.get("name") in {"$orderby", "$expand", "$select"}:
        parameter["schema"] = {"type": "string"}


FORMS = {"plain": plain, "discovery": discovery, "slack": slack, "graph": graph}
