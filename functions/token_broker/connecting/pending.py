"""Pending connections: from the browser's first request until the provider answered and the person confirmed.

Items (`pk`, `sk`): `#connect`, `ACME#` and the SHA-256 of the state. No organization's grants have this `pk`, since no
id is empty; the `sk` keeps organizations apart.
The state itself, 256 random bits, is only in the browser's redirects. A pending connection goes through its phases
once, each by one conditional write that only the browser that began it can cause: begun, claimed, asked, answered.
"""

import hashlib
import json
import secrets
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, Literal, Self

from pydantic import SecretStr

from mcpist.aws.attributes import INLINE, Item, decode, encode
from mcpist.aws.clients import ConditionFailed
from mcpist.errors import InvalidRequest, StaleConnection
from mcpist.oauth.provider import Tokens
from token_broker import vault
from token_broker.grants import grants
from token_broker.grants.grant import GrantedAccount, NamedAccount, key_part

PENDING_PARTITION_KEY = "#connect"
STATE_BYTES = 32
PENDING_SECONDS = 600
# An unanswered question stays a day longer, so that its tokens can still be revoked.
PENDING_RETENTION_SECONDS = 86_400

type Phase = Literal["begun", "claimed", "asked", "answered"]


@dataclass(frozen=True, slots=True)
class ConnectionIntent(NamedAccount):
    """The account that a person wants to connect, and its future owner."""

    browser: str
    """The fingerprint of the browser's proof."""
    organization: str
    user: str
    slot: str
    """The sort key of the future grant: `user#ID` or `role#NAME`, and `#LABEL` unless that is `main`."""
    provider: str
    services: tuple[str, ...]
    open_to: tuple[str, ...] = ()
    """The roles in which the user may use it; empty: all."""
    app: str = ""
    """The identity of our client that asked: no other redeems the code."""

    @property
    def role(self) -> str | None:
        """The role that will own the grant; None for a personal one."""
        kind, _, name = self.owner.partition("#")
        return name if kind == "role" else None


@dataclass(frozen=True, slots=True)
class ObtainedGrant:
    """The account and the tokens that the provider issued."""

    account: GrantedAccount
    tokens: Tokens = field(repr=False)
    replaced_account_id: str | None = None
    """The id of the connected account that it would replace."""
    choices: tuple[GrantedAccount, ...] = ()
    """The other accounts that the tokens reach; the person has not chosen yet."""

    def chosen(self, account_id: str) -> Self:
        """Return it with the account that the person chose alone; InvalidRequest for one that was not offered."""
        offered = {one.account_id: one for one in (self.account, *self.choices)}
        if self.choices and account_id not in offered:
            raise InvalidRequest(field="account", problem="choose one of the accounts")
        return replace(self, account=offered.get(account_id, self.account), choices=())


@dataclass(frozen=True, slots=True)
class Pending:
    """A pending connection; its secrets are still sealed."""

    id: str
    """The SHA-256 of its state."""
    intent: Annotated[ConnectionIntent, INLINE]
    phase: Phase
    until: int
    """The time at which it expires (epoch seconds)."""
    sealed: Mapping[str, bytes] = field(repr=False)
    """`verifier` and `found`, as `vault.seal` returned them."""

    @classmethod
    def from_item(cls, item: Item) -> Self:
        """Return the pending connection of an item."""
        sealed = {name: item[name] for name in ("verifier", "found") if name in item}
        return decode(cls, item, id=item["sk"].rpartition("#")[2], sealed=sealed)

    @property
    def verifier(self) -> SecretStr:
        """PKCE's verifier: it proves to the provider that the code is redeemed by the client that began."""
        return vault.unseal(self.sealed["verifier"], _secret_place(self.intent, self.id, "verifier"))

    @property
    def has_tokens(self) -> bool:
        """Whether the provider issued tokens, which must be revoked if they are not stored as a grant."""
        return "found" in self.sealed

    @property
    def obtained(self) -> ObtainedGrant | None:
        """The account and tokens that a question is about; None where there is no question."""
        if not self.has_tokens:
            return None
        opened = vault.unseal(self.sealed["found"], _secret_place(self.intent, self.id, "found"))
        plain = json.loads(opened.get_secret_value())
        refresh = plain["refresh_token"]
        tokens = Tokens(SecretStr(plain["access_token"]), SecretStr(refresh) if refresh else None)
        choices = tuple(decode(GrantedAccount, one) for one in plain.get("choices", ()))
        return ObtainedGrant(decode(GrantedAccount, plain["account"]), tokens, plain["over"], choices)


