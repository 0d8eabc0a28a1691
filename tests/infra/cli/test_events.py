"""`mcpist events`: the event types, and the last events of one."""

import time

import pytest

from infra.cli import events as command
from infra.cli.document import LOCALE
from infra.cli.rest_client import Access
from mcpist.events import store
from mcpist.events.event import Event
from tests.infra.cli.conftest import Mcpist


def stored(number: int, user: str = "uma", **data: str) -> str:
    """Store an event of a person, and return its id."""
    event = Event(
        id=f"e{number}",
        organization="acme",
        user=user,
        type="files.stored",
        occurred_at=1_795_000_000 + number,
        data={"path": f"{number}.csv", **data},
    )
    assert store.put(event, time.time() - 100 + number)
    return event.id


def test_types_and_the_persons_own_last_events_are_listed(mcpist: Mcpist) -> None:
    types = {one["name"]: one["delivery"] for one in mcpist("events")["types"]}
    assert (types["files.stored"], types["github.issues"]) == ("own", "webhook")
    assert mcpist("events", "--type", "files.stored")["events"] == []
    one, two = stored(1), stored(2)
    stored(3, "ada")
    found = mcpist("events", "--type", "files.stored", "--limit", "1")
    assert [event["id"] for event in found["events"]] == [two]
    first = mcpist("events", "--type", "files.stored")["events"][-1]
    assert (first["id"], first["data"]) == (one, {"path": "1.csv"})
    later = mcpist("events", "--type", "files.stored", "--after", first["cursor"])
    assert [event["id"] for event in later["events"]] == [two]
    error = mcpist("events", "--type", "files.store", fails=True)
    assert (error["code"], "files.stored" in error["hint"]) == ("EVENT_TYPE_NOT_FOUND", True)


@pytest.mark.usefixtures("mcpist")
def test_a_terminal_shows_the_types_and_the_time_and_data_of_each_event(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "300")
    head, *rows = command.list_events(Access()).drawing.splitlines()
    assert head.split() == ["type", "from", "event"]
    assert any(row.startswith("jira.issues") and " polled " in row for row in rows)
    assert command.list_events(Access(), "files.stored").drawing == "no events"
    stored(1, content_type="x" * 1_000)
    _, row, later = command.list_events(Access(), "files.stored").drawing.splitlines()
    assert row.startswith('2026-11-18 11:06:41  e1     {"path":"1.csv"')
    assert row.endswith("x…")
    assert later.startswith("later: --after 1")
    token = LOCALE.set("ja")
    try:
        assert command.list_events(Access()).drawing.split()[:3] == ["種類", "取得方法", "イベント"]
    finally:
        LOCALE.reset(token)
