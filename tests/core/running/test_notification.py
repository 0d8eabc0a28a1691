"""Notifications: signed, without arguments, to the organization's address, and no failure stops a request."""

import base64
import hashlib
import hmac
import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from mcpist.caller import Proof
from mcpist.errors import ApprovalPending, AuthorizationError, InvalidRequest
from mcpist.people.administration import Administration
from mcpist.running import notification
from mcpist.running.confirmation import Agreement
from mcpist.running.gate import ToolUse, admit
from mcpist.running.notification import NotificationAddress, find_address, message_for
from mcpist.settings import settings
from mcpist.tools.access.permissions import Permissions
from tests.audit_items import audit_items
from tests.core.loopback import Reply, Service, serving
from tests.core.sample import CATALOGUE, EVERYTHING, caller

UMA = replace(caller(replace(EVERYTHING, approval=("safe.*", "shop.*"))), proof=Proof("jwt", "j.w.t"))
ADA = replace(UMA, user="ada", system_role="admin")
SECRET = "whsec_" + base64.b64encode(b"k" * 32).decode()
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
    return notification.set_address(Administration(who, "r1", accounts=None), url)  # type: ignore[arg-type]


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


def test_slack_gets_a_text_in_which_nothing_is_markup() -> None:
    address = NotificationAddress("https://hooks.slack.com/services/T/B/x", SECRET)
    body, headers = message_for(address, "acme", SUMMARY, 1)
    text = json.loads(body)["text"]
    assert text.startswith("&lt;!channel&gt; &amp; uma waits for an approval: shop.delete_item\n")
    assert headers == {"content-type": "application/json"}


def test_only_an_administrator_sets_the_address() -> None:
    with pytest.raises(AuthorizationError):
        set_address("https://hooks.example.com/", UMA)
    assert find_address("acme") is None
    set_address("https://hooks.example.com/t0ken")
    assert find_address("globex") is None
    assert "t0ken" not in str(audit_items("acme"))
    set_address("")
    assert find_address("acme") is None
