"""Taking connections away, one or many: who may, what becomes of them here and at the provider, and what proves it."""

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from threading import Barrier
from typing import Any

import boto3
import pytest
from pydantic import SecretStr

from mcpist.audit import search as audit_search
from mcpist.audit.search import Filters
from mcpist.errors import Conflict
from mcpist.running.broker import CREDENTIAL_CACHE_SECONDS
from mcpist.settings import settings
from mcpist.telemetry.metrics import INTEGRITY_FAILURES
from mcpist_services import provider_name
from tests import emf
from tests.token_broker.authorization_server import AuthorizationServer, Client
from tests.token_broker.conftest import PUBLIC_URL, Broker, error_of
from token_broker.connecting import pending
from token_broker.connecting.pending import ConnectionIntent, ObtainedGrant
from token_broker.grants import grants
from token_broker.grants.grants import GrantedAccount, StoredGrant, Tokens

BOTH = ("user#ada", "role#engineering")
EVERYONE = {"user": "ada", "service": "github", "role": "engineering"}


def ask(door: Broker, who: str, operation: str, **fields: Any) -> dict[str, Any]:
    """The door's answer to a message without a file of its own."""
    message = {"operation": operation, "proof": door.jwt(who), "organization": "acme", **fields}
    return door.send(message)


def done(door: Broker, who: str, operation: str, **fields: Any) -> dict[str, Any]:
    answer = ask(door, who, operation, **fields)
    assert "result" in answer, answer
    result: dict[str, Any] = answer["result"]
    return result


def standing(door: Broker) -> set[tuple[str, str]]:
    """Where grants stand."""
    keys = {(item["pk"]["S"], item["sk"]["S"]) for item in door.items()}
    return {key for key in keys if key[1].startswith(grants.OWNER_PREFIXES)}


def events(user: str = "") -> list[tuple[str, str, str, str]]:
    """The audit's rows of connections, the oldest first."""
    now = datetime.now(UTC)
    rows = audit_search.find(
        "acme", since=now - timedelta(hours=1), until=now + timedelta(hours=1), filters=Filters(user)
    ).rows
    return [(row["event"], row["service"], row["account"], row["outcome"]) for row in reversed(rows)]


@pytest.fixture(autouse=True)
def no_rows_yet(door: Broker) -> None:
    table = boto3.client("dynamodb")
    for item in door.items(settings().audit_table):
        table.delete_item(TableName=settings().audit_table, Key={"pk": item["pk"], "sk": item["sk"]})
    door.reset_sandbox()


@pytest.fixture
def provider(
    door: Broker, authorization_server: AuthorizationServer, monkeypatch: pytest.MonkeyPatch
) -> Iterator[tuple[AuthorizationServer, Client]]:
    """A real authorization server, as the provider of a service that is not built in; it stands on loopback."""
    monkeypatch.setenv("PUBLIC_URL", "http://127.0.0.1:3000")
    monkeypatch.setenv("AUDIENCE", f"{PUBLIC_URL}/mcp")
    settings.cache_clear()
    authorization_server.reset()
    client = authorization_server.register("http://127.0.0.1:3000/connect/callback/drive")
    name = f"{settings().oauth_parameters}/drive"
    parameter = authorization_server.parameter(client)
    boto3.client("ssm").put_parameter(Name=name, Value=parameter, Type="SecureString", Overwrite=True)
    door.reset_sandbox()
    yield authorization_server, client
    boto3.client("ssm").delete_parameter(Name=name)
    settings.cache_clear()


def connect(door: Broker, provider: tuple[AuthorizationServer, Client], owner: str = "user#ada") -> Tokens:
    """A grant of the real provider's."""
    server, client = provider
    minted = server.grant(client)
    door.store(owner, "drive", access_token=minted.access_token, refresh_token=minted.refresh_token)
    return Tokens(SecretStr(minted.access_token), SecretStr(minted.refresh_token))


def rows() -> list[dict[str, Any]]:
    """The audit's rows, the newest first."""
    now = datetime.now(UTC)
    return audit_search.find("acme", since=now - timedelta(hours=1), until=now + timedelta(hours=1)).rows


