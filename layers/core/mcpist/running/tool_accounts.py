"""Whether the accounts that listed tools need are connected and work."""

from collections.abc import Iterable

from mcpist.errors import McpistError
from mcpist.registry.entries import Entry
from mcpist.running import broker
from mcpist.tools.access.permissions import Permissions


def working_services(permissions: Permissions, entries: Iterable[Entry]) -> frozenset[str] | None:
    """Return the services among those of the entries whose accounts work; None if the broker cannot tell."""
    services = sorted({service for entry in entries for service in entry.dependencies})
    try:
        return broker.connected(permissions.caller, services) if services else frozenset()
    except McpistError:
        return None


def is_connected(entry: Entry, working: frozenset[str] | None) -> bool | None:
    """Whether the account of a tool works; None where it needs none, or the broker could not tell."""
    return set(entry.dependencies) <= working if entry.dependencies and working is not None else None
