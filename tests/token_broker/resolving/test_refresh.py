"""What a provider's answer makes of a stored grant, and what a caller is told.

The provider stands on loopback and answers as it is told. Each answer is given twice: while the access token still
lives (within its last minutes), and when it has ended.
"""

import json
import logging
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import boto3
import pytest
from pydantic import SecretStr

from mcpist import settings
from mcpist.aws import clients
from mcpist.caller import Caller, Role, Subject
from mcpist.errors import (
    ConnectionRequired,
    McpistError,
    NotConfigured,
    RateLimitExceeded,
    ReconnectRequired,
    StoreUnavailable,
    Timeout,
    UpstreamUnavailable,
)
from mcpist.running import broker
from mcpist.telemetry import invocation
from tests import emf
from tests.clock import HANGING_SECONDS
from tests.core.loopback import listening
from tests.token_broker.conftest import Broker
from tests.token_broker.test_secrets import assert_silent, written
from token_broker import providers
from token_broker.grants import grants
from token_broker.grants.grant import AccountChoice
from token_broker.grants.grants import GrantedAccount, StoredGrant, Tokens
from token_broker.grants.opened import opened_credentials
from token_broker.handler import DOOR
from token_broker.providers import apps
from token_broker.resolving import credentials, lease, refresh
from token_broker.resolving.lease import LeaseState, LeaseTiming, RefreshFailure

ADA = Caller("acme", "ada", Subject("https://login.example.com", "ada"), "user", (Role("engineering"), Role("support")))
OLD_ACCESS, OLD_REFRESH, NEW_ACCESS, NEW_REFRESH = (f"{which}_canary" for which in ("oa", "or", "na", "nr"))
ENDS = {"alive": 60, "ended": -60}
SECRET = "client_secret_canary"
ADDRESSES = {"authorize": "auth", "token": "token", "revoke": "revoke"}


@dataclass
class Said:
    """What the provider says, and how late; before it says so it may do something to us."""

    status: int = 200
    body: Any = None
    headers: dict[str, str] = field(default_factory=dict)
    seconds: float = 0
    meanwhile: Callable[[], Any] = lambda: None


PAIR = {"access_token": NEW_ACCESS, "refresh_token": NEW_REFRESH, "expires_in": 3600, "token_type": "Bearer"}


class Provider:
    """A token endpoint on loopback."""

    def __init__(self) -> None:
        provider = self
        self.says = Said(body=PAIR)
        self.asked: list[str] = []

        class Endpoint(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                told = self.rfile.read(int(self.headers["content-length"])).decode()
                provider.asked.append(f"{self.path} {told}")
                says = provider.says if self.path == "/token" else Said()
                says.meanwhile()
                provider.let_go.wait(says.seconds)
                body = says.body if isinstance(says.body, str) else json.dumps(says.body)
                self.send_response(says.status)
                for name, value in {"content-length": str(len(body)), **says.headers}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(body.encode())

            def log_message(self, *_: Any) -> None:
                """Silent."""

        self.let_go = threading.Event()
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Endpoint)
        self.server.handle_error = lambda *_: None  # type: ignore[method-assign]  # who asked has gone
        self.url = f"http://127.0.0.1:{self.server.server_port}"

    def app(self, client_id: str = "mcpist") -> str:
        """The parameter that says who we are here."""
        addresses = {f"{name}_url": f"{self.url}/{path}" for name, path in ADDRESSES.items()}
        return json.dumps({"client_id": client_id, "client_secret": SECRET, **addresses})

    @property
    def redeems(self) -> list[str]:
        return [asked for asked in self.asked if asked.startswith("/token ")]


