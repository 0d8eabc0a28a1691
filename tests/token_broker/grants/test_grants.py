"""What is stored of a grant, what changes it, and that nothing opens where it was not sealed."""

import socket
import time
from typing import Any

import boto3
import pytest

from infra.local.intrinsics import read_yaml
from mcpist.aws import clients
from mcpist.aws.clients import client
from mcpist.errors import Conflict
from tests.token_broker.conftest import ACCESS, REFRESH, ROOT, Broker, error_of
from token_broker import vault
from token_broker.grants import grants
from token_broker.grants.grants import StoredGrant, Tokens


def test_a_new_version_replaces_the_one_it_names_and_keeps_its_id(door: Broker) -> None:
    first = door.store(refresh_token=REFRESH, lives=3600)
    second = door.store(access_token="ghu_second", replaces=1, expires_at=None)
    assert (second.version, second.id, second.created_at) == (2, first.id, first.created_at)
    assert door.ask("resolve")["result"]["token"] == "ghu_second"
    [item] = door.items()
    assert {"refresh_token", "access_expires_at", "lives"}.isdisjoint(item)


@pytest.mark.parametrize("replaces", [0, 2])
def test_a_version_that_is_not_stored_is_not_replaced(door: Broker, replaces: int) -> None:
    door.store()
    with pytest.raises(Conflict):
        door.store(access_token="ghu_late", replaces=replaces)
    assert door.ask("resolve")["result"]["token"] == ACCESS


def test_nothing_is_replaced_where_nothing_is_stored(door: Broker) -> None:
    with pytest.raises(Conflict):
        door.store(replaces=1)
    assert door.items() == []


def lose_first_answer(operation: str) -> None:
    """The SDK sends the request again; a condition then fails on what the first one wrote."""
    events = client("dynamodb").meta.events
    name = f"needs-retry.dynamodb.{operation}"

    def again(attempts: int, **_: Any) -> int | None:
        if attempts == 1:
            return 0
        events.unregister(name, again)
        return None

    events.register_first(name, again)


def test_a_write_whose_first_response_was_lost_succeeds(door: Broker) -> None:
    lose_first_answer("UpdateItem")
    grant = door.store(refresh_token=REFRESH)
    assert door.requests.count("UpdateItem") == 2
    assert door.ask("resolve")["result"]["token"] == ACCESS
    seals = grants.generate_data_keys("acme", "github", "user#ada", 2)
    lose_first_answer("UpdateItem")
    renewed = grants.store_refreshed(grant, seals, grant.tokens(), expires_at=None, lives=None)
    assert (renewed.version, renewed.tokens()) == (2, grant.tokens())
    lose_first_answer("DeleteItem")
    grants.remove(renewed)
    assert door.items() == []


def test_a_grant_is_stored_by_one_request_for_each_key_and_one_write(door: Broker) -> None:
    door.reset_sandbox()
    door.store(refresh_token=REFRESH)
    assert door.requests == ["GenerateDataKey", "GenerateDataKey", "UpdateItem"]


def test_the_stored_item_has_both_tokens_sealed_and_no_attribute_that_lets_it_expire(door: Broker) -> None:
    door.store(refresh_token=REFRESH)
    [item] = door.items()
    assert (item["pk"], item["sk"]) == ({"S": "acme#github"}, {"S": "user#ada"})
    assert "B" in item["access_token"]
    assert "B" in item["refresh_token"]
    assert "canary" not in repr(item)
    table = read_yaml(ROOT / "template.yaml")["Resources"]["Grants"]["Properties"]
    assert table["TimeToLiveSpecification"]["AttributeName"] not in item


# -- what changes a version where it stands -----------------------------------------------------------


def change(grant: StoredGrant, how: str) -> object:
    match how:
        case "renew":
            seals = grants.generate_data_keys("acme", "atlassian", "user#ada", grant.version + 1)
            return grants.store_refreshed(grant, seals, grant.tokens(), expires_at=None, lives=None)
        case "mark_rejected":
            return grants.mark_rejected(grant, "invalid_grant")
        case "set_services":
            return grants.set_services(grant, ["jira"])
        case "reseal":
            return grants.reencrypt(grant)
        case _:
            return grants.remove(grant)


CHANGES = ["renew", "mark_rejected", "set_services", "reseal", "remove"]


@pytest.mark.parametrize("how", CHANGES)
def test_no_change_reaches_another_version(door: Broker, how: str) -> None:
    old = door.store(service="jira")
    door.store(service="jira", replaces=1)
    before = door.items()
    with pytest.raises(Conflict):
        change(old, how)
    assert door.items() == before


@pytest.mark.parametrize("how", CHANGES)
def test_no_change_reaches_the_same_version_of_a_grant_that_was_made_anew(door: Broker, how: str) -> None:
    old = door.store(service="jira")
    grants.remove(old)
    door.store(service="jira", account_id="another")
    before = door.items()
    with pytest.raises(Conflict):
        change(old, how)
    assert door.items() == before


@pytest.mark.parametrize("how", CHANGES[:-1])
def test_nothing_is_changed_where_nothing_is_stored(door: Broker, how: str) -> None:
    old = door.store(service="jira")
    assert grants.remove(old)
    with pytest.raises(Conflict):
        change(old, how)
    assert not grants.remove(old)
    assert door.items() == []


