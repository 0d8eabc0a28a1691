"""Grants: reading and storing them in the table.

One consent may serve several services, and its rotating refresh token must be stored once: so the keys name the
provider, and the attribute `services` names the services.

Items (`pk`, `sk`):
    ACME#example, user#ADA           personal: the user's own; `open_to` lists the roles that may use it, none: all
    ACME#example, user#ADA#work      another one, with a label; the first one's is `main`
    ACME#example, role#ENGINEERING   shared: the role's
    ACME#example, default#user#ADA   the label of the owner's default account

An owner who ever had a labelled account has the last item: it is stored before the account and never deleted, so that
whatever is connected and disconnected at once, no account is overlooked. The seals are bound to the keys, so an item
copied under other keys does not open. Every change is conditional on the version; only new tokens make a new version.
"""

import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from uuid import uuid4

from mcpist.aws.attributes import Item, decode, encode
from mcpist.aws.clients import ConditionFailed
from mcpist.aws.table import Table
from mcpist.caller import MAIN_ACCOUNT, Caller
from mcpist.errors import Conflict
from mcpist.oauth.provider import Tokens
from mcpist.settings import settings
from mcpist_services import provider_name
from token_broker import vault
from token_broker.grants.grant import (
    TOKEN_FIELDS,
    GrantedAccount,
    GrantRejection,
    StoredGrant,
    TokenField,
    key_part,
    label_of,
    owner_of,
    partition_key,
    personal_owner,
    shared_owner,
    token_place,
)
from token_broker.grants.opened import forget_credentials

__all__ = ["GrantRejection", "GrantedAccount", "StoredGrant", "Tokens", "personal_owner", "shared_owner"]

OWNER_PREFIXES = ("user#", "role#")
DEFAULT_PREFIX = "default#"
# Attributes that a grant may lack: storing a version removes those that it does not set.
OPTIONAL_ATTRIBUTES = ("refresh_token", "access_expires_at", "lives", "dead")

type DataKeys = Mapping[TokenField, vault.DataKey]


@dataclass(frozen=True, slots=True)
class FoundGrants:
    """Grants, and the default accounts of their owners."""

    grants: list[StoredGrant]
    defaults: Mapping[tuple[str, str], str]
    """By provider and owner the label of the default account; it may be that of none."""

    def is_default(self, grant: StoredGrant) -> bool:
        """Whether it is its owner's default account."""
        return grant.label == self.defaults.get((grant.provider, grant.owner), MAIN_ACCOUNT)


def fetch(caller: Caller, services: Iterable[str], *, by_default: bool = False) -> FoundGrants:
    """Return the caller's own grants and those of its roles: one consistent request for up to 50 owners.

    One more for each owner who has or had labelled accounts at a provider; with `by_default` only where the main
    account does not act before them: then it is returned without them.
    """
    wanted = set(services)
    owners = [personal_owner(caller.user), *map(shared_owner, caller.role_names)]
    partitions = [partition_key(caller.organization, provider) for provider in sorted({*map(provider_name, wanted)})]
    keys = [(pk, prefix + owner) for pk in partitions for owner in owners for prefix in ("", DEFAULT_PREFIX)]
    items = table().get_many(list(dict.fromkeys(keys)))
    markers = [item for item in items if item["sk"].startswith(DEFAULT_PREFIX)]
    mains = [grant_from_item(item) for item in items if item not in markers]
    acting = {
        grant.key
        for grant in mains
        if wanted <= {*grant.account.services}
        and (grant.owner != personal_owner(caller.user) or grant.is_open_to(caller.role_names))
    }
    stored = list(mains)
    for marker in markers:
        key = marker["pk"], _owner(marker)
        if not (by_default and marker["label"] == MAIN_ACCOUNT and key in acting):
            stored += map(grant_from_item, table().query(key[0], f"{key[1]}#"))
    return FoundGrants([one for one in stored if not wanted.isdisjoint(one.account.services)], _defaults(markers))


