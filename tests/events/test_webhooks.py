"""A webhook's whole life: subscribed with its person's account, verified, passed on once, and removed."""

import hashlib
import hmac
import json
import time
from dataclasses import replace
from typing import Any

import boto3
import pytest

from events.handler import handler
from mcpist.caller import Role
from mcpist.errors import EventTypeNotFound, InvalidRequest
from mcpist.events import interests, publish, sources, store
from mcpist.events.interests import Interest
from mcpist.events.sources import EventSource
from mcpist.people import directory
from mcpist.settings import settings
from mcpist.tools.access.permissions import Permissions
from mcpist_services import events
from tests import members
from tests.core.loopback import Service, json_response
from tests.events.conftest import REPOSITORY, SECRET, hook, permissions, queued, source_of, work_off
from tests.lambda_context import Context
from tests.rest_api.fake_broker import FakeBroker

INTEREST = Interest(
    id="i1", organization="acme", user="uma", type="github.issues", arguments=REPOSITORY, kind="automation"
)


STARTED = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


def payload(number: int = 7, **more: Any) -> dict[str, Any]:
    """What GitHub sends of an issue, abridged."""
    issue = {"number": number, "title": "Broken", "updated_at": STARTED, "labels": [{"name": "bug", "id": 1}]}
    repository = {"name": "hello-world", "owner": {"login": "octocat"}, "private": True}
    return {"action": "opened", "issue": issue, "repository": repository, "sender": {"id": 5, "login": "mia"}} | more


def subscribed(uma: Permissions, vendor: Service, interest: Interest = INTEREST) -> None:
    vendor.reply_with(json_response({"id": 42}, status=201))
    events.listen(uma, interest)
    assert work_off() == []


def test_a_subscription_is_made_with_the_persons_account_and_removed_with_its_last_interest(
    uma: Permissions, vendor: Service, broker: FakeBroker
) -> None:
    subscribed(uma, vendor)
    (request,) = vendor.received
    assert (request.method, request.path) == ("POST", "/repos/octocat/hello-world/hooks")
    assert request.headers["authorization"] == "Bearer t1"
    source = source_of()
    assert json.loads(request.body) == {
        "name": "web",
        "active": True,
        "events": ["issues"],
        "config": {
            "url": f"{settings().public_url}/hooks/{source.id}",
            "content_type": "json",
            "secret": SECRET,
            "insecure_ssl": "0",
        },
    }
    assert (source.state, source.subscription, source.user) == ("active", "42", "uma")
    (resolved,) = [one for one in broker.messages if one["operation"] == "resolve"]
    assert resolved["proof"] == {"kind": "permit", "value": "sealed-permit"}
    events.listen(uma, replace(INTEREST, id="i2", arguments={**REPOSITORY, "action": "closed"}))
    assert work_off() == []
    assert len(vendor.received) == 1, "both use one source"
    events.stop(INTEREST)
    assert source_of().state == "active"
    events.stop(replace(INTEREST, id="i2", arguments={**REPOSITORY, "action": "closed"}))
    assert work_off() == []
    assert (vendor.received[-1].method, vendor.received[-1].path) == ("DELETE", "/repos/octocat/hello-world/hooks/42")
    assert sources.of_user("acme", "uma") == []


def test_a_delivery_reaches_each_interest_that_matches_once(
    uma: Permissions, vendor: Service, delivered: list[tuple[str, str]]
) -> None:
    subscribed(uma, vendor)
    for id_, more in (("i2", {"labels": ["bug"]}), ("i3", {"action": "closed"})):
        events.listen(uma, replace(INTEREST, id=id_, arguments={**REPOSITORY, **more}))
    for _ in range(3):  # as GitHub does when it is asked to
        assert hook(source_of(), payload())["statusCode"] == 204
    assert work_off() == []
    (stored,) = store.read("acme", "uma", "github.issues", now=time.time()).events
    assert sorted(delivered) == [("i1", stored.event.id), ("i2", stored.event.id)]
    assert (stored.event.actor, stored.event.data["issue"]["labels"]) == ("5", ["bug"])
    assert "private" not in stored.event.data["repository"]
    assert hook(source_of(), payload(8))["statusCode"] == 204
    assert work_off() == []
    assert len(delivered) == 4


