"""MCP Events at the endpoint: listed, subscribed to with a proven callback, delivered signed, polled, and ended."""

import base64
import hmac
import io
import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import boto3
import pytest
from pydantic import SecretStr

from events import callbacks as deliveries
from events import consumer
from mcpist.aws import clients
from mcpist.caller import Caller, Policies, Role, Subject
from mcpist.errors import StoreUnavailable
from mcpist.events import interests, publish, store
from mcpist.events.event import Event, event_id
from mcpist.events.interests import Interest
from mcpist.events.store import StoredEvent
from mcpist.memory import wall_clock
from mcpist.people import directory, edits, service_credentials
from mcpist.people.service_credentials import ServiceCredentials
from mcpist.running import callbacks
from mcpist.running.callbacks import Callback
from mcpist.settings import settings
from mcpist_services import provider_name
from tests import members
from tests.audit_items import audit_items
from tests.core.loopback import Reply, listening
from tests.lambda_context import Context
from tests.lost_rows import demand_rows, lose_rows
from tests.mcp_endpoint.endpoint_client import EndpointClient
from tests.mcp_endpoint.receiver import SECRET, Receiver
from token_broker.grants import grants
from token_broker.grants.grants import GrantedAccount, Tokens
from token_broker.handler import handler as broker

OTHER_SECRET = "whsec_" + base64.b64encode(bytes(range(64))).decode()
NAME = "github.issues"
TOKENS = Tokens(SecretStr("t1"), None)
PLACE = {"owner": "octocat", "repo": "hello-world"}


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    receiver = Receiver()
    receiver.replies = [Reply(status=204, body=b"")]
    with listening(receiver.server):
        yield receiver


@pytest.fixture
def door(endpoint: EndpointClient, monkeypatch: pytest.MonkeyPatch) -> EndpointClient:
    """The endpoint, with the real broker behind it."""
    monkeypatch.setenv("VAULT_KEY", boto3.client("kms").create_key()["KeyMetadata"]["Arn"])
    settings.cache_clear()

    def invoke(params: dict[str, Any], **_: Any) -> Any:
        answer = broker(json.loads(params["body"]), Context())
        payload = {"Payload": io.BytesIO(json.dumps(answer).encode()), "ResponseMetadata": {"RequestId": "i1"}}
        return type("Response", (), {"status_code": 200}), payload

    clients.session().register("before-call.lambda.Invoke", invoke)
    for user in ("ada", "uma"):
        account = GrantedAccount(services=("github",), account_id="7", account_name=user, expires_at=4102444800)
        grants.save("acme", provider_name("github"), f"user#{user}", account=account, tokens=TOKENS, replaces=0)
    return endpoint


def subscribe(door: EndpointClient, receiver: Receiver, secret: str = SECRET, **more: Any) -> dict[str, Any]:
    delivery = {"mode": "webhook", "url": f"{receiver.url}/hook", "secret": secret}
    params = {"name": NAME, "arguments": PLACE, "cursor": None, "delivery": delivery, **more}
    return door.request("events/subscribe", **params)


def refusal(answer: dict[str, Any], *names: str) -> tuple[Any, ...]:
    """The code of an error, and some of its data."""
    return answer["error"]["code"], *(answer["error"]["data"].get(name) for name in names)


def event(delivery: str = "d1", user: str = "uma", **data: Any) -> Event:
    return Event(
        id=event_id("s", delivery),
        organization="acme",
        user=user,
        type=NAME,
        occurred_at=1_800_000_000,
        data={"repository": {"name": "hello-world", "owner": {"login": "octocat"}}, **data},
    )


def uma() -> Caller:
    return directory.identify(next(iter(directory.read("acme").users.values())).subject)


def the_interest() -> Interest:
    (found,) = interests.of("acme", NAME)
    return found


def deliver(happened: Event, number: int = 1, caller: Caller | None = None) -> float | None:
    return deliveries.deliver(the_interest(), StoredEvent(happened, "1"), caller or uma(), number)


