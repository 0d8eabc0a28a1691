"""Several accounts of one service: which one acts, and that no two of them can be mixed up."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from mcpist.caller import Caller, Role, Subject
from mcpist.errors import IntegrityError
from tests.token_broker.conftest import Broker
from token_broker.grants import grants
from token_broker.message import parse

ADA = Caller("acme", "ada", Subject("https://login.example.com", "ada"), "user", (Role("engineering"),))


def connect(door: Broker, *labels: str, owner: str = "user#ada", **account: Any) -> None:
    for label in labels:
        slot = owner if label == "main" else f"{owner}#{label}"
        door.store(slot, access_token=f"of-{owner}-{label}", account_name=label, account_id=label, **account)


def acting(door: Broker, **asked: Any) -> str:
    """The token of the account that acts, else the error's type and the labels that it lists."""
    door.reset_sandbox()
    answer = door.ask("resolve", **asked)
    if "result" in answer:
        return str(answer["result"]["token"])
    return f"{answer['error']['type']} {answer['error']['details'].get('known', '')}".strip()


def choose(door: Broker, label: str, who: str = "ada", **more: Any) -> dict[str, Any]:
    event = {"operation": "default", "proof": door.jwt(who), "organization": "acme", "service": "github"}
    return door.send(event | {"account": label} | more)


def revoke(door: Broker, **more: Any) -> dict[str, Any]:
    return door.ask("revoke_personal", **more)


def pins(door: Broker) -> dict[str, Any]:
    """What a batch that begins now resolves with."""
    answer = door.ask("warrant")["result"]
    return {"proof": {"kind": "warrant", "value": answer["warrant"]}, "pins": answer["pins"]}


def test_the_named_account_acts_and_without_a_name_the_default_one(door: Broker) -> None:
    connect(door, "main", "work")
    found = [acting(door), acting(door, account="work"), acting(door, account="main"), acting(door, account="home")]
    assert found == ["of-user#ada-main", "of-user#ada-work", "of-user#ada-main", "UnknownAccount main, work"]
    chosen = choose(door, "work")["result"]
    assert (chosen["label"], chosen["default"], acting(door)) == ("work", True, "of-user#ada-work")
    assert acting(door, account="main") == "of-user#ada-main"
    assert choose(door, "home")["error"]["type"] == "UnknownAccount"


def test_the_first_account_is_the_default_even_with_a_label(door: Broker) -> None:
    connect(door, "home", "work", "main")
    assert acting(door) == "of-user#ada-home"
    revoke(door, account="home")
    assert acting(door) == "AccountNotChosen main, work"
    revoke(door, account="main")
    assert acting(door) == "of-user#ada-work"


def test_a_removed_or_broken_personal_account_never_becomes_the_shared_one(door: Broker) -> None:
    connect(door, "main", "work", owner="role#engineering")
    connect(door, "home", "work")
    work = grants.read("acme", "github", "user#ada#work")
    assert work is not None
    grants.mark_rejected(work, "invalid_grant")
    assert acting(door, account="work") == "ReconnectRequired"
    choose(door, "work")
    assert acting(door) == "ReconnectRequired"
    revoke(door, account="work")
    assert acting(door) == "of-user#ada-home"
    assert acting(door, account="main") == "of-role#engineering-main"  # named, and only the role has it


def test_a_role_has_a_default_too_and_only_an_administrator_chooses_it(door: Broker) -> None:
    connect(door, "main", "ops", owner="role#engineering")
    assert choose(door, "ops", role="engineering")["error"]["type"] == "AuthorizationError"
    assert acting(door) == "of-role#engineering-main"
    choose(door, "ops", "grace", role="engineering")
    assert acting(door) == "of-role#engineering-ops"


def test_an_account_that_is_not_open_to_the_roles_leaves_the_default_to_another(door: Broker) -> None:
    connect(door, "home", open_to=("support",))
    connect(door, "work", open_to=("engineering",))
    assert acting(door, roles=["engineering"]) == "of-user#ada-work"
    assert acting(door, roles=["engineering"], account="home") == "UnknownAccount work"


def test_the_label_of_another_user_is_unknown_and_does_not_show(door: Broker) -> None:
    connect(door, "main")
    connect(door, "secret-project", owner="user#bob")
    connect(door, "other", owner="user#adam")
    assert acting(door, account="secret-project") == "UnknownAccount main"
    assert acting(door, account="other") == "UnknownAccount main"
    assert revoke(door, account="secret-project")["result"]["revoked"] is False
    assert acting(door, proof=door.jwt("bob"), roles=[], account="secret-project") == "of-user#bob-secret-project"