def test_nothing_is_taken_that_the_vendor_did_not_sign(uma: Permissions, vendor: Service) -> None:
    subscribed(uma, vendor)
    source = source_of()
    for headers in (
        {"x-hub-signature-256": ""},
        {"x-hub-signature-256": "sha256=" + "0" * 64},
        {"x-hub-signature-256": "sha256=☃"},
    ):
        refused = hook(source, payload(), **headers)
        assert (refused["statusCode"], json.loads(refused["body"])) == (401, {"code": "AUTHENTICATION_ERROR"})
    for unknown in (replace(source, token="0" * 32), replace(source, organization="globex")):
        assert hook(unknown, payload())["statusCode"] == 404
    assert store.read("acme", "uma", "github.issues", now=time.time()).events == ()
    assert queued() == []


def test_a_signature_counts_for_five_minutes(uma: Permissions) -> None:
    source = events.begin_source(uma, "slack.messages", {}, "signing-secret")
    assert source is not None
    event = {"type": "message", "channel": "C1", "text": "Hi"}
    body = {"type": "event_callback", "event_id": "Ev1", "event_time": int(time.time()), "event": event}
    assert [slack(source, body, age)["statusCode"] for age in (0, 290, 310, -310)] == [204, 204, 401, 401]
    assert len(store.read("acme", "uma", "slack.messages", now=time.time()).events) == 1


@pytest.mark.parametrize("digits", [400, 5000])
def test_a_moment_that_is_none_is_no_signature(uma: Permissions, digits: int) -> None:
    source = events.begin_source(uma, "slack.messages", {}, "signing-secret")
    assert source is not None
    signed = {"x-slack-request-timestamp": "9" * digits, "x-slack-signature": "v0=00"}
    assert hook(source, {}, **signed)["statusCode"] == 401


EVENT = {"type": "message", "channel": "C1", "text": "Hi"}
DELIVERY = {"type": "event_callback", "event_id": "Ev1", "event": EVENT}


@pytest.mark.parametrize(
    ("payload", "status"),
    [
        ([], 400),
        ({"type": "event_callback", "event": [1]}, 400),
        ({"type": "event_callback", "event": EVENT}, 400),
        (DELIVERY | {"event_time": "now"}, 400),
        (DELIVERY | {"event_time": 10**30}, 204),
    ],
)
def test_what_a_person_signs_who_knows_the_secret_is_no_defect_of_ours(
    uma: Permissions, payload: Any, status: int
) -> None:
    source = events.begin_source(uma, "slack.messages", {}, "signing-secret")
    assert source is not None
    assert slack(source, payload, 0)["statusCode"] == status
    assert store.read("acme", "uma", "slack.messages", now=time.time()).events == ()


def slack(source: EventSource, payload: Any, age: int) -> dict[str, Any]:
    """The handler's response to a delivery of Slack's that was signed so many seconds ago."""
    moment, body = str(int(time.time()) - age), json.dumps(payload)
    signed = hmac.new(b"signing-secret", f"v0:{moment}:{body}".encode(), hashlib.sha256).hexdigest()
    return hook(source, payload, **{"x-slack-request-timestamp": moment, "x-slack-signature": f"v0={signed}"})


def test_a_delivery_is_not_taken_again_once_it_is_forgotten(uma: Permissions, vendor: Service) -> None:
    subscribed(uma, vendor)
    old = payload()
    old["issue"]["updated_at"] = "2026-01-01T00:00:00Z"
    assert hook(source_of(), old)["statusCode"] == 204
    assert hook(source_of(), {"zen": "Keep it simple."}, name="ping")["statusCode"] == 204
    assert store.read("acme", "uma", "github.issues", now=time.time()).events == ()


