"""A role's tools of one module as check boxes: from masks to ticks, and back."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace

from mcpist.caller import Role
from mcpist.tools.index import ModuleEntry, ToolEntry
from mcpist.tools.role_rules import RoleRule, refusing_rule


@dataclass(frozen=True, slots=True)
class Box:
    """The check box of a tool."""

    tool: ToolEntry
    ticked: bool
    """Whether the role has the tool; one that destroys needs the role's own switch besides."""


def boxes(role: Role, module: ModuleEntry) -> list[Box]:
    """Return the check boxes of a module's tools."""
    return [Box(tool, _refusing_rule(role, tool) is None) for tool in module.tools.values()]


def tick(role: Role, module: ModuleEntry, ticked: Collection[str]) -> Role:
    """Return the role with exactly these tools of a module, by masks of single tools; masks with `*` stay.

    A tool that another mask decides as wanted needs none of its own, and one that a mask with `*` denies stays denied.
    """
    names = {f"{module.name}.{tool}" for tool in module.tools}
    allow, deny = _without(role.allow, names), _without(role.deny, names)
    modules = role.modules if module.name in role.modules else (*role.modules, module.name)
    bare = replace(role, modules=modules, allow=allow, deny=deny)
    for tool in module.tools.values():
        refused, wanted = _refusing_rule(bare, tool), tool.name in ticked
        if wanted and refused == "allow":
            allow = (*allow, f"{module.name}.{tool.name}")
        elif not wanted and refused is None:
            deny = (*deny, f"{module.name}.{tool.name}")
    return replace(bare, allow=allow, deny=deny)


def _refusing_rule(role: Role, tool: ToolEntry) -> RoleRule | None:
    return refusing_rule(replace(role, destructive=True), tool)


def _without(masks: Iterable[str], names: Collection[str]) -> tuple[str, ...]:
    return tuple(mask for mask in masks if mask not in names)
