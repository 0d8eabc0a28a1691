"""Switches: an administrator turns tools and modules off and on for the whole organization.

Every door sees a change within `directory.ACCESS_CACHE_SECONDS`.
"""

from dataclasses import replace
from glob import escape

from mcpist.errors import InvalidRequest, ModuleNotFound, ToolNotFound
from mcpist.people import directory
from mcpist.people.change import Change
from mcpist.people.organization import Organization
from mcpist.tools.catalogue import CatalogueView, nearest
from mcpist.tools.index import ModuleEntry
from mcpist.tools.permissions import is_disabled


def disable(organization: str, catalogue: CatalogueView, name: str, *, dry_run: bool = False) -> Change:
    """Switch off a module, or a tool by its full name; ModuleNotFound or ToolNotFound where there is none."""
    module, tool = find(catalogue, name)
    mask = escape(name) if tool else module.name

    def edit(before: Organization) -> Organization:
        return replace(before, disabled=tuple(dict.fromkeys([*before.disabled, mask])))

    return directory.change(organization, edit, dry_run=dry_run)


def enable(organization: str, catalogue: CatalogueView, name: str, *, dry_run: bool = False) -> Change:
    """Switch on a module, or a tool by its full name; InvalidRequest where another entry still switches it off."""
    module, tool = find(catalogue, name)
    own = {escape(name)} if tool else {module.name, f"{module.name}.*"}

    def edit(before: Organization) -> Organization:
        kept = tuple(mask for mask in before.disabled if mask not in own)
        for mask in kept:
            if is_disabled(module.name, tool or "*", (mask,)):
                raise InvalidRequest(field="name", problem=f'{name} is also switched off by "{mask}"')
        return replace(before, disabled=kept)

    return directory.change(organization, edit, dry_run=dry_run)


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
