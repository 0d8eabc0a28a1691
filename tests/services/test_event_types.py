"""The event types of all services: what they declare, what they ask the vendor, and what they read of its answers."""

import hashlib
import hmac
import json
from typing import Any

import pytest

from mcpist.events.event_type import EventType, HookRequest, Polled, Webhook
from mcpist.tools.declare.call import Call
from mcpist_services.catalogue import CATALOGUE
from mcpist_services.events import deployed_types
from mcpist_services.saved.module import saved

TYPES = {one.full_name: one for types in deployed_types().values() for one in types}
NOW = 1_800_000_000  # 2027-01-15T08:00:00Z
EARLIER, LATER = "2027-01-15T07:59:00Z", "2027-01-15T08:00:30Z"
CURSOR = str(NOW - 60)
ROWS: dict[str, tuple[dict[str, Any], Any, dict[str, Any]]] = {
    # The arguments, the vendor's answer, and the payload of its event.
    "jira.issues": (
        {"jql": "project = ENG"},
        {
            "issues": [
                {"id": "1", "key": "ENG-1", "fields": {"updated": "2027-01-15T07:00:00.000+0000"}},
                {
                    "id": "2",
                    "key": "ENG-2",
                    "fields": {"updated": "2027-01-15T17:00:30.000+0900", "status": {"name": "Done"}, "labels": ["a"]},
                },
            ]
        },
        {"id": "2", "key": "ENG-2", "status": "Done", "labels": ["a"], "updated": "2027-01-15T17:00:30.000+0900"},
    ),
    "notion.pages": (
        {},
        {
            "results": [
                {"id": "p2", "last_edited_time": LATER, "last_edited_by": {"id": "u1"}, "icon": None},
                {"id": "p1", "last_edited_time": "2027-01-15T07:00:00.000Z"},
            ]
        },
        {"id": "p2", "last_edited_time": LATER, "last_edited_by": {"id": "u1"}},
    ),
    "google_calendar.events": (
        {"calendar_id": "primary"},
        {"items": [{"id": "e1", "status": "cancelled", "updated": LATER, "attendees": [{"email": "a@example.com"}]}]},
        {"id": "e1", "status": "cancelled", "updated": LATER, "attendees": ["a@example.com"]},
    ),
    "microsoft_todo.tasks": (
        {"list_id": "AAMk="},
        {"value": [{"id": "t1", "title": "Pay", "lastModifiedDateTime": "2027-01-15T08:00:30.1234567Z", "etag": "x"}]},
        {"id": "t1", "title": "Pay", "lastModifiedDateTime": "2027-01-15T08:00:30.1234567Z"},
    ),
    "supabase.rows": (
        {"project_ref": "a" * 20, "schema": "public", "table": "orders", "column": "updated_at"},
        [{"mcpist_changed_at": "2027-01-15 08:00:30.5+00", "row": {"id": 7, "status": "paid"}}],
        {"row": {"id": 7, "status": "paid"}},
    ),
}
CALLS = {
    "jira.issues": Call(
        "POST",
        "/rest/api/3/search/jql",
        json={
            "jql": "(project = ENG) AND updated >= -3m ORDER BY updated ASC",
            "fields": [
                *("summary", "status", "assignee", "reporter", "priority"),
                *("issuetype", "project", "labels", "created", "updated"),
            ],
            "maxResults": 100,
        },
    ),
    "notion.pages": Call(
        "POST",
        "/v1/search",
        json={
            "sort": {"timestamp": "last_edited_time", "direction": "descending"},
            "filter": {"property": "object", "value": "page"},
            "page_size": 100,
        },
    ),
    "google_calendar.events": Call(
        "GET",
        "/calendars/primary/events",
        {"updatedMin": EARLIER, "orderBy": "updated", "showDeleted": True, "maxResults": 250},
    ),
    "microsoft_todo.tasks": Call(
        "GET",
        "/me/todo/lists/AAMk%3D/tasks",
        {"$filter": f"lastModifiedDateTime ge {EARLIER}", "$orderby": "lastModifiedDateTime", "$top": 100},
    ),
    "supabase.rows": Call(
        "POST",
        f"/v1/projects/{'a' * 20}/database/query/read-only",
        json={
            "query": 'select "updated_at" as mcpist_changed_at, to_jsonb(t) as row from "public"."orders" t '
            'where "updated_at" >= $1::timestamptz order by 1 limit 100',
            "parameters": [CURSOR],
        },
    ),
}


def test_every_type_needs_a_tool_that_reads_and_compares_fields_that_its_payload_has() -> None:
    for name, one in TYPES.items():
        if one.tool:
            module = saved if one.module == "saved" else CATALOGUE.module(one.module)
            assert module.tools[one.tool].reads, name
        for path in one.paths.values():
            schema: Any = one.payload
            for key in path.split("."):
                schema = schema["properties"][key]
            assert schema["type"] in {"string", "array", "integer", "boolean"}, (name, path)
        assert one.description.endswith("."), name
        assert all(argument["description"] for argument in one.arguments["properties"].values()), name
        assert (one.source is None) == (one.module in {"files", "batches", "automations", "saved"}), name


