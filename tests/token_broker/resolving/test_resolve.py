"""Which account acts for whom, and how a call is refused."""

import time
from typing import Any

import boto3
import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa

from mcpist.aws.table import directory_table
from mcpist.caller import Caller, Role, Subject
from mcpist.running.broker import Credential
from tests.clock import Clock
from tests.token_broker.conftest import ACCESS, FAR_FUTURE, Broker, error_of, put_person
from token_broker.grants import grants, opened
from token_broker.grants.grant import AccountChoice
from token_broker.resolving import credentials

EARLIER = 1
SHARED = "ghu_shared_access_canary"


def connect(door: Broker, *, own: str = "none", shared: str = "none") -> None:
    """Store ada's own grant and the one shared with engineering: alive, expired, or (her own) open to support only."""
    ends = {"alive": FAR_FUTURE, "expired": EARLIER, "for support": FAR_FUTURE}
    if own != "none":
        door.store(expires_at=ends[own], open_to=("support",) if own == "for support" else ())
    if shared != "none":
        door.store("role#engineering", access_token=SHARED, expires_at=ends[shared])


def outcome(answer: dict[str, Any]) -> str:
    return answer["result"]["owner"] if "result" in answer else error_of(answer)


@pytest.mark.parametrize(
    ("own", "shared", "acts"),
    [
        ("none", "none", "ConnectionRequired"),
        ("none", "alive", "role#engineering"),
        ("none", "expired", "ReconnectRequired"),
        ("alive", "none", "user#ada"),
        ("alive", "alive", "user#ada"),
        ("alive", "expired", "user#ada"),
        ("expired", "none", "ReconnectRequired"),
        ("expired", "alive", "ReconnectRequired"),
        ("expired", "expired", "ReconnectRequired"),
        ("for support", "none", "ConnectionRequired"),
        ("for support", "alive", "role#engineering"),
        ("for support", "expired", "ReconnectRequired"),
    ],
)
def test_the_own_grant_comes_first_and_a_broken_one_never_becomes_the_shared_one(
    door: Broker, own: str, shared: str, acts: str
) -> None:
    connect(door, own=own, shared=shared)
    assert outcome(door.ask("resolve", roles=["engineering"])) == acts


@pytest.mark.parametrize(
    ("own", "shared", "acts"),
    [
        ("none", "none", []),
        ("none", "alive", ["role#engineering"]),
        ("none", "expired", ["role#engineering"]),
        ("alive", "none", ["user#ada"]),
        ("alive", "alive", ["user#ada"]),
        ("expired", "alive", ["user#ada"]),
        ("for support", "none", []),
        ("for support", "alive", ["role#engineering"]),
    ],
)
def test_status_marks_the_grant_that_resolve_uses(door: Broker, own: str, shared: str, acts: list[str]) -> None:
    connect(door, own=own, shared=shared)
    rows = door.ask("status", roles=["engineering"])["result"]["grants"]
    assert [row["owner"] for row in rows if row["acts"]] == acts


def test_a_grant_open_to_one_of_the_roles_acted_with_is_open(door: Broker) -> None:
    connect(door, own="for support", shared="alive")
    assert outcome(door.ask("resolve", roles=["engineering", "support"])) == "user#ada"


def test_shared_grants_come_in_the_order_of_the_directory_whatever_order_the_message_has(door: Broker) -> None:
    door.store("role#engineering")
    door.store("role#support")
    assert outcome(door.ask("resolve", roles=["support", "engineering"])) == "role#engineering"
    assert outcome(door.ask("resolve", roles=["support"])) == "role#support"


def test_an_expired_shared_grant_never_becomes_that_of_the_next_role(door: Broker) -> None:
    door.store("role#engineering", expires_at=EARLIER)
    door.store("role#support")
    assert outcome(door.ask("resolve")) == "ReconnectRequired"


def test_without_a_role_only_the_own_grant_counts(door: Broker) -> None:
    connect(door, shared="alive")
    assert outcome(door.ask("resolve", roles=[])) == "ConnectionRequired"
    connect(door, own="alive")
    assert outcome(door.ask("resolve", roles=[])) == "user#ada"


def test_a_credential_is_what_core_expects_and_no_more(door: Broker) -> None:
    door.store(scopes=("repo",))
    answer = door.ask("resolve")
    keep_seconds = answer["result"].pop("keep_seconds")
    assert 55 < keep_seconds <= 60
    assert answer["result"] == {
        "token": ACCESS,
        "account_id": "583231",
        "account_name": "octocat",
        "site_url": "",
        "label": "main",
        "owner": "user#ada",
        "expires_at": FAR_FUTURE,
        "version": 1,
        "scopes": ["repo"],
    }
    assert Credential(**answer["result"]).token == ACCESS


