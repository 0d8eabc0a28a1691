"""Accounts: the one that acts for a tool, with what its requests carry, and those that the token broker holds."""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from mcpist.caller import Caller
from mcpist.errors import McpistError, ReconnectRequired, ScopeMissing, UnknownAccount
from mcpist.running import broker
from mcpist.running.broker import Credential
from mcpist.settings import settings
from mcpist.tools.access.permissions import Permissions
from mcpist.tools.declare.call import Call, path
from mcpist.tools.declare.module import Module
from mcpist.tools.declare.schema_tool import UpstreamTool
from mcpist.tools.declare.tool import Tool

if TYPE_CHECKING:
    from mcpist.people.administration import ConnectedAccount
    from mcpist.registry.entries import RegistryEntry

_SECRET_HEADER = re.compile(r"auth|cookie|key|secret|token", re.IGNORECASE)


@dataclass(frozen=True)
class Account:
    """A module's service as one account of an organization reaches it."""

    organization: str
    module: Module
    credential: Credential | None
    """None for a service that needs no account."""

    @property
    def name(self) -> str:
        """The account's name for people; empty where none is needed."""
        return self.credential.account_name if self.credential else ""

    @property
    def label(self) -> str:
        """The label that tells it from its owner's other accounts; empty where none is needed."""
        return self.credential.label if self.credential else ""

    @property
    def site_url(self) -> str:
        """The address of the account's own site; empty where it has none."""
        return self.credential.site_url if self.credential else ""

    def require_scope(self, tool: str) -> None:
        """Raise ScopeMissing if the account lacks a scope that a tool of the module needs."""
        if self.credential and (scope := self.module.missing_scope(tool, self.credential.scopes)):
            service = self.module.service or self.module.name
            raise ScopeMissing(service=service, scope=scope, url=settings().connect_url(service))

    @cached_property
    def key(self) -> tuple[str, ...]:
        """The account's key in memory that accounts share; a new token does not change it."""
        credential = self.credential
        owner = (credential.owner, credential.label, credential.account_id) if credential else ()
        return self.organization, self.module.name, *owner

    def url(self, call: Call) -> str:
        """Return the address of a Call; ValueError for an origin that the module does not allow."""
        if call.origin:
            if not re.fullmatch(self.module.origins, call.origin):
                raise ValueError(f"{self.module.name} has no origin {call.origin}")
            return call.origin + call.path
        host = self.module.host
        if "{account}" in host:
            if self.credential is None or not self.credential.account_id:
                raise ReconnectRequired(service=self.module.name, url=settings().connect_url(self.module.name))
            host = path(host, account=self.credential.account_id)
        return host + call.path

    def token(self, call: Call) -> str:
        """Return the grant's token; empty for any other origin than those that the module declares as its own."""
        is_own = not call.origin or call.origin in self.module.token_origins
        return self.credential.token if self.credential and is_own else ""

    def headers(self, call: Call) -> dict[str, str]:
        """Return the headers of a Call's request; no module and no tool can replace the token."""
        headers = {} if call.origin else dict(self.module.headers)
        headers = {name.lower(): value for name, value in {**headers, **call.headers}.items()}
        token = self.token(call)
        return headers | (self.module.credential.headers(token) if token else {})

    def query(self, call: Call) -> Mapping[str, Any]:
        """Return the query of a Call's request, with the key of a service that expects it there."""
        token = self.token(call)
        return {**call.query, **self.module.credential.query(token)} if token else call.query

    def secrets(self, call: Call) -> Iterator[str]:
        """Yield the secrets of a Call's request, which an error must not show if the service repeats them."""
        for name, value in self.headers(call).items():
            if _SECRET_HEADER.search(name):
                yield from (value, value.rpartition(" ")[2])
        if token := self.token(call):
            yield from self.module.credential.secrets(token)


def service_of(module: Module, tool: Tool) -> str | None:
    """Return the service with whose account a tool acts; None if it needs none."""
    return tool.service if isinstance(tool, UpstreamTool) else module.service


