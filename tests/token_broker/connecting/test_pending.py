"""Pending connections: each comes back once, and only to the browser that began it."""

import time
from dataclasses import replace
from typing import Any

import pytest
from pydantic import SecretStr

from mcpist.aws.clients import client
from mcpist.errors import IntegrityError, StaleConnection
from tests.token_broker.conftest import Broker
from token_broker.connecting import pending
from token_broker.connecting.pending import ConnectionIntent, ObtainedGrant, Pending
from token_broker.grants.grant import GrantedAccount, Tokens

pytestmark = pytest.mark.usefixtures("door")

WISH = ConnectionIntent(
    "ada's browser", "acme", "ada", "user#ada", "atlassian", ("jira", "confluence"), ("engineering",)
)
FOUND = ObtainedGrant(
    GrantedAccount(WISH.services, "1", "Ada", "person", "client", ("read", "write"), WISH.open_to, 1000, 60),
    Tokens(SecretStr("access-canary"), SecretStr("refresh-canary")),
    replaced_account_id="2",
)


def claim(state: SecretStr, browser: str = WISH.browser, provider: str = WISH.provider) -> Pending:
    return pending.claim(WISH.organization, state, browser=browser, provider=provider)


def test_a_claimed_connection_has_its_verifier() -> None:
    state, verifier = pending.begin(WISH)
    claimed = claim(state)
    assert claimed.intent == WISH
    assert claimed.verifier == verifier
    assert claimed.obtained is None


def test_states_and_verifiers_are_random_and_long() -> None:
    values = {secret.get_secret_value() for _ in range(3) for secret in pending.begin(WISH)}
    assert len(values) == 6
    assert all(len(value) == 43 for value in values)  # 256 bits; PKCE wants at least 43 letters (RFC 7636)


def test_a_state_is_valid_once() -> None:
    state, _ = pending.begin(WISH)
    claim(state)
    with pytest.raises(StaleConnection):
        claim(state)


@pytest.mark.parametrize("other", [{"browser": "bob's browser"}, {"provider": "github"}], ids=str)
def test_a_claim_by_another_browser_or_provider_fails_and_leaves_the_state_valid(other: dict[str, str]) -> None:
    state, _ = pending.begin(WISH)
    with pytest.raises(StaleConnection):
        claim(state, **other)
    assert claim(state).intent == WISH


def test_another_organization_knows_neither_the_state_nor_the_question() -> None:
    state, _ = pending.begin(WISH)
    with pytest.raises(StaleConnection):
        pending.claim("globex", state, browser=WISH.browser, provider=WISH.provider)
    question = pending.store_question(claim(state), FOUND)
    with pytest.raises(StaleConnection):
        pending.answer("globex", question, browser=WISH.browser)
    assert pending.answer(WISH.organization, question, browser=WISH.browser).obtained == FOUND


def test_an_organization_reads_only_its_own_of_all_that_are_pending() -> None:
    pending.begin(WISH)
    for name in ("globex", "acme2", "acm"):
        pending.begin(replace(WISH, organization=name))
    read: list[int] = []

    def count(parsed: dict[str, Any], **_: Any) -> None:
        read.append(parsed["ScannedCount"])

    events = client("dynamodb").meta.events
    events.register("after-call.dynamodb.Query", count)
    assert len(pending.find("acme")) == 1
    events.unregister("after-call.dynamodb.Query", count)
    assert read == [1]


def test_an_unknown_state_is_refused(door: Broker) -> None:
    with pytest.raises(StaleConnection):
        claim(SecretStr("x" * 43))
    assert door.items() == []


def test_a_pending_connection_expires_after_ten_minutes(monkeypatch: pytest.MonkeyPatch) -> None:
    state, _ = pending.begin(WISH)
    later = time.time() + pending.PENDING_SECONDS + 1
    monkeypatch.setattr(time, "time", lambda: later)
    with pytest.raises(StaleConnection):
        claim(state)


def test_a_claim_whose_first_response_was_lost_succeeds(door: Broker) -> None:
    state, _ = pending.begin(WISH)
    events = client("dynamodb").meta.events

    def again(attempts: int, **_: Any) -> int | None:
        return 0 if attempts == 1 else None

    events.register_first("needs-retry.dynamodb.UpdateItem", again)
    claimed = claim(state)
    events.unregister("needs-retry.dynamodb.UpdateItem", again)
    assert door.requests.count("UpdateItem") == 2
    assert claimed.intent == WISH


def test_a_question_keeps_the_obtained_grant_for_one_answer() -> None:
    state, _ = pending.begin(WISH)
    question = pending.store_question(claim(state), FOUND)
    with pytest.raises(StaleConnection):
        pending.answer(WISH.organization, question, browser="bob's browser")
    assert pending.answer(WISH.organization, question, browser=WISH.browser).obtained == FOUND
    with pytest.raises(StaleConnection):
        pending.answer(WISH.organization, question, browser=WISH.browser)


def test_a_question_is_no_state_and_a_state_no_question() -> None:
    state, _ = pending.begin(WISH)
    claimed = claim(state)
    with pytest.raises(StaleConnection):
        pending.answer(WISH.organization, claimed.id, browser=WISH.browser)
    pending.store_question(claimed, FOUND)
    with pytest.raises(StaleConnection):
        claim(state)


def test_a_connection_that_was_removed_meanwhile_asks_nothing(door: Broker) -> None:
    claimed = pending.store_claimed(WISH)
    assert pending.remove(claimed)
    assert not pending.remove(claimed)
    with pytest.raises(StaleConnection):
        pending.store_question(claimed, FOUND)
    assert door.items() == []


def test_the_items_hold_no_plain_secret_and_expire(door: Broker) -> None:
    state, verifier = pending.begin(WISH)
    pending.store_question(pending.store_claimed(WISH), FOUND)
    items = door.items()
    assert len(items) == 2
    secrets = (state.get_secret_value(), verifier.get_secret_value(), "access-canary", "refresh-canary")
    assert not [secret for secret in secrets if secret in str(items)]
    for item in items:
        assert int(item["expires_at"]["N"]) == int(item["until"]["N"]) + pending.PENDING_RETENTION_SECONDS


def test_a_secret_that_was_moved_to_another_pending_connection_does_not_open() -> None:
    (one, _), (other, _) = pending.begin(WISH), pending.begin(WISH)
    moved = replace(claim(one), sealed=claim(other).sealed)
    with pytest.raises(IntegrityError):
        _ = moved.verifier


def test_an_administrator_finds_what_is_pending() -> None:
    pending.begin(WISH)
    pending.begin(replace(WISH, user="bob", slot="user#bob", provider="github", services=("github",)))
    pending.begin(replace(WISH, organization="globex"))
    assert len(pending.find("acme")) == 2
    assert [one.intent.user for one in pending.find("acme", user="bob")] == ["bob"]
    assert [one.intent.user for one in pending.find("acme", provider="atlassian")] == ["ada"]
