"""A source without a webhook: polled with its person's account, from a cursor."""

import time
from dataclasses import replace

import pytest

from events.tending import tend
from mcpist.events import sources, store
from mcpist.events.interests import Interest
from mcpist.tools.access.permissions import Permissions
from mcpist_services import events
from mcpist_services.google_calendar.module import google_calendar
from tests.core.loopback import Service, json_response
from tests.events.conftest import source_of, work_off

INTEREST = Interest(
    id="i1",
    organization="acme",
    user="uma",
    type="google_calendar.events",
    arguments={"calendar_id": "primary"},
    kind="automation",
)


def entry(id_: str, seconds: float) -> dict[str, str]:
    return {"id": id_, "status": "confirmed", "updated": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))}


def test_a_poll_takes_what_changed_since_the_last_one_and_no_more(
    uma: Permissions, vendor: Service, delivered: list[tuple[str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(google_calendar, "host", vendor.url)
    now = time.time()
    vendor.reply_with(json_response({"items": [entry("before", now - 100)]}))
    events.listen(uma, INTEREST)
    assert work_off() == []
    source = source_of()
    assert (source.state, delivered) == ("active", []), "the first poll only finds out where to begin"
    assert [one["sk"] for one in store.find_due(now + 130, 10)] == [source.token]
    vendor.reply_with(json_response({"items": [entry("before", now - 100), entry("after", now + 1000)]}))
    for _ in range(2):
        tend(source.id)
    assert work_off() == []
    assert source_of().problem == ""
    found = store.read("acme", "uma", "google_calendar.events", now=now + 60).events
    assert [one.event.data["id"] for one in found] == ["after"]
    assert len(delivered) == 1
    assert "updatedMin=" in vendor.received[-1].path
    vendor.reply_with(json_response({"error": {"code": 410, "message": "too long ago"}}, status=410))
    tend(source.id)
    failed = source_of()
    assert (failed.cursor, failed.failures) == ("", 1), "it begins anew"
    assert sources.change(replace(failed), problem="")