@pytest.fixture
def provider(door: Broker, monkeypatch: pytest.MonkeyPatch) -> Iterator[Provider]:
    """The provider of the service `example`."""
    provider = Provider()
    monkeypatch.setenv("PUBLIC_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("AUDIENCE", "https://mcp.example.com/mcp")
    door.reset_sandbox()
    put_parameter(provider.app())
    with listening(provider.server):
        yield provider
        provider.let_go.set()
    settings.settings.cache_clear()


def put_parameter(value: str) -> None:
    name = f"{settings.settings().oauth_parameters}/example"
    boto3.client("ssm").put_parameter(Name=name, Value=value, Type="SecureString", Overwrite=True)


def connect(state: str = "ended", owner: str = "user#ada", **changed: Any) -> StoredGrant:
    """A grant, mostly Ada's, stored long ago, whose access token is about to end, or has."""
    about: dict[str, Any] = {"account_id": "1", "account_name": "Ada", "expires_at": int(time.time()) + ENDS[state]}
    account = GrantedAccount(**{"services": ("example",), "client_id": "mcpist"} | about | changed)
    tokens = Tokens(SecretStr(OLD_ACCESS), SecretStr(OLD_REFRESH))
    grant = grants.save("acme", "example", owner, account=account, tokens=tokens, replaces=0)
    boto3.client("dynamodb").update_item(
        TableName="mcpist-Grants",
        Key={"pk": {"S": "acme#example"}, "sk": {"S": owner}},
        UpdateExpression="SET updated_at = :past",
        ExpressionAttributeValues={":past": {"N": "1"}},
    )
    return grant


def resolve(refused: int | None = None, **pace: float) -> broker.Credential:
    return credentials.resolve(ADA, AccountChoice("example"), refused=refused, pace=LeaseTiming(**pace))


def outcome(refused: int | None = None, **pace: float) -> str:
    """The token, or the error's code."""
    opened_credentials.clear()
    try:
        return resolve(refused, **pace).token
    except McpistError as error:
        return error.code


def stored(door: Broker, kind: str = "user#") -> dict[str, Any]:
    """The item of the grant, or of its lease."""
    found = [item for item in door.items() if item["sk"]["S"].startswith(kind)]
    return found[0] if found else {}


# -- the matrix ---------------------------------------------------------------------------------------

HTML = Said(403, "<html>Access denied</html>")
KEEPS: dict[str, tuple[Said, str]] = {
    "200 with another error": (Said(200, {"error": "temporarily_unavailable"}), "UPSTREAM_UNAVAILABLE"),
    "200 with our token as its error": (Said(200, {"error": OLD_REFRESH}), "UPSTREAM_UNAVAILABLE"),
    "400 with our token as its error": (Said(400, {"error": OLD_REFRESH}), "UPSTREAM_UNAVAILABLE"),
    "503 with our token as its error": (Said(503, {"error": OLD_REFRESH}), "UPSTREAM_UNAVAILABLE"),
    "200 without a token": (Said(200, {"token_type": "Bearer"}), "UPSTREAM_UNAVAILABLE"),
    "200 with garbage": (Said(200, "\x00\x01 not JSON"), "UPSTREAM_UNAVAILABLE"),
    "200 with a list": (Said(200, [1]), "UPSTREAM_UNAVAILABLE"),
    "200 with too much": (Said(200, "[" * 1_100_000), "UPSTREAM_UNAVAILABLE"),
    "302": (Said(302, "", {"location": "https://elsewhere.example"}), "UPSTREAM_UNAVAILABLE"),
    "400 invalid_client": (Said(400, {"error": "invalid_client"}), "NOT_CONFIGURED"),
    "401 invalid_client": (Said(401, {"error": "invalid_client"}), "NOT_CONFIGURED"),
    "400 invalid_request": (Said(400, {"error": "invalid_request"}), "UPSTREAM_UNAVAILABLE"),
    "403 HTML": (HTML, "UPSTREAM_UNAVAILABLE"),
    "429": (Said(429, {"error": "rate"}, {"retry-after": "7"}), "RATE_LIMIT_EXCEEDED"),
    "500": (Said(500, "boom"), "UPSTREAM_UNAVAILABLE"),
    "500 invalid_grant": (Said(500, {"error": "invalid_grant"}), "UPSTREAM_UNAVAILABLE"),
    "529": (Said(529, {"code": "service_overload"}), "UPSTREAM_UNAVAILABLE"),
    "timeout": (Said(200, PAIR, seconds=30), "TIMEOUT"),
}
BURIES = {
    "400 invalid_grant": Said(400, {"error": "invalid_grant"}),
    "403 invalid_grant": Said(403, {"error": "invalid_grant"}),
    "200 invalid_grant": Said(200, {"error": "invalid_grant"}),
}


@pytest.fixture
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    """A timeout in less time; all else answers at once."""
    monkeypatch.setattr(refresh, "GRANT_REFRESH_TIMEOUT_SECONDS", 1.0)


@pytest.mark.usefixtures("hasty")
@pytest.mark.parametrize("state", ENDS)
@pytest.mark.parametrize("answer", KEEPS)
def test_a_failed_refresh_changes_nothing_stored_and_is_not_retried_at_once(
    door: Broker, provider: Provider, answer: str, state: str
) -> None:
    provider.says, code = KEEPS[answer]
    connect(state)
    before = stored(door)
    told = OLD_ACCESS if state == "alive" else code
    assert outcome() == told
    assert outcome() == told
    assert stored(door) == before
    assert len(provider.redeems) == 1
    assert "holder" not in stored(door, "lease#")
    assert_silent(json.dumps(stored(door, "lease#"), default=str), OLD_ACCESS, OLD_REFRESH, SECRET)


@pytest.mark.parametrize("state", ENDS)
@pytest.mark.parametrize("answer", BURIES)
def test_a_rejected_grant_is_marked_and_never_refreshed_again(
    door: Broker, provider: Provider, answer: str, state: str
) -> None:
    provider.says = BURIES[answer]
    connect(state)
    before = stored(door)
    assert [outcome(refused) for refused in (None, None, 1)] == ["RECONNECT_REQUIRED"] * 3
    after = stored(door)
    assert after.pop("dead")["M"]["code"] == {"S": "invalid_grant"}
    assert after == before
    assert len(provider.redeems) == 1
    assert stored(door, "lease#") == {}


@pytest.mark.parametrize("state", ENDS)
def test_a_new_pair_replaces_the_old_one(door: Broker, provider: Provider, state: str) -> None:
    connect(state)
    assert outcome() == outcome() == NEW_ACCESS
    grant = grants.read("acme", "example", "user#ada")
    assert grant is not None
    assert (grant.version, grant.account.lives, grant.tokens().refresh_token) == (2, 3600, SecretStr(NEW_REFRESH))
    assert grant.account.expires_at == pytest.approx(time.time() + 3600, abs=30)
    assert len(provider.redeems) == 1
    assert OLD_REFRESH in provider.redeems[0]
    assert stored(door, "lease#") == {}


def test_the_old_refresh_token_stays_where_the_provider_returns_none(provider: Provider) -> None:
    provider.says = Said(body={"access_token": NEW_ACCESS})
    connect()
    assert outcome() == NEW_ACCESS
    grant = grants.read("acme", "example", "user#ada")
    assert grant is not None
    assert grant.tokens() == Tokens(SecretStr(NEW_ACCESS), SecretStr(OLD_REFRESH))
    assert (grant.account.expires_at, grant.account.lives) == (None, None)


@pytest.mark.parametrize("state", ENDS)
def test_another_app_in_the_parameter_sends_nothing_and_changes_nothing_stored(
    door: Broker, provider: Provider, state: str
) -> None:
    """The provider would say that the grant is dead; it works again when the operator has named the right app."""
    provider.says = Said(400, {"error": "invalid_grant"})
    connect(state)
    before = stored(door)
    put_parameter(provider.app("another"))
    assert outcome() == (OLD_ACCESS if state == "alive" else "NOT_CONFIGURED")
    assert outcome(refused=1) == "NOT_CONFIGURED"
    assert (stored(door), stored(door, "lease#"), provider.asked) == (before, {}, [])
    put_parameter(provider.app())
    apps.app_cache.clear()
    provider.says = Said(body=PAIR)
    assert outcome() == NEW_ACCESS


def test_scopes_without_end_do_not_lose_the_pair(provider: Provider) -> None:
    provider.says = Said(body={**PAIR, "scope": " ".join(f"scope-{number}" for number in range(70_000))})
    connect()
    assert outcome() == NEW_ACCESS
    grant = grants.read("acme", "example", "user#ada")
    assert grant is not None
    assert grant.tokens().refresh_token == SecretStr(NEW_REFRESH)


def test_a_reconnected_account_is_tried_at_once(provider: Provider) -> None:
    """Neither a dead mark nor the pause after trouble outlives the version that it is of."""
    provider.says = Said(400, {"error": "invalid_grant"})
    connect()
    assert outcome() == "RECONNECT_REQUIRED"
    account = GrantedAccount(services=("example",), expires_at=int(time.time()) + 3600)
    tokens = Tokens(SecretStr("again"), SecretStr("again too"))
    grants.save("acme", "example", "user#ada", account=account, tokens=tokens, replaces=1)
    assert outcome() == "again"


# -- when it is time ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("left", "lives", "refreshes"),
    [
        (330, 3600, False),
        (270, 3600, True),
        (330, None, False),
        (270, None, True),
        (45, 60, False),
        (15, 60, True),
        (-1, 60, True),
        (None, None, False),
    ],
)
def test_the_margin_is_five_minutes_or_half_a_shorter_life(
    provider: Provider, left: int | None, lives: int | None, refreshes: bool
) -> None:
    connect(expires_at=None if left is None else int(time.time()) + left, lives=lives)
    assert outcome() == (NEW_ACCESS if refreshes else OLD_ACCESS)
    assert len(provider.redeems) == refreshes


