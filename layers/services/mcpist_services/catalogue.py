"""The catalogue of all modules: the written services, and those that data defines, behind one interface.

Modules from data come from four sources: imported APIs and programs of the deployment, MCP servers, and what an
organization registered. Where there is nothing of a kind, nothing of it is imported.
"""

from dataclasses import replace
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING

from mcpist.errors import AccountsOfAnother, McpistError, NameTaken
from mcpist.memory import Memory, cached
from mcpist.settings import settings
from mcpist.tools.declare.module import Module
from mcpist.tools.search.catalogue import NO_ENTRIES, Catalogue, ModuleSource
from mcpist_services import NAMES, providers
from mcpist_services.deployed import deployed_names, deployed_sources, has_programs
from mcpist_services.described.compiled import imported_apis

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from mcpist.caller import Caller, RegisteredModule


_read_files: Memory[str, tuple[int, int]] = Memory(inf, 1)


@cached
def has_upstreams() -> bool:
    """Whether upstream servers are configured."""
    path = Path(settings().upstreams)
    _read_files.put(settings().upstreams, _stamp(path))
    if not path.is_file() or not path.stat().st_size:
        return False
    from mcpist_services.definitions import parse_commented_json

    try:
        content = parse_commented_json(path.read_text("utf-8"))
    except ValueError:
        content = None
    if isinstance(content, dict) and not content.get("mcpServers") and not content.get("categories"):
        return False  # as the project brings it: a file of comments
    from mcpist_services.upstream.configuration import configuration

    return bool(configuration().servers)


def _follow_upstreams() -> None:
    """On one machine, read the file of upstream servers again if it has changed since this process read it."""
    known = _read_files.get(settings().upstreams) if settings().local_services else None
    if known and known != _stamp(Path(settings().upstreams)):
        from mcpist_services.upstream.configuration import configuration

        has_upstreams.cache_clear()
        configuration.cache_clear()


def _stamp(path: Path) -> tuple[int, int]:
    try:
        found = path.stat()
    except OSError:
        return 0, 0
    return found.st_mtime_ns, found.st_size


def _sources_of(caller: "Caller") -> "Sequence[ModuleSource]":
    """Return the sources that depend on the caller: MCP servers, and what the caller's organization registered."""
    _follow_upstreams()
    sources: list[ModuleSource] = []
    registered = caller.modules
    if any("saved" in role.modules for role in caller.roles):
        from mcpist_services.saved.module import SavedModule

        sources.append(SavedModule(caller))
    if any("automations" in role.modules for role in caller.roles):
        from mcpist_services.automations.module import source

        sources.append(source)
    if hidden := hidden_modules(caller):
        sources.append(HiddenModules([one for one in caller.modules if one.name in hidden]))
        registered = tuple(one for one in caller.modules if one.name not in hidden)
    if has_upstreams() or any(module.kind == "upstream" for module in registered):
        from mcpist_services.upstream.modules import Categories

        sources.append(Categories(caller, registered))
    if any(module.kind == "api" for module in registered):
        from mcpist_services.described.registered import registered_apis

        sources.append(registered_apis(replace(caller, modules=registered)))
    return sources


CATALOGUE = Catalogue("mcpist_services", NAMES, deployed=deployed_sources, sources_of=_sources_of)


class HiddenModules(ModuleSource):
    """Registered modules whose names the deployment took later: its own modules count, and say so of other tools."""

    index = NO_ENTRIES

    def __init__(self, hidden: "Collection[RegisteredModule]") -> None:
        self._hidden = {module.name: bool(module.destination) for module in hidden}

    def module(self, name: str) -> Module:
        """Return none of them."""
        raise LookupError(name)

    def missing_reason(self, module: str, tool: str = "") -> McpistError | None:
        """Return that a tool may be one of the registered module, or that the accounts are, which go nowhere else."""
        if self._hidden.get(module):
            return AccountsOfAnother(name=module, module=module)
        return NameTaken(name=f"{module}.{tool}", module=module) if tool and module in self._hidden else None


def hidden_modules(caller: "Caller") -> frozenset[str]:
    """Return the modules of the caller's organization whose names the deployment has taken since."""
    registered = {module.name for module in caller.modules}
    return frozenset(registered & deployed_names()) if registered else frozenset()


def is_taken(name: str) -> bool:
    """Whether a name is the deployment's: of a module, a meta-tool, or a provider by which accounts are found."""
    from mcpist_services.definitions import is_own_name
    from mcpist_services.upstream.configuration import configuration

    grants = {grant for server in configuration().servers.values() for grant in server.grants}
    return is_own_name(name) or name in {*deployed_names(), *providers(), *grants}


def upstream_preloads() -> tuple[str, ...]:
    """Return the modules of configured upstreams for a snapshot to hold; raises for a wrong configuration."""
    return ("mcpist_services.upstream.modules", "jsonschema") if has_upstreams() else ()


def preloads() -> tuple[str, ...]:
    """Return the modules, besides the services' tools, for a snapshot to hold; raises for a wrong configuration."""
    described = ("mcpist_services.described.module", "jsonschema") if imported_apis() else ()
    programs = ("mcpist_services.programs.module", "jsonschema") if has_programs() else ()
    return (*described, *programs, *upstream_preloads())