@pytest.mark.usefixtures("organization")
def test_messages_say_whose_they_are_so_that_the_queue_can_be_fair() -> None:
    for name in ("acme", "globex"):
        publish.send({"organization": name, "event": "e1"})
    client = boto3.client("sqs")
    found = client.receive_message(QueueUrl=settings().event_queue, AttributeNames=["All"], MaxNumberOfMessages=10)
    groups = {one["Attributes"]["MessageGroupId"]: json.loads(one["Body"]) for one in found["Messages"]}
    assert {name: message["organization"] for name, message in groups.items()} == {"acme": "acme", "globex": "globex"}


def test_an_event_of_one_persons_source_is_for_this_person_alone(
    uma: Permissions, vendor: Service, delivered: list[tuple[str, str]]
) -> None:
    subscribed(uma, vendor)
    subscribed(permissions("ada"), vendor, replace(INTEREST, id="of-ada", user="ada"))
    assert hook(source_of("uma"), payload())["statusCode"] == 204
    assert work_off() == []
    assert [interest for interest, _ in delivered] == ["i1"]
    assert store.read("acme", "ada", "github.issues", now=time.time()).events == ()


def test_who_may_not_read_may_not_subscribe_and_hears_of_nothing_any_more(
    uma: Permissions, vendor: Service, delivered: list[tuple[str, str]]
) -> None:
    subscribed(uma, vendor)
    members.put_role("acme", Role("members", modules=("github",), deny=("github.list_issues",)))
    directory.access_cache.clear()
    assert hook(source_of(), payload())["statusCode"] == 204
    assert work_off() == []
    assert delivered == []
    with pytest.raises(EventTypeNotFound):
        events.listen(permissions("uma"), replace(INTEREST, id="i2"))
    assert "github.issues" not in {one.full_name for one in events.visible_types(permissions("uma"))}


def test_a_subscription_that_fails_is_tried_again_and_its_person_sees_why(uma: Permissions, vendor: Service) -> None:
    vendor.reply_with(json_response({"message": "Not Found"}, status=404))
    events.listen(uma, INTEREST)
    assert work_off() == []
    source = source_of()
    assert (source.state, source.failures) == ("starting", 1)
    assert "Not Found" in source.problem
    vendor.reply_with(json_response({"id": 43}, status=201))
    due = store.find_due(time.time() + 90, 10)
    assert [one["sk"] for one in due] == [source.token]
    assert handler({"source": "aws.events"}, Context()) == {"due": 0}  # type: ignore[arg-type]


def test_what_is_due_goes_to_the_queue_by_the_schedule(
    uma: Permissions, vendor: Service, delivered: list[tuple[str, str]]
) -> None:
    """A function was killed after it had stored an event; another one before its source began."""
    subscribed(uma, vendor)
    hook(source_of(), payload())
    assert len(queued()) == 1  # lost
    (stored,) = store.read("acme", "uma", "github.issues", now=time.time()).events
    event = replace(stored.event, id="e2")
    assert store.put(event, time.time() - 120)
    assert handler({"source": "aws.events"}, Context()) == {"due": 1}  # type: ignore[arg-type]
    assert work_off() == []
    assert delivered == [("i1", "e2")]
    assert handler({"source": "aws.events"}, Context()) == {"due": 0}  # type: ignore[arg-type]


def test_a_source_ends_with_its_persons_membership(uma: Permissions, vendor: Service) -> None:
    vendor.reply_with(json_response({"id": 42}, status=201))
    events.listen(uma, INTEREST)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(directory, "identify", _refuses)
        work_off()
    assert source_of().state == "ending"
    assert vendor.received == []


def _refuses(*_: Any, **__: Any) -> None:
    from mcpist.errors import MembershipRequired

    raise MembershipRequired(organization="acme")


def test_wrong_arguments_and_names_are_refused_before_anything_is_stored(uma: Permissions) -> None:
    for type_, arguments in (("github.issues", {"owner": "octocat"}), ("github.isues", REPOSITORY), ("x.y", {})):
        with pytest.raises((InvalidRequest, EventTypeNotFound)):
            events.listen(uma, replace(INTEREST, type=type_, arguments=arguments))
    assert interests.of_user("acme", "uma") == []
    assert boto3.client("sqs").receive_message(QueueUrl=settings().event_queue).get("Messages", []) == []
