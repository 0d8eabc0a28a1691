"""The step runner's handler, by which a step settles once."""

import json
from dataclasses import replace
from threading import Event
from typing import Any

import pytest
from botocore.exceptions import EndpointConnectionError

from mcpist.aws.clients import client
from mcpist.batch.execution.advancing import MAX_STORE_RETRIES
from mcpist.batch.execution.attempts import StepBusy
from mcpist.batch.ledger import ledger, transitions
from mcpist.batch.ledger.records import Ending
from mcpist.caller import ClientInfo, Role
from mcpist.errors import AnswerWithheld, BatchNotFound, StoreUnavailable
from mcpist.people import directory, edits
from tests import members
from tests.audit_items import audit_items
from tests.lost_rows import demand_rows, lose_rows
from tests.step_runner.ledger_batch import EXECUTION, PK, Write, claim_by, enter, entry, error_of, outcome


def test_a_step_runs_settles_and_opens_its_successors(write: Write) -> None:
    write(("list_tags", {}, set()), ("list_docs", {}, {0}), ("list_docs", {}, {0, 1}))
    assert enter() == {"batch": PK, "go": {"s1": True}}
    assert outcome() == "succeeded"
    assert enter(step=1) == {"batch": PK, "go": {"s2": True}}


def test_a_read_does_not_wait_for_its_claim_nor_its_ending_for_the_audit_row(write: Write) -> None:
    write(("list_tags", {}, set()))
    begun, ended = Event(), Event()

    def before_update(params: dict[str, Any], **_: Any) -> None:
        if b"#claim = :claim" in params["body"]:
            assert begun.wait(10)
        if b"#ending = :ending" in params["body"]:
            ended.set()

    dynamodb = client("dynamodb").meta.events
    client("s3").meta.events.register("before-call.s3.ListObjectsV2", lambda **_: begun.set())
    dynamodb.register("before-call.dynamodb.UpdateItem", before_update)
    dynamodb.register("before-call.dynamodb.PutItem", lambda **_: None if ended.wait(10) else pytest.fail("too late"))
    enter()
    assert outcome() == "succeeded"
    assert [row["outcome"] for row in audit_items("acme")] == ["succeeded"]