def read_owned(organization: str, provider: str, owner: str) -> list[StoredGrant]:
    """Return an owner's grants at a provider, read consistently."""
    items = table().query(partition_key(organization, provider), owner)
    return [grant_from_item(item) for item in items if _owner(item) == owner]


def with_defaults(found: Iterable[StoredGrant]) -> FoundGrants:
    """Return grants with the default accounts of their owners."""
    found = list(found)
    keys = dict.fromkeys((grant.key[0], DEFAULT_PREFIX + grant.owner) for grant in found)
    return FoundGrants(found, _defaults(table().get_many(list(keys))))


def _defaults(markers: Iterable[Item]) -> dict[tuple[str, str], str]:
    return {(item["pk"].split("#")[1], _owner(item)): item["label"] for item in markers}


def _owner(item: Item) -> str:
    return owner_of(str(item["sk"]).removeprefix(DEFAULT_PREFIX))


def choose_default(grant: StoredGrant) -> None:
    """Make a grant its owner's default account."""
    pk, _ = grant.key
    with _translating_conflict(grant.key):
        table().put({"pk": pk, "sk": DEFAULT_PREFIX + grant.owner, "label": grant.label})


def _announce(pk: str, slot: str) -> None:
    """Note that an owner has labelled accounts; the first one is the default unless there is a main one."""
    owner = owner_of(slot)
    label = MAIN_ACCOUNT if table().get(pk, owner) else label_of(slot)
    with suppress(ConditionFailed):
        table().put({"pk": pk, "sk": DEFAULT_PREFIX + owner, "label": label}, condition="attribute_not_exists(pk)")


def read(organization: str, provider: str, slot: str) -> StoredGrant | None:
    """Return one grant, read consistently; None where there is none."""
    item = table().get(partition_key(organization, provider), slot)
    return grant_from_item(item) if item else None


def find(organization: str, *, owner: str | None = None, provider: str | None = None) -> Iterator[StoredGrant]:
    """Yield all grants of an organization, or those of one owner or provider, read consistently and in no order."""
    if owner and provider:
        yield from read_owned(organization, provider, owner)
        return
    items = (
        table().query(partition_key(organization, provider)) if provider else table().scan(f"{key_part(organization)}#")
    )
    # Leases are under the same partition keys, and pending connections in the same table.
    yield from (
        grant_from_item(item)
        for item in items
        if item["sk"].startswith(OWNER_PREFIXES) and owner in {None, _owner(item)}
    )


def find_by_account(organization: str, provider: str, account: GrantedAccount) -> list[StoredGrant]:
    """Return the grants of the same account by the same client; an unknown account may be any."""
    return [
        grant
        for grant in find(organization, provider=provider)
        if grant.account.client_id == account.client_id and account.account_id in {"", grant.account.account_id}
    ]


def save(
    organization: str, provider: str, slot: str, *, account: GrantedAccount, tokens: Tokens, replaces: int
) -> StoredGrant:
    """Store both tokens as the version after `replaces` (0: no grant yet); Conflict if another version is stored."""
    data_keys = generate_data_keys(organization, provider, slot, replaces + 1)
    pk = partition_key(organization, provider)
    if label_of(slot) != MAIN_ACCOUNT:
        _announce(pk, slot)
    changed = encode(account) | _sealed_attributes(data_keys, tokens)
    if not replaces:
        changed |= {"id": uuid4().hex, "created_at": int(time.time())}
    return _store_version(
        (pk, slot),
        changed | {"version": replaces + 1},
        condition="#version = :replaces" if replaces else "attribute_not_exists(pk)",
        values={":replaces": replaces} if replaces else {},
    )


def generate_data_keys(organization: str, provider: str, slot: str, version: int) -> DataKeys:
    """Generate the data keys of a version: with them, storing the new tokens needs no other store than the table."""
    return {
        token: vault.generate_data_key(token_place(organization, provider, slot, token, version))
        for token in TOKEN_FIELDS
    }


