"""The catalogue of all modules; a service's is imported when it is first used. APIs, programs and categories join."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from mcpist.memory import cached
from mcpist.settings import settings
from mcpist.tools.search.catalogue import Catalogue, ImportedModules
from mcpist_services import NAMES
from mcpist_services.described.compiled import imported_apis

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcpist.caller import Caller
    from mcpist.tools.search.catalogue import CatalogueView


@cached
def has_upstreams() -> bool:
    """Whether upstream servers are configured: where none is, nothing of theirs is imported."""
    path = Path(settings().upstreams)
    if not path.is_file() or not path.stat().st_size:
        return False
    from mcpist_services.upstream import jsonc

    try:
        content = jsonc.read(path.read_text("utf-8"))
    except ValueError:
        content = None
    if isinstance(content, dict) and not content.get("mcpServers") and not content.get("categories"):
        return False  # as the project brings it: a file of comments
    from mcpist_services.upstream.configuration import configuration

    return bool(configuration().servers)


@cached
def has_programs() -> bool:
    """Whether programs are declared: where none is, nothing of them is imported."""
    return next(Path(settings().programs).glob("*.json"), None) is not None


def _imported() -> "Sequence[ImportedModules]":
    """Return the modules of the deployment that are built from data: APIs, then programs, if there are any."""
    sources: list[ImportedModules] = [apis] if (apis := imported_apis()) else []
    if has_programs():
        from mcpist_services.programs.module import program_modules

        sources.append(program_modules())
    return sources


def _extra_modules(caller: "Caller") -> "Sequence[CatalogueView]":
    """Return the views of what is not a file here; where there is nothing of a kind, nothing of it is imported."""
    views: list[CatalogueView] = []
    if caller.modules:
        from mcpist_services.registered.names import deployed_names

        taken = deployed_names()
        caller = replace(caller, modules=tuple(one for one in caller.modules if one.name not in taken))
    if has_upstreams() or any(module.kind == "upstream" for module in caller.modules):
        from mcpist_services.upstream.modules import Categories

        views.append(Categories(caller))
    if any(module.kind == "api" for module in caller.modules):
        from mcpist_services.registered.apis import RegisteredApis

        views.append(RegisteredApis(caller))
    return views


def upstream_preloads() -> tuple[str, ...]:
    """Return the modules of configured upstreams for a snapshot to hold; raises for a wrong configuration."""
    return ("mcpist_services.upstream.modules", "jsonschema") if has_upstreams() else ()


def preloads() -> tuple[str, ...]:
    """Return the modules, besides the services' tools, for a snapshot to hold; raises for a wrong configuration."""
    described = ("mcpist_services.described.module", "jsonschema") if imported_apis() else ()
    programs = ("mcpist_services.programs.module", "jsonschema") if has_programs() else ()
    return (*described, *programs, *upstream_preloads())


CATALOGUE = Catalogue("mcpist_services", NAMES, extra_modules=_extra_modules, imported=_imported)