@pytest.mark.parametrize("label", ["work#x", "#", "../work", "Work", "work ", "a" * 33, "user#bob", "\n"])
def test_a_label_cannot_reach_into_a_key(door: Broker, label: str) -> None:
    for name in ("resolve", "revoke_personal", "begin", "paste"):
        with pytest.raises(Exception, match="account"):
            parse(door.event(name, account=label))


def test_the_sealed_tokens_of_two_accounts_cannot_be_swapped(door: Broker) -> None:
    connect(door, "main", "work")
    table = grants.table()
    items = {label: table.get("acme#github", f"user#ada{label}") for label in ("", "#work")}
    for label, other in (("", "#work"), ("#work", "")):
        table.set("acme#github", f"user#ada{label}", {"access_token": (items[other] or {})["access_token"]})
    for label in ("main", "work"):
        assert acting(door, account=label) == IntegrityError.__name__


def test_a_batch_keeps_to_the_accounts_with_which_it_began(door: Broker) -> None:
    connect(door, "home", "work")
    connect(door, "main", owner="role#engineering")
    batch = pins(door)
    choose(door, "work")
    assert acting(door) == "of-user#ada-work"
    assert acting(door, **batch) == "of-user#ada-home"
    assert acting(door, **batch, account="work") == "of-user#ada-work"
    revoke(door, account="home")
    assert acting(door, **batch) == "UnknownAccount main, work"
    revoke(door, account="work")
    assert acting(door) == "of-role#engineering-main"  # as if the person had never connected
    assert acting(door, **batch) == "UnknownAccount main"


def test_pins_open_no_account_of_another_person(door: Broker) -> None:
    connect(door, "main")
    connect(door, "main", owner="user#bob")
    assert acting(door, pins=["github#user#bob"]) == "of-user#ada-main"


def test_accounts_that_are_connected_at_once_are_all_found(door: Broker) -> None:
    labels = [f"label{number}" for number in range(8)]
    with ThreadPoolExecutor(len(labels)) as pool:
        list(pool.map(lambda label: connect(door, label), labels))
    assert {grant.label for grant in grants.fetch(ADA, ["github"]).grants} == {*labels}
    assert acting(door).startswith("of-user#ada-label")
    assert all(acting(door, account=label) == f"of-user#ada-{label}" for label in labels)


def test_the_caches_of_the_broker_keep_accounts_apart(door: Broker) -> None:
    connect(door, "main", "work")
    batch = pins(door)
    tokens = [door.ask("resolve", account=label)["result"]["token"] for label in ("", "work", "main", "work")]
    assert tokens == [f"of-user#ada-{label}" for label in ("main", "work", "main", "work")]
    choose(door, "work")
    assert door.ask("resolve")["result"]["token"] == "of-user#ada-work"
    assert door.ask("resolve", **batch)["result"]["token"] == "of-user#ada-main"


def test_disconnecting_one_of_several_names_it(door: Broker) -> None:
    connect(door, "main", "work")
    assert revoke(door)["error"]["type"] == "AccountNotChosen"
    assert revoke(door, account="work")["result"]["proof"]["label"] == "work"
    assert revoke(door)["result"]["proof"]["label"] == "main"


def test_lists_show_the_labels_and_the_default(door: Broker) -> None:
    connect(door, "main", "work")
    choose(door, "work")
    rows = door.ask("status")["result"]["grants"]
    assert [(row["label"], row["default"], row["acts"]) for row in rows] == [
        ("main", False, False),
        ("work", True, True),
    ]
    (entry,) = door.ask("offer", services=["github"])["result"]["services"]
    assert [(row["label"], row["default"]) for row in entry["grants"]] == [("main", False), ("work", True)]
    listed = door.send({"operation": "list", "proof": door.jwt("ada"), "organization": "acme", "user": "ada"})
    assert [(row["label"], row["default"]) for row in listed["result"]["grants"]] == [("main", False), ("work", True)]


def test_a_labelled_account_costs_one_request_more(door: Broker) -> None:
    connect(door, "main", "work")
    event = door.event("resolve", account="work")
    door.reset_sandbox()
    door.send(event)
    assert door.requests == ["Query", "BatchGetItem", "Query", "Decrypt"]
