"""Limits as the template has them, in an account that runs ten functions at once.

They cost few requests, refuse no step of a batch alone, and leave executions to others.
"""

import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from infra.local.demo import ORGANIZATION, ROLE, USER
from infra.local.deployment import DeploymentOptions, LocalDeployment, operating, run_local_deployment
from mcpist.caller import Role, Subject
from tests import members
from tests.project_copy import with_modules
from tests.traffic import AwsRequest, traffic_of
from tests.whole.conftest import HERE, built
from tests.whole.gate import held
from tests.whole.test_in_flight import OLGA, post

CONCURRENCY, BATCHES, STEPS = 10, 2, 100
FUNCTIONS = ("McpEndpointFunction", "StepRunnerFunction")


@contextmanager
def new_account(request: pytest.FixtureRequest) -> Iterator[LocalDeployment]:
    root = with_modules(request.getfixturevalue("tmp_path_factory").mktemp("slow"), HERE / "probe.py")
    modules = ("rag", "probe")
    with run_local_deployment(
        DeploymentOptions(docs=HERE / "documents", root=root, modules=modules, concurrency=CONCURRENCY, only=FUNCTIONS)
    ) as deployment:
        with operating(deployment.aws):
            members.put_role(ORGANIZATION, Role(ROLE, modules=modules, allow=("probe.*",)))
            members.put_organization("other", name="Other")
            members.put_role("other", Role("readers", ("rag",)))
            subject = Subject(deployment.login.issuer, OLGA.sub)
            members.put_user("other", OLGA.sub, name=OLGA.name, subject=subject, roles=["readers"])
        yield deployment


pytestmark = [pytest.mark.slow, built(new_account)]


def limit_writes(deployment: LocalDeployment, function: str) -> list[AwsRequest]:
    """The requests by which a function counted what is in flight."""
    return [
        request
        for request in traffic_of(deployment.aws).requests
        if request.function == function
        and request.operation == "UpdateItem"
        and request.body["Key"]["sk"] == {"S": "in_flight"}
    ]


def test_a_batch_alone_starts_as_many_steps_as_there_are_places_and_none_is_refused(
    deployment: LocalDeployment, tmp_path: Path
) -> None:
    note = {"module": "probe", "tool": "note", "params": {"file": str(tmp_path / "traces")}}
    steps = [{"id": f"s{number}", **note} for number in range(30)]
    status, answer = post(deployment, deployment.token(USER), "batch", commands=steps)
    assert (status, "done, 30 of 30 steps" in str(answer)) == (200, True)
    sent = [one for one in traffic_of(deployment.aws).requests if one.function == "StepRunnerFunction"]
    assert len({one.invocation for one in sent}) == 30
    assert len(limit_writes(deployment, "StepRunnerFunction")) <= 45


@pytest.mark.parametrize("clients", [2, 4])
def test_calls_of_a_user_in_several_sandboxes_write_a_tenth_each_at_most(
    deployment: LocalDeployment, clients: int
) -> None:
    calls, token, together = 30, deployment.token(USER), threading.Barrier(clients)
    call = {"module": "rag", "tool": "list_tags", "params": {}}

    def work() -> list[int]:
        together.wait()
        return [post(deployment, token, "call", **call)[0] for _ in range(calls)]

    with ThreadPoolExecutor(clients) as pool:
        answers = [client.result() for client in [pool.submit(work) for _ in range(clients)]]
    assert answers == [[200] * calls] * clients
    assert len(limit_writes(deployment, "McpEndpointFunction")) <= 0.1 * calls * clients


def test_batches_of_a_hundred_slow_steps_leave_executions_to_another_organization(
    deployment: LocalDeployment, tmp_path: Path
) -> None:
    traces, gate, olga = tmp_path / "traces", tmp_path / "gate", deployment.token(OLGA)
    slow: dict[str, Any] = {"module": "probe", "tool": "look_long", "params": {"file": str(traces), "gate": str(gate)}}
    steps = [{"id": f"s{number}", **slow} for number in range(STEPS)]
    assert post(deployment, olga, "list_tools")[0] == 200
    running = threading.Event()
    with ThreadPoolExecutor(BATCHES) as pool, held(gate):
        sent = [pool.submit(post, deployment, deployment.token(USER), "batch", commands=steps) for _ in range(BATCHES)]
        patience = time.monotonic() + 60
        while not traces.exists():
            assert time.monotonic() < patience, [one.result() for one in sent if one.done()]
            running.wait(0.02)
        patience = time.monotonic() + 90  # each step asks for its place once, in the executions that are free
        while (status := post(deployment, olga, "list_tools")[0]) != 200:
            assert time.monotonic() < patience, f"while slow steps run, another organization gets {status}"
            running.wait(0.25)
        assert traces.stat().st_size < CONCURRENCY