def test_a_refused_operation_is_in_the_audit_with_the_program_of_the_person(door: Broker) -> None:
    said = {"name": "console", "version": "1", "id": "another"}
    assert "error" in ask(door, "ada", "kill", everything=True, client=said)
    (row,) = rows()
    assert (row["user"], row["tool"], row["target"], row["outcome"]) == (
        *("ada", "grants.kill", "grants.all", "AUTHORIZATION_ERROR"),
    )
    assert (row["client_name"], row["client_version"], row["client_id"]) == ("console", "1", "local")


# -- one's own, or a role's -----------------------------------------------------------------------------


def test_a_revoked_grant_is_deleted_here_and_dead_at_its_provider(
    door: Broker, provider: tuple[AuthorizationServer, Client]
) -> None:
    tokens = connect(door, provider)
    assert provider[0].accepts(tokens.access_token.get_secret_value())
    result = done(door, "ada", "revoke", service="drive")
    proof = result["proof"]
    assert (result["revoked"], proof["at_provider"], proof["deleted"]) == (True, "revoked", True)
    assert abs(proof["forgotten_by"] - time.time() - CREDENTIAL_CACHE_SECONDS) < 5
    assert not provider[0].accepts(tokens.access_token.get_secret_value())
    assert standing(door) == set()
    assert events() == [("revoke", "drive", "octocat", "revoked")]


def test_nothing_to_revoke_is_no_error(door: Broker) -> None:
    assert done(door, "ada", "revoke", service="github") == {"revoked": False, "kept": [], "proof": None}


def test_of_two_services_of_one_consent_the_other_stays(door: Broker) -> None:
    door.store(service="jira", services=("jira", "confluence"))
    assert done(door, "ada", "revoke", service="jira") == {"revoked": True, "kept": ["confluence"], "proof": None}
    assert error_of(ask(door, "ada", "resolve", roles=["engineering"], service="jira")) == "ConnectionRequired"
    assert done(door, "ada", "resolve", roles=["engineering"], service="confluence")["account_name"] == "octocat"
    assert done(door, "ada", "revoke", service="jira")["revoked"] is False
    assert done(door, "ada", "revoke", service="confluence")["proof"]["deleted"]
    assert standing(door) == set()


def test_an_account_that_another_grant_uses_is_not_revoked_at_its_provider(
    door: Broker, provider: tuple[AuthorizationServer, Client]
) -> None:
    own, shared = (connect(door, provider, owner) for owner in ("user#ada", "role#engineering"))
    assert done(door, "ada", "revoke", service="drive")["proof"]["at_provider"] == "kept"
    assert provider[0].accepts(shared.access_token.get_secret_value())
    assert provider[0].accepts(own.access_token.get_secret_value())
    assert standing(door) == {("acme#drive", "role#engineering")}


