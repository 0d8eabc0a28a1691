"""Batches of quick reads, which the request that starts them runs itself."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from botocore.exceptions import EndpointConnectionError

from infra.local.login import LocalLogin
from mcpist.aws.clients import client
from mcpist.batch.execution import quick_reads, submission
from mcpist.batch.execution.plan import plan
from mcpist.batch.ledger import ledger
from mcpist.batch.ledger.records import Header
from mcpist.caller import Role, Subject
from mcpist.people import directory
from mcpist.polling import Polling
from mcpist.settings import settings
from mcpist.tools.access.permissions import Permissions
from mcpist_services.catalogue import CATALOGUE
from tests import emf, members
from tests.audit_items import audit_items
from tests.mcp_endpoint.endpoint_client import EndpointClient

TAGS: dict[str, Any] = {"module": "rag", "tool": "list_tags"}
DOCS: dict[str, Any] = {"module": "rag", "tool": "list_docs"}
MISSING: dict[str, Any] = {"module": "rag", "tool": "get_doc", "params": {"path": "no.md"}}
ME: dict[str, Any] = {"module": "github", "tool": "get_me"}
OF_SIX = {"PutItem": 6, "BatchWriteItem": 1}
"""The rows of the audit, and the batch."""
MACHINE = {"StartExecution", "CreateStateMachine"}


@pytest.fixture(autouse=True)
def unwaited(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the requests of these tests run their reads, however slow the machine is, and wait for no other step."""
    monkeypatch.setattr(submission, "LEDGER_POLLING", Polling(initial_seconds=3_600, max_seconds=3_600))
    monkeypatch.setattr(quick_reads, "MAX_START_SECONDS", 3_600)


@pytest.fixture
def door(endpoint: EndpointClient) -> EndpointClient:
    """A client whose answers' parts come apart."""
    return endpoint.apart.with_timeout(900)


def row(*steps: dict[str, Any]) -> list[dict[str, Any]]:
    """Return steps of which each waits for the one before."""
    return [{"id": f"s{n}", **step, "after": [f"s{n - 1}"] if n else []} for n, step in enumerate(steps)]


def head_of(summary: str) -> Header:
    return ledger.get_header(ledger.partition_key("acme", summary.split()[1].rstrip(":")))


def test_reads_in_a_row_have_their_rows_their_metrics_and_results_and_need_no_machine(
    door: EndpointClient, aws: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    commands = row(*[TAGS] * 4, {**MISSING, "on_error": "continue"}, {**TAGS, "output": True})
    aws.clear()
    _, (summary, failed, last) = door.call("batch", commands=commands)
    assert not MACHINE & set(aws)
    assert {name: aws.count(name) for name in ("PutItem", "BatchWriteItem")} == OF_SIX
    assert "done with errors, 6 of 6 steps: " in summary
    assert (failed.partition("\n")[0], last.partition("\n")[0]) == ("s4: failed", "s5: succeeded")
    head = head_of(summary)
    assert [head.ids[step] for step in sorted(head.seq, key=head.seq.__getitem__)] == [f"s{n}" for n in range(6)]
    assert all(entry.started_at and entry.ended_at for entry in ledger.get_entries(head.pk))
    assert {one["batch"] for one in audit_items("acme")} == {head.batch}
    assert sorted(one["tool"] for one in audit_items("acme")) == ["rag.get_doc", *["rag.list_tags"] * 5]
    counted = [metric for metric in emf.seen(capsys.readouterr().out) if metric.name == "BatchSteps"]
    assert sum(metric.value for metric in counted) == 6
    assert door.call("batch", batch_id=head.batch)[1][0] == summary


def test_a_step_after_one_that_failed_is_skipped_and_one_whose_condition_does_not_hold(door: EndpointClient) -> None:
    unmet = {**TAGS, "when": {"exists": "${s0.items[0]}"}}
    assert "s0 failed, s1 skipped (s0 did not succeed)" in door.call("batch", commands=row(MISSING, TAGS))[1][0]
    assert "s0 succeeded, s1 skipped (its `when` did not hold)" in door.call("batch", commands=row(TAGS, unmet))[1][0]


def test_a_batch_of_quick_reads_can_be_resumed(door: EndpointClient) -> None:
    batch = head_of(door.call("batch", commands=row(TAGS, MISSING))[1][0]).batch
    plan = json.loads(door.call("batch", resume=batch, dry_run=True)[1][0])
    assert plan["runs"] == ["s1"]


@pytest.mark.parametrize(
    ("quick", "commands"),
    [
        (True, row(ME, TAGS, ME)),
        (True, [{"id": f"s{n}", **TAGS} for n in range(5)]),
        (False, [{"id": "a", **ME}, {"id": "b", **ME}]),
        (False, row(DOCS, {**MISSING, "each": "${s0.items}", "params": {"path": "${each.path}"}})),
        (False, row(TAGS, {"module": "rag", "tool": "put_doc", "params": {"path": "a.md", "content": "a"}})),
    ],
    ids=["in a row", "own stores at once", "a service at once", "each", "a write"],
)
def test_quick_reads_are_in_a_row_or_of_our_own_stores(
    organization: str, login: LocalLogin, commands: list[dict[str, Any]], *, quick: bool
) -> None:
    members.put_role(organization, Role("members", modules=("rag", "github"), allow=("rag.*", "github.*")))
    permissions = Permissions(directory.identify(Subject(login.issuer, "uma")), CATALOGUE)
    assert quick_reads.are_all(plan(commands, permissions), permissions) is quick


def test_our_own_stores_are_read_at_once_and_in_a_row(door: EndpointClient, aws: list[str]) -> None:
    _, (summary, *_) = door.call("batch", commands=[{"id": f"s{n}", **TAGS} for n in range(5)])
    assert "done, 5 of 5 steps" in summary
    assert not MACHINE & set(aws)


def test_reads_for_which_a_request_has_no_time_are_left_to_the_machine(
    door: EndpointClient, aws: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(quick_reads, "MAX_START_SECONDS", -1)
    head = head_of(door.call("batch", commands=row(TAGS, TAGS))[1][0])
    assert (head.seq, head.done) == ({}, False)
    assert "StartExecution" in aws


@contextmanager
def outage(operation: str) -> Iterator[None]:
    """Let S3 fail for one operation."""

    def refuse(**_: Any) -> None:
        raise EndpointConnectionError(endpoint_url="bucket")

    events = client("s3").meta.events
    events.register(f"before-call.s3.{operation}", refuse)
    yield
    events.unregister(f"before-call.s3.{operation}", refuse)


def test_what_a_store_stops_is_left_to_the_machine_with_all_that_has_ended(
    door: EndpointClient, aws: list[str]
) -> None:
    changes = {"module": "changes", "tool": "list"}
    with outage("ListObjectsV2"):
        head = head_of(door.call("batch", commands=row(changes, TAGS, TAGS))[1][0])
    assert (dict(head.outcome), head.done) == ({0: "succeeded"}, False)
    assert [entry.status for entry in ledger.get_entries(head.pk)] == ["succeeded", None, None]
    assert "StartExecution" in aws


def test_quick_reads_count_as_steps_of_the_day(door: EndpointClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BATCH_STEPS", "3")
    settings.cache_clear()
    assert "done, 2 of 2 steps" in door.call("batch", commands=row(TAGS, TAGS))[1][0]
    refused = door.error("batch", commands=row(TAGS, TAGS))
    assert (refused["code"], refused["details"]["used"]) == ("RATE_LIMIT_EXCEEDED", 3)
