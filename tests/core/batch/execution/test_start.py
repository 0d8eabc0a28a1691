"""The start of a batch: on a machine of its shape, or on the relay where there can be none."""

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError, ReadTimeoutError

from mcpist.aws.clients import AwsError, client
from mcpist.batch.execution.plan import Plan, plan
from mcpist.batch.execution.start import creation_client, start
from mcpist.batch.ledger import ledger
from mcpist.batch.machine import machine_usage
from mcpist.batch.options import BatchOptions
from mcpist.caller import Role
from mcpist.errors import UpstreamUnavailable
from mcpist.settings import settings
from mcpist.tools.access.permissions import Permissions
from mcpist_services.catalogue import CATALOGUE
from tests.core.sample import caller

# Its module calls no service, so no batch needs a warrant.
SHELF = Permissions(caller(Role("writer", modules=("rag",), allow=("rag.*",))), CATALOGUE)


def planned(*steps: dict[str, Any]) -> Plan:
    return plan([{"module": "rag", "tool": "list_docs"} | step for step in steps], SHELF)


@contextmanager
def refusing(operation: str, code: str) -> Iterator[None]:
    """Let Step Functions refuse one operation."""

    def refuse(**_: Any) -> None:
        raise ClientError({"Error": {"Code": code, "Message": ""}}, operation)

    events = creation_client().meta.events
    events.register(f"before-call.stepfunctions.{operation}", refuse)
    yield
    events.unregister(f"before-call.stepfunctions.{operation}", refuse)


@pytest.fixture
def relay(aws: list[str]) -> str:
    """Create the template's relay, which does not execute."""
    name = f"{settings().stack_name}-relay"
    batch = boto3.client("stepfunctions").create_state_machine(
        name=name, definition="{}", roleArn=settings().machines_role
    )
    aws.clear()
    return str(batch["stateMachineArn"])


def executions(machine: str) -> dict[str, Any]:
    """Return the inputs of the executions of a machine by name."""
    states = boto3.client("stepfunctions")
    found = states.list_executions(stateMachineArn=machine)["executions"]
    return {
        run["name"]: json.loads(states.describe_execution(executionArn=run["executionArn"])["input"]) for run in found
    }


def machine_of(batch: Plan) -> str:
    """Return the ARN of a plan's own machine."""
    name = batch.build_machine(settings().step_runner).name(settings().stack_name, settings().machines_role)
    return f"{settings().step_runner.partition(':lambda:')[0]}:states:us-east-1:123456789012:stateMachine:{name}"


def test_the_first_batch_of_a_shape_creates_its_machine_and_the_next_one_uses_it(aws: list[str]) -> None:
    batch = planned({"id": "a"}, {"id": "b", "after": "a"})
    first = start(batch, SHELF)
    aws.clear()
    second = start(planned({"id": "y", "after": "x"}, {"id": "x"}), SHELF)
    assert "CreateStateMachine" not in aws
    assert executions(machine_of(batch)) == {head.batch: {"batch": head.pk} for head in (first, second)}
    tags = boto3.client("stepfunctions").list_tags_for_resource(resourceArn=machine_of(batch))["tags"]
    assert tags == [{"key": "mcpist:stack", "value": settings().stack_name}]


def test_a_batch_closes_after_its_timeout_and_is_kept_as_long_as_the_setting_says(
    aws: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    del aws
    monkeypatch.setenv("KEEP_HOURS", "2")
    settings.cache_clear()
    lines = ({"id": "a", "each": "${b.items}", "on_error": "continue"}, {"id": "b"})
    head = ledger.get_header(start(planned(*lines), SHELF, BatchOptions(timeout=60)).pk)
    assert head.closes_at - head.started_at == pytest.approx(60)
    assert head.expires_at == pytest.approx(time.time() + 7200, abs=60)
    assert (head.ids, head.map_steps, head.continue_on_error, head.form) == (
        ("b", "a"),
        frozenset({1}),
        frozenset({1}),
        "machine",
    )
    assert [entry.step.id for entry in ledger.get_entries(head.pk)] == ["a", "b"]


@pytest.mark.parametrize(
    ("operation", "code"),
    [
        ("CreateStateMachine", "StateMachineLimitExceeded"),
        ("CreateStateMachine", "ThrottlingException"),
        ("CreateStateMachine", "StateMachineDeleting"),
    ],
)
def test_a_batch_runs_on_the_relay_where_no_machine_can_be_created(relay: str, operation: str, code: str) -> None:
    with refusing(operation, code):
        head = start(planned({"id": "a"}), SHELF)
    assert executions(relay) == {head.batch: {"batch": head.pk, "step": -1}}
    assert ledger.get_header(head.pk).form == head.form == "relay"


def test_a_machine_whose_creation_times_out_is_requested_once(relay: str, aws: list[str]) -> None:
    def silent(**_: Any) -> None:
        raise ReadTimeoutError(endpoint_url="https://states")

    creation_client().meta.events.register_first("before-send.stepfunctions.CreateStateMachine", silent)
    assert start(planned({"id": "a"}), SHELF).form == "relay"
    assert aws.count("CreateStateMachine") == 1
    assert len(executions(relay)) == 1


def test_a_machine_that_is_being_removed_is_not_used(relay: str) -> None:
    batch = planned({"id": "a"})
    assert machine_usage.mark_removing(machine_of(batch).rpartition(":")[2], None)
    assert start(batch, SHELF).form == "relay"
    assert len(executions(relay)) == 1


def test_a_graph_without_a_machine_runs_on_the_relay(relay: str, aws: list[str]) -> None:
    layers = [[f"s{layer}_{place}" for place in range(4)] for layer in range(7)]
    lines = [
        {"id": name, "after": [layers[layer - 1][place - back] for back in range(2)] if layer else []}
        for layer, names in enumerate(layers)
        for place, name in enumerate(names)
    ]
    head = start(planned(*lines), SHELF)
    assert head.form == "relay"
    assert "CreateStateMachine" not in aws
    assert head.batch in executions(relay)


def test_any_other_error_of_aws_does_not_lead_to_the_relay(relay: str) -> None:
    with refusing("CreateStateMachine", "AccessDeniedException"), pytest.raises(AwsError):
        start(planned({"id": "a"}), SHELF)
    assert executions(relay) == {}


def test_a_machine_that_another_batch_creates_meanwhile_is_used(relay: str) -> None:
    batch = planned({"id": "a"})
    first = start(batch, SHELF)
    refusals = iter([True])

    def not_yet(**_: Any) -> None:
        if next(refusals, False):
            raise ClientError({"Error": {"Code": "StateMachineDoesNotExist", "Message": ""}}, "StartExecution")

    client("stepfunctions").meta.events.register("before-call.stepfunctions.StartExecution", not_yet)
    with refusing("CreateStateMachine", "StateMachineAlreadyExists"):
        second = start(batch, SHELF)
    assert executions(machine_of(batch)).keys() == {first.batch, second.batch}
    assert executions(relay) == {}


def test_a_batch_is_refused_where_neither_machine_nor_relay_starts(aws: list[str]) -> None:
    del aws
    with refusing("CreateStateMachine", "ThrottlingException"), pytest.raises(UpstreamUnavailable):
        start(planned({"id": "a"}), SHELF)
