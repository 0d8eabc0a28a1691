"""Grant: a user's or a role's account at a provider, with sealed tokens; and the credentials that a sandbox has opened.

The other doors cache a credential for the rest of the minute in which it was read, so a deleted grant is unusable
everywhere a minute later. A change by this sandbox drops its cached credentials at once.
"""

import math
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from pydantic import SecretStr

from mcpist.aws.attributes import INLINE, Attribute
from mcpist.caller import MAIN_ACCOUNT, labelled
from mcpist.errors import InvalidRequest
from mcpist.oauth.provider import Tokens
from token_broker import vault

REFRESH_MARGIN_SECONDS = 300

type TokenField = Literal["access_token", "refresh_token"]
TOKEN_FIELDS: tuple[TokenField, ...] = ("access_token", "refresh_token")


@dataclass(frozen=True, slots=True)
class AccountChoice:
    """The account that a call wants at a service."""

    service: str
    label: str = ""
    """The label that the caller named; empty for the default one."""
    pins: tuple[str, ...] = ()
    """The accounts that the call's batch keeps to, whatever the defaults are now."""


@dataclass(frozen=True, slots=True)
class GrantedAccount:
    """The provider's account that a grant acts as, and the permissions of its token."""

    services: tuple[str, ...]
    """The services that the grant is used for."""
    account_id: str = ""
    account_name: str = ""
    kind: str = ""
    """person, bot or organization; empty where the provider does not say."""
    client_id: str = ""
    """Our client that the tokens were issued to; empty for a key that a person pasted."""
    scopes: tuple[str, ...] = ()
    """The granted scopes; empty where they are unknown."""
    open_to: tuple[str, ...] = ()
    """The roles in which the user may use a personal grant; empty: all."""
    site_url: str = ""
    """The address of the account's own site, for links; empty where it has none."""
    # Not stored as `expires_at`: that is the table's TTL attribute, and DynamoDB would delete the grant.
    expires_at: Annotated[int | None, Attribute("access_expires_at")] = None
    """The end of the access token (epoch seconds); None where it is unknown."""
    lives: int | None = None
    """The lifetime of the access token in seconds; None where it is unknown."""


@dataclass(frozen=True, slots=True)
class GrantRejection:
    """The provider's final refusal of a refresh token."""

    code: str
    at: int
    """The time of the refusal (epoch seconds)."""


class NamedAccount:
    """An account that a sort key of the table of grants names."""

    __slots__ = ()
    slot: str

    @property
    def owner(self) -> str:
        """The person or the role whose account it is: `user#ID` or `role#NAME`."""
        return owner_of(self.slot)

    @property
    def label(self) -> str:
        """The name that tells it from the owner's other accounts at the provider."""
        return label_of(self.slot)


@dataclass(frozen=True, slots=True)
class StoredGrant(NamedAccount):
    """A stored grant; its tokens are still sealed."""

    organization: str
    provider: str
    slot: str
    """Its owner, `user#ID` or `role#NAME`, and `#LABEL` unless that is `main`."""
    id: str
    """Differs from that of an earlier grant under the same keys."""
    version: int
    """Increases by one with each new pair of tokens."""
    account: Annotated[GrantedAccount, INLINE]
    rejection: Annotated[GrantRejection | None, Attribute("dead")]
    created_at: int
    """Epoch seconds."""
    updated_at: int
    """Epoch seconds."""
    sealed: Mapping[str, bytes] = field(repr=False)
    """The tokens by their field, as `vault.seal` returned them."""

    @property
    def key(self) -> tuple[str, str]:
        """The keys of its item: `pk`, `sk`."""
        return partition_key(self.organization, self.provider), self.slot

    @property
    def name(self) -> str:
        """The account's name for people, with its label."""
        return labelled(self.account.account_name, self.label)

    @property
    def is_expired(self) -> bool:
        """Whether the access token has expired; False where its end is unknown."""
        return self.account.expires_at is not None and self.account.expires_at <= time.time()

    @property
    def refresh_at(self) -> float:
        """The time to refresh (epoch seconds): five minutes before the end, or half the lifetime if that is shorter."""
        lives, expires_at = self.account.lives, self.account.expires_at
        margin = REFRESH_MARGIN_SECONDS if lives is None else min(REFRESH_MARGIN_SECONDS, lives / 2)
        return math.inf if expires_at is None else expires_at - margin

    @property
    def needs_refresh(self) -> bool:
        """Whether it is time to refresh the access token."""
        return self.refresh_at <= time.time()

    @property
    def has_refresh_token(self) -> bool:
        """Whether a refresh token is stored."""
        return "refresh_token" in self.sealed

    @property
    def is_usable(self) -> bool:
        """Whether a call can be sent with it, as far as the item shows."""
        return self.rejection is None and (self.has_refresh_token or not self.is_expired)

    def is_open_to(self, roles: Iterable[str]) -> bool:
        """Whether a caller with these roles may use it."""
        return not self.account.open_to or not set(roles).isdisjoint(self.account.open_to)

    def unseal_token(self, token: TokenField) -> SecretStr:
        """Return one of the tokens; IntegrityError if it was sealed for any other place."""
        place = token_place(self.organization, self.provider, self.slot, token, self.version)
        return vault.unseal(self.sealed[token], place)

    def view(self) -> dict[str, Any]:
        """Return the fields that people may see in every list: no secret, and no id of our client."""
        account = self.account
        return {
            "owner": self.owner,
            "label": self.label,
            "account_id": account.account_id,
            "account_name": account.account_name,
            "scopes": list(account.scopes),
            "open_to": list(account.open_to),
            "expires_at": account.expires_at,
            "version": self.version,
            "created_at": self.created_at,
            "updated_at": self.updated_at,
        }

    def tokens(self) -> Tokens:
        """Return both tokens, to revoke or to reseal them."""
        return Tokens(
            self.unseal_token("access_token"), self.unseal_token("refresh_token") if self.has_refresh_token else None
        )


def personal_owner(user: str) -> str:
    """Return the owner of a user's personal grant."""
    return f"user#{key_part(user)}"


def shared_owner(role: str) -> str:
    """Return the owner of a role's shared grant."""
    return f"role#{key_part(role)}"


def slot_of(owner: str, label: str) -> str:
    """Return the sort key of an owner's account; without a label in it for the main one."""
    return owner if label == MAIN_ACCOUNT else f"{owner}#{key_part(label)}"


def owner_of(slot: str) -> str:
    """Return the owner of a sort key."""
    return "#".join(slot.split("#")[:2])


def label_of(slot: str) -> str:
    """Return the label of a sort key."""
    return "".join(slot.split("#")[2:]) or MAIN_ACCOUNT


def partition_key(organization: str, provider: str) -> str:
    """Return the partition key of an organization's grants at a provider."""
    return f"{key_part(organization)}#{key_part(provider)}"


def key_part(value: str) -> str:
    """Return a part of a key; InvalidRequest for one with a #, which could make two keys equal."""
    if not value or "#" in value:
        raise InvalidRequest(field="id", problem="an id has at least one character, and no #")
    return value


def token_place(organization: str, provider: str, slot: str, token: TokenField, version: int) -> vault.SecretPlace:
    """Return the place that a token of a version is sealed for: with the label, so that no two accounts can swap."""
    return vault.SecretPlace(organization=organization, owner=slot, service=provider, field=token, version=version)
