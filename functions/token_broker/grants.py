"""Grants: a user's or a role's account of a service, stored with its two sealed tokens.

Items (`pk`, `sk`):
    ACME#github, user#ADA            personal: the user's own; `open_to` lists the roles that may use it, none: all
    ACME#github, role#ENGINEERING    shared: the role's

The keys are what the seals bind, so an item copied under other keys does not open. The access token's end is kept as
`access_expires_at`: the table's TTL attribute `expires_at` would let DynamoDB delete the grant with it.
"""

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import batched
from typing import Any, Literal
from uuid import uuid4

from botocore.exceptions import ClientError
from pydantic import SecretStr

from mcpist.caller import Caller
from mcpist.errors import InvalidRequest
from mcpist.settings import settings
from mcpist.stores import Item, Table, refused

from . import vault

KEYS_A_REQUEST = 100
TOKENS = ("access_token", "refresh_token")
OPTIONAL = ("refresh_token", "access_expires_at")

type TokenField = Literal["access_token", "refresh_token"]


@dataclass(frozen=True, slots=True)
class Account:
    """Whose account a grant acts as, and what it may do there."""

    account_id: str = ""
    account_name: str = ""
    client_id: str = ""
    scopes: tuple[str, ...] = ()
    open_to: tuple[str, ...] = ()
    expires_at: int | None = None


@dataclass(frozen=True, slots=True)
class Tokens:
    """A pair of tokens in memory; a repr shows neither."""

    access_token: SecretStr
    refresh_token: SecretStr | None = None


@dataclass(frozen=True, slots=True)
class Grant:
    """A stored grant, its tokens still sealed."""

    organization: str
    service: str
    owner: str
    id: str
    version: int
    account: Account
    created_at: int
    updated_at: int
    sealed: Mapping[str, bytes] = field(repr=False)

    @property
    def expired(self) -> bool:
        """Whether the access token has ended; without a known end it has not."""
        return self.account.expires_at is not None and self.account.expires_at <= time.time()

    def is_open_to(self, roles: Iterable[str]) -> bool:
        """Whether a caller with these roles may use it."""
        return not self.account.open_to or not set(roles).isdisjoint(self.account.open_to)

    def open(self, token: TokenField) -> SecretStr:
        """One of the tokens; IntegrityError if it was not sealed for just this place."""
        return vault.unseal(
            self.sealed[token], _place(self.organization, self.service, self.owner, token, self.version)
        )


def personal(user: str) -> str:
    """The owner of a user's own grant."""
    return f"user#{_part(user)}"


def shared(role: str) -> str:
    """The owner of a role's grant."""
    return f"role#{_part(role)}"


def fetch(caller: Caller, services: Iterable[str]) -> list[Grant]:
    """The caller's own grants and those of its roles: one consistent request for up to 100 keys."""
    owners = [personal(caller.user), *map(shared, caller.role_names)]
    keys = [(_pk(caller.organization, service), owner) for service in dict.fromkeys(services) for owner in owners]
    return [
        _grant(item) for some in batched(keys, KEYS_A_REQUEST, strict=False) for item in _table().get_many(list(some))
    ]


def save(organization: str, service: str, owner: str, *, account: Account, tokens: Tokens, replaces: int) -> Grant:
    """Store both tokens as the version after `replaces` (0: none stands); InvalidRequest if another one stands there.

    A condition that failed on our own writer id is success: the SDK sent the request again after a lost answer.
    """
    pk, writer = _pk(organization, service), uuid4().hex
    sealed = {
        name: vault.seal(token, _place(organization, service, owner, name, replaces + 1))
        for name in TOKENS
        if (token := getattr(tokens, name)) is not None
    }
    try:
        return _grant(_write(pk, owner, _attributes(account) | sealed | {"writer": writer}, replaces=replaces))
    except ClientError as error:
        if not refused(error):
            raise
        standing = _table().get(pk, owner)
        if standing is None or standing["writer"] != writer:
            raise InvalidRequest(field="replaces", problem="the connection has changed meanwhile") from None
        return _grant(standing)


def remove(organization: str, service: str, owner: str) -> bool:
    """Forget a grant; whether there was one."""
    return _table().delete(_pk(organization, service), owner)


def _write(pk: str, sk: str, changed: Item, *, replaces: int) -> Item:
    """Compare and set: every attribute anew, but the id and the time of creation."""
    changed = {**changed, "version": replaces + 1, "updated_at": int(time.time())}
    absent = [f"#{name}" for name in OPTIONAL if name not in changed]
    sets = [f"#{name} = :{name}" for name in changed]
    sets += ["#id = if_not_exists(#id, :id)", "#created_at = if_not_exists(#created_at, :updated_at)"]
    values = {f":{name}": value for name, value in changed.items()} | {":id": uuid4().hex}
    return _table().update(
        pk,
        sk,
        f"SET {', '.join(sets)}" + (f" REMOVE {', '.join(absent)}" if absent else ""),
        values=values | ({":replaces": replaces} if replaces else {}),
        condition="#version = :replaces" if replaces else "attribute_not_exists(pk)",
    )


def _grant(item: Item) -> Grant:
    organization, service = item["pk"].split("#")
    return Grant(
        organization=organization,
        service=service,
        owner=item["sk"],
        id=item["id"],
        version=item["version"],
        account=Account(
            account_id=item["account_id"],
            account_name=item["account_name"],
            client_id=item["client_id"],
            scopes=tuple(item["scopes"]),
            open_to=tuple(item["open_to"]),
            expires_at=item.get("access_expires_at"),
        ),
        created_at=item["created_at"],
        updated_at=item["updated_at"],
        sealed={name: item[name] for name in TOKENS if name in item},
    )


def _attributes(account: Account) -> dict[str, Any]:
    end = {} if account.expires_at is None else {"access_expires_at": account.expires_at}
    return {
        "account_id": account.account_id,
        "account_name": account.account_name,
        "client_id": account.client_id,
        "scopes": list(account.scopes),
        "open_to": list(account.open_to),
        **end,
    }


def _place(organization: str, service: str, owner: str, token: str, version: int) -> vault.Place:
    return vault.Place(organization=organization, owner=owner, service=service, field=token, version=version)


def _pk(organization: str, service: str) -> str:
    return f"{_part(organization)}#{_part(service)}"


def _part(value: str) -> str:
    """A part of a key: with a # in it, two keys could read the same."""
    if not value or "#" in value:
        raise InvalidRequest(field="id", problem="an id has at least one character, and no #")
    return value


def _table() -> Table:
    return Table(settings().grants_table, "grants")
