"""How events are read, moved and answered, and what the clock says."""

from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import pytest

from mcpist.errors import InvalidArguments, InvalidRequest, ToolExecutionError
from mcpist.render.answer import compact
from mcpist.render.shows import project
from mcpist.tools.declare.call import Call, ServiceResponse
from mcpist_services.google_calendar.tools import google_calendar
from tests.services.conversation import converse, work_of

SPAN = {"start": "2026-01-31T09:00:00+09:00", "end": "2026-01-31T10:00:00+09:00"}
TIMED = {
    "start": {"dateTime": SPAN["start"], "timeZone": "Asia/Tokyo"},
    "end": {"dateTime": SPAN["end"], "timeZone": "Asia/Tokyo"},
}
ALL_DAY = {"start": {"date": "2026-01-31"}, "end": {"date": "2026-02-01"}}


work = partial(work_of, google_calendar)


def call(tool: str, **arguments: Any) -> Call:
    made = work(tool, **arguments)
    assert isinstance(made, Call)
    return made


def create(**arguments: Any) -> Any:
    return call("create_event", **{"summary": "Lunch", **SPAN, **arguments}).json


def update(present: dict[str, Any], **arguments: Any) -> Any:
    """The body of the PATCH of an event that is so."""
    sent, _ = converse(work("update_event", event_id="e1", **arguments), present, {"id": "e1"})
    assert [(one.method, one.path) for one in sent] == [
        ("GET", "/calendars/primary/events/e1"),
        ("PATCH", "/calendars/primary/events/e1"),
    ]
    return sent[1].json


# -- times --------------------------------------------------------------------------------------------


def test_a_date_makes_an_event_all_day() -> None:
    made = create(start="2026-01-31", end="2026-02-02", timezone="Asia/Tokyo")
    assert (made["start"], made["end"]) == ({"date": "2026-01-31"}, {"date": "2026-02-02"})


def test_a_time_without_an_offset_is_in_the_given_time_zone() -> None:
    made = create(start="2026-01-31T09:00:00", end="2026-01-31T10:00:00", timezone="Europe/Zurich")
    assert made["start"] == {"dateTime": "2026-01-31T09:00:00", "timeZone": "Europe/Zurich"}
    assert made["end"] == {"dateTime": "2026-01-31T10:00:00", "timeZone": "Europe/Zurich"}


@pytest.mark.parametrize(
    "arguments",
    [
        {"start": "2026-01-31T09:00:00"},
        {"end": "2026-01-31T10:00:00"},
        {"recurrence": ["RRULE:FREQ=DAILY;COUNT=3"]},
    ],
    ids=["a start without an offset", "an end without an offset", "a repeating time"],
)
def test_a_time_that_needs_a_time_zone_is_refused_without_one(arguments: dict[str, Any]) -> None:
    with pytest.raises(InvalidRequest) as refused:
        create(**arguments)
    assert refused.value.details["field"] == "timezone"


def test_an_all_day_event_repeats_without_a_time_zone() -> None:
    made = create(start="2026-01-31", end="2026-02-01", recurrence=["RRULE:FREQ=YEARLY"])
    assert made["recurrence"] == ["RRULE:FREQ=YEARLY"]


@pytest.mark.parametrize("start", ["31.1.2026", "2026-01-31 09:00", "09:00", "tomorrow"])
def test_a_time_of_another_format_is_refused_before_any_request(start: str) -> None:
    with pytest.raises(InvalidArguments) as refused:
        create(start=start)
    assert refused.value.details["field"] == "start"


@pytest.mark.parametrize("time", ["2026-01-31T09:00:00", "2026-01-31"])
def test_a_bound_without_an_offset_is_refused(time: str) -> None:
    with pytest.raises(InvalidArguments):
        work("list_events", time_min=time)


# -- changes ------------------------------------------------------------------------------------------


def test_a_change_of_texts_is_one_request() -> None:
    made = call("update_event", event_id="e1", summary="Dinner", location="", send_updates="none")
    assert made == Call(
        "PATCH", "/calendars/primary/events/e1", {"sendUpdates": "none"}, {"summary": "Dinner", "location": ""}
    )


