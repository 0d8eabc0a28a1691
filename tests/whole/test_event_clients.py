"""MCP Events with a client that nobody here wrote, which subscribes, receives an event, renews, and unsubscribes."""

import hashlib
import hmac
import json
import time
from pathlib import Path
from typing import Any

import pytest

from infra.local.deployment import LocalDeployment
from tests.accounts import forget
from tests.peers.npm import PEERS, modern_node, modules
from tests.whole.test_clients import run
from tests.whole.test_events import SIGNING_SECRET, chats, client

__all__ = ("chats", "client")  # fixtures


def slack_request(url: str, payload: dict[str, Any]) -> dict[str, Any]:
    """A request as Slack sends it."""
    body, moment = json.dumps(payload), str(int(time.time()))
    signed = hmac.new(SIGNING_SECRET.encode(), f"v0:{moment}:{body}".encode(), hashlib.sha256).hexdigest()
    headers = {"x-slack-request-timestamp": moment, "x-slack-signature": f"v0={signed}"}
    return {"url": url, "body": body, "headers": headers | {"content-type": "application/json"}}


@pytest.mark.usefixtures("chats")
def test_the_ai_sdk_receives_an_event_by_its_own_webhook(
    deployment: LocalDeployment,
    client: Any,
    tmp_path: Path,
) -> None:
    modules(PEERS / "clients")
    forget(deployment)  # the role that it had before
    place = {"type": "slack.messages", "secret": SIGNING_SECRET}
    begun = client.post("/v1/events/sources", json=place).json()["source"]
    event = {"type": "message", "channel": "C1", "user": "U1", "text": "Hello", "ts": "1.2"}
    message = {"type": "event_callback", "event_id": "Ev9", "event_time": int(time.time()), "event": event}
    asked = {
        "url": deployment.mcp_url,
        "token": deployment.token(),
        "name": "slack.messages",
        "args": {"channel": "C1"},
        "cause": slack_request(begun["url"], message),
    }
    done = run([modern_node(), PEERS / "clients/events.mjs"], stdin=json.dumps(asked), home=tmp_path)
    found = json.loads(done)
    assert found["errors"] == []
    assert (found["listed"]["delivery"], found["caused"]) == (["webhook", "poll"], 204)
    assert found["posts"][0] == {"type": "verification", "verified": True, "status": 200}
    assert all(one["verified"] for one in found["posts"])
    (received,) = found["events"]
    assert (received["name"], received["data"]["text"]) == ("slack.messages", "Hello")
    assert received["id"] == found["subscribed"]["id"] == found["renewed"]["id"]
    client.delete(f"/v1/events/sources/{begun['id']}")
