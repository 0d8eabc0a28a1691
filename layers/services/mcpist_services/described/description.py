"""Description: what an OpenAPI document (2.0 to 3.2) says of an API, read and checked."""

import hashlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mcpist.errors import InvalidRequest
from mcpist_services.definitions import refuse
from mcpist_services.described import discovery, graphql_schema, swagger
from mcpist_services.described.joined import joined
from mcpist_services.described.references import (
    MAX_API_BYTES,
    MAX_API_VALUES,
    MAX_SOURCE_BYTES,
    METHODS,
    bundle,
    chooser,
    deref,
    read_document,
    well_formed,
)

MAX_OPERATIONS = 5_000
MAX_COMPOSITION_STEPS = 3_000_000
"""The schemas and properties that an import of one description reads: about five seconds; Box's API has 123,000."""

PARTS = ("allOf", "oneOf", "anyOf")
MAX_PARTS_DEPTH = 12


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation; its parameters, body and responses are no references any more, their schemas may be."""

    method: str
    """In capitals."""
    path: str
    id: str
    summary: str
    description: str
    tags: tuple[str, ...]
    parameters: tuple[dict[str, Any], ...]
    body: dict[str, Any]
    """Empty where it has none."""
    responses: Mapping[str, dict[str, Any]]
    security: tuple[Mapping[str, Any], ...]
    """The alternatives, each of which names schemes and their scopes; empty where none is needed."""
    servers: tuple[str, ...]
    """Its own servers; empty where it has the description's."""
    extensions: Mapping[str, Any]

    @property
    def key(self) -> str:
        """Its key in the description, e.g. `GET /files/{file_id}`."""
        return f"{self.method} {self.path}"

    @property
    def document(self) -> str:
        """The GraphQL document that its request sends; empty where it is no operation of GraphQL."""
        stated = self.extensions.get(graphql_schema.DOCUMENT)
        return str(stated) if isinstance(stated, graphql_schema.Document) else ""

    @property
    def success(self) -> dict[str, Any]:
        """The response of its success."""
        codes = sorted(code for code in self.responses if code.upper()[:1] == "2")
        return self.responses[codes[0]] if codes else self.responses.get("default", {})


@dataclass(frozen=True, slots=True)
class Description:
    """An API as its description has it."""

    root: dict[str, Any] = field(repr=False)
    """The whole document, in the shape of OpenAPI 3."""
    title: str
    version: str
    about: str
    servers: tuple[str, ...]
    schemes: Mapping[str, dict[str, Any]]
    """The security schemes by name."""
    operations: tuple[Operation, ...]
    hash: str
    """`sha256:` and the hash of the file."""
    _steps: list[int] = field(default_factory=lambda: [0], repr=False, compare=False)

    def deref(self, node: Any, place: str = "") -> Any:
        """Return the node at the end of a node's references, and count what is read there."""
        found = deref(self.root, node, place)
        size = len(found) + len(found.get("properties") or ()) if isinstance(found, dict) else 0
        self.count_steps(1 + size)
        return found

    def object(self, node: Any) -> dict[str, Any]:
        """Return the object at the end of a node's references; an empty one where something else is there."""
        found = self.deref(node)
        return found if isinstance(found, dict) else {}

    def properties(self, schema: Any, depth: int = 0) -> dict[str, Any]:
        """Return the properties of an object, over the parts and the alternatives that it is made of."""
        target = self.object(schema) if depth <= MAX_PARTS_DEPTH else {}
        found: dict[str, Any] = {}
        for part in (part for key in PARTS for part in target.get(key) or []):
            found |= {name: one for name, one in self.properties(part, depth + 1).items() if name not in found}
        stated = target.get("properties")
        return found | stated if isinstance(stated, dict) else found

    def count_steps(self, steps: int = 1) -> None:
        """Raise InvalidRequest after too many steps: parts that refer to parts can double them with each level."""
        self._steps[0] += steps
        if self._steps[0] > MAX_COMPOSITION_STEPS:
            problem = f"its schemas are nested in each other so that reading takes over {MAX_COMPOSITION_STEPS:,} steps"
            raise refuse("#/components/schemas", problem)


@dataclass(frozen=True, slots=True)
class DescriptionFile:
    """One of the files in which a vendor describes an API."""

    name: str
    content: bytes = field(repr=False)
    folder: Path | None = None
    """Where the files are that it refers to; without it there may be none."""


def parse(content: bytes, *, folder: Path | None = None, operations: Collection[str] = ()) -> Description:
    """Return a parsed description; InvalidRequest names the place of a fault in it.

    References to other files are followed within `folder`; without it there may be none. With globs as `operations`
    only those that fit one are read, and the description may be larger.
    """
    return parse_files([DescriptionFile("description", content, folder)], operations)


def parse_files(files: Sequence[DescriptionFile], operations: Collection[str] = ()) -> Description:
    """Return the description that several files make together: see `joined`. No more may be in all than in one."""
    max_bytes = MAX_SOURCE_BYTES if operations else MAX_API_BYTES
    if len(files) > 1 and sum(len(file.content) for file in files) > max_bytes:
        raise refuse("description", f"its files are larger than {max_bytes // 1_000_000} MB together")
    roots: dict[str, dict[str, Any]] = {}
    values = 0
    for file in files:
        try:
            roots[file.name], more = _document(file.content, file.folder, operations)
            values += more
        except InvalidRequest as error:
            if len(files) > 1:
                raise refuse(f"{file.name}: {error.details['field']}", str(error.details["problem"])) from None
            raise
    if values > MAX_API_VALUES:
        raise refuse("description", "its files are larger together than one may be: choose some operations")
    if len(roots) < len(files):
        raise refuse("description", "two of its files have one name")
    with well_formed("description"):
        root = joined(roots) if len(files) > 1 else next(iter(roots.values()))
    return _described(root, b"".join(file.content for file in files))


