"""Batches that a stopped machine has left, at the next start."""

import time
from dataclasses import replace
from typing import Any

import pytest
from botocore.exceptions import EndpointConnectionError

from infra.local.interrupted import continue_batches
from infra.local.login import LocalLogin
from mcpist.aws.clients import client
from mcpist.aws.table import ledger_table
from mcpist.batch.execution import executions
from mcpist.batch.execution.plan import plan
from mcpist.batch.execution.start import start
from mcpist.batch.ledger import ledger, transitions
from mcpist.batch.ledger.records import Claim, Entry, Header
from mcpist.caller import Role, Subject
from mcpist.people import directory
from mcpist.tools.access.permissions import Permissions
from mcpist_services.catalogue import CATALOGUE
from tests import members
from tests.mcp_endpoint.ledger_driver import LedgerDriver

FIND = {"id": "find", "module": "rag", "tool": "list_docs"}
MAKE = {"id": "make", "module": "rag", "tool": "put_doc", "params": {"path": "a.md", "content": "a"}}
EACH = {**MAKE, "id": "all", "each": "${find.items}", "params": {"path": "${each.path}", "content": "a"}}


@pytest.fixture
def uma(organization: str, login: LocalLogin) -> Permissions:
    members.put_role(organization, Role("members", modules=("rag",), allow=("rag.*",)))
    return Permissions(directory.identify(Subject(login.issuer, "uma")), CATALOGUE)


def begun(uma: Permissions, *steps: dict[str, object]) -> Header:
    return start(plan(list(steps or (FIND, MAKE)), uma), uma)


def claimed(head: Header, entry: Entry) -> Claim:
    claim = Claim("sandbox", "execution", 0, time.time() + 60)
    assert transitions.claim(head, entry, claim).claim == claim
    return claim


def reports() -> list[str]:
    said: list[str] = []
    continue_batches(said.append)
    return said


def test_an_unfinished_batch_goes_on_also_in_a_later_execution(uma: Permissions, aws: list[str]) -> None:
    head = begun(uma)
    LedgerDriver(head.batch).finish("find", raw=[])
    executions.mark_started(head, f"{head.batch}-r1")
    aws.clear()
    (said,) = reports()
    assert f"batch {head.batch} of uma was interrupted after 1 of 2 steps, and goes on" in said
    assert aws.count("StartExecution") == 1
    assert not ledger.get_header(head.pk).done
    assert executions.acquire_start(head, f"{head.batch}-r1", "sandbox") == "mine"


def test_a_batch_that_cannot_go_on_is_named_and_stops_no_start(
    uma: Permissions, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unreachable(**_: Any) -> None:
        raise EndpointConnectionError(endpoint_url="")

    batches = [begun(uma).batch, begun(uma).batch]
    with monkeypatch.context() as patch:
        patch.setattr(client("stepfunctions"), "start_execution", unreachable)
        said = reports()
    assert [batch in line and "cannot go on" in line for batch, line in zip(batches[::-1], said, strict=True)] == [
        True,
        True,
    ]


def test_claims_of_sandboxes_that_are_gone_are_ended_and_not_forgotten(uma: Permissions) -> None:
    head = begun(uma, FIND, EACH)
    driver = LedgerDriver(head.batch)
    read = claimed(head, driver.step("find"))
    reports()
    assert driver.step("find").claim == replace(read, until=0)
    driver = LedgerDriver(begun(uma, FIND, EACH).batch)
    driver.finish("find", raw=[])
    entry = transitions.store_list(driver.head, driver.step("all"), [{"path": "a.md"}, {"path": "b.md"}])
    written = claimed(driver.head, ledger.get_elements(driver.pk, entry)[1])
    reports()
    assert [one.claim for one in ledger.get_elements(driver.pk, entry)] == [None, replace(written, until=0)]


def test_a_batch_whose_time_is_over_ends_and_says_how_to_run_the_rest(uma: Permissions, aws: list[str]) -> None:
    head = begun(uma)
    driver = LedgerDriver(head.batch)
    claimed(head, driver.step("make"))
    driver.expire()
    aws.clear()
    (said,) = reports()
    assert said.endswith(f"and its time is over; to run the others: mcpist batch --resume {head.batch} --watch")
    assert {head.ids[step]: status for step, status in driver.head.outcome.items()} == {
        "find": "cancelled",
        "make": "unknown",
    }
    assert "StartExecution" not in aws


def test_a_cancelled_batch_ends(uma: Permissions, aws: list[str]) -> None:
    head = begun(uma)
    claimed(head, LedgerDriver(head.batch).step("make"))
    assert not ledger.cancel(head.pk).done
    aws.clear()
    assert reports()[0].endswith("when it was being cancelled")
    assert ledger.get_header(head.pk).state == "cancelled"
    assert "StartExecution" not in aws


def test_a_batch_that_is_done_is_left_alone_and_places_in_flight_are_free(uma: Permissions) -> None:
    head = begun(uma, FIND)
    LedgerDriver(head.batch).finish("find", raw=[])
    ledger_table().set("acme#quota", "in_flight", {"step_x": int(time.time()) + 100})
    assert reports() == []
    assert ledger_table().get("acme#quota", "in_flight") is None
