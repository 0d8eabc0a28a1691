"""The page `/modules`: what an organization's tools come from, with approvals, registration and removal."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from console.lists import LIST_PAGE_ROWS, Columns, export, list_page, named_columns
from console.organization.review import VERSION_FIELD, show_review
from console.tools.listing import permissions_of
from console.visit import Visit
from mcpist.errors import InvalidRequest
from mcpist.http.request import HttpResponse
from mcpist.paging import page_of
from mcpist.registry import definitions
from mcpist.registry.entries import Registry, RegistryEntry
from mcpist.tools.access.permissions import Permissions
from mcpist_services.catalogue import hidden_modules
from mcpist_services.registered import registration
from mcpist_services.registered.request import ModuleRequest, parse
from mcpist_services.registered.states import approved_texts, tool_states

if TYPE_CHECKING:
    from mcp_types import Tool as ListedTool

    from mcpist_services.upstream.category import CategoryModule
    from mcpist_services.upstream.trust import TextLine

MODULES_PAGE, MAX_COMPARED_TOOLS = "/modules", 50
APP_FIELDS = ("client_id", "client_secret", "authorize_url", "token_url", "revoke_url")


@dataclass(frozen=True, slots=True)
class Comparison:
    """The text that an administrator reads before approving a tool."""

    lines: Sequence["TextLine"]
    """What differs from the approved text, or else the whole text."""
    is_difference: bool


@dataclass(frozen=True, slots=True)
class WaitingTool:
    """A tool of a server that waits for an approval."""

    name: str
    state: Literal["new", "changed"]
    text: Comparison


def show(visit: Visit) -> HttpResponse:
    """Show the modules, and the panel of one that was registered or of a new one; or all as CSV."""
    permissions = permissions_of(visit)
    entries, approvals = Registry(permissions, everything=True).modules(), count_waiting(permissions)
    columns: Columns[RegistryEntry] = named_columns(
        "name source tools enabled waiting",
        tools=lambda entry: entry.tool_count,
        waiting=lambda entry: approvals.get(entry.name, 0),
    )
    if exported := export(visit, "modules", entries, columns):
        return exported
    page = list_page(visit, entries, columns)
    registered = {module.name: module for module in visit.caller.modules}
    name = visit.request.query.get("id", "")
    panel = _panel(visit, name) if name else {}
    values: dict[str, Any] = {"registered": registered, "hidden": hidden_modules(visit.caller), "approvals": approvals}
    values["ready"] = _ready(registered) if "new" in visit.request.query else ()
    return visit.page("modules.html", page=page, panel=panel, **values)


def _ready(registered: Mapping[str, Any]) -> Sequence[str]:
    from mcpist_services.registered.catalogue import ready_here  # which most pages need not wait for

    return [name for name in ready_here() if name not in registered]


def submit(visit: Visit) -> HttpResponse:
    """Register or remove a module, or approve tools as they were shown."""
    form = visit.request.form_value
    match form("action"):
        case "register" | "add":
            return _register(visit)
        case "approve":
            return _approve(visit, form("id"))
        case "set_app" | "remove_app":
            return _change_app(visit, form("id"), sets=form("action") == "set_app")
        case "remove":
            return _remove(visit, form("id"))
    raise InvalidRequest(field="action", problem="this action is unknown")


def _panel(visit: Visit, name: str) -> dict[str, Any]:
    """Return the values of a module's panel; of the deployment's modules only the tools that wait for approval."""
    from mcpist.oauth.client_document import callback_url
    from mcpist_services.registered import apps

    organization = visit.administration.read()[1]
    deployed = {} if name in organization.modules else deployed_servers(permissions_of(visit), name)
    if deployed:
        return {"module": None, "name": name, "deployed": deployed, "max_compared": MAX_COMPARED_TOOLS}
    module = registration.find(organization, name)
    definition = definitions.load(visit.caller.organization, module.sha256)
    permissions_of(visit).load_tools((name,))  # what is to be approved is what the server offers now
    states = tool_states(visit.caller, module, definition)
    found = sorted((one for one in states if one.state in {"new", "changed"}), key=lambda one: one.name)
    page = page_of(found, lambda one: one.name, visit.request.query.get("after", ""), LIST_PAGE_ROWS)
    waiting, more = page.items, page.cursor
    changed = [state.name for state in waiting if state.state == "changed"]
    approved = approved_texts(visit.caller, module, changed) if changed else {}
    overlay: Mapping[str, Any] = definition.get("overlay", {})
    return {
        "module": module,
        "name": name,
        "waiting": waiting,
        "more": more,
        "texts": {state.name: compare(state.text, approved.get(state.name)) for state in waiting},
        "others": [state for state in states if state not in found],
        "review": list(overlay.get("review", ())),
        "left_out": overlay.get("left_out", {}),
        "app": apps.get_app(visit.administration, name),
        "callback": callback_url(name),
    }


def _register(visit: Visit) -> HttpResponse:
    """Show what a registration would bring, and register it where the form confirms that."""
    request, is_reviewed = _request(visit), bool(visit.request.form_value(VERSION_FIELD))
    made = registration.register(visit.administration, request, dry_run=not is_reviewed)
    if is_reviewed:
        return visit.redirect(MODULES_PAGE, id=request.name, done="module_registered")
    tools = tool_states(visit.caller, made.module, made.definition) if request.kind == "api" else []
    target = f"modules.{request.name}"
    return show_review(visit, made.applied, "modules.create", target, back=f"{MODULES_PAGE}?new=1", tools=tools)


def _request(visit: Visit) -> ModuleRequest:
    """Return the module that the filled fields of a form describe; a header is written as `name: value`."""
    form = visit.request.form_value
    if form("ready"):
        from mcpist_services.registered.catalogue import request_of

        return request_of(form("ready"), form("ready_server").strip())
    fields: dict[str, Any] = {name: form(name) for name in ("name", "description")}
    fields |= {name: form(name) for name in ("url", "openapi", "server") if form(name).strip()}
    headers = [line.partition(":") for line in form("headers").splitlines() if line.strip()]
    return parse(fields | ({"headers": {name.strip(): text.strip() for name, _, text in headers}} if headers else {}))


def _approve(visit: Visit, name: str) -> HttpResponse:
    """Approve the ticked tools, if they still are as the form showed them."""
    ticked = [value.partition(" ") for value in visit.request.form.get("tools", ())]
    if not ticked:
        raise InvalidRequest(field="tools", problem="choose at least one tool")
    fingerprints, tools = [one[0] for one in ticked], [one[2] for one in ticked]
    registration.approve(visit.administration, name, tools, fingerprints)
    return visit.redirect(MODULES_PAGE, id=name, done="tools_approved")


def _change_app(visit: Visit, name: str, *, sets: bool) -> HttpResponse:
    """Set the app of a module from the filled fields of a form, or remove it."""
    from mcpist.oauth.module_app import ModuleAppRequest
    from mcpist.validation import parse_model
    from mcpist_services.registered import apps

    if sets:
        form = visit.request.form_value
        fields = {field: form(field).strip() for field in APP_FIELDS}
        given: dict[str, Any] = {field: value for field, value in fields.items() if value}
        given["scopes"] = form("scopes").split()
        apps.set_app(visit.administration, name, parse_model(ModuleAppRequest, given))
    else:
        apps.remove_app(visit.administration, name)
    return visit.redirect(MODULES_PAGE, id=name, done="app_set" if sets else "app_removed")


def _remove(visit: Visit, name: str) -> HttpResponse:
    is_reviewed = bool(visit.request.form_value(VERSION_FIELD))
    applied = registration.unregister(visit.administration, name, dry_run=not is_reviewed)
    if is_reviewed:
        return visit.redirect(MODULES_PAGE, done="module_removed")
    return show_review(visit, applied, "modules.delete", f"modules.{name}", back=MODULES_PAGE)


def compare(text: str, approved: str | None) -> Comparison:
    """Return the lines of a tool's text, compared with what was approved if that is known."""
    from mcpist_services.upstream.trust import changes, lines_of

    if approved is None:
        return Comparison(lines_of(text), is_difference=False)
    return Comparison(changes(approved, text), is_difference=True)


