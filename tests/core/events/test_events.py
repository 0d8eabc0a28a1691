"""Events in the table: stored once, read after a cursor, due until they are sent, dealt with once by each interest."""

import json
from dataclasses import replace
from typing import Any

import boto3
import pytest

from mcpist.errors import InvalidRequest, PayloadTooLarge, TooManyInterests
from mcpist.events import interests, own, publish, store
from mcpist.events.event import Event, event_id
from mcpist.events.event_type import Argument, event_type
from mcpist.events.interests import Interest
from mcpist.files import records
from mcpist.settings import settings

pytestmark = pytest.mark.usefixtures("organization")
NOW = 1_800_000_000.0
ISSUES = event_type(
    "tracker",
    "issues",
    "An issue was opened or changed.",
    tool="get_issue",
    arguments={
        "project": Argument("project.key", "The project's key", locates=True),
        "labels": Argument(
            "issue.labels", "Any of these labels", schema={"type": "array", "items": {"type": "string"}}
        ),
    },
    payload="action issue.number:integer issue.title issue.labels:list project.key",
)
INTEREST = Interest(
    id="i1", organization="acme", user="uma", type="tracker.issues", arguments={"project": "ENG"}, kind="automation"
)


def event(delivery: str = "d1", **more: Any) -> Event:
    data = {"action": "opened", "issue": {"number": 7, "labels": ["bug"]}, "project": {"key": "ENG"}}
    fields = {
        "source": "acme.s1",
        "organization": "acme",
        "user": "uma",
        "type": "tracker.issues",
        "occurred_at": int(NOW),
        "data": data,
    }
    return Event(id=event_id("acme.s1", delivery), **fields | more)


def queued() -> list[dict[str, Any]]:
    found = boto3.client("sqs").receive_message(QueueUrl=settings().event_queue, MaxNumberOfMessages=10)
    return [json.loads(message["Body"]) for message in found.get("Messages", [])]


def test_an_event_is_stored_and_sent_once_however_often_it_is_delivered() -> None:
    assert publish.publish(event())
    assert not publish.publish(event())
    assert queued() == [{"organization": "acme", "event": event().id}]
    stored = store.get("acme", event().id)
    assert stored is not None
    assert stored.event == event()
    assert store.find_due(2e9, 10) == []


def test_an_event_that_a_killed_function_did_not_send_is_due() -> None:
    store.put(event(), NOW)
    assert store.find_due(NOW, 10) == []
    (item,) = store.find_due(NOW + store.UNSENT_SECONDS, 10)
    assert (item["organization"], item["id"]) == ("acme", event().id)
    assert store.postpone(item, NOW + 600)
    assert not store.postpone(item, NOW + 600), "another run has taken it"
    assert store.find_due(NOW + store.UNSENT_SECONDS, 10) == []


def test_events_are_read_after_a_cursor_that_waits_for_those_still_being_stored() -> None:
    for number in range(3):
        store.put(event(f"d{number}"), NOW + number)
    store.put(event("other", user="ada"), NOW)
    later = NOW + 60
    page = store.read("acme", "uma", "tracker.issues", now=later, limit=2)
    assert ([one.event.id for one in page.events], page.has_more) == ([event("d0").id, event("d1").id], True)
    rest = store.read("acme", "uma", "tracker.issues", now=later, after=page.cursor)
    assert [one.event.id for one in rest.events] == [event("d2").id]
    assert store.read("acme", "uma", "tracker.issues", now=later, after=rest.cursor).events == ()
    # Stored after a reader had read a later one.
    early = store.read("acme", "uma", "tracker.issues", now=NOW + 3)
    store.put(event("slow"), NOW + 1.5)
    again = store.read("acme", "uma", "tracker.issues", now=later, after=early.cursor)
    assert event("slow").id in {one.event.id for one in again.events}
    assert store.read("acme", "ada", "tracker.other", now=later).events == ()


