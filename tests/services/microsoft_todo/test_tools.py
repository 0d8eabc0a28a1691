"""How tasks are dated, repeated, cleared and read, and how Graph pages."""

from functools import partial
from typing import Any

import pytest

from mcpist.errors import InvalidArguments, InvalidRequest
from mcpist.render.answer import compact
from mcpist.tools.declare.call import Call
from mcpist_services.microsoft_todo.tools import microsoft_todo
from tests.services.conversation import converse, work_of

LIST = "AAMkADIyAAAAABrJAAA="
TASK = {"list_id": LIST, "task_id": "AlMKXwbQAAAJws6wcAAAA="}
TASK_PATH = "/me/todo/lists/AAMkADIyAAAAABrJAAA%3D/tasks/AlMKXwbQAAAJws6wcAAAA%3D"
MONDAYS = {"type": "weekly", "interval": 1, "daysOfWeek": ["monday"]}
HOST = "https://graph.microsoft.com/v1.0"


work = partial(work_of, microsoft_todo)


def create(**arguments: Any) -> Any:
    made = work("create_task", list_id=LIST, title="Pay", **arguments)
    assert isinstance(made, Call)
    return made.json


def update(**arguments: Any) -> Any:
    made = work("update_task", **TASK, **arguments)
    assert isinstance(made, Call)
    assert (made.method, made.path) == ("PATCH", TASK_PATH)
    return made.json


# -- times --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("due", ["2026-01-31", "2026-01-31T00:00:00"])
def test_a_day_is_due_at_its_beginning(due: str) -> None:
    assert create(due=due)["dueDateTime"] == {"dateTime": "2026-01-31T00:00:00", "timeZone": "UTC"}


def test_times_are_in_the_given_time_zone() -> None:
    assert create(due="2026-01-31", reminder="2026-01-30T09:00:00", timezone="Tokyo Standard Time") == {
        "title": "Pay",
        "dueDateTime": {"dateTime": "2026-01-31T00:00:00", "timeZone": "Tokyo Standard Time"},
        "reminderDateTime": {"dateTime": "2026-01-30T09:00:00", "timeZone": "Tokyo Standard Time"},
        "isReminderOn": True,
    }


def test_a_reminder_with_an_offset_rings_at_its_moment() -> None:
    assert create(reminder="2026-01-31T09:00+09:00")["reminderDateTime"] == {
        "dateTime": "2026-01-31T00:00:00",
        "timeZone": "UTC",
    }


