"""Entries: every tool and module that a caller may know of, and the edits that switch them off and on.

Every door sees a change within `directory.ACCESS_CACHE_SECONDS`.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from glob import escape
from types import MappingProxyType
from typing import Any

from mcpist.errors import InvalidRequest, ModuleNotFound, ToolNotFound
from mcpist.people.edits import Edit
from mcpist.people.organization import Organization
from mcpist.suggestions import nearest
from mcpist.tools.access.permissions import Permissions
from mcpist.tools.access.role_rules import is_disabled, role_permits
from mcpist.tools.declare.module import ModuleKind
from mcpist.tools.declare.tool import Effect
from mcpist.tools.search.catalogue import ModuleSource
from mcpist.tools.search.index import ModuleEntry, ToolEntry


@dataclass(frozen=True, slots=True, kw_only=True)
class RegistryEntry:
    """A module or, where `tool` is not empty, a tool."""

    name: str
    """The full name: `tracker`, `tracker.list_items`."""
    module: str
    tool: str = ""
    source: ModuleKind
    """What it comes from: a written service, an upstream server, an imported API or a program."""
    effect: Effect | None = None
    """The effect of a tool."""
    description: str
    """The description of a module, or the first line of a tool's."""
    signature: str = ""
    """How a tool is called and what it answers."""
    version: str
    enabled: bool
    registered_at: str
    """When it became available, in UTC; empty for a category of which nothing was approved yet."""
    tags: tuple[str, ...]
    category: str
    author: str
    dependencies: tuple[str, ...]
    """The services whose accounts it needs."""
    tool_count: int = 0
    """How many tools a module has for this caller, those that are switched off among them."""


@dataclass(frozen=True, slots=True)
class Filter:
    """The filter of a list of entries; an empty field narrows nothing."""

    module: str = ""
    category: str = ""
    tag: str = ""
    effect: Effect | None = None
    enabled: bool | None = None

    def admits(self, entry: RegistryEntry) -> bool:
        """Whether an entry has everything that is asked for; upper and lower case are the same."""
        return (
            self.module in {"", entry.module}
            and self.category.casefold() in {"", entry.category.casefold()}
            and (not self.tag or self.tag.casefold() in map(str.casefold, entry.tags))
            and self.effect in {None, entry.effect}
            and self.enabled in {None, entry.enabled}
        )


EVERYTHING = Filter()


class Registry:
    """The tools and modules of a caller's roles; with `everything`, those of the whole organization.

    A category whose tools are not known is listed without any: no server is asked.
    """

    def __init__(self, permissions: Permissions, *, everything: bool = False) -> None:
        self._permissions = permissions
        self._everything = everything
        self._shared: dict[str, dict[str, Any]] = {}
        """What the tools of a module have in common, by its name: a list of thousands makes it once."""

    def list(self, wanted: Filter = EVERYTHING) -> Sequence[RegistryEntry]:
        """Return the tools that a filter admits, in the order of their modules."""
        modules = self._permissions.catalogue.index.modules.values()
        entries = (self._tool_entry(module, tool) for module in modules for tool in self._known(module))
        return [*entries] if wanted is EVERYTHING else [entry for entry in entries if wanted.admits(entry)]

    def modules(self, wanted: Filter = EVERYTHING) -> Sequence[RegistryEntry]:
        """Return the modules that a filter admits."""
        return [entry for module in self._modules() if wanted.admits(entry := self._module_entry(module))]

    def search(self, query: str, wanted: Filter = EVERYTHING) -> Sequence[tuple[RegistryEntry, float]]:
        """Return all tools that fit a task and may be used now, best first, each with its score; the best has 1."""
        modules = self._permissions.catalogue.index.modules
        ranked = self._permissions.ranked(query)
        found = ((self._tool_entry(modules[tool.module], tool), score) for tool, score in ranked)
        return [(entry, score) for entry, score in found if wanted.admits(entry)]

    def get(self, name: str) -> RegistryEntry:
        """Return a module or a tool by its full name; the error says why there is none for this caller."""
        module, tool = find(self._permissions.catalogue, name)
        if tool and tool in module.tools and self._knows(module.tools[tool]):
            return self._tool_entry(module, module.tools[tool])
        if not tool and any(known is module for known in self._modules()):
            return self._module_entry(module)
        # These raise why it may not be known, and read what was not known yet.
        if tool:
            self._permissions.tool(module.name, tool)
        else:
            self._permissions.module(module.name)
        module = self._permissions.catalogue.index.modules[module.name]
        return self._tool_entry(module, module.tools[tool]) if tool else self._module_entry(module)

    def _modules(self) -> Iterator[ModuleEntry]:
        held = {name for role in self._permissions.caller.roles for name in role.modules}
        for module in self._permissions.catalogue.index.modules.values():
            if self._everything or (module.name in held and (not module.tools or any(self._known(module)))):
                yield module

    def _known(self, module: ModuleEntry) -> Iterable[ToolEntry]:
        return (tool for tool in module.tools.values() if self._knows(tool))

    def _knows(self, tool: ToolEntry) -> bool:
        return self._everything or any(role_permits(role, tool) for role in self._permissions.caller.roles)

    def _tool_entry(self, module: ModuleEntry, tool: ToolEntry) -> RegistryEntry:
        if module.name not in self._shared:
            self._shared[module.name] = _metadata(module)
        return RegistryEntry(
            name=f"{module.name}.{tool.name}",
            tool=tool.name,
            effect=tool.effect,
            description=self._permissions.translation(module.name).text(tool.summary),
            signature=tool.signature,
            enabled=not is_disabled(module.name, tool.name, self._permissions.caller.disabled),
            **(_metadata(module, tool.about) if tool.about else self._shared[module.name]),
        )

    def _module_entry(self, module: ModuleEntry) -> RegistryEntry:
        return RegistryEntry(
            name=module.name,
            description=self._permissions.translation(module.name).text(module.description),
            enabled=not is_disabled(module.name, "*", self._permissions.caller.disabled),
            tool_count=sum(1 for _ in self._known(module)),
            **_metadata(module),
        )


def disable(catalogue: ModuleSource, name: str) -> Edit:
    """Switch off a module, or a tool by its full name; ModuleNotFound or ToolNotFound where there is none."""

    def edit(before: Organization) -> Organization:
        module, tool = find(catalogue, name)
        mask = escape(name) if tool else module.name
        return replace(before, disabled=tuple(dict.fromkeys([*before.disabled, mask])))

    return edit


def enable(catalogue: ModuleSource, name: str) -> Edit:
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


def find(catalogue: ModuleSource, name: str) -> tuple[ModuleEntry, str]:
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


def _metadata(module: ModuleEntry, own: Mapping[str, Any] = MappingProxyType({})) -> dict[str, Any]:
    about = {"registered_at": module.registered_at, **module.about, **own}
    return {
        "module": module.name,
        "source": module.kind,
        "version": about.get("version", "1.0.0"),
        "category": about.get("category", ""),
        "author": about.get("author", ""),
        "tags": tuple(about.get("tags", ())),
        "registered_at": about["registered_at"],
        "dependencies": (module.service,) if module.service else (),
    }
