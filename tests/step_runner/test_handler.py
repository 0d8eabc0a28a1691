"""The step runner's door, and how a step settles once."""

import json
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from infra.local.login import LocalLogin
from mcpist import directory
from mcpist.batch import ledger
from mcpist.batch.records import KEEP_SECONDS, Claim, Entry, Header
from mcpist.batch.settling import StepBusy
from mcpist.caller import Role
from mcpist.errors import BatchNotFound, McpistError, from_message
from step_runner.handler import handler

EVENTS = Path(__file__).parents[2] / "events"
PK = "acme#b_0123456789abcdef"


class Context:
    """The part of Lambda's context that the door reads."""

    def __init__(self, request: str) -> None:
        self.aws_request_id = request

    def get_remaining_time_in_millis(self) -> int:
        return 60_000


def enter(name: str = "step", request: str = "request-1", **changes: Any) -> dict[str, Any]:
    event = json.loads((EVENTS / f"step_runner_{name}.json").read_text("utf-8")) | changes
    return handler(event, Context(request))


type Write = Callable[..., Header]


@pytest.fixture
def write(organization: str, login: LocalLogin) -> Write:
    """A batch in the ledger; each step is a tool of rag with its params and needs."""

    def write(*steps: tuple[str, dict[str, Any], set[int]], closes_in: float = 300, effect: str = "reads") -> Header:
        now = time.time()
        head = Header(
            pk=PK,
            organization=organization,
            batch="b_0123456789abcdef",
            user="uma",
            issuer=login.issuer,
            sub="uma",
            roles=("members",),
            warrant="",
            ids=tuple(f"step{index}" for index in range(len(steps))),
            needs=tuple(frozenset(needs) for *_, needs in steps),
            started_at=now,
            closes_at=now + closes_in,
        )
        entries = [
            Entry(index, head.ids[index], "rag", tool, effect, params, output=True, raw_output=False)
            for index, (tool, params, _) in enumerate(steps)
        ]
        ledger.write(head, entries)
        return head

    return write


def outcome(step: int = 0) -> str:
    return ledger.header(PK).outcome[step]


def error_of(step: int) -> McpistError:
    error = ledger.entries(PK, [step])[0].error
    assert error is not None
    return from_message(error)


def claim_by(sandbox: str, step: int = 0, *, execution: str = "another", retry: int = 0, lives: float = 60) -> None:
    claim = Claim(sandbox, execution, retry, time.time() + lives)
    assert ledger.claim(PK, ledger.entries(PK, [step])[0], claim)


def test_a_step_runs_settles_and_opens_its_successors(write: Write) -> None:
    write(("list_tags", {}, set()), ("list_docs", {}, {0}), ("list_docs", {}, {0, 1}))
    assert enter() == {"batch": PK, "go": {"s1": True}}
    assert outcome() == "succeeded"
    assert enter(step=1) == {"batch": PK, "go": {"s2": True}}


def test_an_entry_that_comes_again_replays_its_answer_and_runs_nothing(write: Write, aws: list[str]) -> None:
    write(("list_tags", {}, set()), ("list_docs", {}, {0}))
    first = enter()
    aws.clear()
    assert enter(request="request-2", retry=1) == first
    assert aws == ["BatchGetItem"]


def test_a_result_without_its_settling_is_settled_by_the_next_entry(write: Write) -> None:
    head = write(("list_tags", {}, set()), ("list_docs", {}, {0}))
    claim_by("dead sandbox")
    ledger.finish(head, ledger.entries(PK, [0])[0], "dead sandbox", "succeeded", raw=[])
    assert enter() == {"batch": PK, "go": {"s1": True}}


def test_a_step_settles_once_in_the_headers_order_whoever_comes_again(write: Write) -> None:
    write(("list_tags", {}, set()), ("list_docs", {}, set()))
    ledger.settle(PK, 0, "succeeded")
    ledger.settle(PK, 1, "failed")
    head = ledger.settle(PK, 0, "failed")
    assert (head.seq, head.outcome) == ({0: 0, 1: 1}, {0: "succeeded", 1: "failed"})


