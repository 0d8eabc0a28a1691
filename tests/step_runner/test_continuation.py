"""A batch that continues in further executions: after some minutes, and from step to step on the relay."""

import json
from collections.abc import Callable
from typing import Any

import boto3
import pytest

from mcpist.aws.clients import client
from mcpist.aws.table import ledger_table
from mcpist.batch.execution import executions
from mcpist.batch.execution.attempts import StepBusy
from mcpist.batch.ledger import ledger, transitions
from mcpist.batch.ledger.items import LEDGER_FORMAT
from mcpist.batch.ledger.records import Ending
from mcpist.errors import InternalError, NewerFormat, StoreUnavailable
from mcpist.settings import settings
from tests.step_runner.ledger_batch import PK, Write, claim_by, elements, enter, entry, has_settled, outcome

LATE = {"started": "2026-01-01T00:00:00.000Z"}

type Started = Callable[[], list[tuple[str, Any]]]


@pytest.fixture
def machine(organization: str) -> str:
    """Create a machine that does not execute."""
    role = f"arn:aws:iam::123456789012:role/{organization}"
    made = boto3.client("stepfunctions").create_state_machine(name="mcpist-1", definition="{}", roleArn=role)
    return str(made["stateMachineArn"])


@pytest.fixture
def started(machine: str) -> Started:
    """Return the names and inputs of the executions, sorted."""

    def started() -> list[tuple[str, Any]]:
        states = boto3.client("stepfunctions")
        found = states.list_executions(stateMachineArn=machine)["executions"]
        inputs = [states.describe_execution(executionArn=execution["executionArn"])["input"] for execution in found]
        return sorted((execution["name"], json.loads(text)) for execution, text in zip(found, inputs, strict=True))

    return started


@pytest.mark.parametrize(
    ("execution", "name"),
    [
        ("b_1", "b_1-r1"),
        ("b_1-r9", "b_1-r10"),
        ("b_1-12", "b_1-12-r1"),
        ("arn:aws:states:eu-west-1:1:express:mcpist-1:b_1-r1:uuid-r7", "b_1-r2"),
        ("arn:aws:states:eu-west-1:1:execution:mcpist-1:b_1", "b_1-r1"),
    ],
)
def test_an_execution_is_continued_by_one_with_the_next_number(execution: str, name: str) -> None:
    assert executions.next_execution_name(execution) == name


def test_a_step_that_comes_too_late_runs_in_the_next_execution(write: Write, machine: str, started: Started) -> None:
    write(("list_tags", {}, set()))
    assert enter(machine=machine, **LATE) == {"batch": PK, "go": {}}
    assert entry().claim is None
    assert started() == [("b_0123456789abcdef-r1", {"batch": PK})]
    enter(machine=machine)
    assert outcome() == "succeeded"


def test_a_step_that_has_settled_replays_however_late(write: Write, machine: str, started: Started) -> None:
    write(("list_tags", {}, set()), ("list_docs", {}, {0}))
    first = enter()
    assert enter(machine=machine, **LATE) == first
    assert started() == []


def test_only_one_sandbox_starts_the_next_execution(
    write: Write, machine: str, started: Started, aws: list[str]
) -> None:
    head = write(("list_tags", {}, set()), ("list_tags", {}, set()))
    assert executions.acquire_start(head, "b_0123456789abcdef-r1", "living sandbox") == "mine"
    with pytest.raises(StepBusy):
        enter(machine=machine, **LATE)
    assert started() == []
    ledger_table().delete(PK, "execution#b_0123456789abcdef-r1")
    enter(machine=machine, **LATE)
    aws.clear()
    assert enter(step=1, machine=machine, request="request-2", **LATE) == {"batch": PK, "go": {}}
    assert "StartExecution" not in aws


def test_a_dead_claim_in_an_expiring_execution_is_left_to_the_next(
    write: Write, machine: str, started: Started
) -> None:
    write(("list_tags", {}, set()))
    claim_by("dead sandbox", ttl_seconds=-1)
    enter(machine=machine, retry=1, **LATE)
    assert entry().status is None
    assert len(started()) == 1


def test_a_write_in_doubt_ends_even_in_an_expiring_execution(write: Write, machine: str, started: Started) -> None:
    write(("list_tags", {}, set()), effect="writes")
    claim_by("dead sandbox", ttl_seconds=-1)
    enter(machine=machine, retry=1, **LATE)
    assert outcome() == "unknown"
    assert started() == []


def test_a_lost_step_ends_even_in_an_expiring_execution(write: Write, machine: str, started: Started) -> None:
    write(("list_tags", {}, set()), effect="writes")
    claim_by("dead sandbox", ttl_seconds=-1)
    enter("lost", machine=machine, **LATE)
    assert outcome() == "unknown"
    assert started() == []


def test_a_stopped_batch_is_ended_and_not_continued(write: Write, machine: str, started: Started) -> None:
    write(("list_tags", {}, set()), closes_in=-1)
    enter(machine=machine, **LATE)
    assert outcome() == "cancelled"
    assert started() == []


