"""A Google discovery document in the shape of OpenAPI 3.

Reference: https://developers.google.com/discovery/v1/reference/apis
"""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Any

# Without these Google gives no refresh token.
AUTHORIZE_URL = "https://accounts.google.com/o/oauth2/v2/auth?access_type=offline&prompt=consent"
TOKEN_URL = "https://oauth2.googleapis.com/token"  # noqa: S105 - an address

_KEPT = (
    *("type", "description", "format", "pattern", "enum", "readOnly", "minimum", "maximum", "default"),
    *("properties", "items", "additionalProperties"),
)
_NUMERIC = ("minimum", "maximum", "default")  # written as texts
_FIELDS = {
    "name": "fields",
    "in": "query",
    "description": "The fields of the answer, e.g. files(id,name,modifiedTime); without it Google chooses.",
    "schema": {"type": "string"},
}


def is_discovery(root: Mapping[str, Any]) -> bool:
    """Whether a document is a discovery document."""
    return root.get("kind") == "discovery#restDescription"


def as_openapi(root: Mapping[str, Any]) -> dict[str, Any]:
    """Return a discovery document in the shape of OpenAPI 3; of two methods with one path the later is a variant."""
    methods = [*_methods(root, "")]
    used = Counter(scope for _, method in methods for scope in method.get("scopes") or ())
    paths: dict[str, Any] = {}
    for resource, method in methods:
        path, verb = f"/{method['path'].lstrip('/').replace('{+', '{')}", str(method["httpMethod"]).lower()
        variants = (path, f"{path}#{resource}", f"{path}#{method['id']}")
        path = next(one for one in variants if verb not in paths.get(one, {}))
        paths.setdefault(path, {})[verb] = _operation(root, resource, method, used)
    scopes = root.get("auth", {}).get("oauth2", {}).get("scopes", {})
    flow = {"authorizationUrl": AUTHORIZE_URL, "tokenUrl": TOKEN_URL, "scopes": scopes}
    schemas = {name: _schema(one) for name, one in (root.get("schemas") or {}).items()}
    return {
        "openapi": "3.0.3",
        "info": {"title": root.get("title"), "version": root.get("version"), "description": root.get("description")},
        "servers": [{"url": f"{root['rootUrl']}{root.get('servicePath', '')}".rstrip("/")}],
        "paths": paths,
        "components": {
            "schemas": schemas,
            "securitySchemes": {"google": {"type": "oauth2", "flows": {"authorizationCode": flow}}} if scopes else {},
        },
    }


def _methods(node: Mapping[str, Any], resource: str) -> Iterator[tuple[str, dict[str, Any]]]:
    for method in (node.get("methods") or {}).values():
        yield resource, method
    for name, inner in (node.get("resources") or {}).items():
        yield from _methods(inner, name)


def _operation(
    root: Mapping[str, Any], resource: str, method: dict[str, Any], used: Mapping[str, int]
) -> dict[str, Any]:
    parameters = [_parameter(name, one) for name, one in (method.get("parameters") or {}).items()]
    reads = method["httpMethod"] == "GET"
    found = {
        "operationId": method["id"],
        "summary": method.get("description", ""),
        "tags": [resource] if resource else [],
        "parameters": [*parameters, _FIELDS] if reads else parameters,
        "responses": _responses(method),
        "security": [{"google": [scope]} for scope in _scopes(method.get("scopes") or (), used, reads=reads)],
    }
    if "request" not in method:
        return found
    name = method["request"]["$ref"]
    properties = root["schemas"][name].get("properties") or {}
    required = [one for one in properties if method["id"] in properties[one].get("annotations", {}).get("required", ())]
    schema: dict[str, Any] = {"$ref": f"#/components/schemas/{name}"}
    schema = {"allOf": [schema, {"required": required}]} if required else schema
    return {**found, "requestBody": {"required": bool(required), "content": {"application/json": {"schema": schema}}}}


def _scopes(scopes: Iterable[str], used: Mapping[str, int], *, reads: bool) -> list[str]:
    """Return the scopes of which a method needs one: first the one that only reads, then those that most accept."""
    return sorted(scopes, key=lambda scope: (not (reads and scope.endswith(".readonly")), -used[scope]))


def _responses(method: Mapping[str, Any]) -> dict[str, Any]:
    if "response" in method:
        schema = {"$ref": f"#/components/schemas/{method['response']['$ref']}"}
        return {"200": {"description": "OK", "content": {"application/json": {"schema": schema}}}}
    if method.get("supportsMediaDownload"):
        return {"200": {"description": "OK", "content": {"application/octet-stream": {}}}}
    return {"204": {"description": "Done"}}


def _parameter(name: str, stated: Mapping[str, Any]) -> dict[str, Any]:
    schema = _schema({key: value for key, value in stated.items() if key != "description"})
    return {
        "name": name,
        "in": stated.get("location"),
        "required": bool(stated.get("required")),
        "description": stated.get("description", ""),
        "schema": {"type": "array", "items": schema} if stated.get("repeated") else schema,
        # `{+name}` takes a name of several segments: `projects/1/locations/2`.
        **({"x-multi-segment": True} if "/" in str(stated.get("pattern", "")) else {}),
    }


def _schema(stated: Any) -> dict[str, Any]:
    if not isinstance(stated, Mapping):
        return {}
    if "$ref" in stated:
        return {"$ref": f"#/components/schemas/{stated['$ref']}"}
    found = {key: stated[key] for key in _KEPT if key in stated}
    for key in _NUMERIC:
        if isinstance(found.get(key), str) and found.get("type") != "string":
            with suppress(ValueError):
                found[key] = json.loads(found[key])
    if found.get("type") == "any":
        del found["type"]
    if "properties" in found:
        found["properties"] = {name: _schema(one) for name, one in found["properties"].items()}
    return found | {key: _schema(found[key]) for key in ("items", "additionalProperties") if key in found}
