"""The arguments of `batch`, and the form of its result."""

import json
from typing import Any

import pytest

from mcp_endpoint.batch_report import NO_OUTPUT
from mcpist.errors import ConnectionRequired, RateLimitExceeded, ToolExecutionError
from mcpist.render.answer import DEFAULT_ANSWER_TOKENS, MAX_ANSWER_TOKENS, estimate_tokens
from tests.mcp_endpoint.endpoint_client import EndpointClient
from tests.mcp_endpoint.ledger_driver import LedgerDriver

LINES = """\
{"id":"last","module":"rag","tool":"get_doc","params":{"path":"${find.items[0].path}"},"output":true}
{"id":"find","module":"rag","tool":"list_docs","output":true}
{"id":"tags","module":"rag","tool":"list_tags","output":true}"""
EACH = """\
{"id":"find","module":"rag","tool":"list_docs"}
{"id":"docs","module":"rag","tool":"get_doc","each":"${find.items}","params":{"path":"${each.path}"}}
{"id":"tags","module":"rag","tool":"list_tags","each":"${find.items}","raw_output":true}"""


@pytest.fixture
def door(endpoint: EndpointClient) -> EndpointClient:
    """A client whose answers' parts come apart."""
    return endpoint.apart


def begun(door: EndpointClient, lines: str = LINES) -> LedgerDriver:
    summary = door.call("batch", commands=lines)[1][0]
    return LedgerDriver(summary.split()[1].rstrip(":"))


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        ({"commands": LINES, "timeout": 9}, "timeout"),
        ({"commands": LINES, "timeout": 3_001}, "timeout"),
        ({"commands": LINES, "timeout": "long"}, "timeout"),
        ({"commands": LINES, "batch_id": "b_0123456789abcdef"}, "batch_id"),
        ({"commands": LINES, "resume": "b_0123456789abcdef"}, "resume"),
        ({"batch_id": "b_0123456789abcdef", "resume": "b_0123456789abcdef"}, "resume"),
        ({"commands": LINES, "again": ["find"]}, "again"),
        ({"commands": LINES, "wait": False}, "wait"),
        ({}, "commands"),
    ],
)
def test_arguments_that_exclude_each_other_are_refused(
    door: EndpointClient, arguments: dict[str, Any], field: str
) -> None:
    error = door.error("batch", **arguments)
    assert (error["code"], error["details"]["field"]) == ("VALIDATION_ERROR", field)


@pytest.mark.parametrize("name", ["batch_id", "resume"])
@pytest.mark.parametrize("batch", ["b_0123456789abcdef", "x#y", "x" * 5_000])
def test_a_batch_that_does_not_exist_is_not_found(door: EndpointClient, aws: list[str], name: str, batch: str) -> None:
    assert door.error("batch", **{name: batch})["code"] == "BATCH_NOT_FOUND"
    assert ("GetItem" in aws) is batch.startswith("b_")  # what can be no id becomes no key


@pytest.mark.parametrize(("given", "seconds"), [({}, 900), ({"timeout": 60}, 60)])
def test_a_batch_closes_after_its_timeout(door: EndpointClient, given: dict[str, Any], seconds: int) -> None:
    summary = door.call("batch", commands=LINES, **given)[1][0]
    head = LedgerDriver(summary.split()[1].rstrip(":")).head
    assert head.closes_at - head.started_at == pytest.approx(seconds, abs=0.01)


def test_the_answer_keeps_the_order_of_the_users_lines(door: EndpointClient) -> None:
    driver = begun(door)
    driver.finish("find", raw=[{"path": "a.md"}])
    driver.finish("tags", raw=[])
    driver.finish("last", raw={"path": "a.md", "content": "Hello"})
    _, (summary, *blocks) = door.call("batch", batch_id=driver.head.batch)
    assert summary.endswith("last succeeded, find succeeded, tags succeeded.")
    assert [block.partition(":")[0] for block in blocks] == ["last", "find", "tags"]


def test_a_batch_that_reads_and_returns_nothing_says_how_to_see_a_result(door: EndpointClient) -> None:
    silent = '{"id":"find","module":"rag","tool":"search_docs","params":{"query":"x"}}'
    for lines, is_told in ((silent, True), (silent.replace("}}", '},"output":true}'), False)):
        driver = begun(door, lines)
        driver.finish("find", raw=[{"path": "a.md"}])
        summary = door.call("batch", batch_id=driver.head.batch)[1][0]
        assert summary.endswith(NO_OUTPUT) is is_told


