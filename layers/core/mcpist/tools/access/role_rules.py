"""The rules of roles: which tools a role permits, which rule refuses one, and what an organization switches off."""

from collections.abc import Collection, Iterable
from fnmatch import fnmatchcase
from typing import Literal

from mcpist.caller import Role
from mcpist.tools.declare.tool import Tool
from mcpist.tools.search.index import ToolEntry

type ListedTool = ToolEntry | Tool
"""A tool, only listed or imported: permissions depend on facts that both have."""

type RoleRule = Literal["module", "deny", "allow", "destructive"]
"""The part of a role that refuses a tool."""


def refusing_rule(role: Role, tool: ListedTool) -> RoleRule | None:
    """Return the first rule of a role that refuses a tool: deny wins, and what only reads needs no allow."""
    name = f"{tool.module}.{tool.name}"
    if tool.module not in role.modules:
        return "module"
    if matching(name, role.deny):
        return "deny"
    if tool.needs_allow and not matching(name, role.allow):
        return "allow"
    return "destructive" if tool.effect == "destroys" and not role.destructive else None


def role_permits(role: Role, tool: ListedTool) -> bool:
    """Whether a role permits a tool."""
    return refusing_rule(role, tool) is None


def is_disabled(module: str, tool: str, disabled: Collection[str]) -> bool:
    """Whether an organization's `disabled` switch off a tool; `*` stands for all of the module's tools."""
    return module in disabled or bool(matching(f"{module}.{tool}", disabled))


def matching(name: str, masks: Iterable[str]) -> str:
    """Return the first mask that matches a full name; empty if none does."""
    for mask in masks:
        if fnmatchcase(name, mask):
            return mask
    return ""
