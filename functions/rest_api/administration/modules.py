"""The modules of an organization: listed for everybody, registered, switched and removed by administrators.

An administrator switches single tools here, too.
"""

from typing import Annotated, Any, Literal

from aws_lambda_powertools.event_handler import Response
from aws_lambda_powertools.event_handler.openapi.params import Query
from pydantic import Field

from mcpist.caller import RegisteredModule
from mcpist.errors import ModuleNotFound
from mcpist.paging import DEFAULT_PAGE_ITEMS, page_of, search
from mcpist.registry import definitions
from mcpist.registry.entries import Filter, Registry, RegistryEntry, disable, enable
from mcpist.tools.access.permissions import Permissions
from mcpist.tools.declare.module import ModuleKind
from mcpist_services.catalogue import CATALOGUE, hidden_modules
from mcpist_services.deployed import deployed_names
from mcpist_services.registered import registration
from mcpist_services.registered.registration import everything_of
from mcpist_services.registered.request import ModuleRequest, check
from mcpist_services.registered.states import tool_states
from rest_api.administration.changes import ChangeReport, DryRun, Name, administration, change, report
from rest_api.exchange import current
from rest_api.router import Body, Cursor, Limit, Operations, PageBody, RequestBody, SearchText, body_of, json_responses
from rest_api.tools import names

router = Operations("modules")


class ModuleSummary(Body):
    """A module as it is listed."""

    name: str
    source: ModuleKind
    description: str
    version: str
    enabled: bool
    registered_at: str
    registered_by: Annotated[str, Field(description="The administrator who registered it; empty for a deployed one")]
    tags: list[str]
    category: str
    author: str
    dependencies: Annotated[list[str], Field(description="The services whose accounts it needs")]
    tool_count: int
    hides_registered: Annotated[
        bool, Field(description="Whether the organization registered a module of this name, which does not count now")
    ]


class ModuleList(Body, PageBody):
    """Modules that the caller may see, for an administrator of all of the organization, by their names."""

    modules: list[ModuleSummary]


class ModuleTool(Body):
    """A tool of a registered module."""

    name: str
    description: str
    state: Annotated[
        Literal["approved", "new", "changed", "refused"],
        Field(description="Only approved tools are shown and run; new and changed ones wait for an administrator"),
    ]
    warnings: Annotated[list[str], Field(description="What a person should check before approving it")]
    fingerprint: Annotated[str, Field(description="The hash of all that a model reads of it; empty for an API's tool")]


class ModuleDetail(Body):
    """A registered module."""

    name: str
    source: ModuleKind
    registered_at: str
    registered_by: str
    sha256: Annotated[str, Field(description="The hash of its definition")]
    takes_accounts: Annotated[bool, Field(description="Whether people connect an account for it")]
    hidden: Annotated[bool, Field(description="Whether the deployment has a module of this name, which counts")]
    dry_run: bool = False
    tools: list[ModuleTool]
    left_out: Annotated[dict[str, str], Field(description="Operations of an API that are no tools, with the reason")]
    review: Annotated[list[str], Field(description="What the import of an API was unsure of")]


class SwitchRequest(RequestBody):
    """Whether something is switched on for the whole organization."""

    enabled: bool


# A tool's name, or that of a resource or a prompt: `resources ADDRESS`.
ItemName = Annotated[str, Field(min_length=1, max_length=512)]


class ApprovalRequest(RequestBody):
    """The tools of a registered server to approve as they are now."""

    tools: Annotated[
        tuple[ItemName, ...], Field(max_length=1_000, description="Empty approves all that wait and have no warning")
    ] = ()
    fingerprints: Annotated[
        tuple[Name, ...], Field(max_length=1_000, description="If given, only tools with one of these are approved")
    ] = ()


REGISTERED = json_responses(ModuleDetail, _200="What would be registered", _201="The module was registered")


@router.operation("GET", "/v1/modules", "List the modules")
def list_modules(
    category: Annotated[str, Query(description="Only modules of this category")] = "",
    tag: Annotated[str, Query(description="Only modules with this tag")] = "",
    enabled: Annotated[bool | None, Query(description="Only modules that are switched on, or off")] = None,
    q: SearchText = "",
    limit: Limit = DEFAULT_PAGE_ITEMS,
    cursor: Cursor = "",
) -> ModuleList:
    """List the modules that the caller may see, switched off ones among them; an administrator sees all."""
    wanted = Filter(category=category, tag=tag, enabled=enabled)
    found = search(_registry().modules(wanted), q, lambda entry: (entry.name, entry.description))
    page = page_of(found, lambda entry: entry.name, cursor, limit)
    return ModuleList(modules=[_summary(entry) for entry in page.items], cursor=page.cursor, total=page.total)