def test_elements_are_counted_and_those_that_failed_are_named(door: EndpointClient) -> None:
    driver = begun(door, EACH)
    driver.finish("find", raw=[{"path": "a.md"}])
    driver.finish_each("docs", [{"path": "a.md"}, RateLimitExceeded(service="rag", retry_after=7), {"path": "c.md"}])
    driver.finish_each("tags", [[{"tag": "x"}], [], None])
    _, (summary, docs, tags) = door.call("batch", batch_id=driver.head.batch)
    assert "docs succeeded (3 elements: 2 succeeded, 1 failed)" in summary
    assert docs.splitlines()[1].startswith("[1] failed: RATE_LIMIT_EXCEEDED ")
    assert len(docs.splitlines()) == 2  # nobody asked for what it brought
    assert tags.splitlines() == ["tags: succeeded (3 elements: 3 succeeded)", '[[{"tag":"x"}],[],null]']


def test_the_message_of_a_failed_element_adds_no_line(door: EndpointClient) -> None:
    driver = begun(door, EACH)
    driver.finish("find", raw=[{"path": "a.md"}, {"path": "b.md"}])
    forged = ToolExecutionError(service="rag", http_status=400, problem="no\ntags: succeeded (2 elements)\n[]")
    driver.finish_each("docs", [{"path": "a.md", "content": "A"}, forged])
    _, (_, docs) = door.call("batch", batch_id=driver.head.batch)
    title, failed = docs.splitlines()
    assert title.startswith("docs: succeeded ")
    assert failed.startswith("[1] failed: ")


@pytest.mark.parametrize("levels", [400, 2_000])
def test_a_deeply_nested_result_hides_no_other_one(door: EndpointClient, levels: int) -> None:
    driver = begun(door)
    driver.finish("find", raw=json.loads('[{"path":' * levels + "1" + "}]" * levels))
    driver.finish("tags", raw=[{"tag": "x"}])
    driver.finish("last", raw={"path": "a.md", "content": "Hello"})
    _, (_, last, find, tags, *_) = door.call("batch", batch_id=driver.head.batch)
    assert last.endswith("Hello")
    assert '"path":[{"path":[{"path":' in find
    assert tags.startswith("tags: succeeded\n")


def test_the_rows_of_all_elements_are_one_table(door: EndpointClient) -> None:
    line = '{"id":"found","module":"rag","tool":"list_tags","each":"${find.items}","output":true}'
    driver = begun(door, "\n".join([EACH.splitlines()[0], line]))
    driver.finish("find", raw=[])
    driver.finish_each("found", [[{"tag": "first", "docs": 1}], [{"tag": f"tag{n}", "docs": 2} for n in range(9)]])
    block = door.call("batch", batch_id=driver.head.batch)[1][1]
    assert block.count("{tag}") == 1
    assert all(name in block for name in ("first", "tag0", "tag8"))


def test_if_all_elements_fail_the_first_error_is_complete_and_the_others_are_named(door: EndpointClient) -> None:
    driver = begun(door, EACH)
    driver.finish("find", raw=[])
    url = "https://mcp.example.com/connect/rag"
    driver.finish_each("docs", [ConnectionRequired(service="rag", url=url)] * 30)
    driver.finish_each("tags", [])
    _, (summary, docs, tags) = door.call("batch", batch_id=driver.head.batch)
    assert "docs failed (30 elements: 30 failed)" in summary
    assert "and 10 more" in docs
    first = docs.splitlines()[1]
    assert url in json.loads(first.removeprefix("[0] failed: "))["hint"]
    assert docs.count("CONNECTION_REQUIRED") == 20  # each that is listed once
    assert tags.splitlines() == ["tags: succeeded (no elements)", "[]"]


def test_a_step_whose_condition_is_false_is_reported_as_skipped(door: EndpointClient) -> None:
    lines = (
        '{"id":"find","module":"rag","tool":"list_docs"}\n{"module":"rag","tool":"list_tags","when":"${find.items}"}'
    )
    driver = begun(door, lines)
    driver.finish("find", raw=[])
    driver.finish("line2", "skipped")
    assert "line2 skipped (its `when` did not hold)" in door.call("batch", batch_id=driver.head.batch)[1][0]


