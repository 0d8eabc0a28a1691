"""Grants: a user's or a role's account at a provider, stored with its two sealed tokens.

One consent may serve several services, and one rotating refresh token must stand in one place: so the keys name the
provider, and `services` what the grant is used for.

Items (`pk`, `sk`):
    ACME#example,   user#ADA           personal: the user's own; `open_to` lists the roles that may use it, none: all
    ACME#example,   role#ENGINEERING   shared: the role's

The keys are what the seals bind, so an item copied under other keys does not open. The access token's end is kept as
`access_expires_at`: the table's TTL attribute `expires_at` would let DynamoDB delete the grant with it. Every change
is conditional on the version; only new tokens make a new one.
"""

import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from itertools import batched
from uuid import uuid4

from mcpist.aws.attributes import Item
from mcpist.aws.clients import ConditionFailed
from mcpist.aws.table import Table
from mcpist.caller import Caller
from mcpist.errors import Conflict
from mcpist.oauth.provider import Tokens
from mcpist.settings import settings
from mcpist_services import provider_name
from token_broker.grants import credential_cache
from token_broker.grants.grant import (
    TOKEN_FIELDS,
    Account,
    Grant,
    GrantRejection,
    TokenField,
    key_part,
    partition_key,
    personal_owner,
    shared_owner,
    token_place,
)
from token_broker.vault import vault

__all__ = ["Account", "Grant", "GrantRejection", "Tokens", "personal_owner", "shared_owner"]

MAX_KEYS_PER_REQUEST = 100
OWNER_PREFIXES = ("user#", "role#")
# What a grant may lack: a write that does not set it takes it away.
OPTIONAL_ATTRIBUTES = ("refresh_token", "access_expires_at", "lives", "dead")

type DataKeys = Mapping[TokenField, vault.DataKey]


def fetch(caller: Caller, services: Iterable[str]) -> list[Grant]:
    """The caller's own grants and those of its roles: one consistent request for up to 100 keys."""
    wanted = set(services)
    owners = [personal_owner(caller.user), *map(shared_owner, caller.role_names)]
    keys = [
        (partition_key(caller.organization, one), owner)
        for one in sorted(map(provider_name, wanted))
        for owner in owners
    ]
    keys = list(dict.fromkeys(keys))
    items = (
        item for some in batched(keys, MAX_KEYS_PER_REQUEST, strict=False) for item in _table().get_many(list(some))
    )
    return [grant for grant in map(grant_from_item, items) if not wanted.isdisjoint(grant.account.services)]


def read(organization: str, provider: str, owner: str) -> Grant | None:
    """One grant as it stands now."""
    item = _table().get(partition_key(organization, provider), owner)
    return grant_from_item(item) if item else None


def find(organization: str, *, owner: str | None = None, provider: str | None = None) -> Iterator[Grant]:
    """All grants of an organization, of one owner or one provider if named, read consistently; in no order."""
    if owner and provider:
        grant = read(organization, provider, owner)
        yield from (grant,) if grant else ()
        return
    items = (
        _table().query(partition_key(organization, provider))
        if provider
        else _table().scan(f"{key_part(organization)}#")
    )
    yield from (
        grant_from_item(item)
        for item in items
        if item["sk"].startswith(OWNER_PREFIXES) and (owner is None or item["sk"] == owner)
    )


def find_by_account(organization: str, provider: str, account: Account) -> list[Grant]:
    """The grants of the same account by the same client; an account that is not known may be any."""
    return [
        one
        for one in find(organization, provider=provider)
        if one.account.client_id == account.client_id and account.account_id in {"", one.account.account_id}
    ]


def save(organization: str, provider: str, owner: str, *, account: Account, tokens: Tokens, replaces: int) -> Grant:
    """Store both tokens as the version after `replaces` (0: none stands); Conflict if another one stands there."""
    data_keys = generate_data_keys(organization, provider, owner, replaces + 1)
    changed = _account_attributes(account) | _sealed_attributes(data_keys, tokens)
    if not replaces:
        changed |= {"id": uuid4().hex, "created_at": int(time.time())}
    return _store_version(
        (partition_key(organization, provider), owner),
        changed | {"version": replaces + 1},
        condition="#version = :replaces" if replaces else "attribute_not_exists(pk)",
        values={":replaces": replaces} if replaces else {},
    )


def generate_data_keys(organization: str, provider: str, owner: str, version: int) -> DataKeys:
    """The data keys of a version: drawn before new tokens are asked for, only the table is needed to keep them."""
    return {
        token: vault.generate_data_key(token_place(organization, provider, owner, token, version))
        for token in TOKEN_FIELDS
    }


def store_refreshed(
    grant: Grant,
    data_keys: DataKeys,
    tokens: Tokens,
    *,
    expires_at: int | None,
    lives: int | None,
    scopes: Iterable[str] | None = None,
) -> Grant:
    """Store new tokens as the grant's next version, all else as it stands; Conflict if this version does not stand."""
    scope_attributes = {} if scopes is None else {"scopes": list(scopes)}
    return _store_version(
        grant.key,
        _sealed_attributes(data_keys, tokens)
        | _expiry_attributes(expires_at, lives)
        | scope_attributes
        | {"version": grant.version + 1},
        condition="#id = :grant AND #version = :expected_version",
        values=_version_values(grant),
    )