@pytest.mark.parametrize("name", ROWS)
def test_a_poll_asks_for_what_changed_and_reads_each_change_once(name: str) -> None:
    arguments, answer, payload = ROWS[name]
    event_type = TYPES[name]
    polled = event_type.source
    assert isinstance(polled, Polled)
    event_type.check(arguments)
    assert polled.call(arguments, CURSOR, NOW) == CALLS[name]
    occurrences, cursor = polled.read(answer, CURSOR, NOW)
    (occurrence,) = occurrences
    assert event_type.project(occurrence.data) == payload
    assert occurrence.occurred_at == NOW + 30
    again, same = polled.read(answer, cursor, NOW + 120)
    assert {one.delivery for one in again} <= {occurrence.delivery}
    assert same == cursor
    empty = {"issues": [], "results": [], "items": [], "value": []} if isinstance(answer, dict) else []
    assert polled.read(empty, "", NOW)[0] == []


def slack(payload: dict[str, Any], **headers: str) -> HookRequest:
    body = json.dumps(payload).encode()
    return HookRequest(headers=headers, body=body, source="acme.s1")


def test_slack_signs_the_moment_with_the_body_and_is_answered_its_challenge() -> None:
    hook = TYPES["slack.messages"].source
    assert isinstance(hook, Webhook)
    request = slack({"type": "url_verification", "challenge": "c1"})
    signed = hmac.new(b"s", b"v0:1800000000:" + request.body, hashlib.sha256).hexdigest()
    headers = {"x-slack-request-timestamp": "1800000000", "x-slack-signature": f"v0={signed}"}
    request = slack({"type": "url_verification", "challenge": "c1"}, **headers)
    signature = hook.signature(request)
    assert signature is not None
    assert hmac.new(b"s", signature.message, hashlib.sha256).hexdigest() == signature.given
    assert signature.signed_at == NOW
    assert hook.answer(request) == {"challenge": "c1"}
    for wrong in ({}, {**headers, "x-slack-signature": "v1=0"}, {**headers, "x-slack-request-timestamp": "now"}):
        assert hook.signature(slack({}, **wrong)) is None


@pytest.mark.parametrize(
    ("name", "event", "payload"),
    [
        (
            "slack.messages",
            {"type": "message", "channel": "C1", "user": "U1", "text": "Hi", "ts": "1.2", "blocks": []},
            {"type": "message", "channel": "C1", "user": "U1", "text": "Hi", "ts": "1.2", "team": "T1"},
        ),
        ("slack.messages", {"type": "message", "subtype": "message_changed", "channel": "C1"}, None),
        ("slack.mentions", {"type": "message", "channel": "C1"}, None),
        (
            "slack.reactions",
            {"type": "reaction_removed", "user": "U1", "reaction": "eyes", "item": {"channel": "C1", "ts": "1.2"}},
            {
                "type": "reaction_removed",
                "user": "U1",
                "reaction": "eyes",
                "item": {"channel": "C1", "ts": "1.2"},
                "team": "T1",
            },
        ),
    ],
)
def test_slacks_events_are_of_one_type_each(name: str, event: dict[str, Any], payload: dict[str, Any] | None) -> None:
    event_type: EventType = TYPES[name]
    assert isinstance(event_type.source, Webhook)
    request = slack({"type": "event_callback", "event_id": "Ev1", "event_time": NOW, "team_id": "T1", "event": event})
    found = [
        (one.delivery, one.occurred_at, one.actor, event_type.project(one.data))
        for one in event_type.source.occurrences(request, event_type.name)
    ]
    assert found == ([("Ev1", NOW, "U1", payload)] if payload else [])


@pytest.mark.parametrize(
    ("name", "header", "moment"),
    [
        ("issues", "issues", {"issue": {"updated_at": LATER}}),
        ("pulls", "pull_request", {"pull_request": {"updated_at": LATER}}),
        ("pushes", "push", {"repository": {"pushed_at": NOW + 30}}),
        ("runs", "workflow_run", {"workflow_run": {"updated_at": LATER}}),
        ("releases", "release", {"release": {"published_at": LATER}}),
    ],
)
def test_githubs_deliveries_say_when_and_are_known_by_their_bodies(
    name: str, header: str, moment: dict[str, Any]
) -> None:
    hook = TYPES[f"github.{name}"].source
    assert isinstance(hook, Webhook)
    body = json.dumps(moment | {"sender": {"id": 5}}).encode()
    request = HookRequest(headers={"x-github-event": header, "x-github-delivery": "any"}, body=body, source="acme.s1")
    (found,) = hook.occurrences(request, name)
    assert (found.occurred_at, found.actor) == (NOW + 30, "5")
    assert found.delivery == hashlib.sha256(body).hexdigest()
    other = HookRequest(headers={"x-github-event": "star"}, body=body, source="acme.s1")
    assert list(hook.occurrences(other, name)) == []