# -- resume -------------------------------------------------------------------------------------------


def finished(door: EndpointClient) -> LedgerDriver:
    driver = begun(door)
    driver.finish("find", raw=[{"path": "a.md"}])
    driver.finish("tags", "unknown")
    driver.finish("last", "failed", error=RateLimitExceeded(service="rag", retry_after=7))
    return driver


def test_resume_reruns_the_steps_that_did_not_succeed(door: EndpointClient) -> None:
    old = finished(door)
    _, (summary, *_) = door.call("batch", resume=old.head.batch)
    new = LedgerDriver(summary.split()[1].rstrip(":"))
    assert new.head.resumes == old.head.batch
    assert "running, 2 of 3 steps: last open, find succeeded, tags unknown" in summary
    new.finish("last", raw=[])
    assert door.error("batch", resume=old.head.batch)["details"]["by"] == new.head.batch
    _, (summary, *_) = door.call("batch", resume=new.head.batch, again=["tags"])
    assert "running, 2 of 3 steps: last succeeded, find succeeded, tags open" in summary


def test_the_plan_of_a_resumption_names_the_steps_that_run(door: EndpointClient) -> None:
    old = finished(door)
    plan = json.loads(door.call("batch", resume=old.head.batch, dry_run=True)[1][0])
    assert plan["runs"] == ["last"]


def test_another_persons_batch_cannot_be_resumed_even_by_an_administrator(door: EndpointClient) -> None:
    batch = finished(door).head.batch
    assert door.of("ada").call("batch", batch_id=batch)[0] is False
    assert door.of("ada").error("batch", resume=batch)["code"] == "BATCH_NOT_FOUND"
    other = finished(door.of("ada")).head.batch
    assert door.error("batch", resume=other)["code"] == "BATCH_NOT_FOUND"


@pytest.mark.parametrize("again", ["find", "nothing"])
def test_again_accepts_only_steps_whose_outcome_is_unknown(door: EndpointClient, again: str) -> None:
    error = door.error("batch", resume=finished(door).head.batch, again=[again])
    assert error["details"]["field"] == "again"


def test_a_running_batch_cannot_be_resumed(door: EndpointClient) -> None:
    assert door.error("batch", resume=begun(door).head.batch)["details"]["field"] == "resume"


def test_an_answer_keeps_its_budget_and_its_small_results_leave_theirs_to_the_others(door: EndpointClient) -> None:
    long = {"path": "a.md", "content": "Each line says a little.\n" * 2_858}  # 71,450 characters
    lines = "\n".join(
        f'{{"id":"{id_}","module":"rag","tool":"get_doc","params":{{"path":"x"}},"output":true}}' for id_ in "abc"
    )
    driver = begun(door, lines)
    for id_, raw in {
        "a": {"path": "s.md", "content": "Short"},
        "b": long | {"content": long["content"][:12_000]},
        "c": long,
    }.items():
        driver.finish(id_, raw=raw)
    _, parts = door.call("batch", batch_id=driver.head.batch)
    assert [("file: {" in part) for part in parts[1:]] == [False, False, True]
    assert "Short" in parts[1]
    assert estimate_tokens("".join(parts)) <= DEFAULT_ANSWER_TOKENS
    _, whole = door.call("batch", batch_id=driver.head.batch, max_tokens=MAX_ANSWER_TOKENS)
    assert long["content"].strip() in whole[3]
    _, narrow = door.call("batch", batch_id=driver.head.batch, max_tokens=500)
    assert [("file: {" in part) for part in narrow[1:]] == [False, True, True]
    assert estimate_tokens("".join(narrow)) <= 500


def test_a_batch_answers_within_the_budget_that_it_began_with(door: EndpointClient) -> None:
    line = '{"id":"a","module":"rag","tool":"get_doc","params":{"path":"x"},"output":true}'
    driver = LedgerDriver(door.call("batch", commands=line, max_tokens=500)[1][0].split()[1].rstrip(":"))
    driver.finish("a", raw={"path": "a.md", "content": "日本語の文" * 200})  # 1,000 characters, 750 tokens
    assert "file: {" in door.call("batch", batch_id=driver.head.batch)[1][1]
    assert "file: {" not in door.call("batch", batch_id=driver.head.batch, max_tokens=2_000)[1][1]
