"""Effects of a change of the directory: the tools that people see, gain and lose.

The tools are those of the release on this machine.
"""

from collections.abc import Collection, Iterator, Mapping
from fnmatch import fnmatchcase
from typing import Any

from mcpist.caller import Caller, Role, Subject
from mcpist.people.organization import Organization
from mcpist.tools.permissions import Permissions
from mcpist_services.catalogue import CATALOGUE


def permissions(organization: Organization, *roles: Role) -> Permissions:
    """Return the permissions of a user with these roles of the organization."""
    nobody = Subject("", "")
    return Permissions(Caller(organization.id, "", nobody, "user", roles, organization.disabled), CATALOGUE)


def preview_tools(organization: Organization, *roles: Role, tools: bool) -> dict[str, Any]:
    """Count the visible tools of each module, and with `tools` also name them."""
    permitted = permissions(organization, *roles)
    modules: list[dict[str, Any]] = []
    for module in permitted.modules():
        visible = permitted.tools(module)
        row: dict[str, Any] = {"module": module.name, "tools": len(visible), "of": len(module.tools)}
        modules.append(row | ({"names": {tool.name: tool.effect for tool in visible}} if tools else {}))
    return {"tools": sum(module["tools"] for module in modules), "modules": modules}


def effects(before: Organization, after: Organization) -> list[dict[str, Any]]:
    """Return which tools appear and vanish for which users, and for which roles alone."""
    rows: dict[tuple[tuple[str, ...], tuple[str, ...]], dict[str, Any]] = {}
    for kind, old, new in (
        ("users", _of_users(before), _of_users(after)),
        ("roles", _of_roles(before), _of_roles(after)),
    ):
        for name in sorted(old | new):
            had, has = old.get(name, frozenset()), new.get(name, frozenset())
            if had != has:
                what = tuple(sorted(has - had)), tuple(sorted(had - has))
                row = {"users": [], "roles": [], "appear": list(what[0]), "vanish": list(what[1])}
                rows.setdefault(what, row)[kind].append(name)
    return list(rows.values())


def changes(before: Mapping[str, Any], after: Mapping[str, Any], path: str = "") -> Iterator[dict[str, Any]]:
    """Yield the differences of two mappings as `{path, before, after}`, at the outermost differing keys."""
    for name in dict.fromkeys((*before, *after)):
        old, new = before.get(name), after.get(name)
        if isinstance(old, Mapping) and isinstance(new, Mapping):
            yield from changes(old, new, f"{path}{name}.")
        elif old != new:
            yield {"path": f"{path}{name}", "before": old, "after": new}


def unmatched_patterns(organization: Organization, categories: Collection[str] = ()) -> list[str]:
    """Return a text for each module and mask that matches nothing: a typing error, or another release's tool.

    The tools of upstream `categories` are not known: a mask whose module is one of them always matches.
    """
    names = [f"{tool.module}.{tool.name}" for tool in CATALOGUE.index.tools]
    masks = {"disabled": organization.disabled}
    found = []
    for role in organization.roles.values():
        masks |= {f"roles.{role.name}.allow": role.allow, f"roles.{role.name}.deny": role.deny}
        known = (*CATALOGUE.index.modules, *categories)
        unknown = [module for module in role.modules if module not in known]
        found += [f"roles.{role.name}.modules: this release has no module {module}" for module in unknown]
    return found + [
        f"{place}: the mask {mask} matches no tool of this release"
        for place, some in masks.items()
        for mask in some
        if not (place == "disabled" and mask in (*CATALOGUE.index.modules, *categories))
        and not any(fnmatchcase(name, mask) for name in names)
        and not any(fnmatchcase(name, mask.partition(".")[0]) for name in categories)
    ]


def _of_users(organization: Organization) -> dict[str, frozenset[str]]:
    return {
        user.id: _names(organization, *(organization.roles[name] for name in user.roles))
        for user in organization.users.values()
    }


def _of_roles(organization: Organization) -> dict[str, frozenset[str]]:
    return {name: _names(organization, role) for name, role in organization.roles.items()}


def _names(organization: Organization, *roles: Role) -> frozenset[str]:
    permitted = permissions(organization, *roles)
    return frozenset(f"{tool.module}.{tool.name}" for module in permitted.modules() for tool in permitted.tools(module))