def test_a_new_time_keeps_the_time_zone_that_the_event_has() -> None:
    assert update(TIMED, **SPAN) == {"start": {"dateTime": SPAN["start"]}, "end": {"dateTime": SPAN["end"]}}


@pytest.mark.parametrize(
    ("present", "arguments", "end"),
    [
        (TIMED, {"start": "2026-02-02T14:00+09:00"}, {"dateTime": "2026-02-02T15:00:00+09:00"}),
        (
            TIMED,
            {"start": "2026-02-02T14:00", "timezone": "Asia/Tokyo"},
            {"dateTime": "2026-02-02T15:00:00", "timeZone": "Asia/Tokyo"},
        ),
        (ALL_DAY, {"start": "2026-02-28"}, {"date": "2026-03-01"}),
    ],
    ids=["moment", "time in a zone", "day"],
)
def test_an_event_that_begins_at_another_time_keeps_its_length(
    present: dict[str, Any], arguments: dict[str, Any], end: dict[str, Any]
) -> None:
    assert update(present, **arguments)["end"] == end


def test_a_day_that_becomes_a_time_needs_an_end() -> None:
    with pytest.raises(InvalidRequest) as refused:
        update(ALL_DAY, start="2026-01-31T09:00+09:00")
    assert refused.value.details["field"] == "end"


def test_an_all_day_event_that_gets_a_time_loses_its_date() -> None:
    assert update(ALL_DAY, **SPAN, timezone="Asia/Tokyo") == {
        "start": {"dateTime": SPAN["start"], "timeZone": "Asia/Tokyo", "date": None},
        "end": {"dateTime": SPAN["end"], "timeZone": "Asia/Tokyo", "date": None},
    }


def test_an_event_that_becomes_all_day_loses_its_time() -> None:
    assert update(TIMED, start="2026-01-31", end="2026-02-01") == {
        "start": {"date": "2026-01-31", "dateTime": None},
        "end": {"date": "2026-02-01", "dateTime": None},
    }


def test_guests_who_stay_keep_their_answers() -> None:
    ada = {"email": "Ada@example.com", "responseStatus": "accepted", "optional": True}
    present = TIMED | {"attendees": [ada, {"email": "bob@example.com", "responseStatus": "declined"}]}
    changed = update(present, attendees=["ada@example.com", "eve@example.com"])
    assert changed == {"attendees": [ada, {"email": "eve@example.com"}]}


def test_the_first_guests_of_an_event_are_invited_and_all_can_be_removed() -> None:
    assert update(TIMED, attendees=["ada@example.com"]) == {"attendees": [{"email": "ada@example.com"}]}
    assert update(TIMED | {"attendees": [{"email": "ada@example.com"}]}, attendees=[]) == {"attendees": []}


def test_a_change_of_nothing_is_refused() -> None:
    with pytest.raises(InvalidRequest):
        work("update_event", event_id="e1", send_updates="all")


def test_a_time_zone_without_a_time_is_refused() -> None:
    with pytest.raises(InvalidRequest) as refused:
        work("update_event", event_id="e1", summary="Lunch", timezone="Asia/Tokyo")
    assert refused.value.details["field"] == "timezone"


def test_reminders_can_be_turned_off() -> None:
    made = call("update_event", event_id="e1", reminders=[], recurrence=[])
    assert made.json == {"recurrence": [], "reminders": {"useDefault": False, "overrides": []}}


