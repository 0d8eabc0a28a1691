"""Approvals for MCP clients: as an error with an id, and as a task that runs after the decision."""

import json
from dataclasses import replace
from typing import Any

import pytest

from mcpist.aws.table import ledger_table
from mcpist.batch.ledger import ledger
from mcpist.caller import Proof, Role, Subject
from mcpist.people import directory
from mcpist.running import approvals
from mcpist.running.destructive_use import digest_of
from mcpist.tools.access.permissions import Permissions
from mcpist_services import NAMES
from mcpist_services.catalogue import CATALOGUE
from tests import members
from tests.audit_items import audit_items
from tests.mcp_endpoint.endpoint_client import EndpointClient
from tests.mcp_endpoint.ledger_driver import LedgerDriver

TASKS = {"io.modelcontextprotocol/tasks": {}}
FREE = Role("members", modules=NAMES, allow=("rag.*",), destructive=True)
DROP = {"module": "rag", "tool": "delete_doc", "params": {"path": "old.md"}}
EACH = '"each":"${find.items}","params":{"path":"${each.path}"}'
LINES = '{"id":"drop","module":"rag","tool":"delete_doc","params":{"path":"old.md"}}'


@pytest.fixture
def door(endpoint: EndpointClient) -> EndpointClient:
    """A client whose person needs an approval to destroy."""
    put_role(replace(FREE, approval=("rag.*",)))
    return endpoint


@pytest.fixture
def follower(door: EndpointClient) -> EndpointClient:
    """The same client, which accepts tasks."""
    return door.with_capabilities(extensions=TASKS, elicitation={"form": {}})


def put_role(role: Role) -> None:
    members.put_role("acme", role)
    directory.access_cache.clear()


def person(door: EndpointClient, user: str = "ada") -> Permissions:
    """Somebody who is signed in to the console."""
    caller = directory.identify(Subject(door.login.issuer, user), proof=Proof("session", "s"))
    return Permissions(caller, CATALOGUE)


def approve(door: EndpointClient, approval: str) -> None:
    approvals.approve(person(door), approval)


def task_of(door: EndpointClient, task: str, method: str = "get") -> Any:
    return door.request(f"tasks/{method}", taskId=task)["result"]


def put_document(door: EndpointClient) -> None:
    assert not door.call("call", module="rag", tool="put_doc", params={"path": "old.md", "content": "# Old"})[0]


@pytest.mark.parametrize("confirm", [True, False])
def test_confirm_does_not_replace_the_approval(door: EndpointClient, *, confirm: bool) -> None:
    put_document(door)
    error = door.error("call", **DROP, confirm=confirm)
    assert (error["code"], error["details"]["state"]) == ("APPROVAL_REQUIRED", "waiting")
    assert error["details"]["url"] in error["hint"]
    assert door.error("batch", commands=LINES, confirm=confirm)["code"] == "APPROVAL_REQUIRED"
    assert not door.call("call", module="rag", tool="get_doc", params={"path": "old.md"})[0]


def test_a_form_does_not_replace_the_approval(follower: EndpointClient) -> None:
    asked = follower.with_capabilities(extensions={}).error("call", **DROP)
    answered = {"requestState": asked["details"]["approval_id"]}
    yes = {"confirm": {"action": "accept", "content": {"confirm": True}}}
    more = answered | {"inputResponses": yes}
    again = follower.with_capabilities(extensions={}).result("call", **DROP, more=more)
    assert json.loads(again["content"][0]["text"])["details"]["state"] == "waiting"


def test_the_same_call_runs_once_after_the_approval(door: EndpointClient) -> None:
    put_document(door)
    approval = door.error("call", **DROP)["details"]["approval_id"]
    approve(door, approval)
    assert not door.call("call", **DROP)[0]
    assert door.error("call", module="rag", tool="get_doc", params={"path": "old.md"})["code"] == "FILE_NOT_FOUND"
    assert door.error("call", **DROP)["details"]["approval_id"] != approval


def test_a_call_runs_by_its_id_and_keeps_its_answer(door: EndpointClient) -> None:
    put_document(door)
    approval = door.error("call", **DROP, raw_output=True)["details"]["approval_id"]
    assert door.error("batch", batch_id=approval)["code"] == "APPROVAL_REQUIRED"
    approve(door, approval)
    first = door.call("batch", batch_id=approval)
    assert not first[0]
    assert door.call("batch", batch_id=approval) == first
    uses = [row["outcome"] for row in audit_items("acme") if row["tool"] == "rag.delete_doc"]
    assert uses == ["started", "succeeded"]


def test_a_call_waits_as_a_task_and_runs_when_its_client_asks(follower: EndpointClient) -> None:
    put_document(follower)
    created = follower.result("call", **DROP)
    assert (created["resultType"], created["status"]) == ("task", "working")
    assert "/approvals?id=" in created["statusMessage"]
    assert created["pollIntervalMs"] == 5000
    assert task_of(follower, created["taskId"])["status"] == "working"
    approve(follower, created["taskId"])
    task = task_of(follower, created["taskId"])
    assert (task["status"], task["result"]["isError"]) == ("completed", False)
    assert task_of(follower, created["taskId"])["result"] == task["result"]


def test_a_failed_call_is_a_completed_task_with_its_error(follower: EndpointClient) -> None:
    created = follower.result("call", **DROP)
    approve(follower, created["taskId"])
    for _ in range(2):
        task = task_of(follower, created["taskId"])
        assert task["result"]["isError"]
        assert json.loads(task["result"]["content"][0]["text"])["code"] == "FILE_NOT_FOUND"


