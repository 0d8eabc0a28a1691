"""Connecting accounts at a real authorization server, and pasting keys at a service on loopback."""

import json
import logging
import time
from base64 import urlsafe_b64encode
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any
from urllib.parse import parse_qs, urlsplit

import boto3
import pytest

from mcpist import settings
from mcpist.people import directory
from mcpist_services import providers
from tests.core.loopback import Reply, Service, json_response, serving
from tests.token_broker.authorization_server import AuthorizationServer, Client
from tests.token_broker.conftest import PUBLIC_URL, Broker, error_of, put_person
from token_broker.connecting import outcome, pending
from token_broker.providers import apps

HOME = "http://127.0.0.1:9"
KEY = "github_pat_canary00000000000000"


@dataclass
class Journey:
    """A person's browser between the broker and the authorization server, as the door sends it."""

    door: Broker
    server: AuthorizationServer
    client: Client
    who: str = "ada"

    def __post_init__(self) -> None:
        self.proof = self.door.session(self.who)
        self.before = set(self.server.state.refresh_tokens)

    @property
    def alive(self) -> set[str]:
        """The refresh tokens of this test that the server would take."""
        return set(self.server.state.refresh_tokens) - self.before

    def tell(self, operation: str, **fields: Any) -> dict[str, Any]:
        return self.door.send({"operation": operation, "proof": self.proof, "organization": "acme", **fields})

    def begin(self, **fields: Any) -> str:
        """The address at the provider."""
        return str(self.tell("begin", services=["tracker"], **fields)["result"]["url"])

    def consent(self, account: str = "uma", **fields: Any) -> dict[str, str]:
        """What the provider sends the browser back with."""
        landed = self.server.consent(self.begin(**fields), account)
        assert landed.startswith(f"{HOME}/connect/callback/tracker?")
        return {name: values[0] for name, values in parse_qs(urlsplit(landed).query).items()}

    def finish(self, back: dict[str, str], **changes: Any) -> dict[str, Any]:
        return self.tell("finish", **{"provider": "tracker", **back, **changes})

    def connect(self, account: str = "uma", **fields: Any) -> dict[str, Any]:
        result: dict[str, Any] = self.finish(self.consent(account, **fields))["result"]
        return result

    def token(self) -> str:
        """The access token that this person's calls would be sent with."""
        asked = {"operation": "resolve", "proof": self.door.jwt(self.who), "organization": "acme"}
        answer = self.door.send({**asked, "roles": ["engineering"], "service": "tracker"})
        return str(answer["result"]["token"])


@pytest.fixture
def client(door: Broker, authorization_server: AuthorizationServer, monkeypatch: pytest.MonkeyPatch) -> Client:
    """Our client at the server, which the broker knows as the provider `tracker`; the stack is on loopback, too."""
    assert door.items() == []
    monkeypatch.setenv("PUBLIC_URL", HOME)
    monkeypatch.setenv("AUDIENCE", f"{PUBLIC_URL}/mcp")
    settings.settings.cache_clear()
    authorization_server.reset()
    client = authorization_server.register(f"{HOME}/connect/callback/tracker")
    put_parameter("tracker", authorization_server.parameter(client))
    put_parameter("github", json.dumps({"client_id": "Iv1.canary", "client_secret": "secret-canary"}))
    return client


@pytest.fixture
def ada(door: Broker, authorization_server: AuthorizationServer, client: Client) -> Journey:
    return Journey(door, authorization_server, client)


@pytest.fixture
def grace(door: Broker, authorization_server: AuthorizationServer, client: Client) -> Journey:
    """The administrator."""
    return Journey(door, authorization_server, client, "grace")


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch) -> Iterator[Service]:
    """GitHub's own addresses, on loopback."""
    with serving() as service:
        urls = {"account_url": "user", "token_url": "token", "revoke_url": "applications/{client_id}/token"}
        provider = replace(providers()["github"], **{name: f"{service.url}/{path}" for name, path in urls.items()})
        monkeypatch.setitem(providers(), "github", provider)
        yield service


def put_parameter(provider: str, value: str) -> None:
    name = f"{settings.settings().oauth_parameters}/{provider}"
    boto3.client("ssm").put_parameter(Name=name, Value=value, Type="SecureString", Overwrite=True)
    apps.app_cache.clear()


