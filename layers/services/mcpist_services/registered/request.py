"""Requests to register a module: what an administrator sends, and the definition that is made of it."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue, StringConstraints

from mcpist.aws.attributes import json_bytes
from mcpist.errors import InvalidRequest
from mcpist.registry.definitions import Definition
from mcpist.validation import parse_model
from mcpist_services.definitions import ModuleName

if TYPE_CHECKING:
    from mcpist_services.described.description import Description

MAX_TAGS = 20
MAX_DESCRIPTION_FILES = 50  # of one description
MAX_PROBLEM_CHARACTERS = 300
MAX_OVERLAY_EVALUATIONS = 500_000
"""Of one overlay's schemas: about four seconds; those of Box's whole API take 57,000."""

type OpenApi = dict[str, JsonValue] | str
type Kind = Literal["api", "upstream"]
type ShortText = Annotated[str, StringConstraints(min_length=1, max_length=100, pattern=r"^[^\x00-\x1f\x7f]*$")]


class ModuleRequest(BaseModel):
    """A module to register: an API by its OpenAPI description or its overlay, or an MCP server by its URL."""

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)

    name: ModuleName
    """The module's name."""
    overwrite: bool = False
    """Whether it replaces a registered module of this name."""
    openapi: OpenApi | tuple[OpenApi, ...] | None = None
    """Of an API: its OpenAPI description, as JSON or as text in JSON or YAML; of a vendor that splits it, its files."""
    overlay: dict[str, JsonValue] | None = None
    """Of an API: what `mcpist api import` wrote; beside `openapi`, its corrections are kept."""
    operations: tuple[ShortText, ...] = ()
    """Of an API: globs that choose operations; empty chooses all."""
    server: str = ""
    """Of an API: its address, where the description has none or several."""
    url: str = ""
    """Of an MCP server: its address."""
    transport: Literal["http", "sse"] = "http"
    description: str = ""
    """What it is for, as a model reads it; an API's own description where it is empty."""
    headers: dict[str, str] = Field(default_factory=dict)
    """Of an MCP server: headers of each request; `grant:NAME` sends the account that people connect for the module."""
    tools: dict[str, JsonValue] = Field(default_factory=dict)
    """Of an MCP server: `includeNames`, `includePatterns`, `excludePatterns`, `overrides`, as in `upstreams.json`."""
    noise: Annotated[tuple[ShortText, ...], Field(max_length=50)] = ()
    """Of an MCP server: fields of its answers that a model need not read, as in `upstreams.json`; an API's stand in its
    overlay."""
    version: ShortText = "1.0.0"
    category: ShortText | None = None
    author: ShortText | None = None
    tags: Annotated[tuple[ShortText, ...], Field(max_length=MAX_TAGS)] = ()

    @property
    def kind(self) -> Kind:
        """The module that is registered."""
        return "upstream" if self.url else "api"


def parse(body: Mapping[str, Any]) -> ModuleRequest:
    """Return a request; InvalidRequest names the field that is missing or wrong."""
    request = parse_model(ModuleRequest, body)
    check(request)
    return request


def define(request: ModuleRequest) -> Definition:
    """Return the definition of what a request describes; InvalidRequest names the place of what is wrong in it."""
    about = {"version": request.version, "tags": list(request.tags)}
    about |= {name: value for name in ("category", "author") if (value := getattr(request, name))}
    return {"about": about, **(_define_api(request) if request.kind == "api" else _define_server(request))}


def destination_of(definition: Definition) -> str:
    """Return where the accounts of a definition are sent, and how; empty where it takes none."""
    if "overlay" in definition:
        security = definition["overlay"].get("security", {})
        kind = security.get("kind", "none")
        place = f"{kind} {security.get('parameter', '')}".strip()
        return "" if kind == "none" else f"{definition['overlay']['host']} {place}"
    server = definition["server"]
    return server["url"] if any(value.startswith("grant:") for value in server["headers"].values()) else ""


def account_handling(definition: Definition) -> Definition:
    """Return all of a definition that decides where its accounts' secrets go and how; empty where it takes none.

    A path below the host is not part of it, but every header is: gateways choose what is behind them by headers, too.
    """
    if not destination_of(definition):
        return {}
    if "overlay" in definition:
        overlay = definition["overlay"]
        security = {name: value for name, value in overlay["security"].items() if name != "key_page"}
        stated = (rule.get("headers", {}).items() for rule in overlay["tools"].values())
        fixed = sorted({(name.lower(), value) for headers in stated for name, value in headers})
        return {"host": overlay["host"], "security": security, "headers": fixed}
    return {name: definition["server"].get(name) for name in ("url", "type", "headers")}


