"""The connected accounts of removed users and roles, of which the token broker takes care."""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from mcpist.caller import Caller
from mcpist.errors import McpistError
from mcpist.people.administration import ConnectedAccount
from mcpist.registry.entries import RegistryEntry
from mcpist.running import broker
from mcpist.tools.access.permissions import Permissions


@dataclass(frozen=True, slots=True)
class BrokerAccounts:
    """The accounts of a caller's organization, as the broker shows them to its administrator."""

    caller: Caller

    def find(self, owners: Collection[str]) -> list[ConnectedAccount]:
        """Return the accounts of these owners."""
        return [account for owner in sorted(owners) for account in self._of(owner)]

    def revoke(self, owners: Collection[str]) -> None:
        """Delete the accounts of these owners, and revoke them at their services."""
        for owner in sorted(owners):
            self._kill(**_selection(owner))

    def revoke_service(self, service: str) -> None:
        """Delete all accounts of a service, and revoke them there."""
        self._kill(service=service)

    def rows(self, owner: str, service: str = "") -> Iterator[dict[str, Any]]:
        """Yield the broker's rows about the accounts of an owner, `user#ID` or `role#NAME`, or those of one service."""
        selection = _selection(owner) | ({"service": service} if service else {})
        cursor: str | None = ""
        while cursor is not None:
            page = broker.administer(self.caller, "list", **selection, cursor=cursor)
            yield from page["grants"]
            cursor = page["cursor"] or None

    def _kill(self, **selection: str) -> None:
        """Revoke what is selected; the broker takes some at a time."""
        more = True
        while more:
            answer = broker.administer(self.caller, "kill", **selection)
            more = answer["more"] and bool(answer["killed"] or answer["dropped"])

    def _of(self, owner: str) -> list[ConnectedAccount]:
        return [ConnectedAccount(service, owner) for row in self.rows(owner) for service in row["services"]]


def _selection(owner: str) -> dict[str, str]:
    """Return the fields of a message about an owner: `user` or `role`."""
    kind, _, name = owner.partition("#")
    return {kind: name}


def working_services(permissions: Permissions, entries: Iterable[RegistryEntry]) -> frozenset[str] | None:
    """Return the services among those of the entries whose accounts work; None if the broker cannot tell."""
    services = sorted({service for entry in entries for service in entry.dependencies})
    try:
        return broker.connected(permissions.caller, services) if services else frozenset()
    except McpistError:
        return None


def is_connected(entry: RegistryEntry, working: frozenset[str] | None) -> bool | None:
    """Whether the account of a tool works; None where it needs none, or the broker could not tell."""
    return set(entry.dependencies) <= working if entry.dependencies and working is not None else None