@pytest.mark.parametrize(
    ("arguments", "updates"),
    [
        ({"attendees": ["ada@example.com"]}, "all"),
        ({"attendees": ["ada@example.com"], "send_updates": "none"}, "none"),
        ({"attendees": []}, "all"),
        ({"start": "2026-01-31", "end": "2026-02-01"}, "all"),
        ({"summary": "Dinner"}, None),
    ],
)
def test_guests_hear_of_new_times_and_guests_unless_told_otherwise(
    arguments: dict[str, Any], updates: str | None
) -> None:
    changed = work("update_event", event_id="e1", **arguments)
    sent, _ = converse(changed, TIMED, {}) if "summary" not in arguments else ([changed], None)
    assert sent[-1].query.get("sendUpdates") == updates


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("delete_event", {"event_id": "e1"}),
        ("move_event", {"event_id": "e1", "destination": "team@group.calendar.google.com"}),
        ("quick_add", {"text": "Lunch with ada@example.com at noon"}),
    ],
)
def test_guests_hear_that_an_event_is_new_or_moved_or_gone(tool: str, arguments: dict[str, Any]) -> None:
    assert call(tool, **arguments).query["sendUpdates"] == "all"
    assert call(tool, **arguments, send_updates="none").query["sendUpdates"] == "none"


def test_a_list_shows_the_place_the_guests_and_the_own_answer() -> None:
    guests = [{"email": "bob@example.com"}, {"email": "ada@example.com", "self": True, "responseStatus": "declined"}]
    event = {"id": "e1", **TIMED, "location": "Room 4", "attendees": guests, "hangoutLink": "https://meet.google.com/x"}
    _, events = converse(work("list_events", time_min=SPAN["start"]), {"items": [event, {"id": "e2", **ALL_DAY}]})
    rows = project(events, google_calendar.tools["list_events"].shows)
    assert (rows[0]["location"], rows[0]["response"], rows[0]["meet"]) == ("Room 4", "declined", event["hangoutLink"])
    assert rows[0]["attendees"] == ["bob@example.com", "ada@example.com"]
    assert rows[1]["response"] is None


def test_a_new_event_invites_its_guests() -> None:
    assert call("create_event", summary="Lunch", **SPAN, attendees=["ada@example.com"]).query == {"sendUpdates": "all"}


def link_request(present: dict[str, Any]) -> Any:
    return (
        update({**TIMED, **present}, conference=True)
        .get("conferenceData", {})
        .get("createRequest", {})
        .get("requestId")
    )


def test_a_meet_link_that_was_removed_is_requested_anew() -> None:
    assert link_request({"etag": '"1"'}) != link_request({"etag": '"2"'})
    assert link_request({"etag": '"1"', "hangoutLink": "https://meet.google.com/abc"}) is None


def test_an_event_that_changes_between_reading_and_writing_is_read_again() -> None:
    changed = ToolExecutionError(service="google_calendar", http_status=412, problem="Precondition Failed")
    ada = {"attendees": [{"email": "ada@example.com", "responseStatus": "accepted"}], "etag": '"2"'}
    sent, _ = converse(
        work("update_event", event_id="e1", attendees=["ada@example.com"]), {"etag": '"1"'}, changed, ada, {"id": "e1"}
    )
    assert [one.headers.get("if-match") for one in sent] == [None, '"1"', None, '"2"']
    assert sent[-1].json == {"attendees": ada["attendees"]}


def test_an_event_that_always_changes_is_an_error() -> None:
    changed = ToolExecutionError(service="google_calendar", http_status=412, problem="Precondition Failed")
    with pytest.raises(ToolExecutionError):
        converse(work("update_event", event_id="e1", attendees=[]), *[{"etag": '"1"'}, changed] * 3, {"id": "e1"})


def meet(**arguments: Any) -> str:
    asked: str = create(conference=True, **arguments)["conferenceData"]["createRequest"]["requestId"]
    return asked


def test_the_request_for_a_meet_link_has_the_same_id_for_the_same_event_only() -> None:
    assert meet() == meet()
    assert len({meet(), meet(summary="Dinner"), meet(calendar_id="team@example.com"), meet(location="Room 4")}) == 4


# -- lists and answers --------------------------------------------------------------------------------


