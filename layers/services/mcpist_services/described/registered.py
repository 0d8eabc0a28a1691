"""Registered APIs as one caller's modules; each is built once in a sandbox, from a definition that never changes."""

import math
from dataclasses import dataclass, replace
from functools import reduce

from mcpist.caller import Caller, RegisteredModule
from mcpist.errors import McpistError
from mcpist.memory import Memory
from mcpist.registry import definitions
from mcpist.tools.declare.module import Module
from mcpist.tools.search.catalogue import ModuleSource
from mcpist.tools.search.index import Index, join_indexes
from mcpist.tools.search.word_index import WordIndex

MAX_CACHED_MODULES = 100
NO_MODULES = Index([], WordIndex(0, {}, {}))


@dataclass(frozen=True, slots=True)
class BuiltModule:
    """A registered API as a module, with its index."""

    module: Module
    index: Index


_built: Memory[tuple[str, str], BuiltModule] = Memory(math.inf, MAX_CACHED_MODULES)


class RegisteredApis(ModuleSource):
    """The registered APIs that a role of the caller has."""

    def __init__(self, caller: Caller) -> None:
        self._modules, self._failures = definitions.of_caller(
            caller, "api", lambda module: _build(caller.organization, module)
        )

    @property
    def index(self) -> Index:
        """The index for listing and searching."""
        return reduce(join_indexes, (built.index for built in self._modules.values()), NO_MODULES)

    def module(self, name: str) -> Module:
        """Return an API as a module."""
        return self._modules[name].module

    def missing_reason(self, module: str, tool: str = "") -> McpistError | None:  # noqa: ARG002 - a tool is there or not
        """Return why an API's definition could not be read."""
        return self._failures.get(module)


def index_of(overlay: definitions.Definition) -> str:
    """Return the index of an API as text: it is made at the registration, since its words take a while to count."""
    return Index.of([module_of(overlay)]).dump()


def read_index(definition: definitions.Definition) -> Index:
    """Return the index of a stored definition; it is made anew where a release with another format stored it."""
    try:
        return Index.load(definition["index"])
    except ValueError:
        return Index.of([module_of(definition["overlay"])])


def module_of(overlay: definitions.Definition) -> Module:
    """Return the module of an overlay; InvalidRequest names the place of what is wrong in it."""
    from mcpist_services.described.module import module
    from mcpist_services.described.overlay import load_overlay

    return module(load_overlay(overlay))


def _build(organization: str, registered: RegisteredModule) -> BuiltModule:
    return _built.get_or_make((organization, registered.sha256), lambda: _build_new(organization, registered))


def _build_new(organization: str, registered: RegisteredModule) -> BuiltModule:
    definition = definitions.load(organization, registered.sha256)
    index = read_index(definition)
    (entry,) = index.modules.values()
    about = {**entry.about, **definition["about"]}
    entry = replace(entry, about=about, registered_at=registered.registered_at)
    return BuiltModule(module_of(definition["overlay"]), Index([entry], index.words))