def owners(door: Broker) -> list[str]:
    return sorted(item["sk"]["S"] for item in door.items() if item["pk"]["S"] != pending.PENDING_PARTITION_KEY)


def audited(door: Broker) -> list[tuple[str, str, str, str]]:
    """Who did what with which account, and how it ended, in this test."""
    names = ("user", "event", "account", "outcome")
    rows = sorted(door.items("mcpist-Audit"), key=lambda item: item["sk"]["S"])
    return [(row[names[0]]["S"], row[names[1]]["S"], row[names[2]]["S"], row[names[3]]["S"]) for row in rows]


@pytest.fixture(autouse=True)
def _no_rows(door: Broker) -> None:
    for item in door.items("mcpist-Audit"):
        boto3.client("dynamodb").delete_item(TableName="mcpist-Audit", Key={"pk": item["pk"], "sk": item["sk"]})


# -- the way there and back ---------------------------------------------------------------------------


def test_an_account_that_was_consented_to_acts_for_its_user(ada: Journey) -> None:
    made = ada.connect()
    assert made == {"outcome": "connected", "service": "tracker", "provider": "tracker", "role": "", "label": "main"}
    assert ada.server.accepts(ada.token())
    (row,) = ada.tell("offer", services=["tracker"])["result"]["services"][0]["grants"]
    assert (row["account_id"], row["account_name"], row["own"], row["usable"]) == ("uma", "Uma", True, True)
    assert audited(ada.door) == [("ada", "connect", "Uma", "succeeded")]
    assert len(ada.door.items()) == 1, "nothing pending is left"


def test_the_authorization_request_has_the_required_parameters_and_no_secret(ada: Journey) -> None:
    asked = parse_qs(urlsplit(ada.begin()).query)
    assert asked["redirect_uri"] == [f"{HOME}/connect/callback/tracker"]
    assert asked["code_challenge_method"] == ["S256"]
    assert len(asked["state"][0]) == 43
    (connection,) = pending.find("acme")
    verifier = connection.verifier.get_secret_value()
    assert urlsafe_b64encode(sha256(verifier.encode()).digest()).decode().rstrip("=") == asked["code_challenge"][0]
    assert verifier not in str(asked)
    assert set(asked) == {
        "client_id",
        "code_challenge",
        "code_challenge_method",
        "redirect_uri",
        "response_type",
        "scope",
        "state",
    }


def test_both_services_of_atlassian_are_requested_at_once(ada: Journey) -> None:
    put_parameter("atlassian", json.dumps({"client_id": "a", "client_secret": "b"}))
    asked = ada.door.event("begin", proof=ada.proof)
    url = ada.door.send(asked)["result"]["url"]
    scopes = parse_qs(urlsplit(url).query)["scope"][0].split()
    assert {"read:jira-work", "read:page:confluence", "offline_access"} <= set(scopes)


def test_each_event_of_the_flow_is_answered(ada: Journey, grace: Journey, service: Service) -> None:
    put_parameter("notion", json.dumps({"client_id": "a", "client_secret": "b"}))
    assert "url" in ada.door.send(ada.door.event("begin_shared", proof=grace.proof))["result"]
    service.replies = [octocat()]
    assert ada.door.send(ada.door.event("paste", proof=ada.proof))["result"]["outcome"] == "connected"
    state = parse_qs(urlsplit(str(ada.tell("begin", services=["github"])["result"]["url"])).query)["state"][0]
    declined = ada.door.event("finish_declined", proof=ada.proof, state=state)
    assert ada.door.send(declined)["result"]["outcome"] == "declined"
    finish = ada.door.event("finish", proof=ada.proof, state="x" * 43)
    assert error_of(ada.door.send(finish)) == "StaleConnection"
    confirm = ada.door.event("confirm", proof=ada.proof, question="0" * 64)
    assert error_of(ada.door.send(confirm)) == "StaleConnection"


def test_a_state_that_comes_back_twice_connects_once(ada: Journey) -> None:
    back = ada.consent()
    assert ada.finish(back)["result"]["outcome"] == "connected"
    assert error_of(ada.finish(back)) == "StaleConnection"
    assert ada.server.accepts(ada.token()), "the replayed code reached nobody"


