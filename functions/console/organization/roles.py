"""The roles of the organization: the list, one of them with its tools, and changes."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

from console.lists import LIST_PAGE_ROWS, Columns, export, list_page, named_columns
from console.organization.review import review
from console.rendering import address
from console.tools.listing import permissions_of
from console.visit import Visit
from mcpist.caller import ANSWER_FORMATS, Role
from mcpist.errors import InvalidRequest, ModuleNotFound
from mcpist.http.request import HttpResponse
from mcpist.paging import page_of
from mcpist.people import edits
from mcpist.people.organization import Organization
from mcpist.running.accounts import BrokerAccounts
from mcpist.tools.access.counted_calls import count_calls
from mcpist.tools.access.effects import preview_tools
from mcpist.tools.access.role_rules import RoleRule, matching, refusing_rule
from mcpist.tools.declare.tool import ASKING, Effect
from mcpist.tools.search.index import ModuleEntry, ToolEntry
from mcpist_services.catalogue import CATALOGUE

MASK_FIELDS = ("allow", "deny", "approval", "second_person")
MAX_TOOL_CHOICES = 250  # so that a form stays within its bounds; a larger module takes masks and the choice by effect

type Choice = Literal["allow", "ask", "block"]
"""The choice of a role for a tool: `ask` lets another person approve each use of one that asks."""
CHOICES: tuple[Choice, ...] = get_args(Choice.__value__)
_OFFERED: Mapping[Effect, tuple[Choice, ...]] = {
    **dict.fromkeys(("reads", "writes"), ("allow", "block")),
    **dict.fromkeys(ASKING, CHOICES),
}
"""The choices by the effect of a tool: only a use to which a person must agree waits for an approval."""


@dataclass(frozen=True, slots=True)
class ToolChoice:
    """A tool and the role's choice for it; one that destroys needs the role's own switch besides."""

    tool: ToolEntry
    choice: Choice


def show(visit: Visit) -> HttpResponse:
    """Show the roles, and the panel of one or of a new one; or all as CSV."""
    _, organization = visit.administration.read()
    query = visit.request.query
    role = organization.role(query["id"]) if query.get("id") else None
    found = organization.search_roles(query.get("q", ""))
    holders = Counter(name for user in organization.users.values() for name in organization.roles_of(user))
    columns: Columns[Role] = named_columns(
        "name modules users destructive allow deny approval second_person", users=lambda role: holders[role.name]
    )
    if exported := export(visit, "roles", found, columns):
        return exported
    page = list_page(visit, found, columns)
    return visit.page(
        "organization/roles.html",
        organization=organization,
        roles=page.items,
        holders=holders,
        cursor=page.cursor,
        count=page.total,
        role=role,
        formats=[(name, name) for name in ANSWER_FORMATS],
        tab=_tab(query),
        about=_about(visit, organization, role) if role else {},
    )


def submit(visit: Visit) -> HttpResponse:
    """Add, change or remove a role."""
    form = visit.request.form_value
    role = form("id")
    if not role:
        raise InvalidRequest(field="id", problem="name the role")
    target, back = f"roles.{role}", address("/roles", id=role)
    match form("action"):
        case "create":
            return review(visit, "roles.create", target, edits.add_role(role), back=back, done="role_created")
        case "tools":
            module = _module(visit, form("module"))
            back = address("/roles", id=role, module=module.name)
            return review(visit, "roles.update", target, _chosen(visit, role, module), back=back, done="role_changed")
        case "update":
            fields: dict[str, Any] = {name: _lines(form(name)) for name in MASK_FIELDS}
            fields |= {
                "modules": tuple(visit.request.form.get("modules", ())),
                "destructive": form("destructive") == "yes",
            }
            if form("format") and form("format") not in ANSWER_FORMATS:
                raise InvalidRequest(field="format", problem=f"it is one of {', '.join(ANSWER_FORMATS)}")
            fields |= {"format": form("format")} if form("format") else {}
            edit = edits.change_role(role, **fields)
            return review(visit, "roles.update", target, edit, back=back, done="role_changed")
        case "delete":
            return review(visit, "roles.delete", target, edits.remove_role(role), back="/roles", done="role_removed")
    raise InvalidRequest(field="action", problem="this action is unknown")


def _about(visit: Visit, organization: Organization, role: Role) -> dict[str, Any]:
    """Return the values of a role's tab."""
    query = visit.request.query
    if _tab(query) == "accounts":
        accounts = BrokerAccounts(visit.caller).rows(f"role#{role.name}", query.get("service", ""))
        return {"accounts": list(accounts), "services": _services(visit, role, query.get("service", ""))}
    if query.get("tab") == "users":
        page = page_of(organization.users_with_role(role.name), str, query.get("after", ""), LIST_PAGE_ROWS)
        users, after = page.items, page.cursor
        return {"users": [organization.users[user] for user in users], "after": after}
    seen = {row["module"]: row["tools"] for row in preview_tools(organization, CATALOGUE, role, tools=False)["modules"]}
    about: dict[str, Any] = {"modules": permissions_of(visit).catalogue.index.modules, "seen": seen, "module": None}
    if not query.get("module"):
        about["calls"] = _calls(organization, role, about["modules"].values()) if query.get("calls") else None
    else:
        module = _module(visit, query["module"])
        shown = choices(replace(role, modules=(*role.modules, module.name)), module)
        about |= {
            "module": module,
            "choices": shown if len(shown) <= MAX_TOOL_CHOICES else None,
            "counts": Counter(one.choice for one in shown),
            "offered": {one.tool.effect: _OFFERED[one.tool.effect] for one in shown},
            "calls": _calls(organization, role, [module]) if query.get("calls") else None,
        }
    return about