def queued() -> list[dict[str, Any]]:
    """Take the messages about events from the queue; what is to be done at a vendor is another test's."""
    queue, client = settings().event_queue, boto3.client("sqs")
    found: list[dict[str, Any]] = []
    while messages := client.receive_message(QueueUrl=queue, MaxNumberOfMessages=10).get("Messages", []):
        found += [json.loads(message["Body"]) for message in messages]
        for message in messages:
            client.delete_message(QueueUrl=queue, ReceiptHandle=message["ReceiptHandle"])
    return [one for one in found if "event" in one]


def work_off(now: float = 0) -> None:
    """Let the consumer deal with all messages."""
    records = [{"messageId": str(number), "body": json.dumps(one)} for number, one in enumerate(queued())]
    assert consumer.consume(records, lambda: now or wall_clock()) == {"batchItemFailures": []}


def verified(receiver: Receiver, secret: str = SECRET) -> bool:
    """Whether each received message is signed as Standard Webhooks are."""
    key = base64.b64decode(secret.removeprefix("whsec_"))
    for one in receiver.received:
        text = f"{one.headers['webhook-id']}.{one.headers['webhook-timestamp']}.".encode() + one.body
        mac = base64.b64encode(hmac.digest(key, text, "sha256")).decode()
        if f"v1,{mac}" not in one.headers["webhook-signature"].split():
            return False
    return bool(receiver.received)


def test_a_client_finds_the_types_that_its_person_may_read(door: EndpointClient) -> None:
    capabilities = door.request("server/discover")["result"]["capabilities"]
    assert (capabilities["events"], capabilities["extensions"]["io.modelcontextprotocol/events"]) == ({}, {})
    answer = door.request("events/list")["result"]
    listed = {one["name"]: one for one in answer["events"]}
    assert listed[NAME]["delivery"] == ["webhook", "poll"]
    assert listed[NAME]["inputSchema"]["additionalProperties"] is False
    assert listed[NAME]["payloadSchema"]["properties"]["action"] == {"type": "string"}
    members.put_role("acme", Role("members", modules=("slack",)))
    directory.access_cache.clear()
    assert NAME not in {one["name"] for one in door.request("events/list")["result"]["events"]}


def test_a_subscription_is_made_once_its_callback_has_echoed_the_challenge(
    door: EndpointClient, receiver: Receiver
) -> None:
    made = subscribe(door, receiver)["result"]
    assert made.keys() >= {"id", "refreshBefore", "cursor", "truncated"}
    (sent,) = receiver.received
    assert verified(receiver)
    assert sent.headers["x-mcp-subscription-id"] == made["id"] == the_interest().id
    assert SECRET not in json.dumps(the_interest().target)
    again = subscribe(door, receiver)["result"]
    assert (again["id"], len(receiver.received)) == (made["id"], 1), "an address is verified once for a person"
    others = [
        subscribe(door, receiver, arguments=PLACE | {"action": "opened"})["result"]["id"],
        subscribe(door.of("ada"), receiver)["result"]["id"],
    ]
    assert len({made["id"], *others}) == 3
    actions = [(row["tool"], row["after"]["host"]) for row in audit_items("acme") if row["tool"] == "events.subscribe"]
    assert actions == [("events.subscribe", "127.0.0.1")] * 4


def test_a_callback_that_does_not_want_to_receive_gets_nothing(door: EndpointClient, receiver: Receiver) -> None:
    receiver.wants = False
    code, reason, details = refusal(subscribe(door, receiver), "reason", "details")
    assert (code, reason, details.keys()) == (-32015, "challenge_failed", {"field", "reason", "problem"})
    receiver.server.shutdown()
    receiver.server.server_close()
    assert refusal(subscribe(door, receiver), "reason") == (-32015, "connection_refused")
    assert not interests.of("acme", NAME)