def test_a_stolen_callback_connects_nothing_and_the_owner_can_still_finish(ada: Journey) -> None:
    back = ada.consent()
    bob = Journey(ada.door, ada.server, ada.client, "bob")
    assert error_of(bob.finish(back)) == "StaleConnection"
    again = Journey(ada.door, ada.server, ada.client, "ada")
    assert error_of(again.finish(back)) == "StaleConnection", "another browser of the same user"
    assert owners(ada.door) == []
    assert ada.finish(back)["result"]["outcome"] == "connected"


def test_a_state_of_another_provider_is_refused(ada: Journey) -> None:
    back = ada.consent()
    assert error_of(ada.finish(back, provider="github")) == "StaleConnection"


@pytest.mark.parametrize("iss", ["https://attacker.example.com", ""])
def test_a_response_of_another_authorization_server_is_refused(ada: Journey, iss: str) -> None:
    back = ada.consent()
    assert back["iss"] == ada.server.url
    assert error_of(ada.finish(back, iss=iss)) == "StaleConnection"
    assert owners(ada.door) == []
    assert ada.alive == set(), "the code was not even redeemed"


def test_a_declined_consent_connects_nothing(ada: Journey) -> None:
    landed = ada.server.consent(ada.begin(), allow=False)
    back = {name: values[0] for name, values in parse_qs(urlsplit(landed).query).items()}
    back.pop("error_description")
    assert ada.finish(back)["result"]["outcome"] == "declined"
    assert ada.door.items() == []
    assert audited(ada.door) == [("ada", "connect", "", "declined")]


@pytest.mark.parametrize(
    ("code", "error"),
    [("server_error", "UpstreamUnavailable"), ("invalid_scope", "NotConfigured"), ("<b>x y", "NotConfigured")],
)
def test_other_refusals_of_a_provider_are_typed(ada: Journey, code: str, error: str) -> None:
    state = parse_qs(urlsplit(ada.begin()).query)["state"][0]
    answer = ada.tell("finish", provider="tracker", state=state, error=code, iss=ada.server.url)
    assert error_of(answer) == error
    assert "<" not in str(answer)
    assert [row[1] for row in audited(ada.door)] == ["failure"]


def test_a_code_that_the_provider_refuses_creates_no_grant(ada: Journey) -> None:
    back = ada.consent()
    assert error_of(ada.finish(back, code="made-up")) == "StaleConnection"
    assert owners(ada.door) == []


def test_tokens_whose_account_cannot_be_read_are_revoked(ada: Journey) -> None:
    put_parameter("tracker", ada.server.parameter(ada.client, userinfo_url=f"{ada.server.url}/nowhere"))
    answer = ada.finish(ada.consent())
    assert error_of(answer) == "InvalidRequest"
    assert ada.alive == set()
    assert owners(ada.door) == []


def test_a_service_without_an_app_is_reported_as_not_configured(ada: Journey) -> None:
    assert error_of(ada.tell("begin", services=["unheard-of"])) == "NotConfigured"
    (entry,) = ada.tell("offer", services=["unheard-of"])["result"]["services"]
    assert (entry["consent"], entry["keys"]) == (False, False)
    (entry,) = ada.tell("offer", services=["supabase"])["result"]["services"]
    assert (entry["consent"], entry["keys"]) == (False, True)


@pytest.mark.parametrize("services", [["tracker", "github"], ["jira", "notion"]])
def test_one_consent_is_given_to_one_provider(ada: Journey, services: list[str]) -> None:
    assert ada.tell("begin", services=services)["error"]["details"]["field"] == "services"


# -- for whom -----------------------------------------------------------------------------------------


def test_only_an_administrator_connects_a_roles_account(ada: Journey) -> None:
    assert error_of(ada.tell("begin", services=["tracker"], role="engineering")) == "AuthorizationError"


def test_a_role_must_exist_and_an_own_account_is_opened_to_own_roles(grace: Journey) -> None:
    assert grace.tell("begin", services=["tracker"], role="nobody")["error"]["details"]["field"] == "role"
    assert error_of(grace.tell("begin", services=["tracker"], open_to=["support"])) == "AuthorizationError"


def test_an_own_account_is_open_to_the_roles_that_were_chosen(ada: Journey) -> None:
    ada.connect(open_to=["support"])
    (row,) = ada.tell("offer", services=["tracker"])["result"]["services"][0]["grants"]
    assert row["open_to"] == ["support"]


