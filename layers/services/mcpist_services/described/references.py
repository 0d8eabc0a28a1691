"""An OpenAPI document in one shape: its references are followed, and Swagger 2.0 is rewritten as OpenAPI 3.

References lead to other places of the document or to files of its own folder, and never in a circle.
Swagger: https://spec.openapis.org/oas/v2.0
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from mcpist_services.definitions import parse_values, refuse
from mcpist_services.described.overlay import FORM_TYPE

MAX_API_BYTES = 16_000_000  # GitHub's whole description is 12 MB
MAX_API_VALUES = 2_000_000
MAX_API_DEPTH = 100
BUNDLED_FILES = "x-mcpist-files"  # where a bundled description keeps the other files
MAX_BUNDLED_FILES = 500
MAX_REFERENCE_CHAIN = 50  # references that lead to a reference
METHODS = ("get", "put", "post", "delete", "options", "head", "patch", "trace")
JSON = "application/json"

_EXAMPLES = ("example", "examples")  # what an example holds is no reference of the description
_SCHEMA_KEYWORDS = (
    *("type", "format", "items", "default", "enum", "pattern", "minimum", "maximum", "exclusiveMinimum"),
    *("exclusiveMaximum", "minLength", "maxLength", "minItems", "maxItems", "uniqueItems", "multipleOf"),
)
_STYLES = {"ssv": "spaceDelimited", "pipes": "pipeDelimited"}
_FLOWS = {"accessCode": "authorizationCode", "application": "clientCredentials"}


def read_document(content: bytes, name: str = "description") -> Any:
    """Return the values of a vendor's file; of two equal keys the last counts, as its other readers have it."""
    if len(content) > MAX_API_BYTES:
        raise refuse(name, f"it is larger than {MAX_API_BYTES // 1_000_000} MB")
    return parse_values(content, name, max_values=MAX_API_VALUES, unique_keys=False)


@contextmanager
def well_formed(place: str) -> Iterator[None]:
    """Refuse a part of a description in which something has another type than OpenAPI says."""
    try:
        yield
    except (AttributeError, LookupError, TypeError, ValueError, RecursionError):
        raise refuse(place, "something in it has another type than OpenAPI says") from None


def bundle(root: dict[str, Any], folder: Path | None) -> dict[str, Any]:
    """Return the description with the files that it refers to inside it, so that every `$ref` is local."""
    return _Bundle(root, folder).bundled()


def deref(root: dict[str, Any], node: Any, place: str = "") -> Any:
    """Return the node at the end of a node's `$ref`s; a summary and a description beside a `$ref` win."""
    seen: set[str] = set()
    beside: dict[str, Any] = {}
    while isinstance(node, dict) and isinstance(node.get("$ref"), str):
        reference = node["$ref"]
        if reference in seen:
            raise refuse(place or reference, f"its $ref leads in a circle: {' -> '.join([*seen, reference])}")
        if len(seen) == MAX_REFERENCE_CHAIN:
            raise refuse(place or reference, f"its $ref leads through more than {MAX_REFERENCE_CHAIN} others")
        seen.add(reference)
        beside = {key: node[key] for key in ("summary", "description") if key in node} | beside
        node = resolve(root, reference, place)
    return {**node, **beside} if beside and isinstance(node, dict) else node


def resolve(root: dict[str, Any], reference: str, place: str = "") -> Any:
    """Return the value at a local reference such as `#/components/schemas/File`."""
    node: Any = root
    for key in pointer_keys(reference):
        if isinstance(node, list) and key.isdecimal() and int(key) < len(node):
            node = node[int(key)]
        elif isinstance(node, dict) and key in node:
            node = node[key]
        else:
            raise refuse(place or reference, f"{reference} leads nowhere")
    return node


def pointer_keys(reference: str) -> list[str]:
    """Return the keys of a local reference."""
    pointer = unquote(reference.partition("#")[2]).strip("/")
    return [key.replace("~1", "/").replace("~0", "~") for key in pointer.split("/")] if pointer else []


def as_openapi_3(root: dict[str, Any]) -> dict[str, Any]:
    """Return a Swagger 2.0 description in the shape of OpenAPI 3."""
    paths = {path: _path_item(root, item) for path, item in (root.get("paths") or {}).items()}
    schemes = {name: _scheme(scheme) for name, scheme in (root.get("securityDefinitions") or {}).items()}
    components = {"schemas": root.get("definitions") or {}, "securitySchemes": schemes}
    return {**root, "openapi": "3.0.3", "servers": _servers(root), "paths": paths, "components": components}


class _Bundle:
    """A description and the files beside it, each read once."""

    def __init__(self, root: dict[str, Any], folder: Path | None) -> None:
        self._root = root
        self._folder = folder.resolve() if folder else None
        self._files: dict[str, Any] = {}
        self._bytes = 0

    def bundled(self) -> dict[str, Any]:
        self._localize(self._root, "")
        if self._files:
            self._root[BUNDLED_FILES] = self._files
        return self._root

    def _localize(self, document: Any, name: str) -> None:
        """Rewrite the references of one file, which are relative to it."""
        for node, place in _references(document):
            file, _, pointer = node["$ref"].partition("#")
            if file:
                node["$ref"] = f"#/{BUNDLED_FILES}/{self._load(file, name, place)}/{pointer.strip('/')}".rstrip("/")
            elif name:
                node["$ref"] = f"#/{BUNDLED_FILES}/{_escaped(name)}/{pointer.strip('/')}".rstrip("/")

    def _load(self, file: str, beside: str, place: str) -> str:
        """Read a file of the folder; nothing outside of it, and no address."""
        if self._folder is None or urlsplit(file).scheme or file.startswith(("/", "\\")):
            raise refuse(place, f"its $ref leads to {file}, and only files of the description's own folder are read")
        path = (self._folder / Path(beside).parent / unquote(file)).resolve()
        if not path.is_relative_to(self._folder):
            raise refuse(place, f"its $ref leads to {file}, outside of the description's folder")
        name = path.relative_to(self._folder).as_posix()
        if name not in self._files:
            if len(self._files) >= MAX_BUNDLED_FILES:
                raise refuse(place, f"it refers to more than {MAX_BUNDLED_FILES} files")
            if not path.is_file():
                raise refuse(place, f"its $ref leads to {file}, which is no file")
            self._bytes += path.stat().st_size
            if self._bytes > MAX_API_BYTES:
                raise refuse(place, f"its files are larger than {MAX_API_BYTES // 1_000_000} MB together")
            self._files[name] = read_document(path.read_bytes(), name)
            self._localize(self._files[name], name)
        return _escaped(name)


def _references(document: Any) -> Iterator[tuple[dict[str, Any], str]]:
    """Yield each object with a `$ref` and its place; a value that aliases share is visited once."""
    todo: list[tuple[Any, str, int]] = [(document, "#", 0)]
    seen: set[int] = set()
    while todo:
        node, place, depth = todo.pop()
        if not isinstance(node, dict | list) or id(node) in seen:
            continue
        seen.add(id(node))
        if depth > MAX_API_DEPTH:
            raise refuse(place[:200], f"it is nested more than {MAX_API_DEPTH} deep")
        if isinstance(node, dict) and isinstance(node.get("$ref"), str):
            yield node, place
        pairs = node.items() if isinstance(node, dict) else enumerate(node)
        skipped = () if place.endswith("/properties") else _EXAMPLES
        todo += [(value, f"{place}/{key}", depth + 1) for key, value in pairs if key not in skipped]


def _escaped(name: str) -> str:
    return name.replace("~", "~0").replace("/", "~1")


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
