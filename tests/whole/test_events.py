"""Events through the whole deployment: a source is begun, its vendor calls it, and its person reads what came in."""

import hashlib
import hmac
import json
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import httpx2
import pytest

from infra.local.demo import ORGANIZATION, ROLE, USER
from infra.local.deployment import LocalDeployment, operating
from mcpist.events import interests, store
from mcpist.events.interests import Interest
from mcpist.people import directory
from mcpist.polling import Polling
from tests import members
from tests.accounts import connect, disconnect
from tests.whole.conftest import McpUser

SIGNING_SECRET = "8f742231b10e8888abcd99yyyzzz85a5"
WAIT = Polling(initial_seconds=0.05, max_seconds=0.5)


@pytest.fixture
def client(deployment: LocalDeployment) -> Any:
    headers = {"authorization": f"Bearer {deployment.token()}"}
    with httpx2.Client(base_url=deployment.aws.api_url, headers=headers, timeout=60) as client:
        yield client


@pytest.fixture
def chats(deployment: LocalDeployment) -> Iterator[None]:
    """Let the person use Slack, with an account, for this test."""
    with operating(deployment.aws):
        role = directory.read(ORGANIZATION).roles[ROLE]
        members.put_role(ORGANIZATION, replace(role, modules=(*role.modules, "slack")))
    connect(deployment, "slack", "uma-canary-token")
    yield
    disconnect(deployment, "slack")
    with operating(deployment.aws):
        members.put_role(ORGANIZATION, role)


def slack(client: Any, url: str, payload: dict[str, Any], secret: str = SIGNING_SECRET) -> Any:
    """The response to a request as Slack sends it."""
    body, moment = json.dumps(payload), str(int(time.time()))
    signed = hmac.new(secret.encode(), f"v0:{moment}:{body}".encode(), hashlib.sha256).hexdigest()
    headers = {"x-slack-request-timestamp": moment, "x-slack-signature": f"v0={signed}", "authorization": ""}
    return client.post(url, content=body, headers=headers | {"content-type": "application/json"})


@pytest.mark.usefixtures("chats")
def test_a_vendors_request_becomes_an_event_of_its_person(client: Any) -> None:
    begun = client.post("/v1/events/sources", json={"type": "slack.messages", "secret": SIGNING_SECRET}).json()[
        "source"
    ]
    assert slack(client, begun["url"], {"type": "url_verification", "challenge": "c1"}).json() == {"challenge": "c1"}
    text = f"Hello {time.time_ns()}"  # others use this deployment, too
    event = {"type": "message", "channel": "C1", "user": "U1", "text": text, "ts": "1.2"}
    message = {"type": "event_callback", "event_id": f"Ev{text}", "event_time": int(time.time()), "event": event}
    assert slack(client, begun["url"], message, "another").status_code == 401
    assert slack(client, begun["url"], message).status_code == 204
    assert slack(client, begun["url"], message).status_code == 204
    stored = client.get("/v1/events", params={"type": "slack.messages"}).json()["events"]
    (found,) = (one for one in stored if one["data"]["text"] == text)
    assert (found["actor"], found["source"]) == ("U1", begun["id"])

    def state() -> str:
        rows = client.get("/v1/events/sources").json()["sources"]
        return next((one["state"] for one in rows if one["id"] == begun["id"]), "gone")

    assert WAIT.wait(state(), lambda found: found == "active", state, 20) == "active"
    assert client.delete(f"/v1/events/sources/{begun['id']}").json()["state"] == "ending"
    assert WAIT.wait(state(), lambda found: found == "gone", state, 20) == "gone"
    assert slack(client, begun["url"], message).status_code == 404


def test_a_source_says_why_its_subscription_failed(deployment: LocalDeployment, client: Any) -> None:
    """GitHub here knows no webhooks."""
    connect(deployment, "github", "uma-canary-token")
    asked = {"type": "github.issues", "arguments": {"owner": "octocat", "repo": "hello-world"}}
    begun = client.post("/v1/events/sources", json=asked).json()["source"]

    def row() -> Any:
        return next(one for one in client.get("/v1/events/sources").json()["sources"] if one["id"] == begun["id"])

    failed = WAIT.wait(row(), lambda found: bool(found["problem"]), row, 20)
    assert (failed["state"], failed["failures"]) == ("starting", 1)
    client.delete(f"/v1/events/sources/{begun['id']}")
    disconnect(deployment, "github")


def test_our_own_events_are_published_while_somebody_asks_for_them(deployment: LocalDeployment, user: McpUser) -> None:
    asked = [
        Interest(id="own", organization=ORGANIZATION, user=USER.sub, type=one, kind="automation")
        for one in ("batches.finished", "files.stored")
    ]
    events = {"EVENTS_TABLE": deployment.aws.resource("Events"), "EVENT_QUEUE": deployment.aws.resource("EventQueue")}
    with operating(deployment.aws, **events):
        for interest in asked:
            interests.add(interest)
    for pool in deployment.aws.functions.values():
        pool.stop_idle()  # none remembers that nobody asked
    began = int(time.time())
    step = {"module": "rag", "tool": "search_docs", "params": {"query": "token"}, "output": True}
    user.texts("batch", commands=[step])
    user.texts("call", module="rag", tool="list_tags", params={}, options={"as_file": True})
    with operating(deployment.aws, **events):
        found = [store.read(ORGANIZATION, USER.sub, one.type, now=time.time()).events for one in asked]
        for interest in asked:
            interests.remove(interest)
    # Others use this deployment, too.
    (finished,), (file,) = ([one for one in events if one.event.occurred_at >= began] for events in found)
    assert finished.event.data["steps"] == {"line1": "succeeded"}
    assert file.event.data["size_bytes"] > 0