def test_a_persons_account_becomes_a_roles_only_after_a_confirmation(ada: Journey, grace: Journey) -> None:
    asked = grace.connect(role="engineering")
    assert (asked["outcome"], asked["reasons"], asked["role"]) == ("asks", ["personal"], "engineering")
    assert (asked["old"], asked["new"]) == (None, {"id": "uma", "name": "Uma", "url": ""})
    assert owners(grace.door) == []
    agreed = grace.tell("confirm", question=asked["question"], agreed=True)["result"]
    assert agreed["outcome"] == "connected"
    assert owners(grace.door) == ["role#engineering"]
    assert ada.server.accepts(ada.token()), "whoever has the role acts with it"


def test_a_declined_question_stores_nothing_and_revokes_the_tokens(grace: Journey) -> None:
    asked = grace.connect(role="engineering")
    assert len(grace.alive) == 1
    kept = grace.tell("confirm", question=asked["question"], agreed=False)["result"]
    assert kept["outcome"] == "kept"
    assert grace.alive == set()
    assert grace.door.items() == []
    assert audited(grace.door) == [("grace", "revoke", "Uma", "revoked")]


def test_tokens_of_an_account_that_acts_elsewhere_are_not_revoked(grace: Journey) -> None:
    """Some providers end all of an account's tokens with one."""
    grace.connect()
    asked = grace.connect(role="engineering")
    grace.tell("confirm", question=asked["question"], agreed=False)
    assert grace.server.accepts(grace.token())
    assert grace.server.state.revoked == 0


def test_only_the_browser_that_was_asked_can_answer_and_only_once(ada: Journey, grace: Journey) -> None:
    question = grace.connect(role="engineering")["question"]
    assert error_of(ada.tell("confirm", question=question, agreed=True)) == "StaleConnection"
    assert "result" in grace.tell("confirm", question=question, agreed=True)
    assert error_of(grace.tell("confirm", question=question, agreed=True)) == "StaleConnection"


@pytest.fixture
def demoted(door: Broker) -> Callable[[], None]:
    """Makes grace a user like all others; an organization keeps an administrator."""

    def demote() -> None:
        put_person(door.login, "bob", roles=["engineering"], system_role="admin")
        put_person(door.login, "grace", roles=["engineering"], system_role="user")
        directory.access_cache.clear()

    return demote


def test_a_former_administrator_finishes_no_connection_of_a_role(grace: Journey, demoted: Callable[[], None]) -> None:
    back = grace.consent(role="engineering")
    demoted()
    assert error_of(grace.finish(back)) == "AuthorizationError"
    assert grace.alive == set(), "the code was not even redeemed"
    assert owners(grace.door) == []
    assert [row[1] for row in audited(grace.door) if row[1] != "change"] == ["failure"]


def test_a_former_administrator_confirms_no_connection_of_a_role(grace: Journey, demoted: Callable[[], None]) -> None:
    asked = grace.connect(role="engineering")
    assert len(grace.alive) == 1
    demoted()
    assert error_of(grace.tell("confirm", question=asked["question"], agreed=True)) == "AuthorizationError"
    assert grace.alive == set(), "what was won is revoked"
    assert grace.door.items() == []


def test_a_grant_is_not_opened_to_a_role_that_its_user_has_lost(ada: Journey) -> None:
    back = ada.consent(open_to=["support"])
    put_person(ada.door.login, "ada", roles=["engineering"])
    directory.access_cache.clear()
    assert error_of(ada.finish(back)) == "AuthorizationError"
    assert owners(ada.door) == []


def test_the_oldest_of_too_many_pending_connections_are_removed(
    ada: Journey, grace: Journey, monkeypatch: pytest.MonkeyPatch
) -> None:
    grace.begin()
    first = ada.consent()
    later = time.time() + 5
    monkeypatch.setattr(time, "time", lambda: later)
    for _ in range(outcome.MAX_PENDING_CONNECTIONS):
        ada.begin()
    last = ada.consent()
    assert len(pending.find("acme", user="ada")) == outcome.MAX_PENDING_CONNECTIONS
    assert len(pending.find("acme", user="grace")) == 1
    assert error_of(ada.finish(first)) == "StaleConnection"
    assert ada.finish(last)["result"]["outcome"] == "connected"


