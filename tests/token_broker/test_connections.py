"""Who may store, forget and see which grant."""

from typing import Any

import boto3
import pytest

from infra.local.intrinsics import read_yaml
from mcpist import stores
from mcpist.stores import client

from .conftest import ROOT, Broker, error_of


def test_a_stored_grant_answers_with_its_row_and_no_secret(door: Broker) -> None:
    row = door.ask("put_personal")["result"]
    times = row.pop("created_at"), row.pop("updated_at")
    assert times[0] == times[1] > 0
    assert len(row.pop("id")) == 32
    assert row == {
        "service": "github",
        "owner": "user#ada",
        "account_id": "583231",
        "account_name": "octocat",
        "scopes": ["repo", "read:user"],
        "open_to": [],
        "expires_at": 4102444800,
        "version": 1,
        "usable": True,
    }


def test_a_new_version_replaces_the_one_it_names_and_keeps_its_id(door: Broker) -> None:
    first = door.ask("put_personal")["result"]
    second = door.ask("put_personal", replaces=1, access_token="ghu_second", refresh_token=None, expires_at=None)
    assert (second["result"]["version"], second["result"]["id"]) == (2, first["id"])
    assert door.ask("resolve")["result"]["token"] == "ghu_second"
    [item] = door.items()
    assert {"refresh_token", "access_expires_at"}.isdisjoint(item)


@pytest.mark.parametrize("replaces", [0, 2])
def test_a_version_that_does_not_stand_there_is_not_replaced(door: Broker, replaces: int) -> None:
    door.ask("put_personal")
    answer = door.ask("put_personal", replaces=replaces, access_token="ghu_late")
    assert answer["error"]["details"]["field"] == "replaces"
    assert door.ask("resolve")["result"]["token"] == "ghu_personal_access_canary"


def test_nothing_is_replaced_where_nothing_stands(door: Broker) -> None:
    assert error_of(door.ask("put_personal", replaces=1)) == "InvalidRequest"
    assert door.items() == []


def test_a_put_whose_first_answer_was_lost_succeeds(door: Broker) -> None:
    """The SDK sends the request again; the condition then fails on what the first one wrote."""
    events = client("dynamodb").meta.events

    def again(attempts: int, **_: Any) -> int | None:
        return 0 if attempts == 1 else None

    events.register_first("needs-retry.dynamodb.UpdateItem", again)
    answer = door.ask("put_personal")
    events.unregister("needs-retry.dynamodb.UpdateItem", again)
    assert door.requests.count("UpdateItem") == 2
    assert answer["result"]["version"] == 1
    assert door.ask("resolve")["result"]["token"] == "ghu_personal_access_canary"


def test_a_put_asks_once_for_the_caller_once_for_each_key_and_writes_once(door: Broker) -> None:
    event = door.event("put_personal")
    door.cool()
    door.send(event)
    assert door.requests == ["Query", "GenerateDataKey", "GenerateDataKey", "UpdateItem"]


def test_the_stored_item_has_both_tokens_sealed_and_no_attribute_that_lets_it_expire(door: Broker) -> None:
    door.ask("put_personal")
    [item] = door.items()
    assert (item["pk"], item["sk"]) == ({"S": "acme#github"}, {"S": "user#ada"})
    assert "B" in item["access_token"]
    assert "B" in item["refresh_token"]
    assert "canary" not in repr(item)
    grants = read_yaml(ROOT / "template.yaml")["Resources"]["Grants"]["Properties"]
    assert grants.get("TimeToLiveSpecification", {}).get("AttributeName") not in item


# -- whose ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("extra", [{"user": "ada"}, {"owner": "user#ada"}, {"version": 7}])
def test_a_message_cannot_name_another_user(door: Broker, extra: dict[str, Any]) -> None:
    answer = door.ask("put_personal", proof=door.jwt("bob"), roles=["engineering"], **extra)
    assert answer["error"]["details"] == {
        "field": next(iter(extra)),
        "problem": "Extra inputs are not permitted",
    }


def test_each_user_has_a_grant_of_its_own(door: Broker) -> None:
    bob = {"proof": door.jwt("bob"), "roles": ["engineering"]}
    door.ask("put_personal")
    door.ask("put_personal", **bob, access_token="ghu_of_bob")
    assert door.ask("resolve")["result"]["token"] == "ghu_personal_access_canary"
    assert door.ask("resolve", **bob)["result"]["token"] == "ghu_of_bob"
    assert door.ask("revoke_personal", **bob)["result"] == {"revoked": True}
    assert door.ask("resolve")["result"]["token"] == "ghu_personal_access_canary"


@pytest.mark.parametrize("operation", ["put_shared", "revoke_shared"])
def test_only_an_administrator_changes_a_shared_grant(door: Broker, operation: str) -> None:
    door.ask("put_shared")
    before = door.items()
    assert error_of(door.ask(operation, proof=door.jwt("ada"))) == "AuthorizationError"
    assert error_of(door.ask(operation, proof=door.jwt("hal"), organization="globex")) == "AuthorizationError"
    assert error_of(door.ask(operation, proof=door.jwt("grace"), organization="globex")) == "MembershipRequired"
    assert door.items() == before