def test_late_elements_and_gatherings_continue_with_the_same_list(write: Write, machine: str, started: Started) -> None:
    search = ("search_docs", {"query": "${each}"}, {0})
    write(("list_docs", {}, set()), search, step1={"each": "${step0.raw}"})
    has_settled(0, b'["a", "b"]')
    enter(step=1)
    enter("element", element=0)
    late = {"machine": machine, **LATE}
    for event in ({"name": "element", "element": 1}, {"name": "gather"}, {"name": "step", "step": 1}):
        assert enter(**event, **late) == {"batch": PK, "go": {}}
    assert started() == [("b_0123456789abcdef-r1", {"batch": PK})]
    assert enter(step=1)["each"] == [1]
    enter("element", element=1)
    enter("gather", **late)
    assert outcome(1) == "succeeded"


def test_the_relay_begins_with_all_steps_that_are_ready(write: Write, machine: str, started: Started) -> None:
    write(("list_tags", {}, set()), ("list_tags", {}, set()), ("list_docs", {}, {0}), ("list_docs", {}, {0, 1}))
    assert enter("relay_begins", machine=machine) == {"batch": PK, "go": {}}
    assert [name for name, _ in started()] == ["b_0123456789abcdef-0", "b_0123456789abcdef-1"]
    assert started()[0][1] == {"batch": PK, "step": 0}


def test_the_relay_starts_the_steps_that_a_step_opened_and_returns_none(
    write: Write, machine: str, started: Started
) -> None:
    write(("list_tags", {}, set()), ("list_tags", {}, set()), ("list_docs", {}, {0}), ("list_docs", {}, {0, 1}))
    assert enter("relay", machine=machine) == {"batch": PK, "go": {}}
    assert [name for name, _ in started()] == ["b_0123456789abcdef-2"]
    enter("relay", step=1, machine=machine)
    assert [name for name, _ in started()] == ["b_0123456789abcdef-2", "b_0123456789abcdef-3"]


def test_a_repeated_relay_starts_only_steps_without_a_claim(write: Write, machine: str, started: Started) -> None:
    write(("list_tags", {}, set()), ("list_docs", {}, {0}), ("list_docs", {}, {0}), ("list_docs", {}, {0}))
    has_settled(0)
    claim_by("living sandbox", entry(1))
    has_settled(2)
    enter("relay", machine=machine, request="request-2", retry=1)
    assert [name for name, _ in started()] == ["b_0123456789abcdef-3"]
    assert enter("relay", machine=machine) == {"batch": PK, "go": {}}
    assert len(started()) == 1


def test_the_relay_gathers_elements_and_then_continues(write: Write, machine: str, started: Started) -> None:
    search = ("search_docs", {"query": "${each}"}, {0})
    write(("list_docs", {}, set()), search, ("list_docs", {}, {1}), step1={"each": "${step0.raw}"})
    has_settled(0, b'["a", "b"]')
    assert enter("relay", step=1, machine=machine) == {"batch": PK, "go": {}, "each": [0, 1]}
    for element in (0, 1):
        enter("element", element=element, relay=True, machine=machine)
    assert started() == []
    enter("gather", relay=True, machine=machine)
    assert [name for name, _ in started()] == ["b_0123456789abcdef-2"]


def test_a_late_relay_continues_its_own_step(write: Write, machine: str, started: Started) -> None:
    write(("list_tags", {}, set()))
    enter("relay", machine=machine, **LATE)
    assert started() == [("b_0123456789abcdef-0-r1", {"batch": PK, "step": 0})]


def test_a_missing_machine_is_an_internal_error(write: Write, machine: str) -> None:
    write(("list_tags", {}, set()))
    with pytest.raises(InternalError):
        enter("relay_begins", machine=f"{machine}-gone")


def test_a_batch_of_a_newer_release_is_refused(write: Write) -> None:
    head = write(("list_tags", {}, set()))
    ledger_table().update(PK, "batch", "SET #format = :new", values={":new": LEDGER_FORMAT + 1})
    with pytest.raises(NewerFormat) as refused:
        enter()
    assert refused.value.retryable
    assert isinstance(refused.value, StoreUnavailable)
    with pytest.raises(NewerFormat):
        ledger.get_header(head.pk)


def test_a_batch_that_was_written_before_a_field_existed_goes_on(write: Write) -> None:
    write(("list_tags", {}, set()), ("list_docs", {}, {0}))
    absent = {
        "batch": ("map_steps", "continue_on_error", "form", "resumes", "elements"),
        "step#000": ("step.output",),
    }
    for key, paths in absent.items():
        names = {f"#{name}": name for path in paths for name in path.split(".")}
        client("dynamodb").update_item(
            TableName=settings().ledger_table,
            Key={"pk": {"S": PK}, "sk": {"S": key}},
            UpdateExpression="REMOVE " + ", ".join(".".join(f"#{name}" for name in path.split(".")) for path in paths),
            ExpressionAttributeNames=names,
        )
    event = {"batch": PK, "step": 0, "retry": 0, "execution": "b_0123456789abcdef"}
    assert enter(**event) == {"batch": PK, "go": {"s1": True}}
    assert (entry().step.each_limit, entry().step.on_error, ledger.get_header(PK).form) == (100, "stop", "machine")


def test_the_ending_of_one_element_changes_no_other(write: Write) -> None:
    search = ("search_docs", {"query": "${each}"}, {0})
    head = write(("list_docs", {}, set()), search, step1={"each": "${step0.raw}"})
    has_settled(0, b'["a", "b"]')
    enter(step=1)
    transitions.finish(head, elements(1)[0], None, Ending("cancelled"))
    assert [element.status for element in elements(1)] == ["cancelled", None]
