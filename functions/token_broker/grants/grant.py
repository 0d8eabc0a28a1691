"""What a grant is: a user's or a role's account at a provider, with tokens that are sealed into their places."""

import math
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from pydantic import SecretStr

from mcpist.errors import InvalidRequest
from token_broker.vault import vault

MARGIN_SECONDS = 300
PROVIDERS = {
    "jira": "atlassian",
    "confluence": "atlassian",
    "google_calendar": "google",
    "microsoft_todo": "microsoft",
}

type TokenField = Literal["access_token", "refresh_token"]
TOKENS: tuple[TokenField, ...] = ("access_token", "refresh_token")


@dataclass(frozen=True, slots=True)
class Account:
    """Whose account a grant acts as, and what it may do there.

    `kind` is person, bot or organization, where the provider tells. The access token ends at `expires_at` (epoch
    seconds), `lives` seconds after it was issued; without a known end both are None.
    """

    services: tuple[str, ...]
    account_id: str = ""
    account_name: str = ""
    kind: str = ""
    client_id: str = ""
    scopes: tuple[str, ...] = ()
    open_to: tuple[str, ...] = ()
    expires_at: int | None = None
    lives: int | None = None


@dataclass(frozen=True, slots=True)
class Tokens:
    """A pair of tokens in memory; a repr shows neither."""

    access_token: SecretStr
    refresh_token: SecretStr | None = None


@dataclass(frozen=True, slots=True)
class Dead:
    """That the provider no longer honours a grant: its code, and since when (epoch seconds)."""

    code: str
    at: int


@dataclass(frozen=True, slots=True)
class Grant:
    """A stored grant, its tokens still sealed."""

    organization: str
    provider: str
    owner: str
    id: str
    version: int
    account: Account
    dead: Dead | None
    created_at: int
    updated_at: int
    sealed: Mapping[str, bytes] = field(repr=False)

    @property
    def key(self) -> tuple[str, str]:
        """The keys of its item."""
        return partition(self.organization, self.provider), self.owner

    @property
    def expired(self) -> bool:
        """Whether the access token has ended; without a known end it has not."""
        return self.account.expires_at is not None and self.account.expires_at <= time.time()

    @property
    def good_until(self) -> float:
        """When it is time for a new access token: five minutes before its end, or half its life if that is shorter."""
        lives, expires_at = self.account.lives, self.account.expires_at
        margin = MARGIN_SECONDS if lives is None else min(MARGIN_SECONDS, lives / 2)
        return math.inf if expires_at is None else expires_at - margin

    @property
    def ends_soon(self) -> bool:
        """Whether it is time for a new access token."""
        return self.good_until <= time.time()

    @property
    def renewable(self) -> bool:
        """Whether it has a refresh token."""
        return "refresh_token" in self.sealed

    @property
    def works(self) -> bool:
        """Whether a call can be sent with it, as far as its item tells."""
        return self.dead is None and (self.renewable or not self.expired)

    def is_open_to(self, roles: Iterable[str]) -> bool:
        """Whether a caller with these roles may use it."""
        return not self.account.open_to or not set(roles).isdisjoint(self.account.open_to)

    def open(self, token: TokenField) -> SecretStr:
        """One of the tokens; IntegrityError if it was not sealed for just this place."""
        here = place(self.organization, self.provider, self.owner, token, self.version)
        return vault.unseal(self.sealed[token], here)

    def tokens(self) -> Tokens:
        """Both tokens: to revoke them at the provider."""
        return Tokens(self.open("access_token"), self.open("refresh_token") if self.renewable else None)


def provider_name(service: str) -> str:
    """Who issues the tokens of a service: a service without a provider of its name is its own."""
    return PROVIDERS.get(service, service)


def personal(user: str) -> str:
    """The owner of a user's own grant."""
    return f"user#{part(user)}"


def shared(role: str) -> str:
    """The owner of a role's grant."""
    return f"role#{part(role)}"


def partition(organization: str, provider: str) -> str:
    """The partition key of an organization's grants at a provider."""
    return f"{part(organization)}#{part(provider)}"


def part(value: str) -> str:
    """A part of a key: with a # in it, two keys could read the same."""
    if not value or "#" in value:
        raise InvalidRequest(field="id", problem="an id has at least one character, and no #")
    return value


def place(organization: str, provider: str, owner: str, token: TokenField, version: int) -> vault.Place:
    """Where a token of a version stands."""
    return vault.Place(organization=organization, owner=owner, service=provider, field=token, version=version)
