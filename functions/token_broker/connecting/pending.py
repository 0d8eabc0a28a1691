"""Pending connections: what a browser began, until the provider sends it back and all questions are answered.

Items (`pk`, `sk`): `#connect`, `ACME#` and the SHA-256 of the state. No organization's grants have this `pk`, since no
id is empty; of its own pending connections an organization reads no more than those.
The state itself, 256 random bits, is only in the browser's way through the provider. A pending connection goes through
its phases once, each by one conditional write of the browser that began it: begun, claimed, asked, answered.
"""

import hashlib
import json
import secrets
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Self
from uuid import uuid4

from pydantic import SecretStr

from mcpist.aws.attributes import Item
from mcpist.aws.clients import ConditionFailed
from mcpist.aws.table import Table
from mcpist.errors import StaleConnection
from mcpist.oauth.provider import Tokens
from mcpist.settings import settings
from token_broker.grants.grant import Account, key_part
from token_broker.vault import vault

PENDING_PARTITION_KEY = "#connect"
STATE_BYTES = 32
PENDING_SECONDS = 600
# What was never answered stays a day longer: its tokens are still to be revoked.
PENDING_RETENTION_SECONDS = 86_400

type Phase = Literal["begun", "claimed", "asked", "answered"]


@dataclass(frozen=True, slots=True)
class ConnectionIntent:
    """What is to be connected, and for whom; `browser` is the fingerprint of the proof that it came with."""

    browser: str
    organization: str
    user: str
    owner: str
    provider: str
    services: tuple[str, ...]
    open_to: tuple[str, ...] = ()

    @property
    def role(self) -> str | None:
        """The role whose connection it becomes; None where it is the user's own."""
        kind, _, name = self.owner.partition("#")
        return name if kind == "role" else None


@dataclass(frozen=True, slots=True)
class ObtainedGrant:
    """The account and the tokens that the provider gave; `replaced_account_id` is the account that it would replace."""

    account: Account
    tokens: Tokens = field(repr=False)
    replaced_account_id: str | None = None


@dataclass(frozen=True, slots=True)
class Pending:
    """A wish under way; its secrets are still sealed."""

    id: str
    intent: ConnectionIntent
    phase: Phase
    until: int
    sealed: Mapping[str, bytes] = field(repr=False)

    @classmethod
    def from_item(cls, item: Item) -> Self:
        """A pending connection as the table keeps it."""
        intent = {name: item[name] for name in ConnectionIntent.__slots__} | {
            name: tuple(item[name]) for name in ("services", "open_to")
        }
        sealed: dict[str, bytes] = {name: item[name] for name in ("verifier", "found") if name in item}
        return cls(item["sk"].rpartition("#")[2], ConnectionIntent(**intent), item["phase"], item["until"], sealed)

    @property
    def verifier(self) -> SecretStr:
        """What proves to the provider that who brings the code began."""
        return vault.unseal(self.sealed["verifier"], _secret_place(self.intent, self.id, "verifier"))

    @property
    def has_tokens(self) -> bool:
        """Whether the provider has given tokens, which are to be revoked if nothing comes of it."""
        return "found" in self.sealed

    @property
    def obtained(self) -> ObtainedGrant | None:
        """What the provider gave, where there was a question about it."""
        if not self.has_tokens:
            return None
        opened = vault.unseal(self.sealed["found"], _secret_place(self.intent, self.id, "found"))
        return _parse_obtained(json.loads(opened.get_secret_value()))


def begin(intent: ConnectionIntent) -> tuple[SecretStr, SecretStr]:
    """Keep a wish; its state and its PKCE verifier."""
    state, verifier = _random_token(), _random_token()
    _store(intent, _state_hash(state), "begun", verifier=verifier)
    return state, verifier


def claim(organization: str, state: SecretStr, *, browser: str, provider: str) -> Pending:
    """What was begun with this state, at this provider and by this browser; StaleConnection for anything else.

    It can be claimed once: however many ask at the same time, one gets it.
    """
    return _advance(_key(organization, _state_hash(state)), "begun", "claimed", browser, provider)


def store_claimed(intent: ConnectionIntent) -> Pending:
    """A wish that needs no way through a provider, as if it had come back from there."""
    id_ = _state_hash(_random_token())
    _store(intent, id_, "claimed")
    return Pending(id_, intent, "claimed", 0, {})


