"""The modules of the deployment: the written services, and those that its files define, the same for all callers."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from mcpist.memory import cached
from mcpist.settings import settings
from mcpist_services import NAMES
from mcpist_services.described.compiled import imported_apis

if TYPE_CHECKING:
    from mcpist.tools.search.catalogue import ModuleSource


@cached
def has_programs() -> bool:
    """Whether programs are declared."""
    return next(Path(settings().programs).glob("*.json"), None) is not None


def deployed_sources() -> "Sequence[ModuleSource]":
    """Return the sources of the deployment that are the same for all callers: APIs, then programs."""
    sources: list[ModuleSource] = [apis.source] if (apis := imported_apis()) else []
    if has_programs():
        from mcpist_services.programs.module import program_modules

        sources.append(program_modules())
    return sources


def deployed_names() -> frozenset[str]:
    """Return the names of the modules of this deployment."""
    from mcpist_services.upstream.configuration import configuration

    names = (name for source in deployed_sources() for name in source.names)
    return frozenset([*NAMES, *names, *configuration().all_categories])
