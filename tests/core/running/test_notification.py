"""Notifications: signed, without arguments, to the organization's address, and no failure stops a request."""

import base64
import hashlib
import hmac
import json
from collections.abc import Iterator
from dataclasses import replace
from importlib import import_module
from typing import Any

import pytest

from mcpist.caller import Proof
from mcpist.errors import ApprovalPending, AuthorizationError, InvalidRequest
from mcpist.people.administration import Administration, ConnectedAccount
from mcpist.running import broker, notification
from mcpist.running.confirmation import Agreement
from mcpist.running.gate import ToolUse, admit
from mcpist.running.notification import approval_waiting, text_of
from mcpist.running.notification_address import NotificationAddress, find_address
from mcpist.settings import settings
from mcpist.tools.access.permissions import Permissions
from mcpist.tools.declare.call import Call
from mcpist_services.catalogue import CATALOGUE as CATALOGUE_OF_SERVICES
from tests.audit_items import audit_items
from tests.core.loopback import Reply, Service, serving
from tests.core.people.conftest import FakeAccounts
from tests.core.sample import CATALOGUE, EVERYTHING, caller

UMA = replace(caller(replace(EVERYTHING, approval=("safe.*", "shop.*"))), proof=Proof("jwt", "j.w.t"))
ADA = replace(UMA, user="ada", system_role="admin")
SUMMARY = {
    "approval_id": "b_0123456789abcdef",
    "mode": "required",
    "tools": ["shop.delete_item"],
    "requested_by": "<!channel> & uma",
    "requested_at": 1,
    "until": 2,
    "client": "cli",
    "url": "https://mcp.example.com/approvals?id=b_0123456789abcdef",
    "reason": "",
}

pytestmark = pytest.mark.usefixtures("aws")


@pytest.fixture
def receiver() -> Iterator[Service]:
    with serving() as service:
        yield service


def set_address(url: str, who: Any = ADA) -> NotificationAddress:
    accounts = FakeAccounts([ConnectedAccount("shop", "role#everything")])
    return notification.set_address(Administration(who, "r1", accounts), CATALOGUE, url)


def ask(item: str = "7") -> dict[str, Any]:
    from tests.core.running.test_approvals import acts_as

    acts_as("uma@shop")
    with pytest.raises(ApprovalPending) as waits:
        admit(Permissions(UMA, CATALOGUE), ToolUse("shop", "delete_item", {"item_id": item}, "r1"), Agreement())
    return waits.value.details


def outcomes() -> list[str]:
    return [
        row["outcome"] for row in audit_items("acme") if row["tool"] == "approvals.notify" and "b_" in row["target"]
    ]


def test_the_receiver_can_check_who_sent_it(receiver: Service) -> None:
    made = set_address(f"{receiver.url}/approvals")
    approval = ask()["approval_id"]
    (sent,) = receiver.received
    assert (sent.method, sent.path) == ("POST", "/approvals")
    signed = f"{sent.headers['webhook-id']}.{sent.headers['webhook-timestamp']}.".encode() + sent.body
    key = base64.b64decode(made.secret.removeprefix("whsec_"))
    digest = base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
    assert sent.headers["webhook-signature"] == f"v1,{digest}"
    assert sent.headers["webhook-id"] == approval
    assert json.loads(sent.body)["tools"] == ["shop.delete_item"]
    assert outcomes() == ["succeeded"]


def test_no_argument_and_no_secret_is_sent(receiver: Service) -> None:
    made = set_address(receiver.url)
    ask("canary-item")
    (sent,) = receiver.received
    assert b"canary-item" not in sent.body
    assert made.secret.encode() not in sent.body
    assert made.secret not in str(sent.headers)


def test_people_are_told_once_about_a_request(receiver: Service) -> None:
    set_address(receiver.url)
    assert ask() == ask()
    assert len(receiver.received) == 1