def test_pages_follow_the_token_and_keep_the_query() -> None:
    first, second = {"items": [{"id": "a"}] * 150, "nextPageToken": "t2"}, {"items": [{"id": "b"}] * 150}
    sent, events = converse(work("list_events", q="budget", time_min=SPAN["start"], limit=300), first, second)
    assert [one["id"] for one in events["items"]] == ["a"] * 150 + ["b"] * 150
    question = {
        "timeMin": SPAN["start"],
        "q": "budget",
        "singleEvents": True,
        "orderBy": "startTime",
        "maxResults": 150,
    }
    assert [one.query for one in sent] == [question, {**question, "pageToken": "t2"}]


def test_a_list_begins_now_and_goes_on_from_the_same_moment() -> None:
    (first, second), _ = converse(
        work("list_events", limit=300), {"items": [{}] * 150, "nextPageToken": "t2"}, {"items": []}
    )
    assert abs(datetime.fromisoformat(first.query["timeMin"]) - datetime.now(UTC)) < timedelta(minutes=1)
    assert second.query["timeMin"] == first.query["timeMin"]
    resumed = next(work("list_events", cursor="pageToken=t2&timeMin=2026-01-31T09%3A00%3A00%2B09%3A00"))
    assert (resumed.query["timeMin"], resumed.query["pageToken"]) == (SPAN["start"], "t2")


def test_series_are_not_sorted_by_start() -> None:
    first = next(work("list_events", single_events=False, time_min=SPAN["start"]))
    assert first.query == {"timeMin": SPAN["start"], "singleEvents": False, "maxResults": 50}
    with pytest.raises(InvalidRequest):
        work("list_events", single_events=False, order_by="startTime")
    assert next(work("list_events", single_events=False, order_by="updated")).query["orderBy"] == "updated"


def test_events_are_rows_and_an_all_day_event_shows_its_dates() -> None:
    shows = google_calendar.tools["list_events"].shows
    timed = {"id": "a", "summary": "Lunch", "status": "confirmed", **TIMED}
    assert "start_date" not in compact({"items": [timed, timed]}, shows)
    mixed = compact({"items": [timed, {"id": "b", "summary": "Holiday", "status": "confirmed", **ALL_DAY}]}, shows)
    assert SPAN["start"] in mixed
    assert "2026-02-01" in mixed


def test_busy_times_are_rows_and_a_calendar_that_cannot_be_read_is_one_with_its_reason() -> None:
    busy = {"start": "2026-01-31T01:00:00Z", "end": "2026-01-31T02:00:00Z"}
    calendars = {
        "primary": {"busy": [busy, busy]},
        "eve@example.com": {"busy": []},
        "bob@example.com": {"errors": [{"domain": "global", "reason": "notFound"}]},
    }
    bounds = {"time_min": SPAN["start"], "time_max": SPAN["end"]}
    _, rows = converse(work("free_busy", **bounds), {"calendars": calendars})
    mine = {"calendar": "primary", **busy, "error": None}
    assert rows == [mine, mine, {"calendar": "bob@example.com", "start": None, "end": None, "error": "notFound"}]


def propose(busy: list[tuple[str, str]], **arguments: Any) -> list[dict[str, Any]]:
    """The proposals of a day, Friday the 30th in Tokyo unless said otherwise, with these busy times of one guest."""
    asked = {"time_min": "2026-01-30T00:00:00+09:00", "time_max": "2026-01-31T00:00:00+09:00", "timezone": "Asia/Tokyo"}
    calendars = {"ada@example.com": {"busy": [{"start": start, "end": end} for start, end in busy]}}
    made = work("propose_times", attendees=["ada@example.com"], **asked | arguments)
    return converse(made, {"calendars": calendars})[1]


def starts(rows: list[dict[str, Any]]) -> list[str]:
    return [row["start"][:16] for row in rows]


def test_proposals_are_half_hours_of_the_working_day_at_which_nobody_is_busy() -> None:
    busy = [("2026-01-30T00:10:00Z", "2026-01-30T01:40:00Z"), ("2026-01-30T02:30:00Z", "2026-01-30T08:00:00Z")]
    rows = propose(busy)
    assert starts(rows) == ["2026-01-30T11:00", "2026-01-30T17:00", "2026-01-30T17:30"]
    assert rows[0] == {
        "start": "2026-01-30T11:00:00+09:00",
        "end": "2026-01-30T11:30:00+09:00",
        "weekday": "Friday",
        "not_visible": [],
    }