def _calls(organization: Organization, role: Role, modules: Iterable[ModuleEntry]) -> dict[str, Any]:
    """Return how often the users of a role used each of these modules, and each tool of them, lately."""
    module_of = {f"{module.name}.{tool}": module.name for module in modules for tool in module.tools}
    holders = organization.users_with_role(role.name)
    counted = count_calls(organization.id, dict.fromkeys(holders, module_of.keys()))
    calls = Counter[str]()
    for row in counted["calls"]:
        calls.update(dict.fromkeys((row["tool"], module_of[row["tool"]]), row["calls"]))
    return {**counted, "calls": calls}


def _tab(query: Mapping[str, str]) -> str:
    return query.get("tab") or ("accounts" if query.get("service") else "permissions")


def _services(visit: Visit, role: Role, service: str) -> list[str]:
    """Return the services of a role's modules that have accounts, or of these one."""
    modules = permissions_of(visit).catalogue.index.modules
    held = (modules[name].service for name in role.modules if name in modules)
    found = {name for name in held if name}
    return sorted(found & {service} if service else found)


def _module(visit: Visit, name: str) -> ModuleEntry:
    modules = permissions_of(visit).catalogue.index.modules
    if name not in modules:
        raise ModuleNotFound(module=name, known=", ".join(modules))
    return modules[name]


def _chosen(visit: Visit, role: str, module: ModuleEntry) -> edits.Edit:
    """Return the edit with the form's choices for a module's tools: one by one, or for all of an effect."""
    form = visit.request.form_value

    def edit(before: Organization) -> Organization:
        present = choices(before.role(role), module)
        wanted = {
            one.tool.name: _choice(form(f"all.{one.tool.effect}") or form(f"use.{one.tool.name}") or one.choice)
            for one in present
        }
        return before.with_role(choose(before.role(role), module, wanted))

    return edit


def _choice(text: str) -> Choice:
    if text not in CHOICES:
        raise InvalidRequest(field="use", problem=f"it is one of {', '.join(CHOICES)}")
    return text


def _lines(text: str) -> tuple[str, ...]:
    """Return the masks of a field, one a line."""
    return tuple(line.strip() for line in text.splitlines() if line.strip())


def choices(role: Role, module: ModuleEntry) -> list[ToolChoice]:
    """Return the role's choice for each tool of a module."""
    return [ToolChoice(tool, _choice_of(role, tool)) for tool in module.tools.values()]


def _choice_of(role: Role, tool: ToolEntry) -> Choice:
    if _refusing_rule(role, tool) is not None:
        return "block"
    asks = tool.asks and matching(f"{tool.module}.{tool.name}", (*role.approval, *role.second_person))
    return "ask" if asks else "allow"


def choose(role: Role, module: ModuleEntry, wanted: Mapping[str, Choice]) -> Role:
    """Return the role with these choices for a module's tools, by masks of single tools; masks with `*` stay.

    A tool that another mask decides as wanted needs none of its own, and one that a mask with `*` denies stays denied,
    or waits for an approval.
    """
    names = {f"{module.name}.{tool}" for tool in module.tools}
    modules = role.modules if module.name in role.modules else (*role.modules, module.name)
    # Masks of single tools are written anew: those of other modules and with `*` stay as they are.
    masks: dict[str, Any] = {
        field: tuple(one for one in getattr(role, field) if one not in names) for field in MASK_FIELDS
    }
    bare = replace(role, modules=modules, **masks)
    for tool in module.tools.values():
        name, choice, refused = f"{module.name}.{tool.name}", wanted[tool.name], _refusing_rule(bare, tool)
        if choice != "block" and refused == "allow":
            masks["allow"] += (name,)
        elif choice == "block" and refused is None:
            masks["deny"] += (name,)
        if choice == "ask" and tool.asks and not matching(name, (*bare.approval, *bare.second_person)):
            masks["second_person" if name in role.second_person else "approval"] += (name,)
    return replace(bare, **masks)


def _refusing_rule(role: Role, tool: ToolEntry) -> RoleRule | None:
    return refusing_rule(replace(role, destructive=True), tool)