def _define_api(request: ModuleRequest) -> Definition:
    from mcpist_services.described.overlay import load_overlay
    from mcpist_services.described.proposal import propose
    from mcpist_services.described.registered import index_of

    earlier = load_overlay({"name": request.name, **request.overlay}) if request.overlay is not None else None
    if request.openapi is not None:
        overlay = propose(
            _description(request.openapi),
            request.name,
            operations=request.operations,
            server=request.server,
            earlier=earlier,
        )
    else:
        assert earlier is not None
        overlay = earlier
    if overlay.name != request.name:
        raise InvalidRequest(field="overlay.name", problem=f"it is not {request.name}")
    changed = {"description": request.description} if request.description else {}
    dumped = overlay.model_copy(update=changed).dump()
    _check_schemas(dumped)
    return {"overlay": dumped, "index": index_of(dumped)}


def _description(stated: OpenApi | tuple[OpenApi, ...]) -> "Description":
    """Return a description of one file or several; InvalidRequest names the place as one in the request."""
    from mcpist_services.described.description import DescriptionFile, parse_files

    names = (
        {f"openapi.{number}": one for number, one in enumerate(stated)} if isinstance(stated, tuple) else {"": stated}
    )
    files = {name: one.encode() if isinstance(one, str) else json_bytes(one) for name, one in names.items()}
    try:
        return parse_files([DescriptionFile(name, content) for name, content in files.items()])
    except InvalidRequest as error:
        *_, place = places = str(error.details["field"]).split(": ")
        name = next((one for one in places if one in files), "openapi")
        raise error.with_details(field=f"{name}{place if place.startswith('#') else ''}") from None


def _check_schemas(overlay: Mapping[str, Any]) -> None:
    """Raise InvalidRequest for a parameter whose schema is no JSON Schema: the signature is made of it."""
    from mcpist.tools.declare.bounded_schema import OverBudget, schema_errors

    tools = {
        name: {"properties": {one: spec.get("schema", {}) for one, spec in rule.get("parameters", {}).items()}}
        for name, rule in overlay["tools"].items()
    }
    try:
        errors = schema_errors({"$defs": overlay.get("schemas", {}), "properties": tools}, MAX_OVERLAY_EVALUATIONS)
    except (OverBudget, RecursionError):
        raise InvalidRequest(field="overlay.schemas", problem="its schemas take too long to check") from None
    if errors:
        place = ".".join(str(part) for part in errors[0].absolute_path if part not in {"properties", "$defs"})
        raise InvalidRequest(field=f"overlay.{place}", problem=errors[0].message[:MAX_PROBLEM_CHARACTERS])


def _define_server(request: ModuleRequest) -> Definition:
    from mcpist_services.upstream.registered import define_server

    server: dict[str, Any] = {"description": request.description, "type": request.transport, "url": request.url}
    if request.noise:
        server["noise"] = request.noise
    return define_server(request.name, {**server, "headers": request.headers}, request.tools)


def check(request: ModuleRequest) -> None:
    """Raise InvalidRequest for a field that is missing, or does not belong to what is registered."""
    has_api = request.openapi is not None or request.overlay is not None
    if not has_api and not request.url:
        raise InvalidRequest(field="url", problem="Field required: a server's url, or an API's openapi or overlay")
    if isinstance(request.openapi, tuple) and not 1 <= len(request.openapi) <= MAX_DESCRIPTION_FILES:
        raise InvalidRequest(field="openapi", problem=f"a description has 1 to {MAX_DESCRIPTION_FILES} files")
    if has_api and request.url:
        raise InvalidRequest(field="url", problem="give a server's url, or an API's openapi or overlay, not both")
    if request.url and not request.description:
        raise InvalidRequest(field="description", problem="Field required: a model chooses the module by it")
    for name in ("operations", "server") if request.url else ("headers", "tools", "noise"):
        if getattr(request, name):
            owner = "an MCP server" if request.url else "an API"
            raise InvalidRequest(field=name, problem=f"it does not belong to {owner}")