def test_a_busy_time_that_only_touches_a_slot_does_not_take_it() -> None:
    assert starts(propose([("2026-01-30T00:00:00Z", "2026-01-30T08:00:00Z")], duration_minutes=60)) == [
        "2026-01-30T17:00"
    ]


def test_proposals_keep_to_the_stated_hours_and_are_as_many_as_wanted() -> None:
    assert starts(propose([], working_hours="13:00-17:00", duration_minutes=90, limit=9)) == [
        "2026-01-30T13:00",
        "2026-01-30T14:30",
    ]
    assert len(propose([], limit=2)) == 2


def test_nothing_is_proposed_before_the_first_moment_or_on_a_weekend() -> None:
    week = {"time_min": "2026-01-30T17:05:00+09:00", "time_max": "2026-02-02T10:00:00+09:00"}
    assert starts(propose([], **week)) == ["2026-01-30T17:30", "2026-02-02T09:00", "2026-02-02T09:30"]
    assert starts(propose([], **week, weekends=True))[1] == "2026-01-31T09:00"


def test_working_hours_follow_the_clock_when_it_changes() -> None:
    over = {"time_min": "2026-03-27T00:00:00Z", "time_max": "2026-03-31T00:00:00Z", "timezone": "Europe/Zurich"}
    rows = propose([], **over, duration_minutes=540)
    assert [row["start"] for row in rows] == ["2026-03-27T09:00:00+01:00", "2026-03-30T09:00:00+02:00"]


def test_a_guest_whose_calendar_cannot_be_read_is_named_with_each_proposal() -> None:
    hidden = {"bob@example.com": {"errors": [{"reason": "notFound"}], "busy": []}}
    made = work("propose_times", attendees=["bob@example.com"], time_min=SPAN["start"], time_max="2026-02-07T00:00:00Z")
    sent, rows = converse(made, {"value": "Asia/Tokyo"}, {"calendars": {"primary": {"busy": []}} | hidden})
    assert [one.path for one in sent] == ["/users/me/settings/timezone", "/freeBusy"]
    assert sent[1].json["timeZone"] == "Asia/Tokyo"
    assert sent[1].json["items"] == [{"id": "primary"}, {"id": "bob@example.com"}]
    assert all(row["not_visible"] == ["bob@example.com"] for row in rows)
    assert len(rows) == 5


def test_working_hours_end_after_they_start() -> None:
    with pytest.raises(InvalidRequest) as refused:
        propose([], working_hours="18:00-09:00")
    assert refused.value.details["field"] == "working_hours"


# -- answers and absences -----------------------------------------------------------------------------


def test_an_answer_changes_its_own_guest_alone() -> None:
    me = {"email": "ada@example.com", "self": True, "responseStatus": "needsAction", "optional": True}
    made = work("answer_invitation", event_id="e1", response="declined", comment="I am away.")
    sent, answered = converse(made, {"attendeesOmitted": True, "attendees": [me]}, {"id": "e1"})
    assert sent[0] == Call("GET", "/calendars/primary/events/e1", {"maxAttendees": 1})
    assert (sent[1].method, sent[1].query) == ("PATCH", {"sendUpdates": "all"})
    mine = me | {"responseStatus": "declined", "comment": "I am away."}
    assert sent[1].json == {"attendeesOmitted": True, "attendees": [mine]}
    assert answered == {"id": "e1", "response": "declined"}


@pytest.mark.parametrize("event", [{}, {"attendees": [{"email": "bob@example.com"}]}], ids=["no guests", "others"])
def test_who_is_not_invited_cannot_answer(event: dict[str, Any]) -> None:
    with pytest.raises(InvalidRequest):
        converse(work("answer_invitation", event_id="e1", response="accepted"), event)