@pytest.mark.parametrize("skew", [-300, 300])
def test_a_clock_that_is_five_minutes_wrong_does_no_harm(
    provider: Provider, monkeypatch: pytest.MonkeyPatch, skew: int
) -> None:
    """One sandbox stores by its own clock; another, whose clock is right, uses what it stored, and so back."""
    right = time.time
    connect()
    with monkeypatch.context() as wrong:
        wrong.setattr(time, "time", lambda: right() + skew)
        assert outcome() == NEW_ACCESS
    assert outcome() == NEW_ACCESS
    with monkeypatch.context() as wrong:
        wrong.setattr(time, "time", lambda: right() + skew)
        assert outcome() == NEW_ACCESS
    assert len(provider.redeems) == 1


@pytest.mark.parametrize("skew", [-300, 300])
def test_the_lease_uses_no_wall_clock(provider: Provider, monkeypatch: pytest.MonkeyPatch, skew: int) -> None:
    grant = connect()
    assert lease.acquire(grant, LeaseState(), LeaseTiming()) is not None  # by somebody who never beats
    right = time.time
    monkeypatch.setattr(time, "time", lambda: right() + skew)
    began = time.monotonic()
    # It may send for as long as a slow machine needs, and waits no less for the lease of another.
    assert outcome(lease=1.0, margin=1.0 - HANGING_SECONDS, wait=HANGING_SECONDS) == NEW_ACCESS
    assert time.monotonic() - began >= 1.0
    assert len(provider.redeems) == 1


