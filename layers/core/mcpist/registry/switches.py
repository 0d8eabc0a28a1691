"""Switches: edits that turn tools and modules off and on for a whole organization.

Every door sees a change within `directory.ACCESS_CACHE_SECONDS`.
"""

from dataclasses import replace
from glob import escape

from mcpist.errors import InvalidRequest, ModuleNotFound, ToolNotFound
from mcpist.people.edits import Edit
from mcpist.people.organization import Organization
from mcpist.suggestions import nearest
from mcpist.tools.catalogue import CatalogueView
from mcpist.tools.index import ModuleEntry
from mcpist.tools.role_rules import is_disabled


def disable(catalogue: CatalogueView, name: str) -> Edit:
    """Switch off a module, or a tool by its full name; ModuleNotFound or ToolNotFound where there is none."""

    def edit(before: Organization) -> Organization:
        module, tool = find(catalogue, name)
        mask = escape(name) if tool else module.name
        return replace(before, disabled=tuple(dict.fromkeys([*before.disabled, mask])))

    return edit


def enable(catalogue: CatalogueView, name: str) -> Edit:
    """Switch on a module, or a tool by its full name; InvalidRequest where another entry still switches it off."""

    def edit(before: Organization) -> Organization:
        module, tool = find(catalogue, name)
        own = {escape(name)} if tool else {module.name, f"{module.name}.*"}
        kept = tuple(mask for mask in before.disabled if mask not in own)
        for mask in kept:
            if is_disabled(module.name, tool or "*", (mask,)):
                raise InvalidRequest(field="name", problem=f'{name} is also switched off by "{mask}"')
        return replace(before, disabled=kept)

    return edit


def find(catalogue: CatalogueView, name: str) -> tuple[ModuleEntry, str]:
    """Return the module of a name, and the tool's own name; empty for a module.

    A module whose tools are not known yet may have any.
    """
    modules = catalogue.index.modules
    if name in modules:
        return modules[name], ""
    known = [module for module in modules.values() if name.startswith(f"{module.name}.")]
    if not known:
        raise ModuleNotFound(module=name.partition(".")[0], known=nearest(name, modules))
    module = max(known, key=lambda one: len(one.name))
    tool = name.removeprefix(f"{module.name}.")
    if tool not in module.tools and module.listed:
        raise ToolNotFound(module=module.name, tool=tool, known=nearest(tool, module.tools))
    return module, tool
