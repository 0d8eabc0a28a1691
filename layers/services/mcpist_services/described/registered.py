"""Registered APIs: modules of one caller, and event types; each is built once in a sandbox."""

import math
from dataclasses import replace

from mcpist.caller import Caller, RegisteredModule
from mcpist.events.event_type import EventType
from mcpist.memory import Memory
from mcpist.registry import definitions
from mcpist.tools.search.catalogue import DefinedModules, JoinedSources, ModuleSource
from mcpist.tools.search.index import Index
from mcpist_services.described.compiled import module_of

MAX_CACHED_MODULES = 100

_built: Memory[tuple[str, str], ModuleSource] = Memory(math.inf, MAX_CACHED_MODULES)
_event_types: Memory[tuple[str, str], tuple[EventType, ...]] = Memory(math.inf, MAX_CACHED_MODULES)


def registered_apis(caller: Caller) -> ModuleSource:
    """Return the registered APIs that a role of the caller has; a definition that cannot be read hides no other."""

    def built(module: RegisteredModule) -> ModuleSource:
        key = caller.organization, module.sha256
        return _built.get_or_make(key, lambda: _build(caller.organization, module))

    sources, failures = definitions.of_caller(caller, "api", built)
    return JoinedSources([*sources.values()], failures)


def index_of(overlay: definitions.Definition) -> str:
    """Return the index of an API as text: it is made at the registration, since its words take a while to count."""
    return Index.of([module_of(overlay)]).dump()


def read_index(definition: definitions.Definition) -> Index:
    """Return the index of a stored definition; it is made anew where a release with another format stored it."""
    try:
        return Index.load(definition["index"])
    except ValueError:
        return Index.of([module_of(definition["overlay"])])


def _build(organization: str, registered: RegisteredModule) -> ModuleSource:
    """Return one API as a source: its module is made at once, so that a wrong definition is a failure of it alone."""
    definition = definitions.load(organization, registered.sha256)
    index, module = read_index(definition), module_of(definition["overlay"])
    (entry,) = index.modules.values()
    about = {**entry.about, **definition["about"]}
    entry = replace(entry, about=about, registered_at=registered.registered_at)
    return DefinedModules([registered.name], lambda _: module, lambda: Index([entry], index.words))


def registered_types(organization: str, module: RegisteredModule) -> tuple[EventType, ...]:
    """Return the event types of a registered module; none of an MCP server, or where nobody said how to verify them."""
    if module.kind != "api":
        return ()
    return _event_types.get_or_make((organization, module.sha256), lambda: _build_event_types(organization, module))


def _build_event_types(organization: str, module: RegisteredModule) -> tuple[EventType, ...]:
    overlay = definitions.load(organization, module.sha256)["overlay"]
    if not overlay.get("hooks"):
        return ()
    from mcpist_services.described.events import api_event_types

    # A source keeps a vendor's secret: it brings nothing in for an API of the same name at another host.
    return tuple(
        replace(one, channel=f"{one.channel} {overlay['host']}") for one in api_event_types(module.name, overlay)
    )