@pytest.mark.parametrize(("reminder", "field"), [("2026-01-31T09:00", "timezone"), ("2026-01-31", "reminder")])
def test_a_reminder_that_would_ring_at_another_time_is_refused(reminder: str, field: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        create(reminder=reminder)
    assert refused.value.details["field"] == field


def test_a_task_without_a_reminder_has_no_reminder_fields() -> None:
    assert create() == {"title": "Pay"}


@pytest.mark.parametrize(
    ("field", "time"),
    [
        ("due", "31.1.2026"),
        ("due", "none"),
        ("reminder", "09:00"),
    ],
)
def test_a_time_of_another_format_is_refused_before_any_request(field: str, time: str) -> None:
    with pytest.raises(InvalidArguments) as refused:
        create(**{field: time})
    assert refused.value.details["field"] == field


def test_a_task_repeats_from_the_day_when_it_is_due_and_without_dates_of_a_range() -> None:
    made = create(due="2026-02-02", recurrence=MONDAYS)
    assert made["recurrence"] == {"pattern": MONDAYS, "range": {"type": "noEnd"}}


def test_a_task_repeats_a_number_of_times() -> None:
    made = create(due="2026-02-02", recurrence=MONDAYS | {"numberOfOccurrences": 10})
    assert made["recurrence"] == {"pattern": MONDAYS, "range": {"type": "numbered", "numberOfOccurrences": 10}}


@pytest.mark.parametrize(
    "wrong",
    [
        {},
        {"type": "weekly"},
        MONDAYS | {"until": "2026-12-31"},
        MONDAYS | {"interval": 0},
        *({"type": "absoluteYearly", "interval": 1, "dayOfMonth": day, "month": 2} for day in (0, 32)),
        *({"type": "absoluteYearly", "interval": 1, "dayOfMonth": 1, "month": month} for month in (0, 13)),
        MONDAYS | {"numberOfOccurrences": 0},
    ],
)
def test_a_repetition_that_graph_would_not_understand_is_refused(wrong: Any) -> None:
    with pytest.raises(InvalidArguments):
        create(due="2026-02-02", recurrence=wrong)


def test_a_task_that_repeats_without_being_due_is_refused() -> None:
    with pytest.raises(InvalidRequest) as refused:
        create(recurrence=MONDAYS)
    assert refused.value.details["field"] == "due"
    with pytest.raises(InvalidRequest):
        update(recurrence=MONDAYS, due="none")


@pytest.mark.parametrize("tool", ["list_tasks", "get_task"])
def test_times_in_the_answer_are_in_the_requested_time_zone(tool: str) -> None:
    arguments = TASK if tool == "get_task" else {"list_id": LIST}
    asked = next(work(tool, **arguments, timezone="Asia/Tokyo"))
    assert asked.headers == {"prefer": 'outlook.timezone="Asia/Tokyo"'}
    assert next(work(tool, **arguments)).headers == {}


def test_a_time_zone_cannot_leave_its_header() -> None:
    with pytest.raises(InvalidArguments):
        work("list_tasks", list_id=LIST, timezone='UTC", odata.maxpagesize="1')


# -- changes ------------------------------------------------------------------------------------------


def test_cleared_fields_are_sent_as_null() -> None:
    assert update(title="Pay", due="none", reminder="none", recurrence="none") == {
        "title": "Pay",
        "dueDateTime": None,
        "reminderDateTime": None,
        "recurrence": None,
    }


def test_an_empty_text_and_an_empty_list_clear_their_fields() -> None:
    assert update(body="", categories=[]) == {"body": {"content": "", "contentType": "text"}, "categories": []}


@pytest.mark.parametrize("arguments", [{}, {"timezone": "Asia/Tokyo"}])
def test_a_change_of_nothing_is_refused(arguments: dict[str, Any]) -> None:
    with pytest.raises(InvalidRequest):
        update(**arguments)


def test_a_step_without_any_change_is_refused() -> None:
    with pytest.raises(InvalidRequest):
        work("update_checklist_item", **TASK, checklist_item_id="1")


@pytest.mark.parametrize("list_id", ["../lists", "a/b", "a b", ""])
def test_an_invalid_id_is_refused_before_any_request(list_id: str) -> None:
    with pytest.raises(InvalidArguments):
        work("get_list", list_id=list_id)


# -- answers ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("word", ["$skip", "$skiptoken"])
def test_pages_follow_the_link_and_keep_the_query(word: str) -> None:
    link = f"{HOST}/me/todo/lists/x/tasks?%24top=75&{word.replace('$', '%24')}=75"
    first = {"value": [{"id": "a"}] * 75, "@odata.nextLink": link}
    calls = work("list_tasks", list_id=LIST, filter="status ne 'completed'", limit=150)
    sent, tasks = converse(calls, first, {"value": [{"id": "b"}] * 75})
    assert [one["id"] for one in tasks["value"]] == ["a"] * 75 + ["b"] * 75
    question = {"$filter": "status ne 'completed'", "$top": 75}
    assert [one.query for one in sent] == [question, {**question, word: "75"}]
    assert {one.path for one in sent} == {"/me/todo/lists/AAMkADIyAAAAABrJAAA%3D/tasks"}


@pytest.mark.parametrize("word", ["$skip", "$skiptoken"])
def test_a_cut_list_continues_where_it_ended(word: str) -> None:
    link = f"{HOST}/me/todo/lists?%24top=2&{word.replace('$', '%24')}=2"
    _, cut = converse(work("list_lists", limit=2), {"value": [{}] * 2, "@odata.nextLink": link})
    cursor = cut.more.partition("cursor=")[2].rstrip(".")
    assert next(work("list_lists", cursor=cursor)).query == {"$top": 50, word: "2"}


def test_a_link_to_another_host_is_never_followed_there() -> None:
    first = {"value": [{}] * 100, "@odata.nextLink": "https://evil.example/me/todo/lists?$skip=100&$top=1"}
    sent, _ = converse(work("list_lists", limit=200), first, {"value": []})
    assert sent[1] == Call("GET", "/me/todo/lists", {"$top": 100, "$skip": "100"})


def read(task: dict[str, Any]) -> str:
    sent, told = converse(work("get_task", **TASK), {"title": "Pay", **task})
    assert sent == [Call("GET", TASK_PATH, {"$expand": "checklistItems,linkedResources"})]
    return compact(told, microsoft_todo.tools["get_task"].shows)


def test_a_task_is_shown_as_its_text_with_its_steps() -> None:
    steps = [{"displayName": "Find the bill", "isChecked": True}, {"displayName": "Pay it", "isChecked": False}]
    links = [{"webUrl": "https://example.com/bill"}]
    text = read({"body": {"content": "By card.\r\n"}, "checklistItems": steps, "linkedResources": links})
    assert text == ("title: Pay\nlinks: https://example.com/bill\n\nBy card.\n\n- [x] Find the bill\n- [ ] Pay it")


@pytest.mark.parametrize("body", [{}, {"body": None}, {"body": {"content": None}}, {"body": {"content": " \r\n"}}])
def test_a_task_without_text_and_steps_is_its_title(body: dict[str, Any]) -> None:
    assert read(body) == "title: Pay"


def test_the_resource_of_a_list_is_its_open_tasks() -> None:
    resource = microsoft_todo.resources["open_tasks"]
    arguments = resource.arguments(f"microsoft-todo://lists/{LIST}")
    assert arguments == {"list_id": LIST, "filter": "status ne 'completed'"}
    assert resource.arguments(f"microsoft-todo://lists/{LIST}/tasks/1") is None


def due(title: str, day: str | None = None, text: str = "") -> dict[str, Any]:
    time = day and {"dateTime": f"{day}T00:00:00.0000000", "timeZone": "UTC"}
    return {"id": title, "title": title, "body": {"content": text}, "dueDateTime": time}


def test_tasks_are_searched_in_all_lists_and_all_their_pages() -> None:
    lists = {"value": [{"id": "L1", "displayName": "Work"}, {"id": "L2", "displayName": "Home"}]}
    more = {"value": [due("Send the OFFER")], "@odata.nextLink": f"{HOST}/me/todo/lists/L1/tasks?$skip=100&$top=1"}
    sent, found = converse(
        work("search_tasks", text="offer send", timezone="Asia/Tokyo"),
        lists,
        more,
        {"value": [due("Call"), due("Ask", text="Send them the offer")]},
        {"value": [due("Send flowers")]},
    )
    assert [(call.path, call.query.get("$skip")) for call in sent[1:]] == [
        ("/me/todo/lists/L1/tasks", None),
        ("/me/todo/lists/L1/tasks", "100"),
        ("/me/todo/lists/L2/tasks", None),
    ]
    assert sent[1].query["$filter"] == "status ne 'completed'"
    assert sent[1].headers == {"prefer": 'outlook.timezone="Asia/Tokyo"'}
    assert [(task["title"], task["list"]["name"]) for task in found["value"]] == [
        ("Send the OFFER", "Work"),
        ("Ask", "Work"),
    ]


def test_tasks_due_until_a_day_leave_out_later_ones_and_those_without_a_day() -> None:
    tasks = {"value": [due("a", "2026-01-31"), due("b", "2026-02-01"), due("c")]}
    arguments = {"due_until": "2026-01-31", "completed": True}
    sent, found = converse(work("search_tasks", **arguments), {"value": [{"id": "L1"}]}, tasks)
    assert [task["title"] for task in found["value"]] == ["a"]
    assert "$filter" not in sent[1].query


def test_a_search_that_finds_more_says_so() -> None:
    tasks = {"value": [due("a"), due("b")]}
    _, found = converse(work("search_tasks", limit=1), {"value": [{"id": "L1"}, {"id": "L2"}]}, tasks)
    assert (len(found.json["value"]), "raise limit" in found.more) == (1, True)


def test_changes_are_read_to_their_end_and_name_where_the_next_ones_begin() -> None:
    page, last = (
        f"{HOST}/me/todo/lists/x/tasks/delta?$skiptoken=s2",
        f"{HOST}/me/todo/lists/x/tasks/delta?$deltatoken=d1",
    )
    removed = {"id": "2", "@removed": {"reason": "deleted"}}
    sent, found = converse(
        work("list_changes", list_id=LIST, since="$deltatoken=d0&$top=1"),
        {"value": [due("a")], "@odata.nextLink": page},
        {"value": [removed], "@odata.deltaLink": last},
    )
    assert [call.query for call in sent] == [{"$deltatoken": "d0"}, {"$skiptoken": "s2"}]
    assert found.json == {"value": [due("a"), removed], "since": "$deltatoken=d1"}
    assert "since=$deltatoken=d1" in found.more
    assert "deleted" in compact(found.json, microsoft_todo.tools["list_changes"].shows)


def test_changes_since_something_else_are_refused() -> None:
    with pytest.raises(InvalidRequest):
        next(work("list_changes", list_id=LIST, since="https://evil.example/"))
