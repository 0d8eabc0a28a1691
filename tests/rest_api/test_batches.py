"""Batches by REST: started, followed, confirmed, cancelled and resumed."""

import json
from typing import Any

import pytest

from mcpist.batch.execution import opening
from mcpist.caller import Role, Subject
from mcpist.errors import FileNotFound
from mcpist.people import directory
from mcpist.running.destructive_use import digest_of
from mcpist_services import NAMES
from rest_api import batch_view
from tests import members
from tests.audit_items import audit_items
from tests.mcp_endpoint.ledger_driver import LedgerDriver
from tests.rest_api.rest_client import RestClient

TAGS = {"id": "tags", "module": "rag", "tool": "list_tags", "output": True}
AGAIN = {"id": "again", "module": "rag", "tool": "list_docs", "after": ["tags"], "raw_output": True}
DROP = {"id": "drop", "module": "rag", "tool": "delete_doc", "params": {"path": "old.md"}}


@pytest.fixture
def destroyer(rest: RestClient) -> RestClient:
    """A program of a person who may use destructive tools."""
    members.put_role("acme", Role("members", modules=NAMES, allow=("rag.*",), destructive=True))
    directory.access_cache.clear()
    return rest


def started(rest: RestClient, *steps: dict[str, Any], **more: Any) -> tuple[str, LedgerDriver]:
    answer = rest.post("/v1/batches", {"commands": list(steps), **more})
    assert answer.status == 202, answer.text
    assert answer.headers["location"] == f"https://mcp.example.com/v1/batches/{answer.json['id']}"
    return answer.json["id"], LedgerDriver(answer.json["id"])


def test_a_batch_is_started_and_shown_with_its_timeline_and_results(rest: RestClient) -> None:
    batch, driver = started(rest, TAGS, AGAIN)
    running = rest.get(f"/v1/batches/{batch}")
    assert (running.status, running.json["state"], running.json["settled"]) == (202, "running", 0)
    assert [(step["id"], step["state"], step["waitsFor"]) for step in running.json["steps"]] == [
        ("tags", "ready", []),
        ("again", "waiting", ["tags"]),
    ]
    driver.finish("tags", raw=[{"tag": "security", "count": 2}])
    driver.finish("again", "failed", error=FileNotFound(path="x.md"))
    done = rest.get(f"/v1/batches/{batch}")
    assert (done.status, done.json["state"], done.json["done"]) == (200, "done", True)
    tags, again = done.json["steps"]
    assert tags["result"] == [{"tag": "security", "count": 2}]
    assert (again["state"], again["error"]["code"], again["result"]) == ("failed", "FILE_NOT_FOUND", None)


def test_json_lines_are_a_batch_too(rest: RestClient) -> None:
    lines = rest.with_headers(content_type="application/x-ndjson")
    text = f"{json.dumps(TAGS)}\n{json.dumps(AGAIN)}\n"
    assert lines.post("/v1/batches", text).json["total"] == 2
    plan = lines.send("POST", "/v1/batches", text, dryRun="true")
    assert (plan.status, plan.json["dryRun"]) == (200, True)
    assert [step["id"] for step in plan.json["plan"]["steps"]] == ["tags", "again"]


def test_a_batch_with_errors_is_refused_with_their_lines(rest: RestClient) -> None:
    answer = rest.post("/v1/batches", {"commands": [TAGS, {"id": "x", "module": "rag", "tool": "nope"}]})
    assert (answer.status, answer.json["code"], answer.json["details"]["line"]) == (404, "TOOL_NOT_FOUND", 2)


def test_a_destructive_batch_starts_once_when_it_is_confirmed(destroyer: RestClient) -> None:
    asked = destroyer.post("/v1/batches", {"commands": [DROP, TAGS], "timeout": 60})
    assert (asked.status, asked.json["code"]) == (428, "CONFIRMATION_REQUIRED")
    assert [step["id"] for step in asked.json["details"]["destructive"]] == ["drop"]
    batch = asked.json["details"]["confirmation"]
    assert asked.json["details"]["url"] == f"https://mcp.example.com/batches?confirm={batch}"
    assert destroyer.get(f"/v1/batches/{batch}").status == 404
    first = destroyer.post(f"/v1/batches/{batch}/confirm")
    again = destroyer.post(f"/v1/batches/{batch}/confirm")
    assert (first.status, again.status) == (202, 202)
    assert first.json["id"] == again.json["id"] == batch
    assert first.json["startedAt"] == again.json["startedAt"]