def test_new_tokens_leave_everything_else_as_it_was(door: Broker) -> None:
    grant = door.store(service="jira", services=("jira", "confluence"), refresh_token=REFRESH, kind="person")
    narrowed = grants.set_services(grant, ["jira"])
    assert narrowed.version == grant.version
    dead = grants.mark_rejected(narrowed, "invalid_grant")
    assert dead.rejection is not None
    seals = grants.generate_data_keys("acme", "atlassian", "user#ada", 2)
    renewed = grants.store_refreshed(grant, seals, grant.tokens(), expires_at=5, lives=None)
    assert (renewed.account.services, renewed.account.kind, renewed.rejection) == (("jira",), "person", None)
    assert (renewed.id, renewed.version, renewed.account.expires_at) == (grant.id, 2, 5)
    assert renewed.tokens() == grant.tokens()


def test_resealing_changes_the_ciphertexts_alone(door: Broker) -> None:
    grant = door.store(refresh_token=REFRESH)
    [before] = door.items()
    again = grants.reencrypt(grant)
    [after] = door.items()
    sealed = {"access_token", "refresh_token"}
    assert {name for name in before if before[name] != after[name]} == sealed
    vault.data_keys.clear()
    assert again.tokens() == grant.tokens()


def test_grants_are_found_by_organization_owner_and_provider_and_leases_are_none(door: Broker) -> None:
    door.store()
    door.store("role#engineering")
    door.store(service="jira")
    door.store("user#hal", organization="globex")
    for pk in ("acme#github", "#connect"):
        item = {"pk": {"S": pk}, "sk": {"S": "lease#user#ada"}}
        boto3.client("dynamodb").put_item(TableName="mcpist-Grants", Item=item)

    def found(organization: str = "acme", **only: str) -> list[tuple[str, str]]:
        return sorted((grant.provider, grant.owner) for grant in grants.find(organization, **only))

    assert found() == [("atlassian", "user#ada"), ("github", "role#engineering"), ("github", "user#ada")]
    assert found(owner="user#ada") == [("atlassian", "user#ada"), ("github", "user#ada")]
    assert found(provider="github") == [("github", "role#engineering"), ("github", "user#ada")]
    assert found(provider="github", owner="user#ada") == [("github", "user#ada")]
    assert found("globex") == [("github", "user#hal")]
    assert found("acm") == found(provider="notion") == []


def test_no_repr_shows_tokens() -> None:
    from pydantic import SecretStr

    assert "canary" not in repr(Tokens(SecretStr(ACCESS), SecretStr(REFRESH)))


# -- tampering with the table --------------------------------------------------------------------------


def test_an_item_copied_to_another_user_does_not_open(door: Broker) -> None:
    door.store(refresh_token=REFRESH)
    tamper(door, sk={"S": "user#bob"})
    bob = door.ask("resolve", proof=door.jwt("bob"), roles=["engineering"])
    assert bob["error"] == {"type": "IntegrityError", "details": {"what": "github access_token"}}


@pytest.mark.parametrize("pk", ["globex#github", "acme#notion"])
def test_an_item_copied_to_another_organization_or_service_does_not_open(door: Broker, pk: str) -> None:
    door.store("role#engineering", services=("github", "notion"))
    tamper(door, pk={"S": pk})
    organization, service = pk.split("#")
    who = "hal" if organization == "globex" else "bob"
    asked = {"proof": door.jwt(who), "organization": organization, "service": service, "roles": ["engineering"]}
    assert error_of(door.ask("resolve", **asked)) == "IntegrityError"


def test_a_refresh_token_in_the_place_of_the_access_token_does_not_open(door: Broker) -> None:
    door.store(refresh_token=REFRESH)
    tamper(door, access_token=door.items()[0]["refresh_token"])
    assert error_of(door.ask("resolve")) == "IntegrityError"


def test_an_old_token_in_a_new_version_does_not_open(door: Broker) -> None:
    door.store(refresh_token=REFRESH)
    old = door.items()[0]["access_token"]
    door.store(refresh_token=REFRESH, replaces=1)
    tamper(door, access_token=old)
    assert error_of(door.ask("resolve")) == "IntegrityError"


def test_another_version_number_on_the_same_tokens_does_not_open(door: Broker) -> None:
    door.store(refresh_token=REFRESH)
    tamper(door, version={"N": "2"})
    assert error_of(door.ask("resolve")) == "IntegrityError"


def tamper(door: Broker, **changes: Any) -> None:
    boto3.client("dynamodb").put_item(TableName="mcpist-Grants", Item=door.items()[0] | changes)


@pytest.mark.parametrize("answers", [pytest.param(True, marks=pytest.mark.slow), False], ids=["silent", "gone"])
@pytest.mark.parametrize(("service", "store"), [("kms", "vault"), ("dynamodb", "directory")])
def test_an_outage_is_a_typed_answer_that_may_be_tried_again_within_five_seconds(
    door: Broker, monkeypatch: pytest.MonkeyPatch, service: str, store: str, answers: bool
) -> None:
    door.store()
    event = door.event("resolve")
    with socket.create_server(("127.0.0.1", 0)) as server:
        monkeypatch.setenv(f"AWS_ENDPOINT_URL_{service.upper()}", f"http://127.0.0.1:{server.getsockname()[1]}")
        if not answers:
            server.close()
        clients.client.cache_clear()
        door.reset_sandbox()
        client(service)
        began = time.monotonic()
        answer = door.send(event)
        elapsed = time.monotonic() - began
    clients.client.cache_clear()
    assert answer["error"] == {"type": "StoreUnavailable", "details": {"store": store}}
    assert elapsed < 5