def test_days_out_of_office_begin_and_end_at_the_zones_midnight() -> None:
    made = call("create_out_of_office", start="2026-01-30 Asia/Tokyo", end="2026-02-02 Asia/Tokyo", declines="all")
    assert made.json["start"] == {"dateTime": "2026-01-30T00:00:00+09:00"}
    assert made.json["end"] == {"dateTime": "2026-02-02T00:00:00+09:00"}
    assert made.json["outOfOfficeProperties"] == {"autoDeclineMode": "declineAllConflictingInvitations"}


@pytest.mark.parametrize(
    ("place", "properties"),
    [
        ("home", {"type": "homeOffice", "homeOffice": {}}),
        ("office", {"type": "officeLocation", "officeLocation": {"label": "Osaka"}}),
        ("elsewhere", {"type": "customLocation", "customLocation": {"label": "Osaka"}}),
    ],
)
def test_a_working_location_is_of_one_day(place: str, properties: dict[str, Any]) -> None:
    made = call("create_working_location", day="2026-01-31", place=place, label="Osaka")
    assert (made.json["start"], made.json["end"]) == ({"date": "2026-01-31"}, {"date": "2026-02-01"})
    assert made.json["workingLocationProperties"] == properties


def test_events_of_a_kind_are_listed() -> None:
    first = next(work("list_events", event_types=["outOfOffice", "focusTime"], time_min=SPAN["start"]))
    assert first.query["eventTypes"] == ["outOfOffice", "focusTime"]


# -- the clock ----------------------------------------------------------------------------------------


def now(zone: str, headers: dict[str, str]) -> Any:
    return converse(work("get_current_time"), ServiceResponse(200, headers, {"id": "timezone", "value": zone}))[1]


def test_the_time_is_the_services_in_the_accounts_zone() -> None:
    told = now("Asia/Tokyo", {"date": "Sat, 31 Jan 2026 15:30:00 GMT"})
    assert told == {"time": "2026-02-01T00:30:00+09:00", "weekday": "Sunday", "timezone": "Asia/Tokyo"}


def test_a_time_in_an_unknown_zone_is_shown_in_utc() -> None:
    told = now("Mars/Olympus", {"date": "Sat, 31 Jan 2026 15:30:00 GMT"})
    assert told == {"time": "2026-01-31T15:30:00+00:00", "weekday": "Saturday", "timezone": "Mars/Olympus"}


def test_without_the_services_time_ours_is_used() -> None:
    told = datetime.fromisoformat(now("Europe/Zurich", {})["time"])
    assert abs(told - datetime.now(UTC)) < timedelta(minutes=1)


# -- resources ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("uri", "first", "last"),
    [
        ("google-calendar://primary/2026-01-31", "2026-01-31T00:00:00Z", "2026-02-01T00:00:00Z"),
        ("google-calendar://primary/2026-12-31+09:00", "2026-12-31T00:00:00+09:00", "2027-01-01T00:00:00+09:00"),
        ("google-calendar://primary/2026-12-31%2B09:00", "2026-12-31T00:00:00+09:00", "2027-01-01T00:00:00+09:00"),
    ],
)
def test_the_resource_of_a_day_is_its_events(uri: str, first: str, last: str) -> None:
    arguments = google_calendar.resources["day"].arguments(uri)
    assert arguments == {"calendar_id": "primary", "time_min": first, "time_max": last}
    google_calendar.tools["list_events"].validate(arguments)


@pytest.mark.parametrize("day", ["today", "2026-02-30", "9999-12-31"])
def test_an_invalid_day_in_a_resource_address_is_refused(day: str) -> None:
    with pytest.raises(InvalidRequest):
        google_calendar.resources["day"].arguments(f"google-calendar://primary/{day}")


def test_the_resource_address_of_an_event_is_not_that_of_a_day() -> None:
    uri = "google-calendar://ada%40example.com/events/e1"
    assert google_calendar.resources["event"].arguments(uri) == {"calendar_id": "ada@example.com", "event_id": "e1"}
    assert google_calendar.resources["day"].arguments(uri) is None
