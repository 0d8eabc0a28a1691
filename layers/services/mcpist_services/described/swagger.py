"""A Swagger 2.0 description in the shape of OpenAPI 3.

Reference: https://spec.openapis.org/oas/v2.0
"""

import re
from typing import Any

from mcpist_services.definitions import refuse
from mcpist_services.described.overlay import FORM_TYPE
from mcpist_services.described.references import METHODS, deref

JSON = "application/json"
_VERSION = re.compile(r"3\.[012]\.\d+")
_SCHEMA_KEYWORDS = (
    *("type", "format", "items", "default", "enum", "pattern", "minimum", "maximum", "exclusiveMinimum"),
    *("exclusiveMaximum", "minLength", "maxLength", "minItems", "maxItems", "uniqueItems", "multipleOf"),
)
_STYLES = {"ssv": "spaceDelimited", "pipes": "pipeDelimited"}
_FLOWS = {"accessCode": "authorizationCode", "application": "clientCredentials"}


def as_openapi_3(root: dict[str, Any]) -> dict[str, Any]:
    """Return a description, which may be one of Swagger 2.0, in the shape of OpenAPI 3."""
    if not isinstance(root.get("paths"), dict):
        raise refuse("#/paths", "it is no object")
    version = str(root.get("openapi", root.get("swagger")))
    if str(root.get("swagger")) != "2.0":
        if not _VERSION.fullmatch(version):
            raise refuse("#/openapi", f"the version {version[:20]} is none of 2.0, 3.0, 3.1 and 3.2")
        return root
    paths = {path: _path_item(root, item) for path, item in root["paths"].items()}
    schemes = {name: _scheme(scheme) for name, scheme in (root.get("securityDefinitions") or {}).items()}
    components = {"schemas": root.get("definitions") or {}, "securitySchemes": schemes}
    return {**root, "openapi": "3.0.3", "servers": _servers(root), "paths": paths, "components": components}


def _servers(root: dict[str, Any]) -> list[dict[str, Any]]:
    host, schemes = root.get("host"), root.get("schemes") or ["https"]
    if not isinstance(host, str):
        return []
    scheme = "https" if "https" in schemes else schemes[0]
    return [{"url": f"{scheme}://{host}{root.get('basePath') or ''}".rstrip("/")}]


def _path_item(root: dict[str, Any], item: Any) -> Any:
    item = deref(root, item)
    if not isinstance(item, dict):
        return item
    shared = [deref(root, one) for one in item.get("parameters") or []]
    return {
        **{method: _operation(root, item[method], shared) for method in METHODS if isinstance(item.get(method), dict)},
        "parameters": [],
    }


def _operation(root: dict[str, Any], operation: dict[str, Any], shared: list[Any]) -> dict[str, Any]:
    own = [deref(root, one) for one in operation.get("parameters") or []]
    named = {(one.get("name"), one.get("in")): one for one in [*shared, *own] if isinstance(one, dict)}
    consumes = operation.get("consumes") or root.get("consumes") or [JSON]
    body = _body(list(named.values()), consumes)
    parameters = [_parameter(one) for one in named.values() if one.get("in") not in {"body", "formData"}]
    responses = {
        str(status): _response(deref(root, one), operation.get("produces") or root.get("produces") or [JSON])
        for status, one in (operation.get("responses") or {}).items()
    }
    return {**operation, "parameters": parameters, "responses": responses, **({"requestBody": body} if body else {})}


def _body(parameters: list[dict[str, Any]], consumes: list[str]) -> dict[str, Any] | None:
    whole = next((one for one in parameters if one.get("in") == "body"), None)
    if whole is not None:
        content = {kind: {"schema": whole.get("schema") or {}} for kind in consumes}
        return {"required": bool(whole.get("required")), "content": content}
    fields = [one for one in parameters if one.get("in") == "formData"]
    if not fields:
        return None
    schema = {
        "type": "object",
        "properties": {one["name"]: {**_schema(one), "description": one.get("description", "")} for one in fields},
        "required": [one["name"] for one in fields if one.get("required")],
    }
    has_file = any(one.get("type") == "file" for one in fields)
    kinds = [kind for kind in consumes if kind in {FORM_TYPE, "multipart/form-data"}]
    kind = "multipart/form-data" if has_file else next(iter(sorted(kinds)), FORM_TYPE)
    return {"required": bool(schema["required"]), "content": {kind: {"schema": schema}}}


def _parameter(one: dict[str, Any]) -> dict[str, Any]:
    kept = {key: value for key, value in one.items() if key not in {*_SCHEMA_KEYWORDS, "collectionFormat"}}
    collection = one.get("collectionFormat", "csv")
    style = {"style": _STYLES[collection]} if collection in _STYLES else {}
    return {**kept, "schema": _schema(one), "explode": collection == "multi", **style}


def _schema(one: dict[str, Any]) -> dict[str, Any]:
    return {key: one[key] for key in _SCHEMA_KEYWORDS if key in one}


def _response(response: Any, produces: list[str]) -> Any:
    if not isinstance(response, dict) or "schema" not in response:
        return response
    return {**response, "content": {kind: {"schema": response["schema"]} for kind in produces}}


def _scheme(scheme: Any) -> Any:
    if not isinstance(scheme, dict):
        return scheme
    if scheme.get("type") == "basic":
        return {"type": "http", "scheme": "basic"}
    if scheme.get("type") == "oauth2":
        flow = scheme.get("flow", "")
        fields = {key: scheme[key] for key in ("authorizationUrl", "tokenUrl", "scopes") if key in scheme}
        return {"type": "oauth2", "flows": {_FLOWS.get(flow, flow): fields}}
    return scheme
