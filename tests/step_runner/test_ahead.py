"""Reads in a row at an end of a batch, which one invocation enters one after the other, ahead of the machine."""

import io
import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import Any, Literal

import pytest

from mcpist.aws.clients import client
from mcpist.batch.ledger import ledger
from mcpist.people import directory
from mcpist.people.in_flight import InFlight
from mcpist.settings import settings
from step_runner.handler import DOOR, MAX_AHEAD_SECONDS
from tests import emf
from tests.audit_items import audit_items
from tests.lambda_context import Context
from tests.step_runner.ledger_batch import PK, Write, claim_by, enter, entry, has_settled, outcome

CHAIN: list[tuple[str, dict[str, Any], set[int]]] = [("list_tags", {}, {step - 1} - {-1}) for step in range(5)]
FOUR = (1, 2, 3, 4)
# Each step updates the ledger three times: its claim, its ending, its settling.
SETTLES_FIRST, SETTLES_SECOND = 3, 6

type Moment = Literal["before", "after"]


def settled() -> list[int]:
    """Return the steps that have settled, in the order in which they did."""
    seq = ledger.get_header(PK).seq
    return sorted(seq, key=seq.__getitem__)


class Killed(BaseException):
    """The sandbox is killed at this moment."""


@contextmanager
def at_update(number: int, moment: Moment, happen: Callable[[], object]) -> Iterator[None]:
    """Let something happen before or after an update of the ledger by its number; it may update the ledger, too."""
    seen: list[None] = []

    def hook(**_: Any) -> None:
        seen.append(None)
        if len(seen) == number:
            happen()

    events, name = client("dynamodb").meta.events, f"{moment}-call.dynamodb.UpdateItem"
    events.register(name, hook)
    yield
    events.unregister(name, hook)


def kill() -> None:
    raise Killed


def run_machine(*, retry: int = 0) -> None:
    """Enter the steps as their machine does, the first one by this attempt."""
    for step in range(len(CHAIN)):
        following = {f"s{step + 1}": True} if step + 1 < len(CHAIN) else {}
        assert enter(step=step, request=f"again-{step}", retry=retry if step == 0 else 0)["go"] == following


def test_five_quick_reads_in_a_row_settle_in_one_invocation(write: Write, aws: list[str]) -> None:
    write(*CHAIN, tail_reads=FOUR)
    assert enter() == {"batch": PK, "go": {"s1": True}}
    assert settled() == [0, 1, 2, 3, 4]
    assert [outcome(step) for step in range(5)] == ["succeeded"] * 5
    aws.clear()
    run_machine()
    assert aws == ["BatchGetItem"] * 5