@pytest.mark.parametrize("url", ["https://10.0.0.1/hook", "https://169.254.169.254/latest", "https://[fd00::1]/hook"])
def test_no_callback_leads_into_a_private_network(door: EndpointClient, receiver: Receiver, url: str) -> None:
    delivery = {"mode": "webhook", "url": url, "secret": SECRET}
    assert refusal(subscribe(door, receiver, delivery=delivery), "reason") == (-32015, "connection_refused")
    assert not interests.of("acme", NAME)


def test_a_stream_is_refused_by_the_code_of_a_way_in_which_nothing_is_delivered(door: EndpointClient) -> None:
    asked = {"name": NAME, "arguments": PLACE, "cursor": None}
    for params in (asked, {}):
        assert refusal(door.request("events/stream", **params), "feature", "value") == (-32014, "deliveryMode", "push")
    listed = door.request("events/list")["result"]["events"]
    assert {way for one in listed for way in one["delivery"]} == {"webhook", "poll"}


def test_a_redirect_of_a_callback_is_not_followed(door: EndpointClient, receiver: Receiver) -> None:
    subscribe(door, receiver)
    receiver.reply_with(Reply(status=307, headers={"location": f"{receiver.url}/other"}))
    assert deliver(event()) == 60
    assert [one.path for one in receiver.received] == ["/hook"]


@pytest.mark.parametrize(
    ("changes", "code", "field"),
    [
        ({"delivery": {"mode": "push", "url": "https://a.example", "secret": SECRET}}, -32014, "delivery.mode"),
        ({"delivery": {"mode": "webhook", "url": "http://a.example", "secret": SECRET}}, -32602, "delivery.url"),
        ({"delivery": {"mode": "webhook", "url": "https://u@a.example", "secret": SECRET}}, -32602, "delivery.url"),
        ({"delivery": {"mode": "webhook", "url": "https://a.example", "secret": "guess"}}, -32602, "delivery.secret"),
        (
            {"delivery": {"mode": "webhook", "url": "https://a.example", "secret": "whsec_YQ=="}},
            -32602,
            "delivery.secret",
        ),
        ({"arguments": PLACE | {"nothing": 1}}, -32602, "nothing"),
        ({"cursor": "yesterday"}, -32602, "cursor"),
        ({"name": "github.nothing"}, -32011, ""),
        ({"name": "nothing.issues"}, -32011, ""),
    ],
)
def test_a_wrong_request_has_the_codes_of_the_extension(
    door: EndpointClient, receiver: Receiver, changes: dict[str, Any], code: int, field: str
) -> None:
    found, details = refusal(subscribe(door, receiver, **changes), "details")
    assert (found, details.get("field", "")) == (code, field)
    assert not receiver.received


@pytest.mark.parametrize("changes", [{"ttlMs": 10**400}, {"maxAgeMs": 10**400}])
def test_a_time_that_is_too_long_to_count_is_the_clients_mistake(
    door: EndpointClient, receiver: Receiver, changes: dict[str, Any]
) -> None:
    assert subscribe(door, receiver, **changes)["error"]["code"] == -32602


def test_who_may_not_use_the_module_neither_subscribes_nor_polls(door: EndpointClient, receiver: Receiver) -> None:
    members.put_role("acme", Role("members", modules=("slack",)))
    directory.access_cache.clear()
    assert refusal(subscribe(door, receiver))[0] == -32012
    assert refusal(door.request("events/poll", name=NAME, arguments=PLACE, cursor=None))[0] == -32012
    assert not interests.of("acme", NAME)


def test_a_person_without_an_account_is_told_where_to_connect_it(door: EndpointClient, receiver: Receiver) -> None:
    for grant in grants.read_owned("acme", provider_name("github"), "user#uma"):
        grants.remove(grant)
    code, details = refusal(subscribe(door, receiver), "details")
    assert (code, details["url"].partition("?")[0]) == (-32012, "https://mcp.example.com/connect/github")
    assert not receiver.received


def test_a_person_has_a_limited_number_of_subscriptions(door: EndpointClient, receiver: Receiver) -> None:
    for number in range(interests.MAX_INTERESTS):
        interests.add(
            Interest(id=f"i{number}", organization="acme", user="uma", type="a.b", kind="automation", target={})
        )
    assert refusal(subscribe(door, receiver), "limit", "max") == (-32013, "subscriptions", interests.MAX_INTERESTS)