def store_refreshed(
    grant: StoredGrant,
    data_keys: DataKeys,
    tokens: Tokens,
    *,
    expires_at: int | None,
    lives: int | None,
    scopes: Iterable[str] | None = None,
) -> StoredGrant:
    """Store new tokens as the grant's next version; Conflict if another version is stored."""
    optional = {"access_expires_at": expires_at, "lives": lives, "scopes": None if scopes is None else list(scopes)}
    return _store_version(
        grant.key,
        _sealed_attributes(data_keys, tokens)
        | {name: value for name, value in optional.items() if value is not None}
        | {"version": grant.version + 1},
        condition="#id = :grant AND #version = :expected_version",
        values=_version_values(grant),
    )


def mark_rejected(grant: StoredGrant, code: str) -> StoredGrant:
    """Record that the provider refused this version for ever; Conflict if another version is stored."""
    return _update_version(grant, {"dead": encode(GrantRejection(code, int(time.time())))})


def set_services(grant: StoredGrant, services: Iterable[str]) -> StoredGrant:
    """Use the grant for these services only; Conflict if another version is stored."""
    return _update_version(grant, {"services": list(services)})


def reencrypt(grant: StoredGrant) -> StoredGrant:
    """Reseal the tokens of this version under the current VaultKey; Conflict if another version is stored."""
    data_keys = generate_data_keys(grant.organization, grant.provider, grant.slot, grant.version)
    return _update_version(grant, _sealed_attributes(data_keys, grant.tokens()))


def remove(grant: StoredGrant) -> bool:
    """Delete a grant and return whether it existed; Conflict if another version is stored."""
    condition = "attribute_not_exists(pk) OR (#id = :grant AND #version = :expected_version)"
    with _translating_conflict(grant.key):
        return table().delete(*grant.key, condition=condition, values=_version_values(grant))


def _store_version(key: tuple[str, str], changed: Item, *, condition: str, values: Item) -> StoredGrant:
    """Compare and set new tokens."""
    absent = [name for name in OPTIONAL_ATTRIBUTES if name not in changed]
    changed = {**changed, "updated_at": int(time.time())}
    with _translating_conflict(key):
        return grant_from_item(table().set_once(*key, changed, remove=absent, condition=condition, values=values))


def _update_version(grant: StoredGrant, changed: Item) -> StoredGrant:
    """Change attributes of a version without making a new one; repeating it changes nothing more."""
    condition = "#id = :grant AND #version = :expected_version"
    with _translating_conflict(grant.key):
        return grant_from_item(table().set(*grant.key, changed, condition=condition, values=_version_values(grant)))


@contextmanager
def _translating_conflict(key: tuple[str, str]) -> Iterator[None]:
    """Raise Conflict for a failed condition, and in any case drop the cached credentials of these grants."""
    try:
        yield
    except ConditionFailed:
        raise Conflict(what="the connection") from None
    finally:
        organization, provider = key[0].split("#")
        forget_credentials(organization, provider)


def _version_values(grant: StoredGrant) -> Item:
    """Return the values that identify a version: with the id, since versions begin at 1 again after a removal."""
    return {":grant": grant.id, ":expected_version": grant.version}


def grant_from_item(item: Item) -> StoredGrant:
    """Return the grant of an item."""
    organization, provider = item["pk"].split("#")
    sealed = {token: item[token] for token in TOKEN_FIELDS if token in item}
    return decode(StoredGrant, item, organization=organization, provider=provider, slot=item["sk"], sealed=sealed)


def _sealed_attributes(data_keys: DataKeys, tokens: Tokens) -> Item:
    pair = {"access_token": tokens.access_token, "refresh_token": tokens.refresh_token}
    return {token: data_keys[token].seal(secret) for token in TOKEN_FIELDS if (secret := pair[token]) is not None}


def table() -> Table:
    """Return the table of grants."""
    return Table(settings().grants_table, "grants")