def test_an_administrator_shares_with_a_role_that_is_not_its_own(door: Broker) -> None:
    assert door.ask("put_shared", role="support")["result"]["owner"] == "role#support"


@pytest.mark.parametrize("role", ["supp", "support2", "ghosts"])
def test_a_grant_is_shared_with_an_existing_role_only(door: Broker, role: str) -> None:
    answer = door.ask("put_shared", role=role)
    assert answer["error"]["details"]["field"] == "role"
    assert door.items() == []


def test_an_own_grant_is_opened_only_to_roles_of_its_user(door: Broker) -> None:
    bob = {"proof": door.jwt("bob"), "roles": ["engineering"]}
    assert error_of(door.ask("put_personal", **bob, open_to=["support"])) == "AuthorizationError"
    assert door.ask("put_personal", **bob, open_to=["engineering"])["result"]["open_to"] == ["engineering"]


def test_a_shared_grant_is_open_to_its_role_and_says_nothing_else(door: Broker) -> None:
    assert error_of(door.ask("put_shared", open_to=["engineering"])) == "InvalidRequest"


def test_what_is_revoked_no_longer_resolves(door: Broker) -> None:
    door.ask("put_personal")
    door.ask("put_shared")
    assert door.ask("revoke_personal")["result"] == {"revoked": True}
    assert door.ask("resolve")["result"]["owner"] == "role#engineering"
    assert door.ask("revoke_shared")["result"] == {"revoked": True}
    assert error_of(door.ask("resolve")) == "ConnectionRequired"
    assert door.ask("revoke_personal")["result"] == {"revoked": False}
    assert door.items() == []


# -- status --------------------------------------------------------------------------------------------


def test_status_lists_what_the_caller_sees_and_whether_it_works(door: Broker) -> None:
    door.ask("put_personal", expires_at=1)
    door.ask("put_personal", service="notion", open_to=["support"])
    door.ask("put_shared")
    door.ask("put_personal", proof=door.jwt("bob"), roles=["engineering"])

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


def test_status_asks_for_many_services_in_requests_of_a_hundred_keys(door: Broker) -> None:
    event = door.event("status", services=[f"service{number}" for number in range(100)])
    door.cool()
    assert door.send(event)["result"] == {"grants": []}
    assert door.requests == ["Query", *["BatchGetItem"] * 3]


# -- tampering with the table --------------------------------------------------------------------------


def test_an_item_copied_to_another_user_does_not_open(door: Broker) -> None:
    door.ask("put_personal")
    tamper(door, sk={"S": "user#bob"})
    bob = door.ask("resolve", proof=door.jwt("bob"), roles=["engineering"])
    assert bob["error"] == {"type": "IntegrityError", "details": {"what": "github access_token"}}


@pytest.mark.parametrize("pk", ["globex#github", "acme#notion"])
def test_an_item_copied_to_another_organization_or_service_does_not_open(door: Broker, pk: str) -> None:
    door.ask("put_personal", proof=door.jwt("bob"), roles=["engineering"])
    tamper(door, pk={"S": pk}, sk={"S": "role#engineering"})
    organization, service = pk.split("#")
    who = "hal" if organization == "globex" else "bob"
    asked = {"proof": door.jwt(who), "organization": organization, "service": service, "roles": ["engineering"]}
    assert error_of(door.ask("resolve", **asked)) == "IntegrityError"


def test_a_refresh_token_in_the_place_of_the_access_token_does_not_open(door: Broker) -> None:
    door.ask("put_personal")
    tamper(door, access_token=door.items()[0]["refresh_token"])
    assert error_of(door.ask("resolve")) == "IntegrityError"


def test_an_old_token_in_a_new_version_does_not_open(door: Broker) -> None:
    door.ask("put_personal")
    old = door.items()[0]["access_token"]
    door.ask("put_personal", replaces=1)
    tamper(door, access_token=old)
    assert error_of(door.ask("resolve")) == "IntegrityError"


def test_another_version_number_on_the_same_tokens_does_not_open(door: Broker) -> None:
    door.ask("put_personal")
    tamper(door, version={"N": "2"})
    assert error_of(door.ask("resolve")) == "IntegrityError"


def tamper(door: Broker, **changes: Any) -> None:
    boto3.client("dynamodb").put_item(TableName="mcpist-Grants", Item=door.items()[0] | changes)


def test_a_kms_outage_is_an_answer_that_may_be_tried_again(door: Broker, monkeypatch: pytest.MonkeyPatch) -> None:
    import socket

    door.ask("put_personal")
    with socket.create_server(("127.0.0.1", 0)) as server:
        monkeypatch.setenv("AWS_ENDPOINT_URL_KMS", f"http://127.0.0.1:{server.getsockname()[1]}")
    stores.client.cache_clear()
    answer = door.ask("resolve")
    stores.client.cache_clear()
    assert answer["error"] == {"type": "StoreUnavailable", "details": {"store": "vault"}}