def test_a_refusal_tells_the_task_why(follower: EndpointClient) -> None:
    created = follower.result("call", **DROP)
    approvals.decline(person(follower), created["taskId"], "keep it")
    task = task_of(follower, created["taskId"])
    assert (task["status"], task["result"]["isError"]) == ("completed", True)
    assert "keep it" in task["result"]["content"][0]["text"]


def test_a_task_that_waits_is_cancelled(follower: EndpointClient) -> None:
    created = follower.result("call", **DROP)
    assert task_of(follower, created["taskId"], "update")["resultType"] == "complete"
    task_of(follower, created["taskId"], "cancel")
    assert task_of(follower, created["taskId"])["status"] == "cancelled"


def test_a_call_that_was_lost_runs_never_again(follower: EndpointClient) -> None:
    created = follower.result("call", **DROP)
    approve(follower, created["taskId"])
    caller = directory.identify(Subject(follower.login.issuer, "uma"))
    found = approvals.find_own(caller, created["taskId"])
    assert found
    approvals.use(caller, found)
    assert task_of(follower, created["taskId"])["status"] == "working"
    ledger_table().set(f"acme#{created['taskId']}", approvals.APPROVAL_KEY, {"used_at": 1})
    task = task_of(follower, created["taskId"])
    assert json.loads(task["result"]["content"][0]["text"])["details"]["may_have_happened"] is True


def test_nobody_else_follows_a_task_that_waits(follower: EndpointClient) -> None:
    created = follower.result("call", **DROP)
    for method in ("get", "cancel", "update"):
        answer = follower.of("ada").request(f"tasks/{method}", taskId=created["taskId"])
        assert answer["error"]["data"]["code"] == "BATCH_NOT_FOUND"


def test_a_batch_starts_once_after_its_approval_with_its_id(door: EndpointClient) -> None:
    approval = door.error("batch", commands=LINES)["details"]["approval_id"]
    approve(door, approval)
    _, (summary, *_) = door.call("batch", commands=LINES)
    assert summary.startswith(f"batch {approval}: running")
    assert door.call("batch", batch_id=approval)[1][0] == summary
    assert door.error("batch", commands=LINES)["details"]["approval_id"] != approval


def test_a_batch_waits_as_a_task_which_becomes_the_batch(follower: EndpointClient) -> None:
    created = follower.result("batch", commands=LINES)
    assert (created["status"], created["resultType"]) == ("working", "task")
    approve(follower, created["taskId"])
    started = task_of(follower, created["taskId"])
    assert (started["taskId"], started["statusMessage"]) == (created["taskId"], "running: 0 of 1 steps")
    LedgerDriver(created["taskId"]).finish("drop", raw={"done": True})
    assert task_of(follower, created["taskId"])["status"] == "completed"


def test_a_batch_is_one_approval_with_every_step_that_destroys(door: EndpointClient) -> None:
    lines = "\n".join(
        [
            LINES,
            LINES.replace("drop", "more").replace("old", "older"),
            LINES.replace("delete", "get").replace("drop", "look"),
        ]
    )
    approval = door.error("batch", commands=lines)["details"]["approval_id"]
    assert [use.id for use in approvals.find(person(door), approval).uses] == ["drop", "more"]


def test_a_batch_that_only_reads_waits_for_nobody(door: EndpointClient) -> None:
    assert not door.call("batch", commands='{"module":"rag","tool":"list_tags"}')[0]


def test_what_a_role_demands_is_not_avoided_by_naming_another(door: EndpointClient) -> None:
    members.put_role("acme", replace(FREE, name="free"))
    issuer = door.login.issuer
    members.put_user("acme", "uma", name="Uma", subject=Subject(issuer, "uma"), roles=["members", "free"])
    directory.access_cache.clear()
    assert door.with_headers(x_mcpist_role="free").error("call", **DROP, confirm=True)["code"] == "APPROVAL_REQUIRED"


def test_an_approval_is_for_the_elements_that_were_shown(door: EndpointClient) -> None:
    def put(path: str) -> None:
        assert not door.call("call", module="rag", tool="put_doc", params={"path": path, "content": "x"})[0]

    for path in ("d/0.md", "d/1.md"):
        put(path)
    lines = '{"id":"find","module":"rag","tool":"list_docs"}\n' + LINES.replace('"params":{"path":"old.md"}', EACH)
    approval = door.error("batch", commands=lines)["details"]["approval_id"]
    (use,) = approvals.find(person(door), approval).uses
    assert use.preview
    assert use.preview.targets == [{"path": "d/0.md"}, {"path": "d/1.md"}]
    put("d/late.md")
    approve(door, approval)
    assert not door.call("batch", commands=lines)[0]
    (_, drop) = ledger.get_entries(f"acme#{approval}")
    assert drop.shown == tuple(digest_of({"path": path}) for path in ("d/0.md", "d/1.md"))


def test_the_progress_of_what_waits_says_so(door: EndpointClient) -> None:
    approval = door.error("batch", commands=LINES)["details"]["approval_id"]
    answer = door.request("resources/read", uri=f"mcpist://batches/{approval}/progress")
    assert answer["error"]["data"]["code"] == "APPROVAL_REQUIRED"
    other = door.of("ada").request("resources/read", uri=f"mcpist://batches/{approval}/progress")
    assert other["error"]["data"]["code"] == "BATCH_NOT_FOUND"