def test_a_yes_by_rest_is_for_the_elements_of_the_question(destroyer: RestClient) -> None:
    each = {**DROP, "id": "all", "each": "${again.items}", "params": {"path": "${each.path}"}}
    for path in ("a.md", "late.md"):
        if path == "late.md":
            asked = destroyer.post("/v1/batches", {"commands": [{**AGAIN, "after": []}, each]})
        assert destroyer.call("rag.put_doc", parameters={"path": path, "content": "# A"}).status == 200
    batch = asked.json["details"]["confirmation"]
    assert destroyer.post(f"/v1/batches/{batch}/confirm").status == 202
    assert LedgerDriver(batch).step("all").shown == (digest_of({"path": "a.md"}),)


def test_nobody_else_confirms_a_batch(destroyer: RestClient) -> None:
    asked = destroyer.post("/v1/batches", {"commands": [DROP]})
    batch = asked.json["details"]["confirmation"]
    missing = "b_0123456789abcdef"
    assert destroyer.post(f"/v1/batches/{missing}/confirm").status == 404
    # Nobody learns that the batch exists, or what it would destroy.
    theirs = destroyer.of("ada").post(f"/v1/batches/{batch}/confirm")
    assert theirs.text.replace(batch, missing) == destroyer.of("ada").post(f"/v1/batches/{missing}/confirm").text


def test_the_question_of_a_call_starts_no_batch(destroyer: RestClient) -> None:
    asked = destroyer.call("rag.delete_doc", parameters={"path": "old.md"})
    assert destroyer.post(f"/v1/batches/{asked.json['details']['confirmation']}/confirm").status == 404


def test_a_batch_is_cancelled(rest: RestClient) -> None:
    batch, _ = started(rest, TAGS, AGAIN)
    assert rest.post(f"/v1/batches/{batch}/cancel").json["state"] == "cancelled"
    assert {step["state"] for step in rest.get(f"/v1/batches/{batch}").json["steps"]} == {"cancelled"}


def test_a_batch_is_resumed_with_what_succeeded(rest: RestClient) -> None:
    batch, driver = started(rest, TAGS, AGAIN)
    driver.finish("tags", raw=[])
    driver.finish("again", "failed", error=FileNotFound(path="x.md"))
    resumed = rest.post(f"/v1/batches/{batch}/resume", {})
    assert (resumed.status, resumed.json["resumes"]) == (202, batch)
    assert [step["kept"] for step in resumed.json["steps"]] == [True, False]


def test_a_batch_is_resumed_once_and_its_second_resumption_names_the_first(destroyer: RestClient) -> None:
    batch, driver = started(destroyer, TAGS, AGAIN)
    driver.finish("tags", raw=[])
    driver.finish("again", "failed", error=FileNotFound(path="x.md"))
    resumed = destroyer.post(f"/v1/batches/{batch}/resume", {}).json["id"]
    second = destroyer.post(f"/v1/batches/{batch}/resume", {"again": []})
    assert (second.status, second.json["code"], second.json["details"]["by"]) == (409, "CONFLICT", resumed)


def test_nobody_is_asked_about_a_second_resumption_and_a_yes_sent_twice_is_one(destroyer: RestClient) -> None:
    batch = destroyer.post("/v1/batches", {"commands": [DROP]}).json["details"]["confirmation"]
    destroyer.post(f"/v1/batches/{batch}/confirm")
    LedgerDriver(batch).finish("drop", "failed", error=FileNotFound(path="x.md"))
    asked, other = (destroyer.post(f"/v1/batches/{batch}/resume", {}).json["details"] for _ in range(2))
    answers = [destroyer.post(f"/v1/batches/{asked['confirmation']}/confirm") for _ in range(2)]
    assert [answer.json["id"] for answer in answers] == [asked["confirmation"]] * 2
    late = destroyer.post(f"/v1/batches/{other['confirmation']}/confirm")
    assert (late.status, late.json["details"]["by"]) == (409, asked["confirmation"])
    assert destroyer.post(f"/v1/batches/{batch}/resume", {}).status == 409


def test_a_batch_of_others_does_not_exist_but_for_an_administrator(rest: RestClient) -> None:
    batch, _ = started(rest, TAGS)
    members.put_user("acme", "eve", name="Eve", subject=Subject(rest.login.issuer, "eve"), roles=["members"])
    for path in ("", "/cancel", "/resume"):
        send = rest.of("eve").post if path else rest.of("eve").get
        answer = send(f"/v1/batches/{batch}{path}", *([{}] if path == "/resume" else []))
        assert (answer.status, answer.json["code"]) == (404, "BATCH_NOT_FOUND")
    assert rest.of("ada").get(f"/v1/batches/{batch}").status == 202


