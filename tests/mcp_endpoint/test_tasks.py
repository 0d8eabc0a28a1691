"""Batches as MCP tasks, and as resources for clients without tasks."""

import json
import time
from typing import Any

import pytest
from mcp_types import CallToolRequestParams, ClientCapabilities

from mcp_endpoint.batch import as_task
from mcp_endpoint.exchange import Envelope, client_of
from mcpist.batch.ledger.records import Header
from mcpist.caller import Subject
from mcpist.errors import RateLimitExceeded
from mcpist.settings import settings
from tests.audit_items import audit_items
from tests.mcp_endpoint.endpoint_client import EndpointClient
from tests.mcp_endpoint.ledger_driver import LedgerDriver

TASKS = {"io.modelcontextprotocol/tasks": {}}
LINES = """\
{"id":"tags","module":"rag","tool":"list_tags","output":true}
{"id":"docs","module":"rag","tool":"list_docs","after":["tags"]}"""


@pytest.fixture
def follower(endpoint: EndpointClient) -> EndpointClient:
    """A client that accepts tasks."""
    return endpoint.with_capabilities(extensions=TASKS)


def begun(endpoint: EndpointClient, lines: str = LINES) -> str:
    """A running batch."""
    created = endpoint.with_capabilities(extensions=TASKS).result("batch", commands=lines, more={"task": {}})
    batch: str = created["taskId"]
    return batch


def asked(door: EndpointClient, method: str, batch: str, **params: Any) -> dict[str, Any]:
    return door.request(f"tasks/{method}", taskId=batch, **params)


def test_a_client_that_prefers_a_task_gets_one_at_once(follower: EndpointClient) -> None:
    created = follower.send(follower.event("batch_as_task"))[2]["result"]
    assert (created["resultType"], created["status"]) == ("task", "working")
    assert created["statusMessage"] == "running: 0 of 2 steps"
    assert created["pollIntervalMs"] == 1000
    assert 86_390_000 < created["ttlMs"] <= 86_400_000
    assert "content" not in created


def test_a_task_has_its_progress_and_its_result_when_done(follower: EndpointClient) -> None:
    batch = begun(follower)
    LedgerDriver(batch).finish("tags", raw=[{"tag": "guide", "docs": 2}])
    task = asked(follower, "get", batch)["result"]
    assert (task["resultType"], task["status"], task["statusMessage"]) == (
        "complete",
        "working",
        "running: 1 of 2 steps",
    )
    assert task["lastUpdatedAt"] > task["createdAt"]
    assert "result" not in task
    LedgerDriver(batch).finish("docs", raw=[])
    whole = asked(follower, "get", batch)["result"]["result"]["content"]
    task = asked(follower.apart, "get", batch)["result"]
    assert (task["status"], task["statusMessage"]) == ("completed", "done: 2 of 2 steps")
    summary, tags = (block["text"] for block in task["result"]["content"])
    assert summary == f"batch {batch}: done, 2 of 2 steps: tags succeeded, docs succeeded."
    assert "guide" in tags
    assert [block["text"] for block in whole] == [f"{summary}\n\n{tags}"]
    assert task["result"]["isError"] is False


def test_a_batch_with_failed_steps_is_a_completed_task(follower: EndpointClient) -> None:
    batch = begun(follower)
    LedgerDriver(batch).finish("tags", "failed", error=RateLimitExceeded(service="rag", retry_after=7))
    LedgerDriver(batch).finish("docs", "skipped")
    task = asked(follower.apart, "get", batch)["result"]
    assert task["status"] == "completed"
    summary, failure = (block["text"] for block in task["result"]["content"])
    assert "docs skipped (tags did not succeed)" in summary
    assert "RATE_LIMIT_EXCEEDED" in failure


def test_a_batch_that_takes_longer_than_the_request_becomes_a_task(follower: EndpointClient) -> None:
    created = follower.result("batch", commands=LINES)
    assert created["resultType"] == "task"
    again = follower.result("batch", batch_id=created["taskId"])
    assert again["taskId"] == created["taskId"]
    for step in ("tags", "docs"):
        LedgerDriver(created["taskId"]).finish(step, raw=[])
    done = follower.result("batch", batch_id=created["taskId"])
    assert done["content"][0]["text"].startswith(f"batch {created['taskId']}: done")


def test_a_client_without_tasks_gets_the_batchs_id_and_a_link(endpoint: EndpointClient) -> None:
    result = endpoint.result("batch", commands=LINES, more={"task": {}})
    text, link = result["content"]
    batch = text["text"].split()[1].rstrip(":")
    assert text["text"].endswith(f"Call batch with batch_id {batch} to fetch the rest.")
    assert (link["type"], link["uri"]) == ("resource_link", f"mcpist://batches/{batch}")


