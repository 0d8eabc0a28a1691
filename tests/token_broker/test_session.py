"""A browser's session: what it opens, for how long, and that nothing else passes for one."""

import base64
import time
from typing import Any

import pytest

from mcpist.caller import Subject
from mcpist.people import browsers, directory
from tests import members
from tests.token_broker.conftest import Broker, error_of
from token_broker import proof as sealed


def offer(door: Broker, proof: dict[str, str], organization: str = "acme") -> dict[str, Any]:
    return door.send({"operation": "offer", "proof": proof, "organization": organization, "services": ["github"]})


def test_a_login_returns_a_session_that_names_its_user(door: Broker) -> None:
    made = door.ask("login")["result"]
    assert {name: made[name] for name in ("organization", "user")} == {"organization": "acme", "user": "ada"}
    shown = offer(door, door.session("ada"))["result"]
    assert (shown["user"], shown["roles"], shown["all_roles"]) == ("ada", ["engineering", "support"], [])


def test_an_administrator_sees_all_roles(door: Broker) -> None:
    assert offer(door, door.session("grace"))["result"]["all_roles"] == ["engineering", "support"]


def test_a_login_needs_a_member_with_a_valid_token(door: Broker) -> None:
    assert error_of(door.ask("login", proof=door.jwt("eve"))) == "MembershipRequired"
    assert error_of(door.ask("login", proof=door.jwt("ada", expires_in=-60))) == "AuthenticationError"
    assert error_of(door.ask("login", proof=door.jwt("ada", audience="https://other.example.com"))) == (
        "AuthenticationError"
    )


def test_a_user_of_several_organizations_names_one(door: Broker) -> None:
    members.put_user("globex", "ada", name="Ada", subject=Subject(door.login.issuer, "ada"), roles=["support"])
    directory.access_cache.clear()
    answer = door.ask("login")
    assert answer["error"] == {"type": "OrganizationAmbiguous", "details": {"known": "acme, globex"}}
    assert door.ask("login", organization="globex")["result"]["organization"] == "globex"


def test_a_session_ends_after_an_hour_without_use(door: Broker, monkeypatch: pytest.MonkeyPatch) -> None:
    proof = door.session("ada")
    later = time.time() + sealed.IDLE_SECONDS + 1
    monkeypatch.setattr(time, "time", lambda: later)
    refused = offer(door, proof)
    assert error_of(refused) == "AuthenticationError"
    assert refused["error"]["details"] == {"problem": "the browser's session has ended"}


def test_a_session_in_use_is_renewed_until_twelve_hours_are_over(door: Broker, monkeypatch: pytest.MonkeyPatch) -> None:
    proof, start = door.session("ada"), time.time()
    first = read(door, proof)
    assert "session" not in first, "a young one stays"
    for used in range(2400, sealed.MAX_SESSION_SECONDS, 2400):
        monkeypatch.setattr(time, "time", lambda used=used: start + used)
        shown = read(door, proof)
        assert shown["id"] == first["id"]
        assert shown["expires_at"] <= first["ends_at"]
        proof = {"kind": "session", "value": shown.get("session", proof["value"])}
    monkeypatch.setattr(time, "time", lambda: start + sealed.MAX_SESSION_SECONDS + 1)
    assert error_of(offer(door, proof)) == "AuthenticationError"


def test_a_session_ends_when_its_browser_is_signed_out(door: Broker) -> None:
    proof, other = door.session("ada"), door.session("ada")
    found = read(door, proof)
    browsers.sign_out(Subject(found["issuer"], found["sub"]), browsers.key_of(found["id"]))
    assert error_of(offer(door, proof)) == "AuthenticationError"
    assert "result" in offer(door, other)


def test_a_session_that_the_directory_does_not_know_opens_nothing(door: Broker) -> None:
    made = door.ask("login")["result"]
    assert error_of(offer(door, {"kind": "session", "value": made["session"]})) == "AuthenticationError"


def read(door: Broker, proof: dict[str, str]) -> dict[str, Any]:
    answer: dict[str, Any] = door.send({"operation": "session", "proof": proof, "organization": "acme"})["result"]
    return answer


def test_a_session_opens_only_its_own_organization(door: Broker) -> None:
    assert error_of(offer(door, door.session("ada"), "globex")) == "AuthenticationError"
    assert error_of(offer(door, door.session("hal"), "acme")) == "AuthenticationError"


def test_a_former_member_has_no_session(door: Broker) -> None:
    proof = door.session("bob")
    elsewhere = Subject(door.login.issuer, "somebody-else")
    members.put_user("acme", "bob", name="Bob", subject=elsewhere, roles=["engineering"])
    directory.access_cache.clear()
    assert error_of(offer(door, proof)) == "MembershipRequired"


def test_a_subject_that_became_another_user_does_not_act_as_the_new_one(door: Broker) -> None:
    proof = door.session("bob")
    members.put_user("acme", "bob", name="Bob", subject=Subject(door.login.issuer, "gone"), roles=["engineering"])
    members.put_user("acme", "bert", name="Bert", subject=Subject(door.login.issuer, "bob"), roles=["engineering"])
    directory.access_cache.clear()
    assert error_of(offer(door, proof)) == "AuthenticationError"


@pytest.mark.parametrize("forged", ["x", base64.b64encode(b"\x01\x00\x10" + b"x" * 60).decode(), "<warrant>"])
def test_no_other_value_is_accepted_as_a_session_and_no_alarm_is_raised(
    door: Broker, forged: str, capsys: pytest.CaptureFixture[str]
) -> None:
    if forged == "<warrant>":
        forged = door.ask("warrant")["result"]["warrant"]
    assert error_of(offer(door, {"kind": "session", "value": forged})) == "AuthenticationError"
    assert "IntegrityFailures" not in capsys.readouterr().out


def test_a_session_is_no_warrant(door: Broker) -> None:
    door.store()
    value = door.session("ada")["value"]
    answer = door.ask("resolve_by_warrant", proof={"kind": "warrant", "value": value})
    assert error_of(answer) == "AuthenticationError"