def test_a_step_before_its_needs_is_left_alone(write: Write) -> None:
    write(("list_tags", {}, set()), ("list_docs", {}, {0}))
    assert enter(step=1) == {"batch": PK, "go": {}}
    assert ledger.header(PK).seq == {}


def test_a_live_claim_is_busy(write: Write) -> None:
    write(("list_tags", {}, set()))
    claim_by("living sandbox")
    with pytest.raises(StepBusy):
        enter()
    with pytest.raises(StepBusy):
        enter("lost")


@pytest.mark.parametrize("dead", [{"lives": -1}, {"execution": "b_0123456789abcdef", "retry": 0}])
def test_a_dead_claim_lets_a_read_run_again_and_leaves_a_write_unknown(write: Write, dead: dict[str, Any]) -> None:
    write(("list_tags", {}, set()))
    claim_by("dead sandbox", **dead)
    enter(retry=1)
    assert outcome() == "succeeded"
    write(("list_tags", {}, set()), effect="writes")
    claim_by("dead sandbox", **dead)
    enter(retry=1)
    assert outcome() == "unknown"


def test_the_verdict_of_a_lost_step_stands_against_its_late_result(write: Write) -> None:
    head = write(("list_tags", {}, set()), effect="writes")
    claim_by("slow sandbox", execution="b_0123456789abcdef")
    enter("lost")
    late = ledger.finish(head, ledger.entries(PK, [0])[0], "slow sandbox", "succeeded", raw=[])
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
    assert error_of(0).code == "FILE_NOT_FOUND"


def test_a_reference_that_leads_nowhere_fails_its_step(write: Write) -> None:
    write(("list_tags", {}, set()), ("get_doc", {"path": "${step0.items[0].tag}"}, {0}))
    enter()
    enter(step=1)
    assert error_of(1).code == "VALIDATION_ERROR"
    assert "step0.items[0].tag" in error_of(1).text().message


def test_the_sieve_is_asked_again_when_the_step_runs(write: Write) -> None:
    write(("list_tags", {}, set()))
    directory.put_role("acme", Role("members", modules=()))
    directory._cache.clear()
    enter()
    assert error_of(0).code == "AUTHORIZATION_ERROR"


def test_a_batch_closes_after_its_time_and_spares_who_still_works(write: Write) -> None:
    steps = [("list_tags", {}, set())] * 3
    write(*steps, closes_in=-1, effect="writes")
    claim_by("dead sandbox", 0, lives=-1)
    claim_by("living sandbox", 1)
    head = ledger.close(ledger.header(PK))
    assert head.outcome == {0: "unknown", 2: "cancelled"}
    assert not head.done


def test_a_step_that_is_entered_after_the_batch_has_closed_does_not_run(write: Write) -> None:
    write(("list_tags", {}, set()), closes_in=-1)
    enter()
    assert outcome() == "cancelled"


def test_a_batch_whose_day_is_over_is_not_found(write: Write) -> None:
    head = write(("list_tags", {}, set()))
    ledger.write(replace(head, started_at=head.started_at - KEEP_SECONDS), [])
    with pytest.raises(BatchNotFound):
        ledger.header(PK)


def test_a_large_result_becomes_a_file(write: Write) -> None:
    head = write(("list_tags", {}, set()))
    claim_by("sandbox")
    raw = {"noise": [index * 7919 % 104729 for index in range(20_000)]}
    entry = ledger.finish(head, ledger.entries(PK, [0])[0], "sandbox", "succeeded", raw=raw)
    assert entry.content is None
    assert entry.file is not None
    assert ledger.raw(head, entry) == raw
    with pytest.raises(Exception, match="There is no"):
        ledger.raw(replace(head, organization="globex"), entry)