def test_a_token_without_a_known_end_never_expires(door: Broker) -> None:
    door.store(expires_at=None)
    assert door.ask("resolve")["result"]["expires_at"] is None


@pytest.mark.parametrize(("own", "error"), [("none", "ConnectionRequired"), ("expired", "ReconnectRequired")])
def test_a_missing_connection_has_the_url_to_open(door: Broker, own: str, error: str) -> None:
    connect(door, own=own)
    assert door.ask("resolve")["error"] == {
        "type": error,
        "details": {
            "service": "github",
            "url": "https://mcp.example.com/connect/github?organization=acme&user=ada",
        },
    }


def test_one_connection_serves_the_services_that_it_was_made_for(door: Broker) -> None:
    door.store(service="jira", services=("jira",))
    door.store("role#engineering", service="confluence", services=("jira", "confluence"), access_token="shared")
    assert outcome(door.ask("resolve", service="jira")) == "user#ada"
    assert outcome(door.ask("resolve", service="confluence")) == "role#engineering"
    seen = door.ask("status", services=["jira", "confluence"])["result"]["grants"]
    assert [(row["service"], row["owner"], row["acts"]) for row in seen] == [
        ("confluence", "role#engineering", True),
        ("jira", "role#engineering", False),
        ("jira", "user#ada", True),
    ]


def test_a_grant_of_another_user_service_or_organization_is_not_found(door: Broker) -> None:
    connect(door, own="alive")
    assert outcome(door.ask("resolve", proof=door.jwt("bob"), roles=["engineering"])) == "ConnectionRequired"
    assert outcome(door.ask("resolve", service="notion")) == "ConnectionRequired"
    hal = {"proof": door.jwt("hal"), "organization": "globex", "roles": ["engineering"]}
    assert outcome(door.ask("resolve", **hal)) == "ConnectionRequired"


# -- proof --------------------------------------------------------------------------------------------


def test_without_proof_nothing_is_resolved(door: Broker) -> None:
    connect(door, own="alive")
    event = door.event("resolve")
    del event["proof"]
    assert door.send(event)["error"] == {
        "type": "InvalidRequest",
        "details": {"field": "proof", "problem": "Field required"},
    }


@pytest.mark.parametrize(
    "claims",
    [
        {"exp": 1},
        {"iss": "https://login.elsewhere.example"},
        {"aud": "https://mcp.elsewhere.example/mcp"},
        {"aud": "/mcp"},
        {"nonce": "an ID token's"},
    ],
)
def test_a_token_of_another_audience_or_time_is_refused(door: Broker, claims: dict[str, Any]) -> None:
    connect(door, own="alive")
    assert error_of(door.ask("resolve", proof=door.jwt("ada", **claims))) == "AuthenticationError"


def test_a_token_signed_by_somebody_else_is_refused(door: Broker) -> None:
    connect(door, own="alive")
    genuine = door.login.mint("ada")
    claims = jwt.decode(genuine, options={"verify_signature": False})
    foreign = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    forged = jwt.encode(claims, foreign, "RS256", headers=jwt.get_unverified_header(genuine))
    assert error_of(door.ask("resolve", proof={"kind": "jwt", "value": forged})) == "AuthenticationError"
    assert error_of(door.ask("resolve", proof={"kind": "jwt", "value": "x"})) == "AuthenticationError"