def test_a_type_checks_arguments_and_matches_events_by_them() -> None:
    assert ISSUES.matches({"project": "eng"}, event())
    assert ISSUES.matches({"project": "ENG", "labels": ["docs", "bug"]}, event())
    assert not ISSUES.matches({"project": "ENG", "labels": ["docs"]}, event())
    assert not ISSUES.matches({"project": "OPS"}, event())
    assert not ISSUES.matches({"project": "ENG"}, event(type="tracker.other"))
    for arguments, field in (
        ({}, "project"),
        ({"project": "ENG", "colour": "red"}, "colour"),
        ({"project": 5}, "project"),
    ):
        with pytest.raises(InvalidRequest) as raised:
            ISSUES.check(arguments)
        assert raised.value.details["field"] == field
    vendor = {"action": "opened", "secret": "x", "issue": {"number": 7, "body": "long"}, "project": None}
    assert ISSUES.project(vendor) == {"action": "opened", "issue": {"number": 7}}
    assert ISSUES.payload["properties"]["issue"]["properties"]["number"] == {"type": "integer"}


def test_interests_are_found_by_type_and_by_person(monkeypatch: pytest.MonkeyPatch) -> None:
    interests.add(INTEREST)
    interests.add(replace(INTEREST, id="i2", user="ada", kind="callback", target={"url": "https://example.com"}))
    interests.add(replace(INTEREST, id="i3", type="tracker.issues_closed"))
    assert [one.id for one in interests.of("acme", "tracker.issues")] == ["i1", "i2"]
    assert [one.id for one in interests.of_user("acme", "uma")] == ["i1", "i3"]
    assert interests.of("globex", "tracker.issues") == []
    assert interests.find("acme", "tracker.issues", "i1") == INTEREST
    assert interests.remove(INTEREST)
    assert not interests.remove(INTEREST)
    assert interests.find("acme", "tracker.issues", "i1") is None
    monkeypatch.setattr(interests, "MAX_INTERESTS", 1)
    with pytest.raises(TooManyInterests):
        interests.add(INTEREST)


def test_an_interest_deals_with_an_event_once() -> None:
    first = interests.claim(INTEREST, event(), NOW)
    assert first is not None
    with pytest.raises(interests.AttemptRunning):
        interests.claim(INTEREST, event(), NOW + 1)
    second = interests.claim(INTEREST, event(), NOW + interests.ATTEMPT_SECONDS + 1)
    assert second is not None
    assert second.number == 2
    interests.again(second, NOW + 600)
    assert interests.claim(INTEREST, event(), NOW + 599) is None
    (due,) = store.find_due(NOW + 600, 10)
    assert (due["organization"], due["interest"], due["type"], due["sk"]) == (
        "acme",
        "i1",
        "tracker.issues",
        event().id,
    )
    third = interests.claim(INTEREST, event(), NOW + 600)
    assert third is not None
    assert store.find_due(NOW + 600, 10) == []
    interests.settle(third)
    assert interests.claim(INTEREST, event(), NOW + 9_999) is None
    assert interests.claim(replace(INTEREST, id="i2"), event(), NOW) is not None


def test_our_own_events_cost_no_request_where_nobody_asked_for_them(aws: list[str]) -> None:
    own = event(type="files.stored", source="")
    publish.publish_own(own)
    aws.clear()
    publish.publish_own(own)
    assert aws == []
    interests.add(replace(INTEREST, type="files.stored"))
    publish.publish_own(own)
    assert len(queued()) == 1


def test_a_finished_batch_and_a_stored_file_are_events_of_their_person() -> None:
    for type_ in ("batches.finished", "files.stored"):
        interests.add(replace(INTEREST, id=type_, type=type_))
    for _ in range(2):  # as after a sandbox that was killed
        own.batch_finished("acme", "uma", "b1", {"a": "succeeded", "b": "skipped", "c": "failed"})
    file = records.record("acme", "uma", b"[1]", "application/json")
    (finished,) = store.read("acme", "uma", "batches.finished", now=2e9).events
    assert (finished.event.data["outcome"], finished.event.data["failed"]) == ("failed", ["c"])
    assert (finished.event.actor, finished.event.source) == ("uma", "")
    (stored,) = store.read("acme", "uma", "files.stored", now=2e9).events
    assert (stored.event.data["path"], stored.event.data["size_bytes"]) == (file.path, 3)
    assert len(queued()) == 2


def test_an_event_that_is_too_large_is_refused() -> None:
    with pytest.raises(PayloadTooLarge):
        publish.publish(event(data={"text": "a" * store.MAX_EVENT_BYTES}))