def test_an_event_is_delivered_signed_and_by_itself(door: EndpointClient, receiver: Receiver) -> None:
    made = subscribe(door, receiver)["result"]
    happened = event(action="a" * (store.MAX_EVENT_BYTES - 100))
    assert deliver(happened) is None
    sent = receiver.received[-1]
    assert len(sent.body) <= 262_144
    assert json.loads(sent.body) == {
        "eventId": happened.id,
        "name": NAME,
        "timestamp": "2027-01-15T08:00:00Z",
        "data": happened.data,
    }
    assert verified(receiver)
    assert (sent.headers["webhook-id"], sent.headers["x-mcp-subscription-id"]) == (happened.id, made["id"])
    assert any((row["tool"], row["target"]) == (NAME, "127.0.0.1") for row in audit_items("acme"))


def test_no_event_leaves_without_a_row_where_the_owner_demands_rows(
    door: EndpointClient, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    subscribe(door, receiver)
    receiver.received.clear()
    demand_rows(monkeypatch)
    lose_rows()
    with pytest.raises(StoreUnavailable):
        deliver(event())
    assert not receiver.received
    publish.publish(event())
    polled = door.request("events/poll", name=NAME, arguments=PLACE, cursor="0000000000001")
    assert polled["error"]["data"]["code"] == "STORE_UNAVAILABLE"


def test_a_new_secret_signs_beside_the_former_one_for_a_while(door: EndpointClient, receiver: Receiver) -> None:
    subscribe(door, receiver)
    subscribe(door, receiver, secret=OTHER_SECRET)
    receiver.received.clear()
    deliver(event())
    assert verified(receiver)
    assert verified(receiver, OTHER_SECRET)
    callback = Callback.of(the_interest())
    assert callback.keys(wall_clock() + callbacks.ROTATION_SECONDS) == [callback.secret]


def test_what_a_callback_does_not_accept_is_tried_again_for_a_day(door: EndpointClient, receiver: Receiver) -> None:
    subscribe(door, receiver)
    receiver.reply_with(Reply(status=503))
    delays = [deliver(event(), number) for number in range(1, deliveries.MAX_DELIVERIES)]
    assert delays == sorted(filter(None, delays))
    assert 24 * 3600 < sum(filter(None, delays)) < callbacks.RETRIED_SECONDS
    assert interests.of("acme", NAME)
    assert deliver(event(), deliveries.MAX_DELIVERIES) is None
    assert not interests.of("acme", NAME), "it has refused for a day"


def test_a_callback_says_that_it_is_gone_or_that_an_event_is_too_large(
    door: EndpointClient, receiver: Receiver
) -> None:
    subscribe(door, receiver)
    receiver.reply_with(Reply(status=413), Reply(status=204, body=b""), Reply(status=410))
    assert deliver(event()) is None
    assert receiver.messages[-1]["type"] == "gap"
    assert receiver.messages[-1]["cursor"] <= store.present_cursor(wall_clock())
    assert deliver(event("d2")) is None
    assert not interests.of("acme", NAME)


def test_a_delivery_is_one_of_the_calls_of_an_organizations_day(
    door: EndpointClient, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    subscribe(door, receiver)
    monkeypatch.setenv("DAY_CALLS", "1")
    settings.cache_clear()
    receiver.received.clear()
    assert deliver(event()) is None
    publish.publish(event("d2"))
    work_off()
    assert len(receiver.messages) == 1
    monkeypatch.delenv("DAY_CALLS")
    settings.cache_clear()
    later = wall_clock() + 86_401
    consumer.send_due(Context(), lambda: later)  # type: ignore[arg-type]
    work_off(later)
    assert [one["eventId"] for one in receiver.messages] == [event().id, event("d2").id]


def test_a_subscription_ends_unless_it_is_renewed(door: EndpointClient, receiver: Receiver) -> None:
    subscribe(door, receiver, ttlMs=1)
    expiry = Callback.of(the_interest()).expires_at
    assert 0 < expiry - wall_clock() <= 300, "the shortest time"
    subscribe(door, receiver, ttlMs=None)
    assert Callback.of(the_interest()).expires_at - wall_clock() <= 5 * 86_400, "no subscription lasts for ever"
    interests.add(replace(the_interest(), target=the_interest().target | {"expires_at": 1}))
    receiver.received.clear()
    assert deliver(event()) is None
    assert not receiver.received
    assert not interests.of("acme", NAME)


def test_a_client_ends_its_subscription(door: EndpointClient, receiver: Receiver) -> None:
    subscribe(door, receiver)
    params = {"name": NAME, "arguments": PLACE, "delivery": {"mode": "webhook", "url": f"{receiver.url}/hook"}}
    assert refusal(door.of("ada").request("events/unsubscribe", **params), "kind") == (-32011, "subscription")
    assert door.request("events/unsubscribe", **params)["result"]["resultType"] == "complete"
    assert refusal(door.request("events/unsubscribe", **params), "kind") == (-32011, "subscription")
    assert not interests.of("acme", NAME)


def test_a_client_without_an_address_polls_after_a_cursor(door: EndpointClient) -> None:
    def poll(cursor: str | None, **more: Any) -> dict[str, Any]:
        return door.request("events/poll", name=NAME, arguments=PLACE, cursor=cursor, **more)["result"]

    first = poll(None)
    assert (first["events"], first["truncated"], first["hasMore"]) == ([], False, False)
    for number in range(3):
        publish.publish(event(f"d{number}"))
    publish.publish(event("other", user="ada"))
    found = poll(first["cursor"], maxEvents=2)
    assert [one["eventId"] for one in found["events"]] == [event("d0").id, event("d1").id]
    assert found.keys() >= {"cursor", "nextPollMs"}
    stale = poll("0000000000001")
    assert (stale["truncated"], len(stale["events"])) == (True, 3)
    recent = poll("0000000000001", maxAgeMs=0)
    assert recent["truncated"]
    assert deliver(event()) is None, "its interest only keeps the sources going"
    members.put_role("acme", Role("members", modules=("slack",)))
    directory.access_cache.clear()
    assert refusal(door.request("events/poll", name=NAME, arguments=PLACE, cursor=first["cursor"]))[0] == -32012


def test_a_client_that_comes_back_gets_what_it_has_missed(door: EndpointClient, receiver: Receiver) -> None:
    for number in range(2):
        publish.publish(event(f"d{number}"))
    made = subscribe(door, receiver, cursor="0000000000001")["result"]
    assert made["truncated"], "events are kept for a week"
    assert [one["event"] for one in queued() if one.get("interest") == made["id"]] == [event("d0").id, event("d1").id]
    subscribe(door, receiver, cursor=made["cursor"])
    assert not queued(), "a live subscription goes on"


def test_access_that_ends_ends_the_subscription(door: EndpointClient, receiver: Receiver) -> None:
    subscribe(door, receiver)
    receiver.reply_with(Reply(status=503), Reply(status=204, body=b""))
    stored = StoredEvent(event(), "1")
    assert deliveries.end(the_interest(), stored, 1) == 60
    assert deliveries.end(the_interest(), stored, 2) is None
    assert [one["type"] for one in receiver.messages] == ["terminated"] * 2
    assert len({one.headers["webhook-id"] for one in receiver.received}) == 1
    assert receiver.messages[-1]["error"]["code"] == -32012
    assert not interests.of("acme", NAME)


def test_no_delivery_leads_into_a_private_network(
    door: EndpointClient, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    subscribe(door, receiver)
    receiver.received.clear()
    caller = uma()
    monkeypatch.setenv("LOCAL_SERVICES", "")
    monkeypatch.setenv("ISSUER", "https://login.example.com")
    settings.cache_clear()
    assert deliver(event(), caller=caller) == 60
    assert not receiver.received


def test_a_delivery_is_accepted_whatever_its_answer_says(door: EndpointClient, receiver: Receiver) -> None:
    subscribe(door, receiver)
    receiver.reply_with(Reply(body=b"a" * 20_000))
    assert deliver(event()) is None


def test_an_event_reaches_its_callback_once_and_nothing_after_the_access_has_ended(
    door: EndpointClient, receiver: Receiver
) -> None:
    subscribe(door, receiver)
    receiver.reply_with(Reply(status=503), Reply(status=204, body=b""))
    publish.publish(event("d1"))
    publish.publish(event("d2", user="ada"))
    work_off()
    later = wall_clock() + 120
    consumer.send_due(Context(), lambda: later)  # type: ignore[arg-type]
    work_off(later)
    assert [one["eventId"] for one in receiver.messages] == [event("d1").id] * 2, "again after a refusal, then no more"
    publish.send({"organization": "acme", "event": event("d1").id})
    work_off(later)
    members.put_role("acme", Role("members", modules=("slack",)))
    directory.access_cache.clear()
    receiver.received.clear()
    publish.publish(event("d3"))
    work_off()
    assert [one["type"] for one in receiver.messages] == ["terminated"]
    assert verified(receiver)
    assert not interests.of("acme", NAME)


def test_policies_are_judged_at_each_delivery_and_each_poll(door: EndpointClient, receiver: Receiver) -> None:
    def hold(before: str) -> None:
        rule = f'@id("no") {before} forbid (principal, action == Action::"github.list_issues", resource);'
        base = '@id("base") permit (principal, action, resource);'
        directory.change("acme", edits.set_policies(Policies(0, f"{base} {rule}")))
        directory.access_cache.clear()

    subscribe(door, receiver)
    receiver.received.clear()
    hold("")
    publish.publish(event("d1"))
    work_off()
    assert not receiver.messages, "and the subscription stays: policies may depend on the time"
    assert ("github.list_issues", "POLICY_REFUSED") in [(row["tool"], row["outcome"]) for row in audit_items("acme")]
    polled = door.request("events/poll", name=NAME, arguments=PLACE, cursor=None, maxEvents=5)
    assert "POLICY_REFUSED" in json.dumps(polled)
    hold("@ask")
    assert "POLICY_REFUSED" in json.dumps(subscribe(door, receiver)), "nobody is there to be asked at a delivery"
    directory.change("acme", edits.set_policies(None))
    directory.access_cache.clear()
    publish.publish(event("d2"))
    work_off()
    assert [one["eventId"] for one in receiver.messages] == [event("d2").id]


def test_a_client_whose_login_has_ended_hears_of_nothing_more(door: EndpointClient, receiver: Receiver) -> None:
    subscribe(door, receiver)
    service = Subject(settings().public_url, "client-1")
    interests.add(replace(the_interest(), target=the_interest().target | {"login": "l1"}))
    service_credentials.store("client-1", ServiceCredentials("l1", "private_key_jwt", 1))
    assert deliver(event(), caller=replace(uma(), subject=service)) is None
    service_credentials.store("client-1", ServiceCredentials("l2", "private_key_jwt", 2))
    assert deliver(event("d2"), caller=replace(uma(), subject=service)) is None
    assert [one.get("eventId", "ended") for one in receiver.messages] == [event().id, "ended"]
    assert not interests.of("acme", NAME)


def test_the_page_about_events_does_what_it_says(door: EndpointClient, receiver: Receiver) -> None:
    page = (Path(__file__).parents[2] / "docs/events.md").read_text("utf-8")
    lines = "".join(re.findall(r"(?s)```jsonl\n(.*?)```", page)).replace("https://client.example.com", receiver.url)
    requests = list(map(json.loads, lines.splitlines()))
    assert [one["method"] for one in requests] == [
        f"events/{name}" for name in ("list", "subscribe", "unsubscribe", "poll")
    ]
    for request in requests:
        assert "result" in door.request(request["method"], **request["params"])