def test_a_client_without_resource_links_gets_only_the_text(endpoint: EndpointClient) -> None:
    event = endpoint.event("call", mcp_protocol_version="2025-03-26")
    params = {"name": "batch", "arguments": {"commands": LINES}}
    event["body"] = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
    (text,) = endpoint.send(event)[2]["result"]["content"]
    assert "running, 0 of 2 steps" in text["text"]


def test_a_task_is_visible_to_its_starter_and_to_administrators(follower: EndpointClient) -> None:
    batch = begun(follower.of("ada"))
    for method in ("get", "update", "cancel"):
        error = asked(follower, method, batch)["error"]
        assert (error["code"], error["data"]["code"]) == (-32602, "BATCH_NOT_FOUND")
    own = begun(follower)
    assert asked(follower, "get", own)["result"]["status"] == "working"
    assert looks() == []
    assert asked(follower.of("ada"), "get", own)["result"]["status"] == "working"
    assert looks() == [("ada", f"batches.{own}", "batches.read")]


def test_an_administrator_reads_no_result_of_another_user_at_any_address(follower: EndpointClient) -> None:
    batch = begun(follower)
    LedgerDriver(batch).finish("tags", raw=[{"tag": "guide-canary", "docs": 2}])
    LedgerDriver(batch).finish("docs", raw=[])
    ada = follower.of("ada")
    answers = [asked(ada, "get", batch), ada.result("batch", batch_id=batch)]
    answers.append(ada.request("resources/read", uri=f"mcpist://batches/{batch}"))
    for answer in answers:
        assert "tags succeeded" in json.dumps(answer)
        assert "Its results are uma's" in json.dumps(answer)
        assert "guide-canary" not in json.dumps(answer)
    assert "guide-canary" in json.dumps(asked(follower, "get", batch))


def looks() -> list[tuple[str, str, str]]:
    """Return the audit's rows of looks into others' batches: who, which and how."""
    rows = audit_items("acme")
    return [(row["user"], row["target"], row["tool"]) for row in rows if row["event"] == "look"]