# -- a service that refuses the token -----------------------------------------------------------------


def test_a_refused_token_is_refreshed_once_and_a_newer_one_is_returned(provider: Provider) -> None:
    connect(expires_at=None)
    assert outcome() == OLD_ACCESS
    assert outcome(refused=1) == NEW_ACCESS
    assert outcome(refused=1) == NEW_ACCESS
    assert resolve(refused=1).version == 2
    assert len(provider.redeems) == 1


@pytest.mark.usefixtures("provider")
def test_a_refused_token_that_is_cached_is_not_returned_again() -> None:
    connect(expires_at=None)
    assert resolve().token == resolve().token == OLD_ACCESS
    assert resolve(refused=1).token == NEW_ACCESS


def test_a_service_that_refuses_every_token_makes_us_refresh_once_a_minute(
    provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    connect(expires_at=None)
    version = 1
    for _ in range(8):
        version = resolve(refused=version).version
    assert (version, len(provider.redeems)) == (2, 1)
    right = time.time
    monkeypatch.setattr(time, "time", lambda: right() + 61)
    assert resolve(refused=version).version == 3
    assert len(provider.redeems) == 2


def test_a_refused_token_is_not_returned_when_the_provider_is_down(provider: Provider) -> None:
    provider.says = Said(500, "boom")
    connect(expires_at=None)
    assert outcome(refused=1) == "UPSTREAM_UNAVAILABLE"
    assert outcome() == OLD_ACCESS


def test_a_refused_key_that_cannot_be_refreshed_is_returned_again(door: Broker, provider: Provider) -> None:
    door.store(service="example", expires_at=None, access_token="pasted")
    assert outcome(refused=1) == "pasted"
    assert provider.asked == []


# -- pauses -------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("provider")
def test_the_backoff_grows_with_jitter_up_to_five_minutes() -> None:
    grant = connect()
    held = lease.Lease(grant, "me", 0.0, None, LeaseTiming())
    pauses = []
    for _ in range(12):
        held.record_failure(UpstreamUnavailable(service="example", problem="it is down"))
        assert held._last_failure
        pauses.append(held._last_failure.until - time.time())
    assert all(2**number * 0.49 <= pause <= 2**number for number, pause in enumerate(pauses[:8], 1))
    assert len({round(pause, 3) for pause in pauses[:8]}) == 8
    assert max(pauses) <= 300
    assert pauses[-1] > 200


def test_a_provider_that_names_a_retry_time_is_not_asked_before(provider: Provider) -> None:
    provider.says = Said(429, "", {"retry-after": "120"})
    connect()
    assert outcome() == "RATE_LIMIT_EXCEEDED"
    with pytest.raises(RateLimitExceeded) as limited:
        resolve()
    assert 110 < limited.value.details["retry_after"] <= 120


def test_a_refresh_is_retried_after_the_backoff_and_success_ends_it(
    door: Broker, provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    provider.says = Said(500, "boom")
    connect()
    assert outcome() == "UPSTREAM_UNAVAILABLE"
    provider.says = Said(body=PAIR)
    assert outcome() == "UPSTREAM_UNAVAILABLE"
    right = time.time
    monkeypatch.setattr(time, "time", lambda: right() + 3)
    assert outcome() == NEW_ACCESS
    assert len(provider.redeems) == 2
    assert stored(door, "lease#") == {}


@pytest.mark.usefixtures("provider")
def test_a_backoff_from_a_clock_that_is_far_ahead_is_ignored() -> None:
    grant = connect()
    trouble = RefreshFailure(grant.version, 3, time.time() + 86_400, {"type": "Timeout", "details": {}})
    LeaseState(trouble=trouble).raise_if_backing_off(grant)


@pytest.mark.usefixtures("provider")
def test_a_failure_that_another_release_recorded_is_an_outage() -> None:
    grant = connect()
    trouble = RefreshFailure(grant.version, 1, time.time() + 60, {"type": "InventedLater", "details": {}})
    with pytest.raises(UpstreamUnavailable):
        LeaseState(trouble=trouble).raise_if_backing_off(grant)


@pytest.mark.usefixtures("provider")
def test_a_valid_token_still_serves_while_our_app_is_not_configured() -> None:
    boto3.client("ssm").delete_parameter(Name=f"{settings.settings().oauth_parameters}/example")
    connect("alive")
    assert outcome() == OLD_ACCESS
    with pytest.raises(NotConfigured):
        resolve(refused=1)
    put_parameter("{}")


# -- who comes in between -----------------------------------------------------------------------------


def take_away() -> None:
    now = grants.read("acme", "example", "user#ada")
    assert now is not None
    grants.remove(now)


def test_a_pair_for_a_grant_that_was_removed_meanwhile_is_revoked_and_not_stored(
    door: Broker, provider: Provider
) -> None:
    connect()
    provider.says = Said(body=PAIR, meanwhile=take_away)
    with pytest.raises(ConnectionRequired):
        resolve()
    revoked = [asked for asked in provider.asked if asked.startswith("/revoke")]
    assert len(provider.redeems) == 1
    assert [secret for asked in revoked for secret in (NEW_REFRESH, NEW_ACCESS) if secret in asked] == [
        NEW_REFRESH,
        NEW_ACCESS,
    ]
    assert door.items() == []


@pytest.mark.parametrize(("account", "revokes"), [("1", False), ("2", True)])
def test_a_connection_made_anew_meanwhile_keeps_its_own_tokens(provider: Provider, account: str, revokes: bool) -> None:
    """Where it is of the same account, revoking the old pair could end the new one with it."""
    connect()

    def anew() -> None:
        take_away()
        connect(account_id=account, expires_at=None)

    provider.says = Said(body=PAIR, meanwhile=anew)
    assert outcome() == OLD_ACCESS
    now = grants.read("acme", "example", "user#ada")
    assert now is not None
    assert (now.version, now.account.account_id) == (1, account)
    assert any(asked.startswith("/revoke") for asked in provider.asked) == revokes


@pytest.mark.parametrize(
    ("other", "one_by_one", "revokes"),
    [
        ({}, False, False),
        ({}, True, True),
        ({"account_id": "2"}, False, True),
        ({"client_id": "another"}, False, True),
    ],
)
def test_an_unneeded_pair_is_not_revoked_where_that_could_end_another_grant(
    provider: Provider, monkeypatch: pytest.MonkeyPatch, other: dict[str, Any], *, one_by_one: bool, revokes: bool
) -> None:
    """As another one's on the same account, unless the provider revokes tokens one by one."""
    found = providers.find_with_app

    def find(name: str, caller: Caller) -> tuple[providers.Provider, providers.App]:
        known, app = found(name, caller)
        return replace(known, revokes_single_token=one_by_one), app

    monkeypatch.setattr(providers, "find_with_app", find)
    connect()
    connect("alive", "role#support", **other)
    provider.says = Said(body=PAIR, meanwhile=take_away)
    outcome()
    assert len(provider.redeems) >= 1
    assert any(asked.startswith("/revoke") for asked in provider.asked) == revokes


def test_a_service_taken_out_meanwhile_stays_out(provider: Provider) -> None:
    grant = connect(services=("example", "other"))
    provider.says = Said(body=PAIR, meanwhile=lambda: grants.set_services(grant, ["example"]))
    assert outcome() == NEW_ACCESS
    now = grants.read("acme", "example", "user#ada")
    assert now is not None
    assert now.account.services == ("example",)


def test_a_holder_that_lost_the_lease_still_stores_the_new_pair(door: Broker, provider: Provider) -> None:
    def take_over() -> None:
        key = {"pk": {"S": "acme#example"}, "sk": {"S": "lease#user#ada"}}
        item = stored(door, "lease#") | key | {"holder": {"S": "another"}}
        boto3.client("dynamodb").put_item(TableName="mcpist-Grants", Item=item)

    connect()
    provider.says = Said(body=PAIR, meanwhile=take_over)
    assert outcome() == NEW_ACCESS
    assert stored(door, "lease#")["holder"] == {"S": "another"}


def test_the_rejection_of_a_version_that_was_replaced_meanwhile_marks_nothing(provider: Provider) -> None:
    grant = connect()

    def another_stores() -> None:
        seals = grants.generate_data_keys("acme", "example", "user#ada", 2)
        grants.store_refreshed(grant, seals, Tokens(SecretStr("theirs"), SecretStr("r")), expires_at=None, lives=None)

    provider.says = Said(400, {"error": "invalid_grant"}, meanwhile=another_stores)
    assert outcome() == "theirs"
    now = grants.read("acme", "example", "user#ada")
    assert now is not None
    assert now.rejection is None


def test_the_new_pair_is_stored_although_the_table_fails_for_a_moment(provider: Provider) -> None:
    refused: list[str] = []

    def refuse_twice(params: dict[str, Any], **_: Any) -> Any:
        if b"access_token" not in params["body"] or len(refused) == 2:
            return None
        refused.append("the new pair")
        error = {"Error": {"Code": "InternalServerError", "Message": "no"}, "ResponseMetadata": {}}
        return type("Response", (), {"status_code": 500}), error

    connect()
    clients.session().register("before-call.dynamodb.UpdateItem", refuse_twice)
    clients.client.cache_clear()
    try:
        assert outcome() == NEW_ACCESS
    finally:
        clients.session().unregister("before-call.dynamodb.UpdateItem", refuse_twice)
        clients.client.cache_clear()
    assert len(refused) == 2
    assert len(provider.redeems) == 1


@pytest.mark.parametrize("state", ENDS)
def test_a_token_without_a_refresh_token_is_never_refreshed(provider: Provider, state: str) -> None:
    account = GrantedAccount(services=("example",), client_id="mcpist", expires_at=int(time.time()) + ENDS[state])
    tokens = Tokens(SecretStr(OLD_ACCESS))
    grants.save("acme", "example", "user#ada", account=account, tokens=tokens, replaces=0)
    assert outcome() == (OLD_ACCESS if state == "alive" else "RECONNECT_REQUIRED")
    assert provider.asked == []


def test_a_holder_without_a_beat_sends_nothing(provider: Provider) -> None:
    connect("ended")
    with pytest.raises(StoreUnavailable):
        resolve(lease=0.5, margin=0.5)
    assert provider.asked == []


def test_a_waiter_gives_up_in_time(provider: Provider) -> None:
    grant = connect()
    with pytest.raises(Timeout), _held(grant):
        resolve(lease=5, wait=0.3)
    assert provider.asked == []


def _held(grant: StoredGrant) -> lease.Lease:
    held = lease.acquire(grant, LeaseState(), LeaseTiming(beat=0.05))
    assert held is not None
    return held


def test_a_lease_whose_beat_goes_on_is_not_taken_over(provider: Provider) -> None:
    grant = connect("alive")
    with _held(grant) as held:
        assert outcome(lease=0.3, wait=1.5) == OLD_ACCESS
        assert held.may_send
    assert provider.asked == []
    assert outcome() == NEW_ACCESS


@pytest.mark.usefixtures("provider")
def test_of_many_takeovers_of_a_lease_one_succeeds() -> None:
    grant = connect()
    assert lease.acquire(grant, LeaseState(), LeaseTiming()) is not None
    _, standing = lease.read_with_grant(grant)
    taken = [lease.acquire(grant, standing, LeaseTiming()) for _ in range(5)]
    assert [one is not None for one in taken] == [True, False, False, False, False]


def test_fifty_threads_share_one_refresh(provider: Provider) -> None:
    from concurrent.futures import ThreadPoolExecutor

    connect()
    provider.says = Said(body=PAIR, seconds=0.3)
    with ThreadPoolExecutor(50) as pool:
        tokens = set(pool.map(lambda _: resolve().token, range(50)))
    assert tokens == {NEW_ACCESS}
    assert len(provider.redeems) == 1


# -- what is written ----------------------------------------------------------------------------------


@pytest.mark.parametrize("says", [Said(body=PAIR), Said(400, {"error": "invalid_grant"}), HTML], ids=["ok", "no", "?"])
def test_a_refresh_leaves_one_row_and_no_secret_anywhere(
    door: Broker,
    provider: Provider,
    caplog: pytest.LogCaptureFixture,
    capsys: pytest.CaptureFixture[str],
    says: Said,
) -> None:
    caplog.set_level(logging.DEBUG)
    for item in door.items("mcpist-Audit"):
        boto3.client("dynamodb").delete_item(TableName="mcpist-Audit", Key={name: item[name] for name in ("pk", "sk")})
    provider.says = says
    connect()
    answer = door.ask("resolve", service="example")
    [row] = door.items("mcpist-Audit")
    expected = {
        200: ("refresh", "succeeded"),
        400: ("failure", "invalid_grant"),
        403: ("failure", "UPSTREAM_UNAVAILABLE"),
    }[says.status]
    assert (row["event"]["S"], row["outcome"]["S"]) == expected
    assert [row[name]["S"] for name in ("user", "service", "account", "request")] == [
        "ada",
        "example",
        "Ada",
        "request-1",
    ]
    secrets = (OLD_ACCESS, OLD_REFRESH, NEW_REFRESH, SECRET)
    assert_silent(json.dumps(answer), *secrets)
    everything = written(caplog, capsys) + repr([door.items(table) for table in ("mcpist-Audit", "mcpist-Grants")])
    assert_silent(everything, *secrets, NEW_ACCESS)


@pytest.mark.parametrize(
    ("said", "counted"),
    [
        (Said(200, PAIR), "Refreshes"),
        (Said(400, {"error": "invalid_grant"}), "RefreshFailures"),
        (Said(503), "RefreshFailures"),
        (Said(200, {"no": "token"}), "RefreshFailures"),
    ],
)
def test_each_refresh_is_counted_by_its_outcome(
    provider: Provider, capsys: pytest.CaptureFixture[str], said: Said, counted: str
) -> None:
    provider.says = said
    connect()
    with invocation.begin("token_broker", DOOR.logger, "request-1"):
        outcome()
    assert [(one.name, one.value) for one in emf.seen(capsys.readouterr().out)] == [(counted, 1)]


@pytest.mark.usefixtures("under_way")
def test_a_lost_row_is_counted_and_loses_no_token(provider: Provider, capsys: pytest.CaptureFixture[str]) -> None:
    def refuse(**_: Any) -> Any:
        error = {"Error": {"Code": "AccessDeniedException", "Message": "no"}, "ResponseMetadata": {}}
        return type("Response", (), {"status_code": 400}), error

    connect()
    clients.session().register("before-call.dynamodb.PutItem", refuse)
    clients.client.cache_clear()
    try:
        assert outcome() == NEW_ACCESS
    finally:
        clients.session().unregister("before-call.dynamodb.PutItem", refuse)
        clients.client.cache_clear()
    assert len(provider.redeems) == 1
    assert '"AuditRowsLost":[1.0]' in capsys.readouterr().out.replace(" ", "")


def test_a_reconnect_error_has_the_url_to_open(provider: Provider) -> None:
    provider.says = Said(400, {"error": "invalid_grant"})
    connect()
    with pytest.raises(ReconnectRequired) as needed:
        resolve()
    assert needed.value.details["url"].endswith("/connect/example?organization=acme&user=ada")