def test_an_administrator_reads_results_of_others_only_once_they_are_opened(rest: RestClient) -> None:
    batch, driver = started(rest, TAGS)
    driver.finish("tags", raw=[{"tag": "security", "count": 2}])
    ada = rest.of("ada")
    for answer in (ada.get(f"/v1/batches/{batch}"), ada.post(f"/v1/batches/{batch}/cancel")):
        assert answer.json["resultsHidden"] is True
        assert [(step["state"], step["result"]) for step in answer.json["steps"]] == [("succeeded", None)]
        assert "security" not in answer.text
    opening.open_results(directory.identify(Subject(rest.login.issuer, "ada")), batch, "a wrong export")
    opened = ada.get(f"/v1/batches/{batch}").json
    assert (opened["resultsHidden"], opened["steps"][0]["result"]) == (False, [{"tag": "security", "count": 2}])
    own = rest.get(f"/v1/batches/{batch}").json
    assert (own["resultsHidden"], own["steps"][0]["result"]) == (False, [{"tag": "security", "count": 2}])
    assert [(one["by"], one["reason"]) for one in own["openings"]] == [("ada", "a wrong export")]


def test_a_result_that_is_too_large_is_in_a_file(rest: RestClient) -> None:
    batch, driver = started(rest, {**AGAIN, "after": []})
    driver.finish("again", raw=["x" * 1_000] * (batch_view.MAX_RESULT_CHARACTERS // 1_000))
    (step,) = rest.get(f"/v1/batches/{batch}").json["steps"]
    assert step["result"] is None
    answer = rest.get(f"/v1/files/{step['resultFile']['sha256']}")
    assert answer.headers["content-type"] == "application/json"


@pytest.mark.parametrize("levels", [250, 2_000])
def test_a_deeply_nested_result_is_in_a_file_and_hides_no_other_one(rest: RestClient, levels: int) -> None:
    batch, driver = started(rest, TAGS, {**AGAIN, "after": []})
    driver.finish("tags", raw=[{"tag": "x", "count": 1}])
    driver.finish("again", raw=json.loads("[" * levels + "]" * levels))
    tags, again = rest.get(f"/v1/batches/{batch}").json["steps"]
    assert tags["result"] == [{"tag": "x", "count": 1}]
    assert again["resultFile"]["size_bytes"] == 2 * levels


def test_elements_are_counted_and_their_failures_listed(rest: RestClient) -> None:
    each = {
        "id": "read",
        "module": "rag",
        "tool": "get_doc",
        "each": "${docs.items}",
        "params": {"path": "${each.path}"},
    }
    docs = {"id": "docs", "module": "rag", "tool": "list_docs"}
    batch, driver = started(rest, docs, {**each, "output": True})
    driver.finish("docs", raw=[{"path": "a"}, {"path": "b"}])
    driver.finish_each("read", [{"path": "a", "markdown": "A"}, FileNotFound(path="b")])
    (_, step) = rest.get(f"/v1/batches/{batch}").json["steps"]
    counts = {name: count for name, count in step["elements"].items() if count}
    assert counts == {"count": 2, "settled": 2, "succeeded": 1, "failed": 1}
    (failure,) = step["elementFailures"]
    assert (failure["index"], failure["status"], failure["error"]["code"]) == (1, "failed", "FILE_NOT_FOUND")


def test_batches_are_listed_by_pages_and_those_of_others_only_to_an_administrator(rest: RestClient) -> None:
    first, driver = started(rest, TAGS, AGAIN)
    driver.finish("tags", raw=[])
    others, _ = started(rest.of("ada"), TAGS)
    second, _ = started(rest, TAGS)
    page = rest.get("/v1/batches", limit=1).json
    assert [(one["id"], one["state"]) for one in page["batches"]] == [(second, "running")]
    last = rest.get("/v1/batches", limit=1, cursor=page["cursor"]).json
    assert [(one["id"], one["settled"], one["outcomes"]) for one in last["batches"]] == [(first, 1, {"succeeded": 1})]
    assert last["cursor"] == ""
    assert rest.get("/v1/batches", everybody="true").status == 403
    everybody = rest.of("ada").get("/v1/batches", everybody="true").json["batches"]
    assert [(one["id"], one["user"]) for one in everybody] == [(second, "uma"), (others, "ada"), (first, "uma")]
    assert audit_items("acme")[-1]["tool"] == "batches.list"


@pytest.mark.parametrize("query", [{"cursor": "b_0123456789abcdef"}, {"limit": 0}, {"limit": 51}])
def test_a_page_of_batches_that_cannot_be_is_refused(rest: RestClient, query: dict[str, Any]) -> None:
    answer = rest.get("/v1/batches", **query)
    assert (answer.status, answer.json["details"]["field"]) == (400, next(iter(query)))
