"""What a grant is: a user's or a role's account at a provider, with tokens that are sealed into their places."""

import math
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from pydantic import SecretStr

from mcpist.errors import InvalidRequest
from mcpist.oauth.provider import Tokens
from token_broker.vault import vault

EXPIRY_MARGIN_SECONDS = 300

type TokenField = Literal["access_token", "refresh_token"]
TOKEN_FIELDS: tuple[TokenField, ...] = ("access_token", "refresh_token")


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
class GrantRejection:
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
    rejection: GrantRejection | None
    created_at: int
    updated_at: int
    sealed: Mapping[str, bytes] = field(repr=False)

    @property
    def key(self) -> tuple[str, str]:
        """The keys of its item."""
        return partition_key(self.organization, self.provider), self.owner

    @property
    def is_expired(self) -> bool:
        """Whether the access token has ended; without a known end it has not."""
        return self.account.expires_at is not None and self.account.expires_at <= time.time()

    @property
    def refresh_at(self) -> float:
        """When it is time for a new access token: five minutes before its end, or half its life if that is shorter."""
        lives, expires_at = self.account.lives, self.account.expires_at
        margin = EXPIRY_MARGIN_SECONDS if lives is None else min(EXPIRY_MARGIN_SECONDS, lives / 2)
        return math.inf if expires_at is None else expires_at - margin

    @property
    def needs_refresh(self) -> bool:
        """Whether it is time for a new access token."""
        return self.refresh_at <= time.time()

    @property
    def has_refresh_token(self) -> bool:
        """Whether it has a refresh token."""
        return "refresh_token" in self.sealed

    @property
    def is_usable(self) -> bool:
        """Whether a call can be sent with it, as far as its item tells."""
        return self.rejection is None and (self.has_refresh_token or not self.is_expired)

    def is_open_to(self, roles: Iterable[str]) -> bool:
        """Whether a caller with these roles may use it."""
        return not self.account.open_to or not set(roles).isdisjoint(self.account.open_to)

    def unseal_token(self, token: TokenField) -> SecretStr:
        """One of the tokens; IntegrityError if it was not sealed for just this place."""
        here = token_place(self.organization, self.provider, self.owner, token, self.version)
        return vault.unseal(self.sealed[token], here)

    def tokens(self) -> Tokens:
        """Both tokens: to revoke them at the provider."""
        return Tokens(
            self.unseal_token("access_token"), self.unseal_token("refresh_token") if self.has_refresh_token else None
        )


def personal_owner(user: str) -> str:
    """The owner of a user's own grant."""
    return f"user#{key_part(user)}"


def shared_owner(role: str) -> str:
    """The owner of a role's grant."""
    return f"role#{key_part(role)}"


def partition_key(organization: str, provider: str) -> str:
    """The partition key of an organization's grants at a provider."""
    return f"{key_part(organization)}#{key_part(provider)}"


def key_part(value: str) -> str:
    """A part of a key: with a # in it, two keys could read the same."""
    if not value or "#" in value:
        raise InvalidRequest(field="id", problem="an id has at least one character, and no #")
    return value


def token_place(organization: str, provider: str, owner: str, token: TokenField, version: int) -> vault.SecretPlace:
    """Where a token of a version stands."""
    return vault.SecretPlace(organization=organization, owner=owner, service=provider, field=token, version=version)