def test_each_step_of_an_invocation_has_its_lines_its_row_and_its_metrics(
    write: Write, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = io.StringIO()
    monkeypatch.setattr(DOOR.logger, "_stream", lines)
    head = write(*CHAIN[:3], tail_reads=(1, 2))
    ledger.write(replace(head, correlation="r-0"), [entry(step) for step in range(3)])
    enter()
    logged = [json.loads(line) for line in lines.getvalue().splitlines()]
    assert [(line["step"], line["message"], line.get("opened")) for line in logged] == [
        (0, "request", None),
        (0, "response", ["s1"]),
        (1, "request", None),
        (1, "response", ["s2"]),
        (2, "request", None),
        (2, "response", []),
    ]
    assert {line["correlation_id"] for line in logged} == {"r-0"}
    assert [(row["tool"], row["outcome"]) for row in audit_items("acme")] == [("rag.list_tags", "succeeded")] * 3
    counted = [metric for metric in emf.seen(capsys.readouterr().out) if metric.name == "BatchSteps"]
    assert [(metric.value, metric.correlation) for metric in counted] == [(1, "r-0")] * 3


def test_an_invocation_goes_no_further_than_the_tail(write: Write) -> None:
    write(*CHAIN, tail_reads=(2, 3, 4))
    enter()
    assert settled() == [0]
    assert enter(step=1) == {"batch": PK, "go": {"s2": True}}
    assert settled() == [0, 1, 2, 3, 4]


def test_an_invocation_that_opens_several_steps_enters_none_of_them(write: Write) -> None:
    write(CHAIN[0], CHAIN[1], CHAIN[1], tail_reads=(1, 2))
    assert enter() == {"batch": PK, "go": {"s1": True, "s2": True}}
    assert settled() == [0]


def test_the_last_need_of_a_step_opens_it_and_enters_it(write: Write) -> None:
    write(CHAIN[0], CHAIN[0], ("list_docs", {}, {0, 1}), tail_reads=(2,))
    enter()
    assert settled() == [0]
    enter(step=1)
    assert settled() == [0, 1, 2]


class Slow(Context):
    """A context in which some seconds pass between two looks at the time that is left."""

    def __init__(self, seconds: float) -> None:
        super().__init__(60)
        self.passing = seconds

    def get_remaining_time_in_millis(self) -> int:
        self.seconds -= self.passing
        return super().get_remaining_time_in_millis()


def test_a_slow_step_is_the_last_of_its_invocation(write: Write) -> None:
    write(*CHAIN, tail_reads=FOUR)
    assert enter(context=Slow(MAX_AHEAD_SECONDS)) == {"batch": PK, "go": {"s1": True}}
    assert settled() == [0]


def test_the_seconds_of_an_invocation_are_those_of_all_its_steps(write: Write) -> None:
    write(*CHAIN, tail_reads=FOUR)
    enter(context=Slow(MAX_AHEAD_SECONDS / 4))
    assert settled() == [0, 1]
    assert entry(1).claim
    assert entry(1).claim.until < entry(0).claim.until + 1  # type: ignore[union-attr]


def test_the_machine_goes_ahead_again_from_the_last_step_that_has_settled(write: Write) -> None:
    write(*CHAIN, tail_reads=FOUR)
    has_settled(0)
    has_settled(1)
    assert enter() == {"batch": PK, "go": {"s1": True}}
    assert settled() == [0, 1]
    assert enter(step=1) == {"batch": PK, "go": {"s2": True}}
    assert settled() == [0, 1, 2, 3, 4]


def test_a_second_attempt_and_a_lost_step_leave_the_rest_to_the_machine(write: Write) -> None:
    write(*CHAIN, tail_reads=FOUR)
    enter(retry=1)
    assert settled() == [0]
    enter("lost", step=1)
    assert settled() == [0, 1]


def test_an_invocation_that_is_killed_between_two_steps_loses_nothing_and_runs_nothing_twice(write: Write) -> None:
    write(*CHAIN, tail_reads=FOUR)
    with at_update(SETTLES_SECOND, "after", kill), pytest.raises(Killed):
        enter()
    assert settled() == [0, 1]
    run_machine(retry=1)
    assert settled() == [0, 1, 2, 3, 4]
    assert len(audit_items("acme")) == 5


@pytest.mark.parametrize("moment", ["before", "after"])
def test_an_invocation_that_is_killed_in_a_step_leaves_it_to_the_machine_at_once(write: Write, moment: Moment) -> None:
    for update in range(SETTLES_SECOND - 2, SETTLES_SECOND + 1):
        write(*CHAIN, tail_reads=FOUR)
        with at_update(update, moment, kill), pytest.raises(Killed):
            enter()
        run_machine(retry=1)
        assert [outcome(step) for step in settled()] == ["succeeded"] * 5, update


def test_a_step_that_another_sandbox_runs_is_left_to_the_machine(write: Write) -> None:
    write(*CHAIN, tail_reads=FOUR)
    claim_by("living sandbox", entry(1))
    assert enter() == {"batch": PK, "go": {"s1": True}}
    assert settled() == [0]


def test_a_step_that_has_no_place_in_flight_is_left_to_the_machine(
    write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    head = write(*CHAIN, tail_reads=FOUR)
    caller = directory.identify(head.subject, organization=head.organization)
    monkeypatch.setenv("USER_CONCURRENCY", "5")
    with ExitStack() as others:

        def begin(user: str) -> None:
            others.enter_context(InFlight(prefix="step_").counted(replace(caller, user=user)))

        def allow(steps: int) -> None:
            monkeypatch.setenv("ORGANIZATION_CONCURRENCY", str(steps))
            settings.cache_clear()

        allow(3)
        begin("ben")
        its_lease = 1
        with at_update(its_lease + SETTLES_FIRST, "after", lambda: (begin("cleo"), allow(2))):
            assert enter() == {"batch": PK, "go": {"s1": True}}
    assert settled() == [0]
    assert entry(1).claim is None


def test_a_batch_that_is_cancelled_on_the_way_runs_no_further_step(write: Write) -> None:
    write(*CHAIN, tail_reads=FOUR)
    with at_update(SETTLES_SECOND, "after", lambda: ledger.cancel(PK)):
        enter()
    assert [outcome(step) for step in range(5)] == ["succeeded"] * 2 + ["cancelled"] * 3
    assert len(audit_items("acme")) == 2


def test_the_gathering_of_elements_goes_on_with_the_reads_that_follow(write: Write) -> None:
    search: Any = ("search_docs", {"query": "${each}"}, {0})
    write(CHAIN[0], search, CHAIN[2], CHAIN[3], step1={"each": "${step0.raw}"}, tail_reads=(2, 3))
    has_settled(0, b'["a"]')
    assert enter(step=1)["each"] == [0]
    enter("element", element=0)
    assert enter("gather") == {"batch": PK, "go": {"s2": True}}
    assert settled() == [0, 1, 2, 3]
