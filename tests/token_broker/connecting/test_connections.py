"""Who may forget and see which grant."""

from typing import Any

import pytest

from tests.token_broker.conftest import ACCESS, Broker, error_of


def test_each_user_has_a_grant_of_its_own(door: Broker) -> None:
    bob = {"proof": door.jwt("bob"), "roles": ["engineering"]}
    door.store()
    door.store("user#bob", access_token="ghu_of_bob")
    assert door.ask("resolve")["result"]["token"] == ACCESS
    assert door.ask("resolve", **bob)["result"]["token"] == "ghu_of_bob"
    assert "result" in door.ask("revoke_personal", **bob)
    assert door.ask("resolve")["result"]["token"] == ACCESS


def test_only_an_administrator_forgets_a_shared_grant(door: Broker) -> None:
    door.store("role#engineering")
    before = door.items()
    assert error_of(door.ask("revoke_shared", proof=door.jwt("ada"))) == "AuthorizationError"
    assert error_of(door.ask("revoke_shared", proof=door.jwt("hal"), organization="globex")) == "AuthorizationError"
    assert error_of(door.ask("revoke_shared", proof=door.jwt("grace"), organization="globex")) == "MembershipRequired"
    assert door.items() == before


def test_a_revoked_grant_no_longer_resolves(door: Broker) -> None:
    door.store()
    door.store("role#engineering")
    assert "result" in door.ask("revoke_personal")
    assert door.ask("resolve")["result"]["owner"] == "role#engineering"
    assert "result" in door.ask("revoke_shared")
    assert error_of(door.ask("resolve")) == "ConnectionRequired"
    assert door.items() == []


# -- status --------------------------------------------------------------------------------------------


def test_status_lists_what_the_caller_sees_and_whether_it_works(door: Broker) -> None:
    door.store(expires_at=1)
    door.store(service="notion", open_to=("support",))
    door.store("role#engineering")
    door.store("user#bob")

    def seen(**changes: Any) -> list[tuple[str, str, bool]]:
        rows = door.ask("status", **changes)["result"]["grants"]
        return [(row["service"], row["owner"], row["usable"]) for row in rows]

    assert seen() == [
        ("github", "role#engineering", True),
        ("github", "user#ada", False),
        ("notion", "user#ada", True),
    ]
    assert seen(roles=["engineering"])[2] == ("notion", "user#ada", False)
    assert seen(services=["notion"]) == [("notion", "user#ada", True)]
    assert seen(roles=["support"]) == [("github", "user#ada", False), ("notion", "user#ada", True)]


@pytest.mark.parametrize(("refresh_token", "usable"), [(None, False), ("ghr_refresh", True)])
def test_an_expired_grant_with_a_refresh_token_is_shown_as_working(
    door: Broker, refresh_token: str | None, usable: bool
) -> None:
    door.store(expires_at=1, refresh_token=refresh_token)
    [row] = door.ask("status")["result"]["grants"]
    assert row["usable"] is usable


def test_status_asks_for_many_services_in_requests_of_a_hundred_keys(door: Broker) -> None:
    event = door.event("status", services=[f"service{number}" for number in range(100)])
    door.reset_sandbox()
    assert door.send(event)["result"] == {"grants": []}
    assert door.requests == ["Query", *["BatchGetItem"] * 6]
