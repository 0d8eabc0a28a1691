"""The sieve: what a caller may see, plan and call."""

from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase

from mcpist.caller import Caller, Role
from mcpist.errors import AdministratorError, AuthorizationError, ModuleNotFound, ToolDisabled, ToolNotFound
from mcpist.tools.catalogue import Catalogue, nearest
from mcpist.tools.module import Module
from mcpist.tools.tool import Tool


class Sieve:
    """The catalogue as one caller has it."""

    def __init__(self, caller: Caller, catalogue: Catalogue) -> None:
        self.caller = caller
        self.catalogue = catalogue

    def modules(self) -> Iterator[Module]:
        """The modules with at least one tool for this caller."""
        for name in self.catalogue.names:
            if self._enabled(name):
                module = self.catalogue.module(name)
                if any(self.tools(module)):
                    yield module

    def module(self, name: str) -> Module:
        """A module by its name, or the error that says why not."""
        if name not in self.catalogue.names:
            raise ModuleNotFound(module=name, known=nearest(name, (module.name for module in self.modules())))
        module = self.catalogue.module(name) if self._enabled(name) else None
        if module is None or not any(self._permits(tool) for tool in module.tools.values()):
            raise AuthorizationError(name=name)
        if not any(self.tools(module)):
            raise ToolDisabled(name=name)
        return module

    def tools(self, module: Module) -> Iterator[Tool]:
        """The module's tools for this caller, in their order."""
        return (tool for tool in module.tools.values() if self.allows(tool))

    def tool(self, module_name: str, name: str) -> Tool:
        """A tool by its names, or the error that says why not; of a module that is not theirs it tells nothing."""
        full_name = f"{module_name}.{name}"
        try:
            module = self.module(module_name)
        except AdministratorError as error:
            raise type(error)(name=full_name) from None
        tool = module.tools.get(name)
        if tool is None:
            known = nearest(name, (visible.name for visible in self.tools(module)))
            raise ToolNotFound(module=module_name, tool=name, known=known)
        if not self._permits(tool):
            raise AuthorizationError(name=full_name)
        if not self.allows(tool):
            raise ToolDisabled(name=full_name)
        return tool

    def allows(self, tool: Tool) -> bool:
        """Whether this caller may use the tool."""
        return self._permits(tool) and not _matches(f"{tool.module}.{tool.name}", self.caller.disabled)

    def _permits(self, tool: Tool) -> bool:
        return any(permits(role, tool) for role in self.caller.roles)

    def _enabled(self, module: str) -> bool:
        """Whether a role has the module at all; where none has, it need not be imported."""
        return any(module in role.modules for role in self.caller.roles)


def permits(role: Role, tool: Tool) -> bool:
    """Whether a role's pattern lets a tool through: deny wins, and reading without secrets needs no allow."""
    name = f"{tool.module}.{tool.name}"
    harmless = tool.reads and not tool.reveals
    return (
        tool.module in role.modules
        and not _matches(name, role.deny)
        and (harmless or _matches(name, role.allow))
        and (tool.effect != "destroys" or role.destructive)
    )


def _matches(name: str, masks: Iterable[str]) -> bool:
    return any(fnmatchcase(name, mask) for mask in masks)
