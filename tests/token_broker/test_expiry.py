"""Accounts of people whom their company's directory deactivated end after the organization's days, and no others."""

import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from mcpist.aws.table import directory_table
from mcpist.memory import forget_entries
from mcpist.people import directory, edits, provisioning
from tests.token_broker.conftest import Broker

DAY_SECONDS = 86_400


def expire(door: Broker, organization: str = "acme") -> dict[str, Any]:
    answer = door.send({"operation": "expire", "organization": organization})
    return {name: answer["result"][name] for name in ("ended", "left")}


def deactivate(days_ago: float, *, scim: dict[str, Any], grant_days: int = 30) -> None:
    ended = int(time.time() - days_ago * DAY_SECONDS)
    directory.change("acme", edits.change_user("ada", deactivated_at=ended, scim=scim))
    directory.change("acme", provisioning.change_directory(grant_days=grant_days))


@pytest.fixture
def grants(door: Broker) -> Iterator[Broker]:
    """Accounts of ada, of bob, and of a role; afterwards ada is active."""
    before = directory.read("acme")
    for owner in ("user#ada", "user#bob", "role#engineering"):
        door.store(owner)
    door.store("user#ada", organization="globex")
    yield door
    directory.change("acme", lambda now: replace(now, users=before.users, directory=before.directory))


def owners(door: Broker) -> set[tuple[str, str]]:
    return {(item["pk"]["S"], item["sk"]["S"]) for item in door.items() if "#" in item["sk"]["S"]}


def test_they_are_kept_until_the_days_are_over_and_then_end_alone(grants: Broker) -> None:
    before = owners(grants)
    assert expire(grants) == {"ended": 0, "left": 0}
    deactivate(29.9, scim={"id": "1", "userName": "ada"})
    assert expire(grants) == {"ended": 0, "left": 0}
    refused = grants.send({"operation": "expire", "organization": "acme", "user": "bob"})
    assert refused["error"]["type"] == "InvalidRequest"
    assert owners(grants) == before
    deactivate(30.1, scim={"id": "1", "userName": "ada"})
    assert expire(grants, "globex") == {"ended": 0, "left": 0}
    assert expire(grants) == {"ended": 1, "left": 0}
    assert before - owners(grants) == {("acme#github", "user#ada")}
    assert expire(grants) == {"ended": 0, "left": 0}


def test_those_of_a_deleted_user_end_at_once_and_those_of_an_active_one_never(grants: Broker) -> None:
    before = owners(grants)
    directory.change("acme", provisioning.change_directory(grant_days=0))
    assert expire(grants) == {"ended": 0, "left": 0}
    deactivate(0, scim={}, grant_days=365)
    assert expire(grants) == {"ended": 1, "left": 0}
    assert before - owners(grants) == {("acme#github", "user#ada")}


def test_all_end_in_an_organization_without_users(grants: Broker) -> None:
    before = owners(grants)
    directory_table().delete_many(directory_table().query("org#acme", "user#"))
    forget_entries()
    answer = grants.send({"operation": "expire", "organization": "acme"})["result"]
    assert (answer["ended"], answer["left"]) == (3, 0)
    assert {one["provider"] for one in answer["killed"]} == {"github"}
    assert owners(grants) == {place for place in before if place[0] == "globex#github"}


def test_an_unknown_organization_has_none(door: Broker) -> None:
    assert expire(door, "nowhere") == {"ended": 0, "left": 0}