def test_questions_about_pasted_keys_count_as_pending_connections(ada: Journey, service: Service) -> None:
    service.replies = [octocat(), octocat(id=2, login="other")]
    assert ada.tell("paste", service="github", key=KEY)["result"]["outcome"] == "connected"
    for _ in range(outcome.MAX_PENDING_CONNECTIONS + 2):
        assert ada.tell("paste", service="github", key=f"{KEY}0")["result"]["outcome"] == "asks"
    assert len(pending.find("acme", user="ada")) == outcome.MAX_PENDING_CONNECTIONS


def test_an_unanswered_question_is_discarded_when_its_person_returns(
    grace: Journey, monkeypatch: pytest.MonkeyPatch
) -> None:
    question = grace.connect(role="engineering")["question"]
    later = time.time() + pending.PENDING_SECONDS + 1
    monkeypatch.setattr(time, "time", lambda: later)
    assert error_of(grace.tell("confirm", question=question, agreed=True)) == "StaleConnection"
    assert len(grace.alive) == 1
    grace.begin()
    assert grace.alive == set()
    assert len(grace.door.items()) == 1, "what was begun now"


# -- in the place of another account ------------------------------------------------------------------


def test_the_same_account_connects_again_without_a_question(ada: Journey) -> None:
    ada.connect()
    before = ada.token()
    assert ada.connect()["outcome"] == "connected"
    assert ada.token() != before
    assert ada.door.items()[0]["version"] == {"N": "2"}


def test_another_account_replaces_the_connected_one_only_after_a_confirmation(ada: Journey) -> None:
    ada.connect("uma")
    old = ada.token()
    asked = ada.connect("otto")
    assert (asked["reasons"], asked["old"]["id"], asked["new"]["id"]) == (["replaces"], "uma", "otto")
    assert ada.token() == old
    assert ada.tell("confirm", question=asked["question"], agreed=True)["result"]["outcome"] == "connected"
    assert ada.server.accepts(ada.token())
    assert not ada.server.accepts(old), "what nobody needs any more is revoked"
    assert [(event, account, outcome) for _, event, account, outcome in audited(ada.door)] == [
        ("connect", "Uma", "succeeded"),
        ("revoke", "Uma", "revoked"),
        ("connect", "Otto", "succeeded"),
    ]


def test_a_person_who_declines_keeps_the_old_account(ada: Journey) -> None:
    ada.connect("uma")
    asked = ada.connect("otto")
    ada.tell("confirm", question=asked["question"], agreed=False)
    assert ada.server.accepts(ada.token())
    assert len(ada.alive) == 1


def test_an_agreement_covers_only_the_account_that_was_shown(ada: Journey) -> None:
    """Between the question and its answer, yet another account was connected in another window."""
    ada.connect("uma")
    asked = ada.connect("otto")
    third = ada.connect("mia")
    ada.tell("confirm", question=third["question"], agreed=True)
    again = ada.tell("confirm", question=asked["question"], agreed=True)["result"]
    assert (again["outcome"], again["old"]["id"], again["new"]["id"]) == ("asks", "mia", "otto")
    assert ada.tell("confirm", question=again["question"], agreed=True)["result"]["outcome"] == "connected"


def test_the_same_account_again_leaves_no_old_token_alive_where_one_token_is_revoked_alone(
    ada: Journey, service: Service
) -> None:
    for token in ("gho_first", "gho_second", "gho_second"):
        service.replies = [json_response({"access_token": token}), octocat(), Reply(b"", 204)]
        url = str(ada.tell("begin", services=["github"])["result"]["url"])
        state = parse_qs(urlsplit(url).query)["state"][0]
        done = ada.tell("finish", provider="github", state=state, code="code-canary")
        assert done["result"]["outcome"] == "connected"
    (revoked,) = [one for one in service.received if one.method == "DELETE"]
    assert (revoked.path, json.loads(revoked.body)) == (
        "/applications/Iv1.canary/token",
        {"access_token": "gho_first"},
    ), "and not the token that stands"
    assert ("ada", "revoke", "octocat", "revoked") in audited(ada.door)


def test_the_same_account_again_revokes_nothing_where_the_new_tokens_might_end_too(ada: Journey) -> None:
    ada.connect()
    ada.connect()
    assert ada.server.accepts(ada.token())
    assert ada.server.state.revoked == 0


# -- meanwhile ----------------------------------------------------------------------------------------


