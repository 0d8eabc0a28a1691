"""An OpenAPI document in one shape: its references are followed, and Swagger 2.0 is rewritten as OpenAPI 3.

References lead to other places of the document or to files of its own folder, and never in a circle.
Swagger: https://spec.openapis.org/oas/v2.0
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from mcpist.errors import InvalidRequest
from mcpist_services.definitions import parse_values, refuse
from mcpist_services.described.overlay import FORM_TYPE

MAX_API_BYTES = 16_000_000  # GitHub's whole description is 12 MB
MAX_API_VALUES = 2_000_000
MAX_SOURCE_BYTES = 64_000_000
"""The limit of a file from which only some operations are imported: Microsoft Graph's has 37 MB."""
MAX_API_DEPTH = 100
BUNDLED_FILES = "x-mcpist-files"  # where a bundled description keeps the other files
MAX_BUNDLED_FILES = 5_000
MAX_REFERENCE_CHAIN = 50  # references that lead to a reference
METHODS = ("get", "put", "post", "delete", "options", "head", "patch", "trace")
JSON = "application/json"

type Chooser = Callable[[str, str, Mapping[str, Any]], bool]
"""Whether an operation is wanted, by its path, its method and what is stated of it."""

_EXAMPLES = ("example", "examples")  # what an example holds is no reference of the description
_MAPS = ("properties", "patternProperties", "schemas", "definitions", "$defs", "headers", "parameters", "responses")
_BY_REFERENCE = ("components", "definitions", "parameters", "responses")  # what only references lead to
_SCHEMA_KEYWORDS = (
    *("type", "format", "items", "default", "enum", "pattern", "minimum", "maximum", "exclusiveMinimum"),
    *("exclusiveMaximum", "minLength", "maxLength", "minItems", "maxItems", "uniqueItems", "multipleOf"),
)
_STYLES = {"ssv": "spaceDelimited", "pipes": "pipeDelimited"}
_FLOWS = {"accessCode": "authorizationCode", "application": "clientCredentials"}


def read_document(content: bytes, name: str = "description", *, max_bytes: int = MAX_API_BYTES) -> Any:
    """Return the values of a vendor's file; of two equal keys the last counts, as its other readers have it."""
    if len(content) > max_bytes:
        raise refuse(name, f"it is larger than {max_bytes // 1_000_000} MB")
    max_values = MAX_API_VALUES * max_bytes // MAX_API_BYTES
    return parse_values(content, name, max_values=max_values, unique_keys=False)


@contextmanager
def well_formed(place: str) -> Iterator[None]:
    """Refuse a part of a description in which something has another type than OpenAPI says."""
    try:
        yield
    except (AttributeError, LookupError, TypeError, ValueError, RecursionError):
        raise refuse(place, "something in it has another type than OpenAPI says") from None


def bundle(root: dict[str, Any], folder: Path | None, is_chosen: Chooser | None = None) -> None:
    """Put the files that a description's operations refer to inside it, so that every `$ref` of them is local.

    With `is_chosen`, operations for which it is false are left out first.
    """
    made = _Bundle(root, folder)
    if is_chosen:
        made.choose(is_chosen)
    made.bundled()