def test_no_step_ends_with_a_result_without_its_row_where_the_owner_demands_rows(
    write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    demand_rows(monkeypatch)
    write(("list_tags", {}, set()))
    lose_rows("succeeded")
    for retry in range(MAX_STORE_RETRIES):
        with pytest.raises(AnswerWithheld):
            enter(retry=retry)
        assert entry().status is None
    enter(retry=MAX_STORE_RETRIES)
    ended = entry().ending
    assert (outcome(), error_of(entry()).code, ended and ended.result) == ("failed", "STORE_UNAVAILABLE", None)


def test_a_write_waits_for_its_claim(write: Write, aws: list[str]) -> None:
    write(("list_tags", {}, set()), effect="writes")
    client("dynamodb").meta.events.register("before-call.dynamodb.UpdateItem", _refuse_claims)
    with pytest.raises(StoreUnavailable):
        enter()
    assert "ListObjectsV2" not in aws


def _refuse_claims(params: dict[str, Any], **_: Any) -> None:
    if b"#claim = :claim" in params["body"]:
        raise EndpointConnectionError(endpoint_url="ledger")


def test_the_row_of_a_step_names_the_program_that_started_the_batch(write: Write) -> None:
    head = replace(write(("list_tags", {}, set())), client=ClientInfo("code", "1.2", "c-1"))
    ledger.write(head, [entry()])
    enter()
    (row,) = audit_items("acme")
    assert (row["client_name"], row["client_version"], row["client_id"]) == ("code", "1.2", "c-1")
    assert (row["door"], row["batch"]) == ("step_runner", head.batch)


def test_entering_a_step_again_replays_the_response_and_runs_nothing(write: Write, aws: list[str]) -> None:
    write(("list_tags", {}, set()), ("list_docs", {}, {0}))
    first = enter()
    aws.clear()
    assert enter(request="request-2", retry=1) == first
    assert aws == ["BatchGetItem"]


def test_a_step_that_ended_without_settling_is_settled_by_the_next_attempt(write: Write) -> None:
    head = write(("list_tags", {}, set()), ("list_docs", {}, {0}))
    claim_by("dead sandbox")
    transitions.finish(head, entry(), "dead sandbox", Ending("succeeded"), b"[]")
    assert enter() == {"batch": PK, "go": {"s1": True}}


def test_a_step_settles_once_in_the_headers_order(write: Write) -> None:
    write(("list_tags", {}, set()), ("list_docs", {}, set()))
    transitions.settle(PK, 0, "succeeded")
    transitions.settle(PK, 1, "failed")
    head = transitions.settle(PK, 0, "failed")
    assert (head.seq, head.outcome) == ({0: 0, 1: 1}, {0: "succeeded", 1: "failed"})


def test_a_step_that_is_entered_before_its_needs_does_not_run(write: Write) -> None:
    write(("list_tags", {}, set()), ("list_docs", {}, {0}))
    assert enter(step=1) == {"batch": PK, "go": {}}
    assert ledger.get_header(PK).seq == {}


def test_a_live_claim_is_busy(write: Write) -> None:
    write(("list_tags", {}, set()))
    claim_by("living sandbox")
    with pytest.raises(StepBusy):
        enter()
    with pytest.raises(StepBusy):
        enter("lost")


def test_of_sandboxes_that_claim_a_step_at_once_the_first_has_it(write: Write) -> None:
    write(("list_tags", {}, ()))
    unclaimed = entry()
    first, second = claim_by("first", unclaimed), claim_by("second", unclaimed)
    assert first.claim
    assert second.claim
    assert (first.claim.owner, second.claim.owner, entry().claim) == ("first", "first", first.claim)


def test_of_sandboxes_that_take_a_dead_claim_at_once_the_first_has_it(write: Write) -> None:
    write(("list_tags", {}, ()))
    dead = claim_by("dead", ttl_seconds=-1)
    claim_by("first", dead)
    second = claim_by("second", dead).claim
    assert second
    assert second.owner == "first"


@pytest.mark.parametrize("dead", [{"ttl_seconds": -1}, {"execution": EXECUTION, "retry": 0}])
def test_a_dead_claim_lets_a_read_run_again_and_leaves_a_write_unknown(write: Write, dead: dict[str, Any]) -> None:
    write(("list_tags", {}, set()))
    claim_by("dead sandbox", **dead)
    enter(retry=1)
    assert outcome() == "succeeded"
    write(("list_tags", {}, set()), effect="writes")
    claim_by("dead sandbox", **dead)
    enter(retry=1)
    assert outcome() == "unknown"


def test_the_late_result_of_a_lost_step_does_not_change_its_ending(write: Write) -> None:
    head = write(("list_tags", {}, set()), effect="writes")
    claim_by("slow sandbox", execution=EXECUTION)
    enter("lost")
    late = transitions.finish(head, entry(), "slow sandbox", Ending("succeeded"), b"[]")
    assert (late.status, outcome()) == ("unknown", "unknown")


def test_a_lost_step_that_nobody_claimed_has_failed(write: Write) -> None:
    write(("list_tags", {}, set()), ("list_docs", {}, {0}))
    assert enter("lost") == {"batch": PK, "go": {"s1": True}}
    assert outcome() == "failed"


def test_a_failed_step_skips_only_what_needs_it(write: Write) -> None:
    write(("get_doc", {"path": "none.md"}, set()), ("list_docs", {}, {0}), ("list_tags", {}, set()))
    for step in range(3):
        enter(step=step)
    assert [outcome(step) for step in range(3)] == ["failed", "skipped", "succeeded"]
    assert error_of(entry()).code == "FILE_NOT_FOUND"


def test_a_reference_that_does_not_resolve_fails_its_step(write: Write) -> None:
    write(("list_tags", {}, set()), ("get_doc", {"path": "${step0.items[0].tag}"}, {0}))
    enter()
    enter(step=1)
    assert error_of(entry(1)).code == "VALIDATION_ERROR"
    assert "step0.items[0].tag" in error_of(entry(1)).text().message


def test_an_argument_that_is_refused_says_what_its_reference_stood_for(write: Write) -> None:
    write(("list_tags", {}, set()), ("get_doc", {"path": "${step0.items}"}, {0}))
    enter()
    enter(step=1)
    assert error_of(entry(1)).details["problem"].endswith("(${step0.items} is of type array)")


def test_permissions_are_checked_again_when_the_step_runs(write: Write) -> None:
    write(("list_tags", {}, set()))
    members.put_role("acme", Role("members", modules=()))
    directory.access_cache.clear()
    enter()
    assert error_of(entry()).code == "AUTHORIZATION_ERROR"


def test_a_step_of_a_reading_batch_never_writes(write: Write) -> None:
    members.put_role("acme", Role("members", modules=("rag",), allow=("rag.*",)))
    directory.access_cache.clear()
    head = write(("put_doc", {"path": "notes/new.md", "content": "x"}, set()))
    ledger.write(replace(head, reading_only=True), [entry()])
    enter()
    assert error_of(entry()).text().hint == "Use the same address without /readonly."


def test_a_batch_closes_after_its_time_except_for_steps_with_live_claims(write: Write) -> None:
    steps = [("list_tags", {}, set())] * 3
    write(*steps, closes_in=-1, effect="writes")
    claim_by("dead sandbox", entry(0), ttl_seconds=-1)
    claim_by("living sandbox", entry(1))
    head = ledger.close(ledger.get_header(PK))
    assert head.outcome == {0: "unknown", 2: "cancelled"}
    assert not head.done


def test_a_step_that_is_entered_after_the_batch_has_closed_does_not_run(write: Write) -> None:
    write(("list_tags", {}, set()), closes_in=-1)
    enter()
    assert outcome() == "cancelled"


def test_an_expired_batch_is_not_found(write: Write) -> None:
    head = write(("list_tags", {}, set()))
    ledger.write(replace(head, expires_at=head.started_at - 1), [])
    with pytest.raises(BatchNotFound):
        ledger.get_header(PK)


def test_a_large_result_becomes_a_file(write: Write) -> None:
    head = write(("list_tags", {}, set()))
    claim_by("sandbox")
    raw = {"noise": [index * 7919 % 104729 for index in range(20_000)]}
    found = transitions.finish(head, entry(), "sandbox", Ending("succeeded"), json.dumps(raw).encode())
    assert found.result
    assert found.result.content is None
    assert ledger.load_json(head, found.result) == raw
    with pytest.raises(Exception, match="There is no"):
        ledger.load_json(replace(head, organization="globex"), found.result)


def test_a_step_whose_tool_was_switched_off_meanwhile_fails_and_does_not_run(write: Write) -> None:
    write(("list_tags", {}, set()))
    directory.change("acme", lambda before: replace(before, disabled=("rag.list_tags",)))
    directory.access_cache.clear()
    enter()
    assert (outcome(), error_of(entry()).code) == ("failed", "TOOL_DISABLED")


@pytest.mark.parametrize(
    "edit",
    [edits.remove_user("uma"), edits.change_user("uma", roles=()), edits.change_user("uma", deactivated_at=1)],
    ids=["the user was removed", "the role was taken", "the user was deactivated"],
)
def test_a_step_whose_user_lost_the_right_meanwhile_has_a_row_of_its_refusal(
    write: Write, edit: directory.Edit
) -> None:
    head = write(("list_tags", {}, set()))
    directory.change("acme", edit)
    directory.access_cache.clear()
    enter()
    (row,) = audit_items("acme")
    refused = (row["user"], row["roles"], row["tool"], row["batch"], row["outcome"])
    assert refused == (head.user, list(head.roles), "rag.list_tags", head.batch, "AUTHORIZATION_ERROR")
