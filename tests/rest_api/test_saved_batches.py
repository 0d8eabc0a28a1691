"""Saved batches by REST: saved and run as tools, and checked at night for the janitor."""

from mcpist.batch.execution import quick_reads, submission
from mcpist.caller import Role
from mcpist.people import directory
from mcpist.polling import Polling
from mcpist_services import NAMES
from mcpist_services.saved import saving
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
    monkeypatch.setattr(saving, "CHECKED_SECONDS", -1)
    members.put_organization("acme", name="Acme", disabled=("rag.list_tags",))
    checked = handler({"organization": "acme", "saved_batches": True}, Context(29))
    assert checked == {"result": {"broken": 1}}


def finished(batch: str):
    driver = LedgerDriver(batch)
    driver.finish("tags", raw=[{"tag": "a", "count": 1}])
    return driver.head