def acting_account(caller: Caller, module: Module, tool: Tool, *, refused: Account | None = None) -> Account:
    """Return the account with which a caller, in the roles that allow a tool, uses it: the one that the caller names.

    A `refused` account comes back with another token; UnknownAccount for a label where the tool needs no account.
    """
    service = service_of(module, tool)
    if service is None:
        if caller.account:
            raise UnknownAccount(field="account", account=caller.account, service=module.name, known="-")
        return Account(caller.organization, module, None)
    version = refused.credential.version if refused and refused.credential else None
    return Account(caller.organization, module, broker.resolve(caller, service, refused=version))


@dataclass(frozen=True, slots=True)
class BrokerAccounts:
    """The accounts of a caller's organization, as the broker shows them to its administrator."""

    caller: Caller

    def find(self, owners: Collection[str]) -> "list[ConnectedAccount]":
        """Return the accounts of these owners."""
        from mcpist.people.administration import ConnectedAccount  # only an administrator's request waits for it

        rows = ((owner, row) for owner in sorted(owners) for row in self.rows(owner))
        return [ConnectedAccount(service, owner) for owner, row in rows for service in row["services"]]

    def revoke(self, owners: Collection[str]) -> None:
        """Delete the accounts of these owners, and revoke them at their services."""
        for owner in sorted(owners):
            self._kill(**_selection(owner))

    def revoke_service(self, service: str) -> None:
        """Delete all accounts of a service, revoke them there, and forget the organization's own app for it."""
        self._kill(service=service)
        broker.administer(self.caller, "remove_app", service=service)

    def has_app(self, service: str) -> bool:
        """Whether the operator has set up an app by which accounts of this service are connected."""
        (offered,) = broker.request(self.caller, "offer", services=[service])["services"]
        return bool(offered["consent"] and not offered["registered"])

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


def _selection(owner: str) -> dict[str, str]:
    """Return the fields of a message about an owner: `user` or `role`."""
    kind, _, name = owner.partition("#")
    return {kind: name}


def acting_row(caller: Caller, rows: Iterable[Mapping[str, Any]], label: str = "") -> Mapping[str, Any] | None:
    """Return the row of the account that acts for a caller at a service: with a label, else as the broker chooses.

    Those of the person come first, where they are open to a role, then those of the roles. None where none acts.
    """
    rows = list(rows)
    for owner in (f"user#{caller.user}", *(f"role#{role}" for role in caller.role_names)):
        owned = [row for row in rows if row["owner"] == owner]
        owned = [one for one in owned if not one["open_to"] or not set(caller.role_names).isdisjoint(one["open_to"])]
        if label:
            owned = [row for row in owned if row["label"] == label]
        if owned:
            return next((row for row in owned if row["default"] or len(owned) == 1), None)
    return None


def labelled_accounts(caller: Caller, rows: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return e.g. `home: octocat (default)` for each account that a caller can name; nothing for a single one."""
    rows = list(rows)
    chosen = {label: acting_row(caller, rows, label) for label in sorted({row["label"] for row in rows})}
    named = [(label, row) for label, row in chosen.items() if row]
    marks = {True: " (default)", False: ""}
    texts = [f"{label}: {row['account_name'] or row['account_id']}{marks[row['acts']]}" for label, row in named]
    return texts if len(texts) > 1 else []


def working_services(permissions: Permissions, entries: "Iterable[RegistryEntry]") -> frozenset[str] | None:
    """Return the services among those of the entries whose accounts work; None if the broker cannot tell."""
    services = sorted({service for entry in entries for service in entry.dependencies})
    try:
        return broker.connected(permissions.caller, services) if services else frozenset()
    except McpistError:
        return None


def is_connected(entry: "RegistryEntry", working: frozenset[str] | None) -> bool | None:
    """Whether the account of a tool works; None where it needs none, or the broker could not tell."""
    return set(entry.dependencies) <= working if entry.dependencies and working is not None else None