def mark_rejected(grant: Grant, code: str) -> Grant:
    """Note that the provider refused this version for ever; Conflict if this version does not stand."""
    return _update_version(grant, {"dead": {"code": code, "at": int(time.time())}})


def set_services(grant: Grant, services: Iterable[str]) -> Grant:
    """Use the grant for just these services; Conflict if this version does not stand."""
    return _update_version(grant, {"services": list(services)})


def reencrypt(grant: Grant) -> Grant:
    """Seal the tokens anew where they stand, under the present VaultKey; Conflict if this version does not stand."""
    data_keys = generate_data_keys(grant.organization, grant.provider, grant.owner, grant.version)
    return _update_version(grant, _sealed_attributes(data_keys, grant.tokens()))


def remove(grant: Grant) -> bool:
    """Forget a grant; whether it stood there. Conflict if another version stands there."""
    condition = "attribute_not_exists(pk) OR (#id = :grant AND #version = :expected_version)"
    with _translating_conflict(grant.key):
        return _table().delete(*grant.key, condition=condition, values=_version_values(grant))


def _store_version(key: tuple[str, str], changed: Item, *, condition: str, values: Item) -> Grant:
    """Compare and set new tokens.

    A condition that failed on our own writer id is success: the SDK sent the request again after a lost answer.
    """
    writer = uuid4().hex
    changed = {**changed, "writer": writer, "updated_at": int(time.time())}
    absent = [f"#{name}" for name in OPTIONAL_ATTRIBUTES if name not in changed]
    expression = _set(changed) + (f" REMOVE {', '.join(absent)}" if absent else "")
    try:
        with _translating_conflict(key):
            return grant_from_item(
                _table().update(*key, expression, values=_values(changed) | values, condition=condition)
            )
    except Conflict:
        existing = _table().get(*key)
        if existing is None or existing["writer"] != writer:
            raise
        return grant_from_item(existing)


def _update_version(grant: Grant, changed: Item) -> Grant:
    """Change a version where it stands; sent twice, it is the same."""
    condition = "#id = :grant AND #version = :expected_version"
    with _translating_conflict(grant.key):
        values = _values(changed) | _version_values(grant)
        return grant_from_item(_table().update(*grant.key, _set(changed), values=values, condition=condition))


@contextmanager
def _translating_conflict(key: tuple[str, str]) -> Iterator[None]:
    """Conflict for a failed condition; whatever came of it, this sandbox no longer remembers what stood there."""
    try:
        yield
    except ConditionFailed:
        raise Conflict(what="the connection") from None
    finally:
        organization, provider = key[0].split("#")
        credential_cache.forget(organization, provider)


def _set(changed: Item) -> str:
    return "SET " + ", ".join(f"#{name} = :{name}" for name in changed)


def _values(changed: Item) -> Item:
    return {f":{name}": value for name, value in changed.items()}


def _version_values(grant: Grant) -> Item:
    """The grant that a condition names; an id besides, since after a removal versions begin anew."""
    return {":grant": grant.id, ":expected_version": grant.version}


def grant_from_item(item: Item) -> Grant:
    """A grant as the table keeps it."""
    organization, provider = item["pk"].split("#")
    return Grant(
        organization=organization,
        provider=provider,
        owner=item["sk"],
        id=item["id"],
        version=item["version"],
        account=Account(
            services=tuple(item["services"]),
            account_id=item["account_id"],
            account_name=item["account_name"],
            kind=item["kind"],
            client_id=item["client_id"],
            scopes=tuple(item["scopes"]),
            open_to=tuple(item["open_to"]),
            expires_at=item.get("access_expires_at"),
            lives=item.get("lives"),
        ),
        rejection=GrantRejection(**item["dead"]) if "dead" in item else None,
        created_at=item["created_at"],
        updated_at=item["updated_at"],
        sealed={token: item[token] for token in TOKEN_FIELDS if token in item},
    )


def _account_attributes(account: Account) -> Item:
    return {
        "services": list(account.services),
        "account_id": account.account_id,
        "account_name": account.account_name,
        "kind": account.kind,
        "client_id": account.client_id,
        "scopes": list(account.scopes),
        "open_to": list(account.open_to),
        **_expiry_attributes(account.expires_at, account.lives),
    }


def _expiry_attributes(expires_at: int | None, lives: int | None) -> Item:
    return {name: value for name, value in (("access_expires_at", expires_at), ("lives", lives)) if value is not None}


def _sealed_attributes(data_keys: DataKeys, tokens: Tokens) -> Item:
    pair = {"access_token": tokens.access_token, "refresh_token": tokens.refresh_token}
    return {token: data_keys[token].seal(secret) for token in TOKEN_FIELDS if (secret := pair[token]) is not None}


def _table() -> Table:
    return Table(settings().grants_table, "grants")
