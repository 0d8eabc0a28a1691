"""Permissions: the tools that a caller may see, plan and call.

An organization's `disabled` are masks of full names (`tracker.*`, `*.delete_*`) and names of modules.
"""

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import chain
from typing import ClassVar

from mcpist import errors
from mcpist.caller import ApprovalMode, Caller, Role
from mcpist.errors import McpistError
from mcpist.suggestions import nearest
from mcpist.tools.access.role_rules import ListedTool, is_disabled, matching, refusing_rule, role_permits
from mcpist.tools.declare.tool import Tool
from mcpist.tools.search.catalogue import Catalogue, ModuleSource
from mcpist.tools.search.index import Index, Material, ModuleEntry, PromptEntry, ResourceEntry, ToolEntry
from mcpist.tools.search.translation import Translation

MAX_CACHED_VIEWS = 256
MAX_NAMED_MODULES = 20  # where a caller asks for one that there is not


@dataclass(frozen=True, slots=True)
class Decision:
    """A question that is decided for each use of a tool."""

    name: str
    refusal: "Callable[[Permissions, str, str], McpistError | None]"
    """Returns why a caller may not use a module's tool; None if this decision permits it."""


class Permissions:
    """The catalogue as one caller may use it."""

    def __init__(self, caller: Caller, catalogue: Catalogue) -> None:
        self.caller = caller
        self.catalogue: ModuleSource = catalogue.of(caller)
        self._translation = catalogue.translation

    def modules(self) -> Iterator[ModuleEntry]:
        """Yield the modules with anything for this caller, and those of which that is not known yet."""
        return (one for one in self.catalogue.index.modules.values() if self._has_part(one) or self._may_get_tools(one))

    def module(self, name: str) -> ModuleEntry:
        """Return a module by its name, or raise the error that says why not."""
        self._decide(self.MODULE_DECISIONS, name, "")
        return self.catalogue.index.modules[name]

    def tools(self, module: ModuleEntry) -> list[ToolEntry]:
        """Return the module's tools for this caller, in their order."""
        tools = self.catalogue.index.tools
        return [tools[number] for number in self._view.get(module.name, ())]

    def resources(self, module: ModuleEntry) -> list[ResourceEntry]:
        """Return the module's resources that this caller may read."""
        return [one for one in module.resources.values() if self._allows_material(module, one)]

    def prompts(self, module: ModuleEntry) -> list[PromptEntry]:
        """Return the module's prompts that this caller may use."""
        return [one for one in module.prompts.values() if self._allows_material(module, one)]

    def translation(self, module: str) -> Translation:
        """Return a module's descriptions in the caller's language."""
        return self._translation(module, self.caller.locale)

    def search(self, query: str, limit: int = 10) -> list[ToolEntry]:
        """Return the caller's tools that fit a task, best first."""
        return [tool for tool, _ in self.ranked(query, limit)]

    def ranked(self, query: str, limit: int = 0) -> list[tuple[ToolEntry, float]]:
        """Return the caller's tools that fit a task with their scores, best first, all without a limit; the best has 1.

        A task of words that say nothing, such as `get`, finds the tools that have them in their names.
        """
        # A search that does not read them first would never find a tool of an upstream that nobody has listed yet.
        self.load_tools({name for role in self.caller.roles for name in role.modules})
        index = self.catalogue.index
        allowed = {number for numbers in self._view.values() for number in numbers}
        limit = limit or len(allowed) or 1
        if found := index.words.rank(query, allowed, limit):
            return [(index.tools[number], score) for number, score in found]
        words = set(query.casefold().split())
        named = (index.tools[number] for number in sorted(allowed))
        return [(tool, 1.0) for tool in named if words and words <= set(tool.name.split("_"))][:limit]

    def tool(self, module_name: str, name: str) -> Tool:
        """Return a tool by its names, or raise why not; the error reveals nothing of a module of other roles."""
        self._decide(self.TOOL_DECISIONS, module_name, name)
        return self.catalogue.module(module_name).tools[name]

    def require(self, module: str, material: Material) -> None:
        """Raise why the caller may not use a resource or a prompt: its tools, or its own masks."""
        for name in material.tools:
            self.tool(module, name)
        if not material.tools:
            self.module(module)
        listed = material.listed_in(module)
        if not self._permits(listed):
            raise errors.AuthorizationError(name=_full_name(module, listed.name))
        if not self.allows(listed):
            raise errors.ToolDisabled(name=_full_name(module, listed.name))

    def load_tools(self, modules: Collection[str]) -> None:
        """Read the tools of these modules where they are not known yet; not of those that the caller cannot use."""
        self.catalogue.load_tools(set(filter(self._is_enabled, modules)))

    def names(self, module: str, tool: str) -> tuple[str, str]:
        """Return the names of a module and its tool; some models write the full name as the tool's: `notes.find_note`.

        Without a module it is the only one that has such a tool; InvalidRequest if several have.
        """
        if not module:
            module, tool = self.split_name(tool)
        module = self.module_name(module) if module else self._home_of(tool)
        prefix = f"{module}."
        if not tool.startswith(prefix):
            return module, tool
        self.load_tools((module,))
        entry = self.catalogue.index.modules.get(module)
        return module, tool if entry and tool in entry.tools else tool.removeprefix(prefix)

    def module_name(self, name: str) -> str:
        """Return the name of a module; some models write that of the server behind a category, if it has only one."""
        if name in self.catalogue.index.modules:
            return name
        behind = [module.name for module in self.modules() if module.notes.get("source_server") == name]
        return behind[0] if len(behind) == 1 else name

    def _home_of(self, tool: str) -> str:
        """Return the only module in which the caller has a tool of this name."""
        homes = [module.name for module in self.modules() if any(one.name == tool for one in self.tools(module))]
        if len(homes) == 1:
            return homes[0]
        if tool in self.catalogue.index.modules:
            raise errors.InvalidRequest(field="tool", problem="name a tool of this module")
        named = f", one of {', '.join(homes[:MAX_NAMED_MODULES])}" if homes else ""
        raise errors.InvalidRequest(field="module", problem=f"name the module of this tool{named}")

    def split_name(self, name: str) -> tuple[str, str]:
        """Split a full name into module and tool; both may have dots, and the module is empty where none is named."""
        modules = self.catalogue.index.modules
        dots = [place for place, character in enumerate(name) if character == "."]
        # The last dot first: names of upstream modules and of their tools both have dots, and the longer module wins.
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

    def approval_mode(self, tools: Iterable[ListedTool]) -> ApprovalMode | None:
        """Return the kind of approval that a use of these tools waits for; any of the caller's roles may demand it."""
        asking = [_full_name(tool.module, tool.name) for tool in tools if tool.asks]
        roles = self.caller.roles
        if any(matching(name, role.second_person) for name in asking for role in roles):
            return "second_person"
        return "required" if any(matching(name, role.approval) for name in asking for role in roles) else None

    def _allows_material(self, module: ModuleEntry, material: Material) -> bool:
        """Whether this caller may use a resource or a prompt, and all tools that it needs."""
        needed = (material.listed_in(module.name), *(module.tools[name] for name in material.tools))
        return all(map(self.allows, needed))

    def _has_part(self, module: ModuleEntry) -> bool:
        """Whether this caller has any of a module's tools, resources and prompts."""
        return bool(self._view.get(module.name) or self.resources(module) or self.prompts(module))

    def _decide(self, decisions: Iterable[Decision], module: str, tool: str) -> None:
        """Raise the refusal of the first decision that says no."""
        for decision in decisions:
            if refusal := decision.refusal(self, module, tool):
                raise refusal

    # -- the decisions, in their order ------------------------------------------------------------------

    def _refuse_unlisted(self, module: str, tool: str) -> McpistError | None:
        """Refuse a module whose tools could not be read, or are switched off by the operator."""
        if not self._is_enabled(module):
            return None
        self.catalogue.load_tools((module,))
        reason = self.catalogue.missing_reason(module)
        if not (tool and isinstance(reason, errors.AdministratorError)):
            return reason
        # The reason is the whole module's, but the refusal is about one tool.
        return type(reason)(**{**reason.details, "name": _full_name(module, tool)})

    def _refuse_unknown_module(self, module: str, tool: str) -> McpistError | None:
        """Refuse a module that does not exist; one that the organization registered is not revealed to other roles."""
        if module in self.catalogue.index.modules:
            return None
        if any(module == registered.name for registered in self.caller.modules):
            return errors.AuthorizationError(name=_full_name(module, tool))
        known = nearest(module, (one.name for one in self.modules()), MAX_NAMED_MODULES)
        return errors.ModuleNotFound(module=module, known=known)

    def _refuse_without_role(self, module: str, tool: str) -> McpistError | None:
        """Refuse a module of which no role permits anything."""
        entry = self.catalogue.index.modules[module]
        listed = (one.listed_in(module) for one in entry.materials)
        permitted = any(map(self._permits, chain(entry.tools.values(), listed))) if entry.tools else self._has(module)
        return (
            None
            if permitted or self._may_get_tools(entry)
            else errors.AuthorizationError(name=_full_name(module, tool))
        )

    def _refuse_disabled_module(self, module: str, tool: str) -> McpistError | None:
        """Refuse a module of which everything that the roles permit is switched off."""
        entry = self.catalogue.index.modules[module]
        if self._may_get_tools(entry) or self._has_part(entry):
            return None
        roles, disabled = self.caller.roles, self.caller.disabled
        # Without the limit of the request some tool would do, so an administrator has switched nothing off.
        for_writing = self.caller.reading_only and any(_allows(roles, disabled, one) for one in entry.tools.values())
        return (errors.ReadingOnly if for_writing else errors.ToolDisabled)(name=_full_name(module, tool))

    def _refuse_unknown_tool(self, module: str, tool: str) -> McpistError | None:
        """Refuse a tool that does not exist, or that the operator has switched off or not approved."""
        entry = self.catalogue.index.modules[module]
        if tool in entry.tools:
            return None
        known = nearest(tool, (visible.name for visible in self.tools(entry)))
        return self.catalogue.missing_reason(module, tool) or errors.ToolNotFound(module=module, tool=tool, known=known)

    def _refuse_masked(self, module: str, tool: str) -> McpistError | None:
        """Refuse a tool that the masks of no role permit."""
        entry = self.catalogue.index.modules[module].tools[tool]
        is_permitted = any(refusing_rule(role, entry) in {None, "destructive"} for role in self.caller.roles)
        return None if is_permitted else errors.AuthorizationError(name=_full_name(module, tool))

    def _refuse_destructive(self, module: str, tool: str) -> McpistError | None:
        """Refuse a tool that destroys, unless a role that permits it has the right to destroy."""
        is_permitted = self._permits(self.catalogue.index.modules[module].tools[tool])
        return None if is_permitted else errors.AuthorizationError(name=_full_name(module, tool))

    def _refuse_disabled_tool(self, module: str, tool: str) -> McpistError | None:
        """Refuse a tool that an administrator has switched off for the organization."""
        is_off = is_disabled(module, tool, self.caller.disabled)
        return errors.ToolDisabled(name=_full_name(module, tool)) if is_off else None

    def _refuse_to_reader(self, module: str, tool: str) -> McpistError | None:
        """Refuse a tool that writes to a request that may only read."""
        entry = self.catalogue.index.modules[module].tools[tool]
        return None if self.allows(entry) else errors.ReadingOnly(name=_full_name(module, tool))

    MODULE_DECISIONS: ClassVar[tuple[Decision, ...]] = (
        Decision("listed", _refuse_unlisted),
        Decision("module", _refuse_unknown_module),
        Decision("role", _refuse_without_role),
        Decision("module_switch", _refuse_disabled_module),
    )
    TOOL_DECISIONS: ClassVar[tuple[Decision, ...]] = (
        *MODULE_DECISIONS,
        Decision("tool", _refuse_unknown_tool),
        Decision("mask", _refuse_masked),
        Decision("destructive", _refuse_destructive),
        Decision("switch", _refuse_disabled_tool),
        Decision("reading", _refuse_to_reader),
    )
    """All decisions about a use before a person and the broker are asked; each relies on those before it."""

    def _may_get_tools(self, module: ModuleEntry) -> bool:
        """Whether a module without tools will perhaps have some for this caller, once read or approved."""
        return not module.tools and self._is_enabled(module.name)

    def _is_enabled(self, module: str) -> bool:
        """Whether a role of the caller has a module, and it is not switched off as a whole."""
        return self._has(module) and not is_disabled(module, "*", self.caller.disabled)

    def _has(self, module: str) -> bool:
        return any(module in role.modules for role in self.caller.roles)

    def _permits(self, tool: ListedTool) -> bool:
        return any(role_permits(role, tool) for role in self.caller.roles)

    @property
    def _view(self) -> dict[str, tuple[int, ...]]:
        caller = self.caller
        return _view(self.catalogue.index, caller.roles, caller.disabled, reading_only=caller.reading_only)


def acting_caller(caller: Caller, tool: ListedTool) -> Caller:
    """Return the caller in the roles that permit a tool: the account of another role was not meant for it."""
    roles = tuple(role for role in caller.roles if role_permits(role, tool))
    return caller if roles == caller.roles else replace(caller, roles=roles)


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


def _full_name(module: str, tool: str) -> str:
    return f"{module}.{tool}" if tool else module