def test_a_connection_that_was_revoked_meanwhile_is_not_stored_and_its_tokens_are_revoked(ada: Journey) -> None:
    """An administrator ends all connections while the provider makes up its mind."""
    back = ada.consent()
    ada.server.steer(hold="answered")
    with ThreadPoolExecutor(1) as pool:
        finishing = pool.submit(ada.finish, back)
        while not ada.server.state.waiting:
            assert not finishing.done(), finishing.result()
        for begun in pending.find("acme"):
            pending.remove(begun)
        ada.server.steer(hold="")
        assert error_of(finishing.result()) == "StaleConnection"
    assert ada.door.items() == []
    assert ada.alive == set()


# -- keys ---------------------------------------------------------------------------------------------


def octocat(**more: Any) -> Reply:
    return json_response({"id": 583231, "login": "octocat", "type": "User", **more})


def test_a_pasted_key_is_tried_at_the_service_and_stored(ada: Journey, service: Service) -> None:
    service.replies = [octocat()]
    assert ada.tell("paste", service="github", key=KEY)["result"]["outcome"] == "connected"
    (request,) = service.received
    assert (request.path, request.headers["authorization"]) == ("/user", f"Bearer {KEY}")
    answer = ada.door.ask("resolve", proof=ada.door.jwt("ada"))
    assert (answer["result"]["token"], answer["result"]["account_name"]) == (KEY, "octocat")


def test_a_command_line_pastes_with_the_persons_own_token(ada: Journey, service: Service) -> None:
    service.replies = [octocat()]
    told = {"operation": "paste", "proof": ada.door.jwt("ada"), "organization": "acme", "roles": ["engineering"]}
    assert ada.door.send({**told, "service": "github", "key": KEY})["result"]["outcome"] == "connected"


@pytest.mark.parametrize("key", ["ghp_classic00000000000000000000000000000", "x", "github_pat_"])
def test_a_text_that_is_no_key_is_not_sent(ada: Journey, service: Service, key: str) -> None:
    answer = ada.tell("paste", service="github", key=key)
    assert answer["error"]["details"]["field"] == "key"
    assert service.received == []
    assert ada.tell("paste", service="notion", key=KEY)["error"]["details"]["field"] == "key"


def test_a_key_that_the_service_refuses_is_not_stored(ada: Journey, service: Service) -> None:
    service.replies = [json_response({"message": "Bad credentials"}, 401)]
    answer = ada.tell("paste", service="github", key=KEY)
    assert answer["error"]["details"]["field"] == "key"
    assert ada.door.items() == []
    assert KEY not in str(answer)
    assert audited(ada.door) == [("ada", "failure", "", "VALIDATION_ERROR")]


def test_a_key_of_another_account_needs_a_confirmation_and_no_key_is_revoked(ada: Journey, service: Service) -> None:
    service.replies = [octocat(), octocat(id=2, login="other")]
    ada.tell("paste", service="github", key=KEY)
    asked = ada.tell("paste", service="github", key=f"{KEY}0")["result"]
    assert (asked["reasons"], asked["old"]["name"], asked["new"]["name"]) == (["replaces"], "octocat", "other")
    assert ada.tell("confirm", question=asked["question"], agreed=False)["result"]["outcome"] == "kept"
    assert len(service.received) == 2
    assert ada.door.ask("resolve", proof=ada.door.jwt("ada"))["result"]["token"] == KEY


# -- secrets ------------------------------------------------------------------------------------------


def test_no_code_state_token_or_secret_is_in_a_log_an_audit_row_or_an_answer(
    ada: Journey, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    ada.connect("uma")
    back = ada.consent("otto")
    asked = ada.finish(back)
    answer = ada.tell("confirm", question=asked["result"]["question"], agreed=True)
    alive = ada.server.state
    secrets = (*back.values(), *alive.access_tokens, *ada.alive, ada.client.secret, ada.proof["value"])
    secrets = tuple(secret for secret in secrets if secret != ada.server.url)
    captured, logged = capfd.readouterr(), "".join(str(vars(record)) for record in caplog.records)
    written = (captured.out, captured.err, logged, str(ada.door.items("mcpist-Audit")), str(ada.door.items()))
    assert len(secrets) >= 6
    assert not [secret for secret in secrets for text in (*written, str(asked), str(answer)) if secret in text]
    assert '"operation":"finish"' in captured.out
