"""Saved batches by REST: saved and run as tools, and checked at night for the janitor."""

from collections.abc import Callable
from itertools import count
from typing import Any

import pytest

from mcpist.aws.table import ledger_table
from mcpist.batch.execution import quick_reads, submission
from mcpist.batch.saved import records
from mcpist.caller import Role
from mcpist.events import interests, own, store
from mcpist.events.interests import Interest
from mcpist.people import directory
from mcpist.polling import Polling
from mcpist_services import NAMES
from mcpist_services.saved import checking
from rest_api.handler import handler
from tests import members
from tests.lambda_context import Context
from tests.mcp_endpoint.ledger_driver import LedgerDriver
from tests.rest_api.rest_client import Answer, RestClient

TAGS = {"id": "tags", "module": "rag", "tool": "list_tags", "params": {"limit": "${param.count}"}, "output": True}
COUNT = {"count": {"type": "integer", "default": 3}}


def call(rest: RestClient, name: str, /, **parameters: object) -> Answer:
    return rest.post("/v1/tools/call", {"name": name, "parameters": parameters})


def test_a_program_saves_a_batch_and_calls_it_as_a_tool(rest: RestClient, monkeypatch) -> None:
    monkeypatch.setattr(submission, "LEDGER_POLLING", Polling(initial_seconds=60, max_seconds=60))
    monkeypatch.setattr(quick_reads, "MAX_START_SECONDS", -1)
    members.put_role("acme", Role("members", modules=(*NAMES, "saved"), allow=("saved.*",)))
    directory.access_cache.clear()
    made = call(rest, "saved.save", name="top_tags", description="Show tags", commands=[TAGS], parameters=COUNT)
    assert (made.status, made.json["result"]["tools"]) == (200, ["rag.list_tags"]), made.text
    started = call(rest, "saved-top-tags")
    assert (started.status, started.json["result"]) == (200, None), started.text
    assert LedgerDriver(started.json["batch"]).step("tags").step.params == {"limit": 3}
    monkeypatch.setattr(submission, "wait", lambda head, _: finished(head.batch))
    assert call(rest, "saved.top_tags", count=1).json["result"] == [{"tag": "a", "count": 1}]
    assert rest.get("/v1/tools/saved-top-tags").json["inputSchema"]["properties"] == COUNT
    monkeypatch.setattr(checking, "CHECKED_SECONDS", -1)
    members.put_organization("acme", name="Acme", disabled=("rag.list_tags",))
    checked = handler({"organization": "acme", "saved_batches": True}, Context(29))
    assert checked == {"result": {"broken": 1}}


@pytest.fixture
def night(rest: RestClient) -> Callable[..., list[dict[str, Any]]]:
    """Check a saved batch, `top_tags`, for the janitor, while tools are switched off; return the events until then."""
    members.put_role("acme", Role("members", modules=(*NAMES, "saved"), allow=("saved.*",)))
    directory.access_cache.clear()
    call(rest, "saved.save", name="top_tags", description="Show tags", commands=[TAGS], parameters=COUNT)
    interests.add(Interest(id="w", organization="acme", user="uma", type="saved.checked", kind="callback"))
    former = count(1)

    def check(*disabled: str) -> list[dict[str, Any]]:
        members.put_organization("acme", name="Acme", disabled=disabled)
        ledger_table().set("acme#saved", "top_tags", {"checked_at": next(former)})
        turn()
        turn()
        found = store.read("acme", "uma", "saved.checked", now=2e9).events
        assert {one.event.actor for one in found} <= {None}, "no account of the owner caused it"
        return [one.event.data for one in found]

    return check


def turn() -> None:
    handler({"organization": "acme", "saved_batches": True}, Context(29))


def test_the_owner_hears_once_of_a_batch_that_broke_and_once_that_it_works_again(
    rest: RestClient, night: Callable[..., list[dict[str, Any]]]
) -> None:
    assert night() == []
    (broken,) = night("rag.list_tags")
    assert (broken["name"], broken["state"]) == ("top_tags", "broken")
    assert broken["problem"].startswith("TOOL_DISABLED: ")
    assert broken["problem"].endswith(" (step tags)")
    assert night("rag.list_tags") == night("rag") == [broken], "it is still broken, by whatever problem"
    working = {"name": "top_tags", "state": "working", "problem": ""}
    assert night() == [broken, working]
    assert night("rag.list_tags") == [broken, working, broken]
    docs = [{"id": "docs", "module": "rag", "tool": "list_docs"}]
    call(rest, "saved.save", name="top_tags", description="Show docs", commands=docs, replaces=1)
    assert night("rag.list_tags") == [broken, working, broken, working], "the next version works"


@pytest.mark.parametrize(("place", "name"), [(own, "saved_batch_checked"), (records, "mark_checked")])
def test_a_turn_of_the_night_that_is_killed_anywhere_tells_once(
    night: Callable[..., list[dict[str, Any]]], monkeypatch: pytest.MonkeyPatch, place: Any, name: str
) -> None:
    night()
    members.put_organization("acme", name="Acme", disabled=("rag.list_tags",))
    ledger_table().set("acme#saved", "top_tags", {"checked_at": 99})
    with monkeypatch.context() as killed:
        killed.setattr(place, name, lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            turn()
    assert not records.read("acme", fresh=True).by_name["top_tags"].problem
    turn()
    turn()
    (told,) = store.read("acme", "uma", "saved.checked", now=2e9).events
    assert records.read("acme", fresh=True).by_name["top_tags"].problem == told.event.data["problem"]


def finished(batch: str):
    driver = LedgerDriver(batch)
    driver.finish("tags", raw=[{"tag": "a", "count": 1}])
    return driver.head
