"""The event types of a registered API: its webhooks, for the organization that registered it alone."""

import math
from dataclasses import replace

from mcpist.caller import RegisteredModule
from mcpist.events.event_type import EventType
from mcpist.memory import Memory
from mcpist.registry import definitions

MAX_CACHED_APIS = 100

_built: Memory[tuple[str, str], tuple[EventType, ...]] = Memory(math.inf, MAX_CACHED_APIS)


def registered_types(organization: str, module: RegisteredModule) -> tuple[EventType, ...]:
    """Return the event types of a registered module; none of an MCP server, or where nobody said how to verify them."""
    if module.kind != "api":
        return ()
    return _built.get_or_make((organization, module.sha256), lambda: _build(organization, module))


def _build(organization: str, module: RegisteredModule) -> tuple[EventType, ...]:
    overlay = definitions.load(organization, module.sha256)["overlay"]
    if not overlay.get("hooks"):
        return ()
    from mcpist_services.described.events import api_event_types

    # A source keeps a vendor's secret: it brings nothing in for an API of the same name at another host.
    return tuple(
        replace(one, channel=f"{one.channel} {overlay['host']}") for one in api_event_types(module.name, overlay)
    )
