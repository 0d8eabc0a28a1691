"""Permissions: the tools that a caller may see, plan and call.

An organization's `disabled` are masks of full names (`tracker.*`, `*.delete_*`) and names of modules.
"""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace
from fnmatch import fnmatchcase
from functools import lru_cache

from mcpist.caller import Caller, Role
from mcpist.errors import (
    AdministratorError,
    AuthorizationError,
    ModuleNotFound,
    ReadingOnly,
    ToolDisabled,
    ToolNotFound,
)
from mcpist.tools.catalogue import Catalogue, CatalogueView, nearest
from mcpist.tools.index import Index, ModuleEntry, PromptEntry, ResourceEntry, ToolEntry
from mcpist.tools.tool import Tool

MAX_CACHED_VIEWS = 256

type ListedTool = ToolEntry | Tool
"""A tool, only listed or imported: permissions depend on facts that both have."""


class Permissions:
    """The catalogue as one caller may use it."""

    def __init__(self, caller: Caller, catalogue: Catalogue) -> None:
        self.caller = caller
        self.catalogue: CatalogueView = catalogue.of(caller)

    def modules(self) -> Iterator[ModuleEntry]:
        """Yield the modules with a tool for this caller, and those of which that is not known yet."""
        return (one for one in self.catalogue.index.modules.values() if self.tools(one) or self._may_get_tools(one))

    def module(self, name: str) -> ModuleEntry:
        """Return a module by its name, or raise the error that says why not."""
        if name in self._enabled_modules((name,)):
            self.load_tools((name,))
            if absence := self.catalogue.missing_reason(name):
                raise absence
        module = self.catalogue.index.modules.get(name)
        if module is None:
            if any(name == registered.name for registered in self.caller.modules):
                raise AuthorizationError(name=name)
            raise ModuleNotFound(module=name, known=nearest(name, (module.name for module in self.modules())))
        if self._may_get_tools(module):
            return module
        may_have = any(self._permits(tool) for tool in module.tools.values()) if module.tools else self._has(name)
        if not may_have:
            raise AuthorizationError(name=name)
        if not self.tools(module):
            raise ReadingOnly(name=name) if self._is_only_for_writing(module) else ToolDisabled(name=name)
        return module

    def tools(self, module: ModuleEntry) -> list[ToolEntry]:
        """Return the module's tools for this caller, in their order."""
        tools = self.catalogue.index.tools
        return [tools[number] for number in self._view.get(module.name, ())]

    def resources(self, module: ModuleEntry) -> list[ResourceEntry]:
        """Return the module's resources whose tool this caller may use; one without a tool comes with the module."""
        return [one for one in module.resources.values() if not one.tool or self.allows(module.tools[one.tool])]

    def prompts(self, module: ModuleEntry) -> list[PromptEntry]:
        """Return the module's prompts all of whose tools this caller may use."""
        return [one for one in module.prompts.values() if all(self.allows(module.tools[tool]) for tool in one.tools)]

    def search(self, query: str, limit: int = 10) -> list[ToolEntry]:
        """Return the caller's tools that fit a task, best first."""
        return [tool for tool, _ in self.ranked(query, limit)]

    def ranked(self, query: str, limit: int) -> list[tuple[ToolEntry, float]]:
        """Return the caller's tools that fit a task with their scores, best first; the best has 1."""
        self.load_tools({name for role in self.caller.roles for name in role.modules})
        index = self.catalogue.index
        allowed = {number for numbers in self._view.values() for number in numbers}
        return [(index.tools[number], score) for number, score in index.words.rank(query, allowed, limit)]

    def tool(self, module_name: str, name: str) -> Tool:
        """Return a tool by its names, or raise why not; the error reveals nothing of a module of other roles."""
        full_name = f"{module_name}.{name}"
        try:
            module = self.module(module_name)
        except AdministratorError as error:
            raise type(error)(name=full_name) from None
        tool = module.tools.get(name)
        if tool is None:
            if absence := self.catalogue.missing_reason(module_name, name):
                raise absence
            known = nearest(name, (visible.name for visible in self.tools(module)))
            raise ToolNotFound(module=module_name, tool=name, known=known)
        if not self._permits(tool):
            raise AuthorizationError(name=full_name)
        if is_disabled(module_name, name, self.caller.disabled):
            raise ToolDisabled(name=full_name)
        if not self.allows(tool):
            raise ReadingOnly(name=full_name)
        return self.catalogue.module(module_name).tools[name]

    def require(self, module: str, tools: Collection[str]) -> None:
        """Raise why the caller may not use what comes with these tools of a module, or with the module alone."""
        for name in tools:
            self.tool(module, name)
        if not tools:
            self.module(module)

    def load_tools(self, modules: Collection[str]) -> None:
        """Read the tools of these modules where they are not known yet; not of those that the caller cannot use."""
        self.catalogue.load_tools(self._enabled_modules(modules))

    def split_name(self, name: str) -> tuple[str, str]:
        """Split a full name into module and tool; both may have dots, and the module is empty where none is named."""
        modules = self.catalogue.index.modules
        dots = [place for place, character in enumerate(name) if character == "."]
        known = next((dot for dot in reversed(dots) if name[:dot] in modules), None)
        if known is not None:
            return name[:known], name[known + 1 :]
        if any(name in module.tools for module in modules.values()):
            return "", name
        module, _, tool = name.rpartition(".")
        return module, tool

    def allows(self, tool: ListedTool) -> bool:
        """Whether this caller may use the tool."""
        return _allows(self.caller.roles, self.caller.disabled, tool, reading_only=self.caller.reading_only)

    def _may_get_tools(self, module: ModuleEntry) -> bool:
        """Whether a module without tools will perhaps have some for this caller, once read or approved."""
        return not module.tools and bool(self._enabled_modules((module.name,)))

    def _enabled_modules(self, names: Iterable[str]) -> set[str]:
        """Return the modules among these that a role of the caller has, and that are not switched off as a whole."""
        return {name for name in names if self._has(name) and not is_disabled(name, "*", self.caller.disabled)}

    def _has(self, module: str) -> bool:
        return any(module in role.modules for role in self.caller.roles)

    def _is_only_for_writing(self, module: ModuleEntry) -> bool:
        """Whether a reading request is all that keeps the caller from a module's tools."""
        caller = self.caller
        tools = module.tools.values()
        return caller.reading_only and any(_allows(caller.roles, caller.disabled, tool) for tool in tools)

    def _permits(self, tool: ListedTool) -> bool:
        return any(role_permits(role, tool) for role in self.caller.roles)

    @property
    def _view(self) -> dict[str, tuple[int, ...]]:
        caller = self.caller
        return _view(self.catalogue.index, caller.roles, caller.disabled, reading_only=caller.reading_only)


