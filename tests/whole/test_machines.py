"""Machines that come and go while batches go on: the janitor on the embedded AWS."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from infra.local.demo import ORGANIZATION
from infra.local.deployment import operating
from mcpist.batch.ledger import ledger
from mcpist.batch.machine import machine_usage
from tests.whole.conftest import McpUser

# A shape that no other test's batch has.
TAGS = {"module": "rag", "tool": "list_tags"}
STEPS = [{"id": "s0", **TAGS}, *({"id": f"s{number}", **TAGS, "each": "${s0.items}"} for number in range(1, 5))]


@pytest.fixture
def visitor(user: McpUser) -> Iterator[McpUser]:
    with operating(user.deployment.aws):
        yield user


def run(visitor: McpUser) -> str:
    """Run a batch in fresh sandboxes, as after a day; what it ran on."""
    visitor.deployment.aws.functions["McpEndpointFunction"].stop_idle()
    summary, *_ = visitor.texts("batch", commands=STEPS)
    assert "done, 5 of 5 steps" in summary, summary
    batch = summary.removeprefix("batch ").partition(":")[0]
    return ledger.get_header(ledger.partition_key(ORGANIZATION, batch)).form


def names() -> set[str]:
    return {machine.name for machine in machine_usage.list_machines()}


def tidy(visitor: McpUser) -> Any:
    """Invoke the janitor as its schedule does."""
    function = visitor.deployment.aws.resource("JanitorFunction.Alias")
    answer = visitor.deployment.aws.client("lambda").invoke(FunctionName=function, Payload=b"{}")
    told = json.loads(answer["Payload"].read())
    assert "FunctionError" not in answer, told
    return told


def test_a_batch_that_wants_a_machine_which_is_going_runs_on_the_relay_and_a_later_one_makes_it_anew(
    visitor: McpUser,
) -> None:
    before = names()
    assert run(visitor) == "machine"
    (name,) = names() - before
    assert tidy(visitor)["removed"] == []
    assert machine_usage.mark_removing(name, machine_usage.list_uses()[name])
    assert run(visitor) == "relay"
    assert tidy(visitor)["removed"] == [name]
    assert name not in names()
    assert run(visitor) == "relay"
    assert tidy(visitor)["removed"] == []
    assert run(visitor) == "machine"
    assert name in names()