@router.operation("POST", "/v1/modules", "Register a module", REGISTERED)
def register_module(body: ModuleRequest, dry_run: DryRun = False) -> Response[ModuleDetail]:
    """Register an API by its OpenAPI description, or an MCP server by its URL, for the organization.

    It is in no role until an administrator puts it there. With `dryRun`, see its tools and register nothing.
    """
    check(body)
    made = registration.register(administration(), body, dry_run=dry_run)
    detail = _detail(made.module, made.definition, dry_run=dry_run)
    return Response(200 if dry_run else 201, "application/json", detail)


@router.operation("GET", "/v1/modules/<name>", "Show a registered module")
def get_module(name: str) -> ModuleDetail:
    """Show a registered module with the states of its tools."""
    with administration().permitted("modules.read", f"modules.{name}", event="look"):
        return _registered(name)


@router.operation("PATCH", "/v1/modules/<name>", "Switch a module on or off")
def switch_module(name: str, body: SwitchRequest, dry_run: DryRun = False) -> Response[ChangeReport]:
    """Switch a module on or off for the whole organization; every door obeys within seconds."""
    catalogue = _everything().catalogue
    if name not in catalogue.index.modules:
        raise ModuleNotFound(module=name, known=", ".join(entry.name for entry in _registry().modules()))
    return _switch(name, enabled=body.enabled, dry_run=dry_run)


@router.operation("DELETE", "/v1/modules/<name>", "Remove a registered module")
def delete_module(name: str, dry_run: DryRun = False) -> Response[ChangeReport]:
    """Remove a registered module from the organization and its roles, with the accounts connected for it."""
    return report(registration.unregister(administration(), name, dry_run=dry_run))


@router.operation("POST", "/v1/modules/<name>/approve", "Approve tools")
def approve_module_tools(name: str, body: ApprovalRequest) -> ModuleDetail:
    """Let the doors show and run tools of a registered server as they are now."""
    registration.approve(administration(), name, body.tools, body.fingerprints)
    return _registered(name)


@router.operation("PATCH", "/v1/tools/<name>", "Switch a tool on or off", tag="tools")
def switch_tool(name: str, body: SwitchRequest, dry_run: DryRun = False) -> Response[ChangeReport]:
    """Switch a tool on or off for the whole organization; every door obeys within seconds."""
    # So that who is no administrator gets no answer about tools of others.
    with administration().permitted("modules.switch", f"tools.{name}"):
        module, tool = names.find(_everything(), name)
    return _switch(f"{module}.{tool}", enabled=body.enabled, dry_run=dry_run)


def _switch(name: str, *, enabled: bool, dry_run: bool) -> Response[ChangeReport]:
    action, edit = ("modules.enable", enable) if enabled else ("modules.disable", disable)
    return change(action, f"modules.{name}", edit(_everything().catalogue, name), dry_run=dry_run)


def _registry() -> Registry:
    """Return the modules that the caller may know of; for an administrator all of them."""
    if current().caller.system_role == "admin":
        return Registry(_everything(), everything=True)
    return Registry(current().permissions)


def _everything() -> Permissions:
    """Return the catalogue with all modules that were registered for the organization."""
    return Permissions(everything_of(current().caller), CATALOGUE)


def _registered(name: str) -> ModuleDetail:
    found = registration.find(administration().read()[1], name)
    return _detail(found, definitions.load(current().caller.organization, found.sha256))


def _detail(module: RegisteredModule, definition: definitions.Definition, *, dry_run: bool = False) -> ModuleDetail:
    overlay: dict[str, Any] = definition.get("overlay", {})
    return body_of(
        ModuleDetail,
        module,
        source=module.kind,
        takes_accounts=bool(module.destination),
        hidden=module.name in deployed_names(),
        dry_run=dry_run,
        tools=[body_of(ModuleTool, state) for state in tool_states(current().caller, module, definition)],
        left_out=overlay.get("left_out", {}),
        review=list(overlay.get("review", ())),
    )


def _summary(entry: RegistryEntry) -> ModuleSummary:
    caller = current().caller
    hidden = entry.name in hidden_modules(caller)
    registered = {module.name: module.registered_by for module in caller.modules}
    by = "" if hidden else registered.get(entry.name, "")
    return body_of(ModuleSummary, entry, registered_by=by, hides_registered=hidden)