@pytest.mark.parametrize(
    ("reply", "outcome"), [(Reply(status=500), "TOOL_EXECUTION_ERROR"), (Reply(status=302), "TOOL_EXECUTION_ERROR")]
)
def test_a_receiver_that_fails_stops_nothing(receiver: Service, reply: Reply, outcome: str) -> None:
    set_address(receiver.url)
    receiver.reply_with(reply)
    ask()
    assert outcomes() == [outcome]


def test_no_address_in_our_own_network_is_reached(monkeypatch: pytest.MonkeyPatch) -> None:
    set_address("https://169.254.169.254/latest/meta-data")
    ask()
    assert outcomes() == ["UPSTREAM_UNAVAILABLE"]
    monkeypatch.setenv("LOCAL_SERVICES", "off")
    settings.cache_clear()
    with pytest.raises(InvalidRequest):
        set_address("http://127.0.0.1:1/")
    settings.cache_clear()


@pytest.fixture
def chat(receiver: Service, monkeypatch: pytest.MonkeyPatch) -> Service:
    """The shop's service, to which a message is an item with the place as its name and the text as its price."""
    shop = CATALOGUE.module("shop")
    monkeypatch.setattr(shop, "host", receiver.url)
    monkeypatch.setattr(shop, "message", import_module("tests.core.sample.shop.tools").create_item)
    held = {"token": "t-of-the-role", "account_id": "1", "account_name": "bot", "owner": "role#everything"}
    monkeypatch.setattr(broker, "request", lambda _, operation: {"sender": held | {"expires_at": None}}[operation])
    return receiver


def test_a_service_gets_a_message_by_the_account_that_the_address_names(chat: Service) -> None:
    made = set_address("shop:everything/#approvals")
    approval = ask("canary-item")["approval_id"]
    (sent,) = chat.received
    assert sent.headers["authorization"] == "Bearer t-of-the-role"
    message = json.loads(sent.body)
    assert message["name"] == "#approvals"
    assert message["price"].startswith("`uma` waits for an approval: `shop.delete_item`")
    assert message["price"].endswith(f"/approvals?id={approval}")
    assert b"canary-item" not in sent.body
    assert made.secret.encode() not in sent.body
    assert [row["account"] for row in audit_items("acme") if row["tool"] == "approvals.notify"] == ["", "bot"]


def test_a_service_that_refuses_a_message_stops_nothing(chat: Service) -> None:
    set_address("shop:everything/#approvals")
    chat.reply_with(Reply(status=400))
    ask()
    assert outcomes() == ["TOOL_EXECUTION_ERROR"]


@pytest.mark.parametrize("place", ["safe:everything/#a", "nowhere:everything/#a", "shop:others/#a"])
def test_a_place_is_at_a_service_that_sends_messages_by_a_shared_account(chat: Service, place: str) -> None:
    with pytest.raises(InvalidRequest):
        set_address(place)
    assert find_address("acme") is None
    assert chat.received == []


def test_no_name_in_a_message_is_markup_or_mentions_anybody() -> None:
    text = text_of(approval_waiting(SUMMARY | {"requested_by": "`@aiko` [x](mention:here)"}), "ja")
    call = CATALOGUE_OF_SERVICES.module("slack").message("C0123ABCD45", text)
    assert isinstance(call, Call)
    assert (call.path, call.json["channel"]) == ("/chat.postMessage", "C0123ABCD45")
    assert {"user", "usergroup", "broadcast"}.isdisjoint(types_in(call.json["blocks"]))
    assert "さんが承認を待っています" in json.dumps(call.json, ensure_ascii=False)


def types_in(value: Any) -> set[str]:
    if isinstance(value, dict):
        return {str(value.get("type"))}.union(*map(types_in, value.values()))
    return set().union(*map(types_in, value)) if isinstance(value, list) else set()


def test_only_an_administrator_sets_the_address() -> None:
    with pytest.raises(AuthorizationError):
        set_address("https://hooks.example.com/", UMA)
    assert find_address("acme") is None
    set_address("https://hooks.example.com/t0ken")
    assert find_address("globex") is None
    assert "t0ken" not in str(audit_items("acme"))
    set_address("")
    assert find_address("acme") is None
