"""The ending of a step: by its `when`, its needs, its timeout, a fault, or a batch that is stopped."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from botocore.exceptions import ClientError, EndpointConnectionError

from mcpist.aws.clients import client
from mcpist.batch.execution.advancing import MAX_EXECUTIONS_RETRIES
from mcpist.batch.execution.attempts import StepAttempt, StepBusy
from mcpist.batch.execution.step_work import ToolStepWork
from mcpist.batch.ledger import ledger, transitions
from mcpist.batch.ledger.records import Ending
from mcpist.caller import Role
from mcpist.errors import ExecutionsExhausted, StoreUnavailable
from mcpist.people import directory
from mcpist.running.broker import INVOKE_TIMEOUT_SECONDS, MAX_INVOKE_ATTEMPTS
from step_runner.handler import find_shows, permissions_of
from tests import members
from tests.step_runner.ledger_batch import PK, Write, claim_by, enter, entry, error_of, has_settled, outcome

TAGS: Any = ("list_tags", {}, set())


@contextmanager
def outage(operation: str) -> Iterator[None]:
    """Let a store fail for one operation."""

    def refuse(**_: Any) -> None:
        raise EndpointConnectionError(endpoint_url="ledger")

    events = client("dynamodb").meta.events
    events.register(f"before-call.dynamodb.{operation}", refuse)
    yield
    events.unregister(f"before-call.dynamodb.{operation}", refuse)


@pytest.mark.parametrize(
    ("when", "status"),
    [
        ({"not_empty": "${step0.items}"}, "skipped"),
        ({"exists": "${step0.raw}"}, "succeeded"),
        ({"equals": ["${step0.raw}", []]}, "succeeded"),
        ({"equals": ["${step0.raw[0]}", None]}, "skipped"),
    ],
)
def test_a_step_is_skipped_unless_its_when_holds(write: Write, when: Any, status: str) -> None:
    write(TAGS, ("list_tags", {}, {0}), ("list_docs", {}, {1}), step1={"when": when})
    has_settled(0, b"[]")
    assert enter(step=1) == {"batch": PK, "go": {"s2": True}}
    enter(step=2)
    assert [outcome(1), outcome(2)] == [status, status]
    assert entry(1).error is None


def test_dependents_of_a_failed_step_that_may_fail_run_without_its_result(write: Write) -> None:
    params = {"query": "found: ${step0.items} ${step0.items[*].tag}", "tags": "${step0.raw.x}"}
    write(TAGS, ("search_docs", params, {0}), lenient=frozenset({0}))
    has_settled(0, status="failed")
    enter(step=1)
    assert outcome(1) == "succeeded"


def test_a_missing_result_inside_of_a_text_is_an_error(write: Write) -> None:
    write(TAGS, ("search_docs", {"query": "found: ${step0.raw.x}"}, {0}), lenient=frozenset({0}))
    has_settled(0, status="failed")
    enter(step=1)
    assert "${step0.raw.x} does not resolve: it is null, inside a text" in error_of(entry(1)).text().message


def test_dependents_of_a_skipped_step_that_may_fail_run(write: Write) -> None:
    write(TAGS, ("list_tags", {}, {0}), ("list_docs", {}, {1}), lenient=frozenset({1}))
    has_settled(0, status="failed")
    for step in (1, 2):
        enter(step=step)
    assert [outcome(step) for step in (1, 2)] == ["skipped", "succeeded"]


def test_an_argument_from_a_result_that_is_wrong_is_reported_with_the_line(write: Write) -> None:
    write(TAGS, ("search_docs", {"query": "${step0.x}"}, {0}))
    has_settled(0, b'{"y": 1}')
    enter(step=1)
    message = error_of(entry(1)).text().message
    assert message == "Line 2: params.query: ${step0.x} does not resolve: there is no x."


@pytest.mark.parametrize(
    ("timeout", "closes_in", "remaining", "seconds"),
    [(None, 300, 60, 55), (3, 300, 60, 3), (25, 300, 12, 7), (25, 9, 60, 9), (25, -1, 60, 1)],
)
def test_a_tools_timeout_is_limited_by_its_line_its_sandbox_and_its_batch(
    write: Write, timeout: Any, closes_in: float, remaining: float, seconds: float
) -> None:
    head = write(TAGS, closes_in=closes_in, step0={"timeout": timeout})
    work = ToolStepWork(StepAttempt(PK, 0, "execution", 0, "request", remaining), permissions_of, find_shows)
    assert work._timeout_seconds(head, entry()) == pytest.approx(seconds, abs=0.5)


def test_an_outage_before_the_claim_is_retried(write: Write) -> None:
    write(TAGS, effect="writes")
    directory.access_cache.clear()
    with outage("Query"), pytest.raises(StoreUnavailable):
        enter()
    assert entry().claim is None
    enter(retry=1)
    assert outcome() == "succeeded"


def test_an_outage_that_lasts_fails_the_step(write: Write) -> None:
    write(TAGS)
    directory.access_cache.clear()
    with outage("Query"):
        enter(retry=3)
    assert error_of(entry()).code == "STORE_UNAVAILABLE"


def test_an_outage_after_the_claim_of_a_write_fails_it_without_a_retry(write: Write) -> None:
    write(("put_doc", {"path": "a.md", "title": "A", "content": "a"}, set()), effect="writes")
    members.put_role("acme", Role("members", modules=("rag",), allow=("rag.put_doc",)))
    directory.access_cache.clear()
    with outage("PutItem"):
        enter()
    assert error_of(entry()).code == "STORE_UNAVAILABLE"
    assert entry().claim is not None


def test_cancelling_ends_steps_that_have_not_begun_and_running_reads(write: Write) -> None:
    write(TAGS, TAGS, ("list_docs", {}, {0, 1}))
    has_settled(0)
    claim_by("living sandbox", entry(1))
    head = ledger.cancel(PK)
    assert (head.outcome, head.done) == ({0: "succeeded", 1: "cancelled", 2: "cancelled"}, True)
    assert head.cancelled_at == pytest.approx(time.time(), abs=60)
    late = transitions.finish(head, entry(1), "living sandbox", Ending("succeeded"), b"[]")
    assert late.status == "cancelled"


def test_a_write_that_runs_while_its_batch_is_cancelled_keeps_its_own_ending(write: Write) -> None:
    write(TAGS, ("list_docs", {}, {0}), effect="writes")
    claim_by("living sandbox")
    assert ledger.cancel(PK).outcome == {1: "cancelled"}
    transitions.finish(ledger.get_header(PK), entry(), "living sandbox", Ending("succeeded"), b"[]")
    enter()
    assert ledger.get_header(PK).outcome == {0: "succeeded", 1: "cancelled"}


def test_no_step_of_a_cancelled_batch_starts(write: Write) -> None:
    head = write(TAGS)
    transitions.mark_cancelled(head)
    enter()
    assert outcome() == "cancelled"


def test_a_batch_that_is_done_is_not_cancelled(write: Write) -> None:
    write(TAGS)
    enter()
    head = ledger.cancel(PK)
    assert (head.cancelled_at, head.outcome) == (None, {0: "succeeded"})
    assert transitions.mark_cancelled(head).cancelled_at is None


def test_cancelling_again_changes_nothing(write: Write) -> None:
    write(TAGS, effect="writes")
    claim_by("living sandbox")
    first = ledger.cancel(PK)
    assert ledger.cancel(PK) == first


def test_a_read_that_died_in_a_cancelled_batch_does_not_run_again(write: Write) -> None:
    head = write(TAGS)
    claim_by("dead sandbox", ttl_seconds=-1)
    transitions.mark_cancelled(head)
    enter()
    assert outcome() == "cancelled"


def test_a_claim_between_reading_and_cancelling_is_kept(write: Write) -> None:
    head = write(TAGS)
    seen = entry()
    claim_by("living sandbox")
    assert transitions.finish(head, seen, None, Ending("cancelled")).status is None
    with pytest.raises(StepBusy):
        enter()


@contextmanager
def full_account() -> Iterator[None]:
    """Let AWS throttle every invocation of the broker."""

    def refuse(**_: Any) -> None:
        raise ClientError({"Error": {"Code": "TooManyRequestsException"}}, "Invoke")

    events = client("lambda", read_seconds=INVOKE_TIMEOUT_SECONDS, attempts=MAX_INVOKE_ATTEMPTS).meta.events
    events.register("before-call.lambda.Invoke", refuse)
    yield
    events.unregister("before-call.lambda.Invoke", refuse)


@pytest.mark.parametrize(
    ("effect", "tool", "params"),
    [("reads", "get_me", {}), ("writes", "create_issue", {"owner": "o", "repo": "r", "title": "t"})],
)
def test_a_step_for_which_the_account_has_no_execution_is_retried_also_a_write(
    write: Write, effect: str, tool: str, params: dict[str, Any]
) -> None:
    members.put_role("acme", Role("members", modules=("github",), allow=("github.*",)))
    write((tool, params, set()), effect=effect, warrant="w", step0={"module": "github"})
    with full_account():
        for retry in range(MAX_EXECUTIONS_RETRIES):
            with pytest.raises(ExecutionsExhausted):
                enter(retry=retry)
            assert entry().claim is None or effect == "reads"
        enter(retry=MAX_EXECUTIONS_RETRIES)
    assert outcome() == "failed"
    assert isinstance(error_of(entry()), ExecutionsExhausted)