def begin(intent: ConnectionIntent) -> tuple[SecretStr, SecretStr]:
    """Store an intent, and return its state and PKCE verifier."""
    state, verifier = _random_token(), _random_token()
    _store(intent, _state_hash(state), "begun", verifier=verifier)
    return state, verifier


def claim(organization: str, state: SecretStr, *, browser: str, provider: str) -> Pending:
    """Return the connection that this browser began with this state at this provider; StaleConnection for another.

    It can be claimed once: of several concurrent requests one succeeds.
    """
    return _advance(_key(organization, _state_hash(state)), "begun", "claimed", browser, provider)


def store_claimed(intent: ConnectionIntent) -> Pending:
    """Store an intent that needs no redirect, as if the provider had answered."""
    id_ = _state_hash(_random_token())
    _store(intent, id_, "claimed")
    # Nobody waits for this one: the same request stores its grant or asks.
    return Pending(id_, intent, "claimed", 0, {})


def store_question(pending: Pending, obtained: ObtainedGrant) -> str:
    """Store the account and tokens until a question about them is answered, and return the question's id.

    Raises StaleConnection if the pending connection was removed meanwhile.
    """
    secret = SecretStr(json.dumps(_to_plain(obtained)))
    try:
        _store(pending.intent, pending.id, "asked", "attribute_exists(pk)", found=secret)
    except ConditionFailed:
        raise StaleConnection from None
    return pending.id


def answer(organization: str, question: str, *, browser: str) -> Pending:
    """Return the question's pending connection, once and only to the browser that was asked."""
    return _advance(_key(organization, question), "asked", "answered", browser)


def remove(pending: Pending) -> bool:
    """Delete it and return whether it existed; if not, it was revoked meanwhile and must not become a grant."""
    return grants.table().delete(*_key(pending.intent.organization, pending.id))


def find(organization: str, *, user: str = "", provider: str = "") -> list[Pending]:
    """Return an organization's pending connections, or those of a user or at a provider."""
    connections = map(Pending.from_item, grants.table().query(*_key(organization)))
    return [
        connection
        for connection in connections
        if user in {"", connection.intent.user} and provider in {"", connection.intent.provider}
    ]


def _store(intent: ConnectionIntent, id_: str, phase: Phase, condition: str = "", **plain: SecretStr) -> None:
    until = int(time.time()) + PENDING_SECONDS
    sealed = {name: vault.seal(secret, _secret_place(intent, id_, name)) for name, secret in plain.items()}
    times = {"until": until, "expires_at": until + PENDING_RETENTION_SECONDS}
    pk, sk = _key(intent.organization, id_)
    grants.table().put({"pk": pk, "sk": sk, "phase": phase, **encode(intent), **times, **sealed}, condition=condition)


def _advance(key: tuple[str, str], before: Phase, after: Phase, browser: str, provider: str = "") -> Pending:
    """Advance the phase by one conditional write."""
    condition = "#phase = :before AND #browser = :browser AND #until > :now"
    values: dict[str, Any] = {":before": before, ":browser": browser, ":now": int(time.time())}
    if provider:
        condition += " AND #provider = :provider"
        values[":provider"] = provider
    try:
        item = grants.table().set_once(*key, {"phase": after}, condition=condition, values=values)
    except ConditionFailed:
        raise StaleConnection from None
    return Pending.from_item(item)


def _to_plain(obtained: ObtainedGrant) -> dict[str, Any]:
    refresh = obtained.tokens.refresh_token
    return {
        "account": encode(obtained.account),
        "access_token": obtained.tokens.access_token.get_secret_value(),
        "refresh_token": refresh and refresh.get_secret_value(),
        "over": obtained.replaced_account_id,
        "choices": [encode(one) for one in obtained.choices],
    }


def _secret_place(intent: ConnectionIntent, id_: str, field: str) -> vault.SecretPlace:
    """Return the place of a secret; no grant has a field of this name."""
    name = f"{field} of {id_}"
    return vault.SecretPlace(
        organization=intent.organization, owner=intent.slot, service=intent.provider, field=name, version=1
    )


def _key(organization: str, id_: str = "") -> tuple[str, str]:
    """Return the keys of an item; without an id, the prefix of all of the organization's."""
    return PENDING_PARTITION_KEY, f"{key_part(organization)}#{id_}"


def _random_token() -> SecretStr:
    return SecretStr(secrets.token_urlsafe(STATE_BYTES))


def _state_hash(state: SecretStr) -> str:
    return hashlib.sha256(state.get_secret_value().encode()).hexdigest()