def deref(root: dict[str, Any], node: Any, place: str = "") -> Any:
    """Return the node at the end of a node's `$ref`s; a summary and a description beside a `$ref` win."""
    if not isinstance(node, dict) or "$ref" not in node:  # most of the hundreds of thousands in a large schema
        return node
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
    """A description and the files beside it, each read once; what no chosen operation leads to does not count."""

    def __init__(self, root: dict[str, Any], folder: Path | None) -> None:
        self._root = root
        self._folder = folder.resolve() if folder else None
        self._files: dict[str, Any] = {}
        self._sizes = {"": 0}
        self._steps: dict[int, tuple[Any, Any, str]] = {}
        """By a reference's identity: itself, what it leads to, and the file of that."""
        self._seen: set[int] = set()
        self._used: set[str] = set()
        root[BUNDLED_FILES] = self._files

    def choose(self, is_chosen: Chooser) -> None:
        """Drop the operations that are not chosen; those in files of their own are read for their ids and tags."""
        paths = self._root.get("paths")
        if not isinstance(paths, dict):
            return
        for path, stated in list(paths.items()):
            item, file = self._target(stated, "", f"#/paths/{path}")
            chosen: dict[str, Any] = {}
            paths[path] = chosen
            for key, value in item.items() if isinstance(item, dict) else ():
                found, own = self._target(value, file, f"#/paths/{path}/{key}") if key in METHODS else (value, file)
                if key not in METHODS or (isinstance(found, dict) and is_chosen(path, key, found)):
                    chosen[key] = found
                    self._localize(found, f"#/paths/{path}/{key}", own)

    def bundled(self) -> None:
        """Rewrite the references of all that operations lead to, and read the files that these name."""
        start = {key: value for key, value in self._root.items() if key != BUNDLED_FILES and key not in _BY_REFERENCE}
        components = self._root.get("components")
        if isinstance(components, dict):
            start["components"] = {"securitySchemes": components.get("securitySchemes")}
        self._localize(start, "#", "")
        if sum(self._sizes[name] for name in self._used) > MAX_API_BYTES or len(self._seen) > MAX_API_VALUES:
            problem = f"what its operations lead to is larger than {MAX_API_BYTES // 1_000_000} MB"
            raise refuse("#/paths", f"{problem}: choose some operations")
        if not self._files:
            del self._root[BUNDLED_FILES]

    def _localize(self, node: Any, place: str, file: str) -> None:
        """Rewrite the references from a part of a file on, which are relative to the file that each is in."""
        todo: list[tuple[Any, str, int, str]] = [(node, place, 0, file)]
        while todo:
            node, place, depth, file = todo.pop()
            if not isinstance(node, dict | list) or id(node) in self._seen:  # a reference may lead to a text
                continue
            self._seen.add(id(node))
            self._used.add(file)
            if depth > MAX_API_DEPTH:
                raise refuse(place[:200], f"it is nested more than {MAX_API_DEPTH} deep")
            if isinstance(node, dict) and isinstance(node.get("$ref"), str):
                target, beside = self._step(node, file, place)
                todo.append((target, node["$ref"], 0, beside))
            pairs = node.items() if isinstance(node, dict) else enumerate(node)
            is_map = place.rpartition("/")[2] in _MAPS
            todo += [
                (one, f"{place}/{key}", depth + 1, file)
                for key, one in pairs
                if isinstance(one, dict | list) and (is_map or not _is_aside(key))
            ]

    def _target(self, node: Any, file: str, place: str) -> tuple[Any, str]:
        """Return the node at the end of a node's references, and its file."""
        for _ in range(MAX_REFERENCE_CHAIN):
            if not isinstance(node, dict) or not isinstance(node.get("$ref"), str):
                return node, file
            node, file = self._step(node, file, place)
        raise refuse(place, f"its $ref leads through more than {MAX_REFERENCE_CHAIN} others")

    def _step(self, node: dict[str, Any], file: str, place: str) -> tuple[Any, str]:
        """Rewrite one reference; return its target, None where it leads nowhere, and the target's file."""
        if id(node) not in self._steps:
            name, _, pointer = node["$ref"].partition("#")
            inside = self._load(name, file, place) if name else file
            if inside:
                node["$ref"] = f"#/{BUNDLED_FILES}/{_escaped(inside)}/{pointer.strip('/')}".rstrip("/")
            try:
                target = resolve(self._root, node["$ref"], place)
            except InvalidRequest:  # whoever needs it refuses it
                target = None
            self._steps[id(node)] = node, target, inside
        _, target, inside = self._steps[id(node)]
        return target, inside

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
                raise refuse(place, f"it refers to more than {MAX_BUNDLED_FILES:,} files")
            if not path.is_file():
                raise refuse(place, f"its $ref leads to {file}, which is no file")
            self._sizes[name] = path.stat().st_size
            if sum(self._sizes.values()) > MAX_SOURCE_BYTES:
                raise refuse(place, f"its files are larger than {MAX_SOURCE_BYTES // 1_000_000} MB together")
            self._files[name] = read_document(path.read_bytes(), name)
        return name


def _is_aside(key: Any) -> bool:
    """Whether a key of a description holds examples, or what vendors add to it, such as code samples."""
    return key in _EXAMPLES or (isinstance(key, str) and key.startswith("x-"))


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