def test_an_administrators_look_that_cannot_be_recorded_shows_nothing(
    follower: EndpointClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    batch = begun(follower)
    monkeypatch.setenv("AUDIT_TABLE", "gone")
    settings.cache_clear()
    assert "error" in asked(follower.of("ada"), "get", batch)
    assert asked(follower, "get", batch)["result"]["status"] == "working"


@pytest.mark.parametrize("batch", ["b_0123456789abcdef", "nothing", "b_0#batch", "x" * 5_000])
def test_a_task_that_does_not_exist_is_invalid(follower: EndpointClient, batch: str) -> None:
    for method in ("get", "update", "cancel"):
        assert asked(follower, method, batch)["error"]["code"] == -32602


def test_a_client_without_tasks_is_told_which_capability_to_declare(endpoint: EndpointClient) -> None:
    batch = begun(endpoint)
    for method in ("get", "update", "cancel"):
        error = asked(endpoint, method, batch)["error"]
        assert (error["code"], error["data"]) == (-32021, {"requiredCapabilities": {"extensions": TASKS}})


@pytest.mark.parametrize("name", ["get_task", "cancel_task"])
def test_the_header_names_the_task(follower: EndpointClient, name: str) -> None:
    status, _, answer = follower.ask(name, mcp_name="b_another")
    assert (status, answer["error"]["code"]) == (400, -32020)
    assert follower.ask(name)[2]["error"]["data"]["code"] == "BATCH_NOT_FOUND"


def test_the_extension_is_announced(endpoint: EndpointClient) -> None:
    assert endpoint.request("server/discover")["result"]["capabilities"]["extensions"].items() >= TASKS.items()


def test_older_protocols_do_not_have_the_methods(follower: EndpointClient) -> None:
    event = follower.event("get_task", mcp_protocol_version="2025-11-25")
    event["body"] = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tasks/get", "params": {"taskId": "b_1"}})
    assert follower.send(event)[2]["error"]["code"] == -32601


def test_a_cancelled_batch_starts_no_further_step(follower: EndpointClient) -> None:
    batch = begun(follower)
    LedgerDriver(batch).finish("tags", raw=[{"tag": "guide"}])
    assert asked(follower, "cancel", batch)["result"]["resultType"] == "complete"
    task = asked(follower, "get", batch)["result"]
    assert (task["status"], task["statusMessage"]) == ("cancelled", "cancelled: 1 of 2 steps")
    assert "result" not in task
    assert LedgerDriver(batch).head.outcome == {0: "succeeded", 1: "cancelled"}
    summary, tags = follower.apart.call("batch", batch_id=batch)[1]
    assert summary.startswith(f"batch {batch}: cancelled, 1 of 2 steps: tags succeeded, docs cancelled")
    assert "guide" in tags


def test_cancelling_a_finished_batch_changes_nothing(follower: EndpointClient) -> None:
    batch = begun(follower)
    for step in ("tags", "docs"):
        LedgerDriver(batch).finish(step, raw=[])
    before = asked(follower, "get", batch)["result"]
    assert asked(follower, "cancel", batch)["result"]["resultType"] == "complete"
    assert asked(follower, "get", batch)["result"] | {"pollIntervalMs": 0} == before | {"pollIntervalMs": 0}


def test_reading_a_batch_after_its_deadline_closes_it(follower: EndpointClient) -> None:
    batch = begun(follower)
    LedgerDriver(batch).expire()
    task = asked(follower, "get", batch)["result"]
    assert task["status"] == "completed"
    assert "tags cancelled, docs cancelled" in task["result"]["content"][0]["text"]


def test_an_unexpected_answer_is_ignored(follower: EndpointClient) -> None:
    batch = begun(follower)
    replies = {"confirm": {"action": "accept", "content": {"confirm": True}}}
    assert asked(follower, "update", batch, inputResponses=replies)["result"]["resultType"] == "complete"
    assert asked(follower, "get", batch)["result"]["status"] == "working"


def test_the_poll_interval_grows_with_the_age_of_a_batch() -> None:
    def poll_after(age: float) -> float:
        now = time.time()
        head = Header(
            organization="acme", batch="b", user="u", subject=Subject("i", "s"), roles=(), warrant="",
            ids=("a",), needs=(frozenset(),), started_at=now - age, closes_at=now + 900, expires_at=now + 9_000,
        )  # fmt: skip
        return round(as_task(head).poll_interval_seconds, 1)

    assert [poll_after(age) for age in (0, 10, 40, 3_000)] == [1.0, 1.0, 4.0, 10.0]


@pytest.mark.parametrize(("version", "able"), [("2026-07-28", True), ("2025-11-25", False)])
def test_only_the_newest_protocol_has_questions_and_tasks(version: str, able: bool) -> None:
    declared = ClientCapabilities.model_validate({"elicitation": {}, "extensions": TASKS})
    client = client_of(Envelope(version, {}, {}, None, declared), CallToolRequestParams(name="batch"))
    assert (client.supports_forms, client.supports_tasks, client.supports_links) == (able, able, True)


# -- as resources ---------------------------------------------------------------------------------------


def test_a_batch_can_be_read_as_a_resource(endpoint: EndpointClient) -> None:
    batch = begun(endpoint)
    LedgerDriver(batch).finish("tags", raw=[{"tag": "guide"}])
    (content,) = endpoint.request("resources/read", uri=f"mcpist://batches/{batch}")["result"]["contents"]
    assert content["mimeType"] == "text/plain"
    assert content["text"].startswith(f"batch {batch}: running, 1 of 2 steps")
    assert "guide" in content["text"]


def test_a_batchs_progress_can_be_read_by_programs(endpoint: EndpointClient) -> None:
    batch = begun(endpoint)
    LedgerDriver(batch).finish("tags", raw=[])
    uri = f"mcpist://batches/{batch}/progress"
    (content,) = endpoint.request("resources/read", uri=uri)["result"]["contents"]
    progress = json.loads(content["text"])
    assert content["mimeType"] == "application/json"
    assert [(step["id"], step["state"]) for step in progress["steps"]] == [("tags", "succeeded"), ("docs", "ready")]


@pytest.mark.parametrize("path", ["{batch}", "{batch}/progress", "b_0000000000000000", "x#y"])
def test_another_persons_batch_cannot_be_read_as_a_resource(endpoint: EndpointClient, path: str) -> None:
    uri = f"mcpist://batches/{path.format(batch=begun(endpoint.of('ada')))}"
    assert endpoint.request("resources/read", uri=uri)["error"]["data"]["code"] == "BATCH_NOT_FOUND"


def test_batches_are_listed_as_templates(endpoint: EndpointClient) -> None:
    listed = endpoint.request("resources/templates/list")["result"]["resourceTemplates"]
    assert {"mcpist://batches/{id}", "mcpist://batches/{id}/progress"} <= {one["uriTemplate"] for one in listed}