def count_waiting(permissions: Permissions) -> Mapping[str, int]:
    """Return how many tools of each module wait, as their servers last listed them; no server is asked."""
    counts = {name: sum(map(len, category.waiting.values())) for name, category in _categories(permissions)}
    return {name: count for name, count in counts.items() if count}


def deployed_servers(permissions: Permissions, name: str) -> Mapping[str, Sequence[WaitingTool]]:
    """Return the servers of a category of the deployment with their tools that wait; its operator approves them."""
    category = dict(_categories(permissions)).get(name)
    return (
        {server: _waiting_tools(server, category.waiting.get(server, {})) for server in category.servers}
        if category
        else {}
    )


def _waiting_tools(server: str, tools: Mapping[str, "ListedTool"]) -> Sequence[WaitingTool]:
    from mcpist_services.upstream import lists
    from mcpist_services.upstream.trust import pinned_text

    pins = {name: pin for name, pin in lists.server_state(server).pins.items() if name in tools} if tools else {}
    approved = lists.approved_texts_of(server, pins) if pins else {}
    return [
        WaitingTool(name, "changed" if name in pins else "new", compare(pinned_text(tools[name]), approved.get(name)))
        for name in sorted(tools)
    ]


def _categories(permissions: Permissions) -> Iterator[tuple[str, "CategoryModule"]]:
    """Yield the modules of upstream servers; where there is none, nothing of theirs is imported."""
    catalogue = permissions.catalogue
    names = [name for name, module in catalogue.index.modules.items() if module.kind == "upstream"]
    if names:
        from mcpist_services.upstream.category import CategoryModule

        modules = ((name, catalogue.module(name)) for name in names)
        yield from ((name, module) for name, module in modules if isinstance(module, CategoryModule))