def role_permits(role: Role, tool: ListedTool) -> bool:
    """Whether a role permits a tool: deny wins, and what only reads needs no allow."""
    name = f"{tool.module}.{tool.name}"
    return (
        tool.module in role.modules
        and not _matches(name, role.deny)
        and (not tool.needs_allow or _matches(name, role.allow))
        and (tool.effect != "destroys" or role.destructive)
    )


def acting_caller(caller: Caller, tool: ListedTool) -> Caller:
    """Return the caller in the roles that permit a tool: the account of another role was not meant for it."""
    return replace(caller, roles=tuple(role for role in caller.roles if role_permits(role, tool)))


def is_disabled(module: str, tool: str, disabled: Collection[str]) -> bool:
    """Whether an organization's `disabled` switch off a tool; `*` stands for all of the module's tools."""
    return module in disabled or _matches(f"{module}.{tool}", disabled)


@lru_cache(MAX_CACHED_VIEWS)
def _view(
    index: Index, roles: tuple[Role, ...], disabled: tuple[str, ...], *, reading_only: bool
) -> dict[str, tuple[int, ...]]:
    """Return the numbers of the tools that callers with these roles may use, by module."""
    view: dict[str, list[int]] = {}
    for number, tool in enumerate(index.tools):
        if _allows(roles, disabled, tool, reading_only=reading_only):
            view.setdefault(tool.module, []).append(number)
    return {module: tuple(numbers) for module, numbers in view.items()}


def _allows(roles: Iterable[Role], disabled: Collection[str], tool: ListedTool, *, reading_only: bool = False) -> bool:
    return (
        (tool.reads or not reading_only)
        and any(role_permits(role, tool) for role in roles)
        and not is_disabled(tool.module, tool.name, disabled)
    )


def _matches(name: str, masks: Iterable[str]) -> bool:
    return any(fnmatchcase(name, mask) for mask in masks)
