"""What a change of the directory means for people: the tools that they see, gain and lose.

The tools are those of this release, as it stands on this machine.
"""

from collections.abc import Collection, Iterator, Mapping
from fnmatch import fnmatchcase
from typing import Any

from mcpist.caller import Caller, Role, Subject
from mcpist.people.organization import Organization
from mcpist.tools.permissions import Permissions
from mcpist_services.catalogue import CATALOGUE


def permissions(organization: Organization, *roles: Role) -> Permissions:
    """What somebody with these roles of the organization sees."""
    nobody = Subject("", "")
    return Permissions(Caller(organization.id, "", nobody, "user", roles, organization.disabled), CATALOGUE)


def preview_tools(organization: Organization, *roles: Role, tools: bool) -> dict[str, Any]:
    """A preview: how many tools of each module, and by name where `tools` are asked for."""
    sifted = permissions(organization, *roles)
    modules: list[dict[str, Any]] = []
    for module in sifted.modules():
        visible = sifted.tools(module)
        row: dict[str, Any] = {"module": module.name, "tools": len(visible), "of": len(module.tools)}
        modules.append(row | ({"names": {tool.name: tool.effect for tool in visible}} if tools else {}))
    return {"tools": sum(module["tools"] for module in modules), "modules": modules}


def effects(before: Organization, after: Organization) -> list[dict[str, Any]]:
    """Which tools appear and vanish for which users, and for which roles by themselves."""
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
    """The places where two mappings differ: `{path, before, after}`, the outermost that only one of them has."""
    for name in dict.fromkeys((*before, *after)):
        old, new = before.get(name), after.get(name)
        if isinstance(old, Mapping) and isinstance(new, Mapping):
            yield from changes(old, new, f"{path}{name}.")
        elif old != new:
            yield {"path": f"{path}{name}", "before": old, "after": new}


def unmatched_patterns(organization: Organization, categories: Collection[str] = ()) -> list[str]:
    """Modules and masks that fit nothing here: slips of the pen, or tools of another release.

    Of `categories` of upstream servers only the names are known: a mask whose module is one of them fits.
    """
    names = [f"{tool.module}.{tool.name}" for tool in CATALOGUE.index.tools]
    masks = {"disabled": organization.disabled}
    found = []
    for role in organization.roles.values():
        masks |= {f"roles.{role.name}.allow": role.allow, f"roles.{role.name}.deny": role.deny}
        known = (*CATALOGUE.index.modules, *categories)
        strange = [module for module in role.modules if module not in known]
        found += [f"roles.{role.name}.modules: there is no module {module} here" for module in strange]
    return found + [
        f"{place}: the mask {mask} fits no tool here"
        for place, some in masks.items()
        for mask in some
        if not any(fnmatchcase(name, mask) for name in names)
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
    sifted = permissions(organization, *roles)
    return frozenset(f"{tool.module}.{tool.name}" for module in sifted.modules() for tool in sifted.tools(module))