def store_question(pending: Pending, found: ObtainedGrant) -> str:
    """Keep what was found until a question is answered, and give the question's id.

    StaleConnection if the pending connection was taken away meanwhile.
    """
    secret = SecretStr(json.dumps(_to_plain(found)))
    try:
        _store(pending.intent, pending.id, "asked", "attribute_exists(pk)", found=secret)
    except ConditionFailed:
        raise StaleConnection from None
    return pending.id


def answer(organization: str, question: str, *, browser: str) -> Pending:
    """The question's pending connection, once and only to the browser that was asked."""
    return _advance(_key(organization, question), "asked", "answered", browser)


def remove(pending: Pending) -> bool:
    """Forget it; whether it still stood: else it was taken away meanwhile, and nothing may come of it."""
    return _table().delete(*_key(pending.intent.organization, pending.id))


def find(organization: str, *, user: str = "", provider: str = "") -> list[Pending]:
    """All pending connections of an organization, or of its user, or at a provider."""
    found = map(Pending.from_item, _table().query(*_key(organization)))
    return [one for one in found if user in {"", one.intent.user} and provider in {"", one.intent.provider}]


def _store(intent: ConnectionIntent, id_: str, phase: Phase, condition: str = "", **given: SecretStr) -> None:
    until = int(time.time()) + PENDING_SECONDS
    sealed = {name: vault.seal(secret, _secret_place(intent, id_, name)) for name, secret in given.items()}
    intent_fields = {name: getattr(intent, name) for name in ConnectionIntent.__slots__}
    times = {"until": until, "expires_at": until + PENDING_RETENTION_SECONDS}
    pk, sk = _key(intent.organization, id_)
    _table().put({"pk": pk, "sk": sk, "phase": phase, **intent_fields, **times, **sealed}, condition=condition)


def _advance(key: tuple[str, str], before: Phase, after: Phase, browser: str, provider: str = "") -> Pending:
    """One conditional write. One that failed on our own writer id is success: the SDK sent it again."""
    writer = uuid4().hex
    condition = "#phase = :before AND #browser = :browser AND #until > :now"
    values: dict[str, Any] = {":before": before, ":browser": browser, ":now": int(time.time())}
    if provider:
        condition += " AND #provider = :provider"
        values[":provider"] = provider
    try:
        item = _table().update(
            *key,
            "SET #phase = :after, #writer = :writer",
            values={**values, ":after": after, ":writer": writer},
            condition=condition,
        )
    except ConditionFailed:
        existing = _table().get(*key)
        if existing is None or existing.get("writer") != writer:
            raise StaleConnection from None
        item = existing
    return Pending.from_item(item)


def _to_plain(found: ObtainedGrant) -> dict[str, Any]:
    refresh = found.tokens.refresh_token
    return {
        "account": {name: getattr(found.account, name) for name in Account.__slots__},
        "access_token": found.tokens.access_token.get_secret_value(),
        "refresh_token": refresh and refresh.get_secret_value(),
        "over": found.replaced_account_id,
    }


def _parse_obtained(plain: dict[str, Any]) -> ObtainedGrant:
    account: dict[str, Any] = plain["account"]
    lists = {name: tuple(value) for name, value in account.items() if isinstance(value, list)}
    refresh = plain["refresh_token"]
    tokens = Tokens(SecretStr(plain["access_token"]), SecretStr(refresh) if refresh else None)
    return ObtainedGrant(Account(**{**account, **lists}), tokens, plain["over"])


def _secret_place(intent: ConnectionIntent, id_: str, field: str) -> vault.SecretPlace:
    """No grant's field is named after a pending connection."""
    name = f"{field} of {id_}"
    return vault.SecretPlace(
        organization=intent.organization, owner=intent.owner, service=intent.provider, field=name, version=1
    )


def _key(organization: str, id_: str = "") -> tuple[str, str]:
    """The keys of an item; without an id, how all of the organization's begin."""
    return PENDING_PARTITION_KEY, f"{key_part(organization)}#{id_}"


def _random_token() -> SecretStr:
    return SecretStr(secrets.token_urlsafe(STATE_BYTES))


def _state_hash(state: SecretStr) -> str:
    return hashlib.sha256(state.get_secret_value().encode()).hexdigest()


def _table() -> Table:
    return Table(settings().grants_table, "grants")
