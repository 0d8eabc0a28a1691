"""Batches that outlive an execution: with the limit set to a second they continue in another one, and settle once.

They run on an embedded AWS of their own, which ends before that of the whole deployment begins: a process has room
for one.
"""

import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from infra.local.demo import ORGANIZATION, ROLE
from infra.local.deployment import DeploymentOptions, LocalDeployment, operating, run_local_deployment
from mcpist.caller import Role
from tests import members
from tests.project_copy import with_modules
from tests.roles.judgement import check_requests
from tests.traffic import AwsRequest, HookPhase, traffic_of
from tests.whole.conftest import HERE, McpUser

MODULES = ("probe", "rag")
FUNCTIONS = ("McpEndpointFunction", "StepRunnerFunction")
CONTINUE_SECONDS = 1
# A little more: the gate opens when the first execution is too old for another step.
OPEN_SECONDS = 1.2


@pytest.fixture(scope="module")
def hasty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalDeployment]:
    """Start a deployment in which no step begins later than a second after its execution."""
    root = with_modules(tmp_path_factory.mktemp("hasty"), HERE / "probe.py")
    template = (root / "template.yaml").read_text("utf-8")
    (root / "template.yaml").unlink()
    hasty = template.replace('CONTINUE_SECONDS: "240"', f'CONTINUE_SECONDS: "{CONTINUE_SECONDS}"')
    assert hasty != template
    (root / "template.yaml").write_text(hasty, "utf-8")
    with run_local_deployment(
        DeploymentOptions(docs=HERE / "documents", root=root, modules=MODULES, only=FUNCTIONS)
    ) as deployment:
        with operating(deployment.aws):
            members.put_role(ORGANIZATION, Role(ROLE, modules=MODULES, allow=("probe.*",)))
        traffic_of(deployment.aws).requests.clear()
        yield deployment
        check_requests(deployment.aws)


def executions(deployment: LocalDeployment) -> list[str]:
    """Return the names of all executions in the order of their starts."""
    states = deployment.aws.client("stepfunctions")
    machines = [machine["stateMachineArn"] for machine in states.list_state_machines()["stateMachines"]]
    found = [execution for arn in machines for execution in states.list_executions(stateMachineArn=arn)["executions"]]
    return [execution["name"] for execution in sorted(found, key=lambda execution: execution["startDate"])]


def lines(trace: Path, gate: Path) -> list[dict[str, Any]]:
    """Return a step that waits at a gate, then one for each document, and one after all of them."""
    slow = {"file": f"{trace}.slow", "gate": str(gate)}
    return [
        {"id": "slow", "module": "probe", "tool": "look_long", "params": slow},
        {"id": "find", "module": "rag", "tool": "list_docs", "after": "slow"},
        {
            "id": "notes",
            "module": "probe",
            "tool": "note",
            "params": {"file": f"{trace}.${{each.path}}"},
            "each": "${find.items}",
        },
        {"id": "last", "module": "probe", "tool": "note", "params": {"file": f"{trace}.last"}, "after": "notes"},
    ]


def tangled(trace: Path, gate: Path) -> list[dict[str, Any]]:
    """Return the same steps, and a graph beside them that is too tangled for a machine."""
    names = [[f"s{layer}_{place}" for place in range(4)] for layer in range(7)]
    tangle: list[dict[str, Any]] = [
        {
            "id": name,
            "module": "rag",
            "tool": "list_tags",
            "after": [names[layer - 1][place - back] for back in range(2)] if layer else [],
        }
        for layer, row in enumerate(names)
        for place, name in enumerate(row)
    ]
    return [*lines(trace, gate), *tangle]


def run(deployment: LocalDeployment, steps: list[dict[str, Any]], gate: Path) -> tuple[str, list[str]]:
    """The summary of a batch whose gate opens when its first execution is old, and the names of its executions."""
    user = McpUser(deployment, deployment.token())
    os.mkfifo(gate)
    openings: list[threading.Timer] = []

    def open_later(request: AwsRequest, moment: HookPhase) -> None:
        """Count the seconds from the last start, since the one before may have found no machine yet."""
        if (request.function, request.operation, moment) == ("McpEndpointFunction", "StartExecution", "after"):
            for earlier in openings:
                earlier.cancel()
            openings.append(threading.Timer(OPEN_SECONDS, gate.write_text, ["go"]))
            openings[-1].start()

    traffic_of(deployment.aws).on_request = open_later
    (summary, *_) = user.texts("batch", commands=steps)
    traffic_of(deployment.aws).on_request = None
    openings[-1].join(60)  # nobody reads a gate whose step has failed
    batch = summary.split()[1].rstrip(":")
    while "running" in summary:
        (summary, *_) = user.texts("batch", batch_id=batch)
    return summary, [name for name in executions(deployment) if name.startswith(batch)]


ALL = "slow succeeded, find succeeded, notes succeeded (3 elements: 3 succeeded), last succeeded"


@pytest.mark.slow
def test_a_batch_continues_in_another_execution_where_settled_steps_replay(
    hasty: LocalDeployment, tmp_path: Path
) -> None:
    gate = tmp_path / "gate"
    summary, names = run(hasty, lines(tmp_path / "trace", gate), gate)
    assert ALL in summary
    assert [path.stat().st_size for path in tmp_path.glob("trace.*")] == [1] * 5
    assert len(names) > 1
    assert names == [names[0], *(f"{names[0]}-r{number}" for number in range(1, len(names)))]


@pytest.mark.slow
def test_a_graph_without_a_machine_runs_on_the_relay_each_step_once(hasty: LocalDeployment, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    summary, names = run(hasty, tangled(tmp_path / "trace", gate), gate)
    assert f"done, 32 of 32 steps: {ALL}" in summary
    assert [path.stat().st_size for path in tmp_path.glob("trace.*")] == [1] * 5
    batch = names[0]
    assert {f"{batch}-{step}" for step in range(32)} <= set(names)