def test_of_two_that_are_revoked_at_once_the_last_is_revoked_at_its_provider(
    door: Broker, provider: tuple[AuthorizationServer, Client], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both see the other's grant before they remove their own."""
    tokens = [connect(door, provider, owner).access_token.get_secret_value() for owner in BOTH]
    barrier, remove = Barrier(2, timeout=10), grants.remove

    def together(grant: StoredGrant) -> bool:
        barrier.wait()
        removed = remove(grant)
        barrier.wait()
        return removed

    monkeypatch.setattr(grants, "remove", together)
    with ThreadPoolExecutor(2) as pool:
        own = pool.submit(done, door, "ada", "revoke", service="drive")
        shared = pool.submit(done, door, "grace", "revoke", service="drive", role="engineering")
        answers = [one.result()["proof"]["at_provider"] for one in (own, shared)]
    assert "kept" not in answers
    assert not any(provider[0].accepts(token) for token in tokens)


def test_where_one_token_is_revoked_alone_another_grant_keeps_nothing_alive(door: Broker) -> None:
    for owner in BOTH:
        door.store(owner, client_id="Iv1")
    assert done(door, "ada", "revoke", service="github")["proof"]["at_provider"] == "failed", "GitHub was to be asked"


def test_a_revocation_drops_the_user_s_pending_connections(door: Broker) -> None:
    pending.begin(wish("user#ada", "ada", "github"))
    pending.begin(wish("user#bob", "bob", "github"))
    pending.begin(wish("user#ada", "ada", "notion"))
    done(door, "ada", "revoke", service="github")
    assert {(one.intent.owner, one.intent.provider) for one in pending.find("acme")} == {
        ("user#bob", "github"),
        ("user#ada", "notion"),
    }


def test_only_an_administrator_revokes_a_role_s_grant(door: Broker) -> None:
    door.store("role#engineering")
    assert error_of(ask(door, "ada", "revoke", service="github", role="engineering")) == "AuthorizationError"
    assert standing(door)
    assert done(door, "grace", "revoke", service="github", role="engineering")["revoked"]
    assert standing(door) == set()


def test_a_grant_that_is_refreshed_meanwhile_is_revoked_all_the_same(
    door: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    grant = door.store(refresh_token="ghr_1")
    remove = grants.remove
    renewed: list[StoredGrant] = []

    def slow(standing: StoredGrant) -> bool:
        if not renewed:
            renewed.append(door.store(access_token="newer", replaces=grant.version))
        return remove(standing)

    monkeypatch.setattr(grants, "remove", slow)
    assert done(door, "ada", "revoke", service="github")["revoked"]
    assert standing(door) == set()


# -- who may do it to many ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "fields",
    [
        {"user": "bob"},
        {"role": "engineering"},
        {"service": "github"},
        {"everything": True},
        {"user": "bob", "service": "github"},
    ],
)
@pytest.mark.parametrize("operation", ["list", "kill"])
def test_a_user_names_only_their_own(door: Broker, operation: str, fields: dict[str, Any]) -> None:
    fields = {name: value for name, value in fields.items() if operation == "kill" or name != "everything"}
    door.store("user#bob")
    door.store("role#engineering")
    before = standing(door)
    assert error_of(ask(door, "ada", operation, **fields)) == "AuthorizationError"
    assert standing(door) == before


def test_a_user_may_end_all_of_their_own(door: Broker) -> None:
    for service in ("github", "notion", "jira"):
        door.store(service=service)
    door.store("user#bob")
    assert len(done(door, "ada", "list", user="ada")["grants"]) == 3
    assert len(done(door, "ada", "kill", user="ada")["killed"]) == 3
    assert standing(door) == {("acme#github", "user#bob")}


@pytest.mark.parametrize("operation", ["list", "kill", "reencrypt"])
def test_a_batchs_warrant_administers_nothing(door: Broker, operation: str) -> None:
    door.store()
    named = {} if operation == "reencrypt" else {"user": "ada"}
    warrant = door.ask("warrant", proof=door.jwt("ada"))["result"]["warrant"]
    answer = ask(door, "grace", operation, proof={"kind": "warrant", "value": warrant}, **named)
    assert error_of(answer) == "InvalidRequest"
    assert standing(door)


def test_a_browser_of_an_administrator_administers_and_another_does_not(door: Broker) -> None:
    door.store()
    assert error_of(ask(door, "bob", "kill", proof=door.session("bob"), user="ada")) == "AuthorizationError"
    assert standing(door)
    assert "result" in ask(door, "grace", "kill", proof=door.session("grace"), user="ada")
    assert not standing(door)


def test_another_organizations_administrator_reaches_nothing(door: Broker) -> None:
    door.store("user#hal", organization="globex")
    assert error_of(ask(door, "grace", "kill", organization="globex", everything=True)) == "MembershipRequired"
    assert done(door, "grace", "kill", everything=True)["killed"] == []
    assert standing(door) == {("globex#github", "user#hal")}


@pytest.mark.parametrize("fields", [{}, {"everything": False}, {"user": "ada", "everything": True}, EVERYONE])
def test_a_kill_names_its_selection(door: Broker, fields: dict[str, Any]) -> None:
    door.store()
    assert error_of(ask(door, "grace", "kill", **fields)) == "InvalidRequest"
    assert standing(door)


# -- the kill switch ------------------------------------------------------------------------------------


def populate(door: Broker) -> None:
    door.store("user#ada", "github")
    door.store("user#ada", "jira", services=("jira", "confluence"))
    door.store("user#bob", "github")
    door.store("role#engineering", "confluence")
    door.store("role#support", "notion")
    door.store("user#hal", "github", organization="globex")


@pytest.mark.parametrize(
    ("fields", "killed"),
    [
        ({"user": "ada"}, {"user#ada github", "user#ada atlassian"}),
        ({"user": "ada", "service": "github"}, {"user#ada github"}),
        ({"role": "engineering"}, {"role#engineering atlassian"}),
        ({"service": "github"}, {"user#ada github", "user#bob github"}),
        ({"service": "jira"}, {"user#ada atlassian", "role#engineering atlassian"}),
        (
            {"everything": True},
            {"user#ada github", "user#ada atlassian", "user#bob github", "role#engineering atlassian"}
            | {"role#support notion"},
        ),
    ],
)
def test_a_kill_ends_only_its_selection(door: Broker, fields: dict[str, Any], killed: set[str]) -> None:
    populate(door)
    before = standing(door)
    result = done(door, "grace", "kill", **fields)
    assert {f"{proof['owner']} {proof['provider']}" for proof in result["killed"]} == killed
    gone = {(f"acme#{key.split()[1]}", key.split()[0]) for key in killed}
    assert standing(door) == before - gone
    assert result["more"] is False
    services = [service for proof in result["killed"] for service in proof["services"]]
    assert sorted(row[:2] for row in events()) == sorted(("kill", service) for service in services)


def test_a_kill_revokes_at_the_provider_and_drops_cached_credentials(
    door: Broker, provider: tuple[AuthorizationServer, Client]
) -> None:
    tokens = [connect(door, provider, owner).access_token.get_secret_value() for owner in ("user#ada", "user#bob")]
    done(door, "ada", "resolve", roles=["engineering"], service="drive")
    result = done(door, "grace", "kill", service="drive")
    assert [proof["at_provider"] for proof in result["killed"]] == ["revoked", "revoked"]
    assert not any(provider[0].accepts(token) for token in tokens)
    assert error_of(ask(door, "ada", "resolve", roles=["engineering"], service="drive")) == "ConnectionRequired"
    assert len(events("grace")) == 2


def test_a_grant_is_deleted_even_if_its_provider_is_down(door: Broker) -> None:
    door.store(refresh_token="ghr_1")
    (proof,) = done(door, "grace", "kill", service="github")["killed"]
    assert (proof["at_provider"], proof["deleted"]) == ("failed", True)
    assert standing(door) == set()


@pytest.mark.parametrize("changed", [{"access_token": {"B": b"garbage"}}, {"version": {"N": "9"}}])
def test_a_grant_that_cannot_be_opened_is_deleted_and_raises_the_alarm(
    door: Broker, capsys: pytest.CaptureFixture[str], changed: dict[str, Any]
) -> None:
    door.store()
    item = next(item for item in door.items() if item["sk"]["S"] == "user#ada")
    boto3.client("dynamodb").put_item(TableName="mcpist-Grants", Item=item | changed)
    (proof,) = done(door, "grace", "kill", user="ada")["killed"]
    assert (proof["at_provider"], proof["deleted"]) == ("failed", True)
    assert standing(door) == set()
    assert INTEGRITY_FAILURES.name in {one.name for one in emf.seen(capsys.readouterr().out)}


def test_many_grants_are_killed_in_several_requests(door: Broker) -> None:
    for number in range(20):
        door.store(f"user#u{number}")
    first = done(door, "grace", "kill", service="github")
    second = done(door, "grace", "kill", service="github")
    assert [len(first["killed"]), first["more"], len(second["killed"]), second["more"]] == [16, True, 4, False]
    assert standing(door) == set()


def test_a_grant_that_keeps_changing_is_not_reported_as_deleted(door: Broker, monkeypatch: pytest.MonkeyPatch) -> None:
    door.store()

    def never(_: StoredGrant) -> bool:
        raise Conflict(what="the connection")

    monkeypatch.setattr(grants, "remove", never)
    result = done(door, "grace", "kill", user="ada")
    assert result["killed"][0]["deleted"] is False
    assert result["more"] is True


@pytest.mark.parametrize(
    ("fields", "dropped"),
    [
        ({"everything": True}, 2),
        ({"user": "ada"}, 1),
        ({"role": "support"}, 1),
        ({"service": "notion"}, 1),
        ({"user": "bob"}, 0),
        ({"service": "jira"}, 0),
    ],
)
def test_pending_connections_are_dropped(door: Broker, fields: dict[str, Any], dropped: int) -> None:
    pending.begin(wish("user#ada", "ada", "github"))
    pending.begin(wish("role#support", "grace", "notion"))
    pending.begin(wish("user#hal", "hal", "github", organization="globex"))
    assert done(door, "grace", "kill", **fields)["dropped"] == dropped
    assert len(pending.find("acme")) == 2 - dropped
    assert len(pending.find("globex")) == 1


def test_the_tokens_of_a_pending_connection_are_revoked(
    door: Broker, provider: tuple[AuthorizationServer, Client]
) -> None:
    server, client = provider
    minted = server.grant(client)
    tokens = Tokens(SecretStr(minted.access_token), SecretStr(minted.refresh_token))
    pending.store_question(
        pending.store_claimed(wish("user#ada", "ada", "drive")),
        ObtainedGrant(GrantedAccount(services=("drive",)), tokens),
    )
    assert done(door, "grace", "kill", user="ada") == {"killed": [], "dropped": 1, "more": False}
    assert not server.accepts(minted.access_token)
    assert pending.find("acme") == []


def test_a_flood_of_pending_connections_keeps_no_kill_from_the_grants(door: Broker) -> None:
    door.store("user#ada")
    for _ in range(40):
        pending.begin(wish("user#bob", "bob", "github"))
    result = done(door, "grace", "kill", everything=True)
    assert (len(result["killed"]), result["dropped"], result["more"]) == (1, 40, False)
    assert door.items() == []


def test_a_flood_of_questions_keeps_no_kill_from_the_grants_either(door: Broker) -> None:
    """Each holds tokens that its provider is asked to revoke: so they go in turns."""
    door.store("user#ada")
    found = ObtainedGrant(GrantedAccount(services=("github",)), Tokens(SecretStr("canary")))
    for _ in range(20):
        pending.store_question(pending.store_claimed(wish("user#bob", "bob", "github")), found)
    first, second = (done(door, "grace", "kill", everything=True) for _ in range(2))
    assert [len(first["killed"]), first["dropped"], first["more"]] == [1, 16, True]
    assert [second["dropped"], second["more"]] == [4, False]
    assert door.items() == []


def wish(owner: str, user: str, service: str, organization: str = "acme") -> ConnectionIntent:
    return ConnectionIntent("fingerprint", organization, user, owner, provider_name(service), (service,))


# -- listing, and sealing anew --------------------------------------------------------------------------


def test_a_list_shows_whose_account_is_connected_and_no_secret(door: Broker) -> None:
    populate(door)
    result = done(door, "grace", "list")
    keys = [(row["owner"], row["provider"], row["services"]) for row in result["grants"]]
    assert keys == [
        ("role#engineering", "atlassian", ["confluence"]),
        ("role#support", "notion", ["notion"]),
        ("user#ada", "atlassian", ["jira", "confluence"]),
        ("user#ada", "github", ["github"]),
        ("user#bob", "github", ["github"]),
    ]
    assert result["cursor"] == ""
    assert all(row["works"] and row["account_name"] == "octocat" for row in result["grants"])
    assert not any("canary" in str(row) for row in result["grants"])
    assert [row["owner"] for row in done(door, "grace", "list", service="jira")["grants"]] == [
        "role#engineering",
        "user#ada",
    ]
    assert len(done(door, "grace", "list", cursor="user#ada atlassian")["grants"]) == 2


def test_all_grants_are_resealed_and_open_as_before(door: Broker) -> None:
    populate(door)
    before = {(item["pk"]["S"], item["sk"]["S"]): item["access_token"]["B"] for item in door.items()}
    assert done(door, "grace", "reencrypt") == {"resealed": 5, "failed": [], "cursor": ""}
    after = {(item["pk"]["S"], item["sk"]["S"]): item["access_token"]["B"] for item in door.items()}
    assert {key[0] for key in before if before[key] == after[key]} == {"globex#github"}
    door.reset_sandbox()
    assert done(door, "ada", "resolve", roles=["engineering"], service="github")["version"] == 1


def test_resealing_continues_at_its_cursor_and_reports_what_it_could_not_open(door: Broker) -> None:
    for number in range(52):
        door.store(f"user#u{number:02}")
    item = next(item for item in door.items() if item["sk"]["S"] == "user#u00")
    boto3.client("dynamodb").put_item(TableName="mcpist-Grants", Item=item | {"access_token": {"B": b"garbage"}})
    first = done(door, "grace", "reencrypt")
    assert (first["resealed"], [one["owner"] for one in first["failed"]]) == (49, ["user#u00"])
    assert first["failed"][0]["code"] == "INTEGRITY_ERROR"
    assert done(door, "grace", "reencrypt", cursor=first["cursor"]) == {"resealed": 2, "failed": [], "cursor": ""}


def test_only_an_administrator_reseals(door: Broker) -> None:
    assert error_of(ask(door, "ada", "reencrypt")) == "AuthorizationError"