def test_a_broker_that_knows_no_audience_refuses_every_token(door: Broker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PUBLIC_URL", "")
    door.reset_sandbox()
    assert error_of(door.ask("resolve", proof=door.jwt("ada", aud="/mcp"))) == "AuthenticationError"


def test_a_token_without_an_audience_is_refused(door: Broker) -> None:
    connect(door, own="alive")
    assert error_of(door.ask("resolve", proof=door.jwt("ada", aud=None))) == "AuthenticationError"


def test_a_token_of_another_organization_is_refused(door: Broker) -> None:
    connect(door, own="alive")
    assert error_of(door.ask("resolve", proof=door.jwt("hal"), roles=[])) == "MembershipRequired"
    assert error_of(door.ask("resolve", organization="globex")) == "MembershipRequired"
    assert error_of(door.ask("resolve", proof=door.jwt("eve"), roles=[])) == "MembershipRequired"


def test_a_role_that_the_directory_does_not_know_of_the_user_is_refused(door: Broker) -> None:
    assert error_of(door.ask("resolve", proof=door.jwt("bob"), roles=["support"])) == "AuthorizationError"
    assert error_of(door.ask("resolve", roles=["engineering", "ghosts"])) == "AuthorizationError"


def test_roles_in_a_token_count_for_nothing(door: Broker) -> None:
    proof = door.jwt("bob", roles=["support"], groups=["support"], organization="acme")
    assert error_of(door.ask("resolve", proof=proof, roles=["support"])) == "AuthorizationError"


# -- warrants -----------------------------------------------------------------------------------------


def test_a_warrant_resolves_what_it_was_issued_for(door: Broker) -> None:
    connect(door, own="alive")
    assert outcome(door.ask("resolve_by_warrant")) == "user#ada"


def test_a_warrant_resolves_no_other_service(door: Broker) -> None:
    proof = warrant_of(door, "ada", services=["notion"])
    assert error_of(door.ask("resolve", proof=proof)) == "AuthorizationError"


def test_a_warrant_opens_in_its_own_organization_only(door: Broker) -> None:
    put_person(door.login, "ada", roles=["engineering"])
    proof = warrant_of(door, "hal", organization="globex", roles=["engineering"])
    assert error_of(door.ask("resolve", proof=proof, roles=["engineering"])) == "AuthenticationError"
    own = door.ask("resolve", proof=proof, organization="globex", roles=["engineering"])
    assert error_of(own) == "ConnectionRequired"


def test_a_warrant_is_valid_for_its_own_user_only(door: Broker) -> None:
    connect(door, own="alive")
    proof = warrant_of(door, "bob", roles=["engineering"])
    assert outcome(door.ask("resolve", proof=proof, roles=["engineering"])) == "ConnectionRequired"


def test_a_warrant_has_only_the_roles_that_it_was_issued_with(door: Broker) -> None:
    proof = warrant_of(door, "ada", roles=["support"])
    assert error_of(door.ask("resolve", proof=proof, roles=["engineering"])) == "AuthorizationError"


def test_an_expired_warrant_is_refused(door: Broker) -> None:
    refused = door.ask("resolve", proof=warrant_of(door, "ada", expires_at=int(time.time())))
    assert error_of(refused) == "AuthenticationError"
    assert refused["error"]["details"] == {"problem": "the batch's warrant has expired"}


def test_a_warrant_ends_after_an_hour_at_most(door: Broker) -> None:
    granted = door.ask("warrant", expires_at=FAR_FUTURE)["result"]["expires_at"]
    assert time.time() + 3590 < granted <= time.time() + 3600
    soon = int(time.time()) + 60
    assert door.ask("warrant", expires_at=soon)["result"]["expires_at"] == soon


def test_the_warrant_of_a_removed_user_is_refused(door: Broker) -> None:
    connect(door, own="alive")
    event = door.event("resolve_by_warrant")
    boto3.client("dynamodb").delete_item(
        TableName="mcpist-Directory",
        Key={"pk": {"S": f"subject#{door.login.issuer}#ada"}, "sk": {"S": "org#acme"}},
    )
    door.reset_sandbox()
    assert error_of(door.send(event)) == "MembershipRequired"


def test_the_warrant_of_a_user_who_lost_the_role_is_refused(door: Broker) -> None:
    event = door.event("resolve_by_warrant")
    put_person(door.login, "ada", roles=["support"])
    door.reset_sandbox()
    assert error_of(door.send(event)) == "AuthorizationError"


def test_the_warrant_of_a_subject_who_became_another_user_is_refused(door: Broker) -> None:
    event = door.event("resolve_by_warrant")
    table = boto3.client("dynamodb")
    key = {"pk": {"S": f"subject#{door.login.issuer}#ada"}, "sk": {"S": "org#acme"}}
    item = table.get_item(TableName="mcpist-Directory", Key=key)["Item"]
    table.put_item(TableName="mcpist-Directory", Item=item | {"user": {"S": "lovelace"}})
    door.reset_sandbox()
    assert error_of(door.send(event)) == "AuthenticationError"


@pytest.mark.parametrize("operation", ["warrant", "revoke_personal", "status"])
def test_a_warrant_is_valid_for_resolving_only(door: Broker, operation: str) -> None:
    answer = door.ask(operation, proof=warrant_of(door, "ada"))
    assert answer["error"]["type"] == "InvalidRequest"
    assert answer["error"]["details"]["field"] in {"proof", "proof.kind"}


@pytest.mark.parametrize("value", ["x", "####", "AAAA", "AQAA", "A" * 400])
def test_a_value_that_is_no_warrant_is_refused(door: Broker, value: str) -> None:
    assert error_of(door.ask("resolve", proof={"kind": "warrant", "value": value})) == "AuthenticationError"


def test_a_stored_token_is_no_warrant(door: Broker) -> None:
    import base64

    connect(door, own="alive")
    sealed = base64.urlsafe_b64encode(door.items()[0]["access_token"]["B"]).decode()
    assert error_of(door.ask("resolve", proof={"kind": "warrant", "value": sealed})) == "AuthenticationError"


# -- costs --------------------------------------------------------------------------------------------


def test_a_cold_resolve_sends_three_requests(door: Broker) -> None:
    connect(door, own="alive", shared="alive")
    event = door.event("resolve")
    door.reset_sandbox()
    door.send(event)
    assert door.requests == ["Query", "BatchGetItem", "Decrypt"]


def test_a_cold_resolve_by_warrant_sends_one_more_to_open_the_warrant(door: Broker) -> None:
    connect(door, own="alive")
    event = door.event("resolve_by_warrant")
    door.reset_sandbox()
    door.send(event)
    assert door.requests == ["Decrypt", "Query", "BatchGetItem", "Decrypt"]


def test_a_warm_resolve_sends_none(door: Broker) -> None:
    connect(door, own="alive")
    event = door.event("resolve")
    cold = door.send(event)
    door.requests.clear()
    warm = door.send(event)
    assert door.requests == []
    assert warm["result"].pop("keep_seconds") <= cold["result"].pop("keep_seconds")
    assert warm == cold


def test_all_caches_together_keep_a_credential_for_a_minute(door: Broker, monkeypatch: pytest.MonkeyPatch) -> None:
    connect(door, own="alive")
    event = door.event("resolve")
    clock = Clock(time.time())
    monkeypatch.setattr(opened.opened_credentials, "clock", clock)
    kept = []
    for seconds in (0, 10, 19, 2):
        clock.advance(seconds)
        door.requests.clear()
        kept.append((door.send(event)["result"]["keep_seconds"], "BatchGetItem" in door.requests))
    assert kept == [(60, True), (50, False), (31, False), (60, True)]


def test_a_sandbox_drops_what_it_changes_at_once(door: Broker) -> None:
    connect(door, shared="alive")
    assert outcome(door.ask("resolve")) == "role#engineering"
    grant = door.store()
    assert outcome(door.ask("resolve")) == "user#ada"
    grants.remove(grant)
    assert outcome(door.ask("resolve")) == "role#engineering"


def test_the_cache_of_a_sandbox_is_bounded(door: Broker) -> None:
    connect(door, own="alive")
    caller, [grant] = caller_of("ada"), list(grants.find("acme"))
    credential = Credential("token", "1", "octocat", "user#ada", None)
    for number in range(opened.MAX_OPENED_CREDENTIALS + 10):
        opened.cache_credential(caller, AccountChoice(f"service{number}"), grant, credential, read_at=time.time())
    assert len(opened.opened_credentials) <= opened.MAX_OPENED_CREDENTIALS


def test_a_warm_sandbox_resolves_a_thousand_times_a_second(door: Broker) -> None:
    connect(door, own="alive")
    caller = caller_of("ada")
    credentials.resolve(caller, AccountChoice("github"))
    began = time.process_time()
    for _ in range(1_000):
        credentials.resolve(caller, AccountChoice("github"))
    assert time.process_time() - began < 1


def caller_of(who: str) -> Caller:
    roles = (Role("engineering"), Role("support"))
    return Caller("acme", who, Subject("https://login.example.com", who), "user", roles)


def test_a_refused_proof_reaches_no_store(door: Broker) -> None:
    door.ask("resolve", proof=door.jwt("ada", exp=1))
    assert door.requests == []


def warrant_of(door: Broker, who: str, **changes: Any) -> dict[str, str]:
    answer = door.ask("warrant", proof=door.jwt(who), **changes)
    return {"kind": "warrant", "value": answer["result"]["warrant"]}


def test_the_account_of_the_notifications_is_given_for_nothing_else_and_never_a_persons(door: Broker) -> None:
    connect(door, own="alive", shared="alive")
    ask = {"operation": "sender", "proof": door.jwt("bob"), "organization": "acme", "roles": []}
    for url in ("", "https://hooks.example.com/engineering/a"):
        directory_table().put({"pk": "notification#acme", "sk": "approvals", "url": url, "secret": "s"})
        assert outcome(door.send(ask)) == "AuthorizationError"
    directory_table().put({"pk": "notification#acme", "sk": "approvals", "url": "github:engineering/#a", "secret": "s"})
    assert door.send(ask)["result"]["token"] == SHARED
    assert outcome(door.send(ask | {"proof": door.jwt("ada"), "service": "notion"})) == "role#engineering"
    foreign = ask | {"proof": door.jwt("hal"), "organization": "globex"}
    assert outcome(door.send(foreign)) == "AuthorizationError"
    assert outcome(door.send(ask | {"organization": "globex"})) == "MembershipRequired"