def _document(content: bytes, folder: Path | None, operations: Collection[str]) -> tuple[dict[str, Any], int]:
    """Return one file in the shape of OpenAPI 3 with all that it refers to inside, and how many values it needs."""
    root = graphql_schema.from_sdl(content) if graphql_schema.is_sdl(content) else _read(content, operations)
    if not isinstance(root, dict) or not ("openapi" in root or "swagger" in root):
        raise refuse("description", "it is no OpenAPI description: it has neither `openapi` nor `swagger`")
    if isinstance(root.get("x-webhooks"), dict):  # before OpenAPI 3.1
        root.setdefault("webhooks", root.pop("x-webhooks"))
    values = bundle(root, folder, chooser(operations) if operations else None)
    with well_formed("description"):
        return swagger.as_openapi_3(root), values


def _described(root: dict[str, Any], content: bytes) -> Description:
    with well_formed("description"):
        servers, schemes = _servers(root), _schemes(root)
    info: Any = root.get("info")
    info = info if isinstance(info, dict) else {}
    found = tuple(_operations(root))
    _check_ids(found)
    return Description(
        root=root,
        title=str(info.get("title") or ""),
        version=str(info.get("version") or ""),
        about=str(info.get("description") or ""),
        servers=servers,
        schemes=schemes,
        operations=found,
        hash=f"sha256:{hashlib.sha256(content).hexdigest()}",
    )


def _read(content: bytes, operations: Collection[str]) -> Any:
    """Return the values of a file of OpenAPI, or those of another source in its shape."""
    root = read_document(content, max_bytes=MAX_SOURCE_BYTES if operations else MAX_API_BYTES)
    if isinstance(root, dict) and discovery.is_discovery(root):
        with well_formed("description"):
            return discovery.as_openapi(root)
    if isinstance(root, dict) and graphql_schema.is_introspection(root):
        return graphql_schema.from_introspection(root)
    return root


def _operations(root: dict[str, Any]) -> Iterator[Operation]:
    number = 0
    for path, stated in root["paths"].items():
        place = f"#/paths/{path.replace('~', '~0').replace('/', '~1')}"
        item = deref(root, stated, place)
        if path.startswith("x-") or not isinstance(item, dict):
            continue
        if not path.startswith("/"):
            raise refuse(place, "a path begins with a slash")
        for method in METHODS:
            operation = deref(root, item.get(method), f"{place}/{method}")
            if isinstance(operation, dict):
                number += 1
                if number > MAX_OPERATIONS:
                    raise refuse(place, f"it has more than {MAX_OPERATIONS:,} operations")
                with well_formed(f"{place}/{method}"):
                    found = _operation(root, (method, path), item, operation, f"{place}/{method}")
                yield found


def _operation(
    root: dict[str, Any], where: tuple[str, str], item: dict[str, Any], stated: dict[str, Any], place: str
) -> Operation:
    method, path = where
    responses = stated.get("responses") or {}
    if not isinstance(responses, dict):
        raise refuse(f"{place}/responses", "it is no object")
    security = stated.get("security", root.get("security")) or []
    return Operation(
        method=method.upper(),
        path=path,
        id=str(stated.get("operationId") or ""),
        summary=str(stated.get("summary") or ""),
        description=str(stated.get("description") or ""),
        tags=tuple(map(str, stated.get("tags") or ())),
        parameters=tuple(_parameters(root, item, stated, place)),
        body=_object(deref(root, stated.get("requestBody") or {}, f"{place}/requestBody"), f"{place}/requestBody"),
        responses={
            str(code): _object(deref(root, one, f"{place}/responses/{code}"), f"{place}/responses/{code}")
            for code, one in responses.items()
            if not str(code).startswith("x-")
        },
        security=tuple(one for one in security if isinstance(one, dict)),
        servers=_servers(stated) or _servers(item),
        extensions={key: value for key, value in stated.items() if key.startswith("x-")},
    )


def _parameters(
    root: dict[str, Any], item: dict[str, Any], stated: dict[str, Any], place: str
) -> Iterator[dict[str, Any]]:
    """Yield the parameters of a path and of its operation, of which the operation's count."""
    found: dict[tuple[Any, Any], dict[str, Any]] = {}
    for one in [*(item.get("parameters") or []), *(stated.get("parameters") or [])]:
        parameter = deref(root, one, f"{place}/parameters")
        if not isinstance(parameter, dict) or not isinstance(parameter.get("name"), str):
            raise refuse(f"{place}/parameters", "a parameter has no name")
        found[parameter["name"], parameter.get("in")] = parameter
    yield from found.values()


def _check_ids(operations: tuple[Operation, ...]) -> None:
    taken: dict[str, str] = {}
    for operation in operations:
        if operation.id and operation.id in taken:
            raise refuse(operation.key, f"its operationId {operation.id} is that of {taken[operation.id]} too")
        taken[operation.id] = operation.key


def _servers(node: Mapping[str, Any]) -> tuple[str, ...]:
    servers = node.get("servers")
    found = [one.get("url") for one in servers if isinstance(one, dict)] if isinstance(servers, list) else []
    return tuple(url.rstrip("/") for url in found if isinstance(url, str) and url)


def _schemes(root: dict[str, Any]) -> dict[str, dict[str, Any]]:
    components = root.get("components")
    stated = components.get("securitySchemes") if isinstance(components, dict) else None
    schemes = {name: deref(root, one, f"#/components/securitySchemes/{name}") for name, one in (stated or {}).items()}
    return {name: one for name, one in schemes.items() if isinstance(one, dict)}


def _object(value: Any, place: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise refuse(place, "it is no object")
    return value
