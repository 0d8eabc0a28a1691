from collections.abc import Collection
from dataclasses import dataclass, field, replace

import pytest

from infra.local.login import LocalLogin
from mcpist.caller import ClientInfo, Subject
from mcpist.people import directory
from mcpist.people.administration import Administration, ConnectedAccount


@dataclass
class FakeAccounts:
    """Accounts in memory."""

    connected: list[ConnectedAccount] = field(default_factory=list)
    revoked: set[str] = field(default_factory=set)
    revoked_services: list[str] = field(default_factory=list)
    apps: set[str] = field(default_factory=set)

    def find(self, owners: Collection[str]) -> list[ConnectedAccount]:
        return [account for account in self.connected if account.owner in owners]

    def revoke(self, owners: Collection[str]) -> None:
        self.revoked |= set(owners)

    def revoke_service(self, service: str) -> None:
        self.revoked_services.append(service)

    def has_app(self, service: str) -> bool:
        return service in self.apps


@pytest.fixture
def accounts() -> FakeAccounts:
    return FakeAccounts()


@pytest.fixture
def ada(login: LocalLogin, accounts: FakeAccounts) -> Administration:
    """The administration of acme by its administrator."""
    caller = directory.identify(Subject(login.issuer, "ada"))
    return Administration(replace(caller, client=ClientInfo("code", "1.2", "c-1")), "r1", accounts)


@pytest.fixture
def uma(login: LocalLogin, accounts: FakeAccounts) -> Administration:
    """The same by a user without the right."""
    return Administration(directory.identify(Subject(login.issuer, "uma")), "r2", accounts)
