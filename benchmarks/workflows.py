"""Six workflows as batches on the embedded stack: how much longer than their ideal, and where the time goes.

A plain asyncio client that sends the same requests to the same service runs beside each batch, in turn: what it takes
beyond the ideal is the machine's.
"""

import asyncio
import os
import statistics
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import httpx2

from benchmarks.report import BENCHMARKS, keep, measured, table
from benchmarks.stub_deployment import LARGE_ACCOUNT, StubDeployment, Waited, run_stub_deployment, say
from benchmarks.workflow_graphs import Workflow, workflows
from infra.cli.endpoint import Endpoint
from infra.local.demo import USER
from tests import accounts

ROUNDS = 3
MAX_RATIO, MAX_FIRST_MS, MAX_HOP_MS, MAX_TAIL_MS = 1.15, 300, 50, 150
TOKEN = "stub-token"  # noqa: S105 - of the stub's service
_CLOCK_TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class Run:
    """One run of a workflow; times in seconds."""

    whole: float
    first: float
    """From the request to the first step's arrival at the service."""
    hop: float
    """From the end of a step's last need to its arrival: the median of the steps."""
    tail: float
    """From the end of the last step to the answer."""
    cpu_aws: float = 0
    cpu_functions: float = 0


def measure(only: Sequence[str] = ()) -> None:
    """Print the table, and keep it if it has all workflows."""
    with run_stub_deployment(LARGE_ACCOUNT) as stub:
        accounts.connect(stub.deployment, "stub", TOKEN)
        rows = [_row(stub, workflow) for workflow in workflows() if not only or workflow.name in only]
    columns = (
        *(
            "workflow",
            "steps, hops",
            "batch",
            "asyncio client",
            "first step, ms",
            "a hop, ms",
            "after the last step, ms",
        ),
        "CPU a step, ms: embedded AWS + functions",
    )
    most = ("at most", "", str(MAX_RATIO), "", str(MAX_FIRST_MS), str(MAX_HOP_MS), str(MAX_TAIL_MS), "")
    text = f"Measured {measured()}.\n\n{table(columns, [*rows, most])}"
    print(text)
    if not only:
        keep(text, BENCHMARKS, "workflows")


def _row(stub: StubDeployment, workflow: Workflow) -> tuple[str, ...]:
    say(f"workflow {workflow.name}")
    _as_batch(stub, workflow)  # creates the machine and starts the sandboxes
    batches, plain = [], []
    for _ in range(ROUNDS):
        batches.append(_as_batch(stub, workflow))
        plain.append(_by_client(stub, workflow))
    ours, theirs = _median(batches), _median(plain)
    milliseconds = [f"{value * 1000:.0f}" for value in (ours.first, ours.hop, ours.tail)]
    cpu = [f"{value * 1000 / len(workflow.needs):.0f}" for value in (ours.cpu_aws, ours.cpu_functions)]
    return (
        workflow.name,
        f"{len(workflow.needs)}, {workflow.hops}",
        *(f"{run.whole / workflow.ideal:.2f}" for run in (ours, theirs)),
        *milliseconds,
        " + ".join(cpu),
    )


def _median(runs: Sequence[Run]) -> Run:
    """Return the median of each value."""
    return Run(*(statistics.median(getattr(run, name) for run in runs) for name in Run.__slots__))


def _as_batch(stub: StubDeployment, workflow: Workflow) -> Run:
    endpoint = Endpoint.at(stub.deployment.mcp_url, stub.deployment.token(USER))
    commands = [
        {
            "id": step,
            "module": "stub",
            "tool": "wait",
            "after": list(needs),
            "params": {"step": step, "seconds": workflow.seconds[step]},
        }
        for step, needs in workflow.needs.items()
    ]
    stub.service.waited.clear()
    before_aws, before = time.process_time(), _cpu_of_functions(stub)
    began = time.perf_counter()
    answer = endpoint.call("batch", {"commands": commands}).texts[0]
    ended = time.perf_counter()
    used = time.process_time() - before_aws, _cpu_of_functions(stub) - before
    if answer.count(" succeeded") != len(commands):
        raise RuntimeError(answer)
    return _run(workflow, stub.service.waited, began, ended, used)


def _by_client(stub: StubDeployment, workflow: Workflow) -> Run:
    stub.service.waited.clear()
    began = time.perf_counter()
    asyncio.run(_requests(stub.service.url, workflow))
    return _run(workflow, stub.service.waited, began, time.perf_counter())


async def _requests(url: str, workflow: Workflow) -> None:
    tasks: dict[str, asyncio.Task[None]] = {}

    async def run(step: str) -> None:
        await asyncio.gather(*(tasks[need] for need in workflow.needs[step]))
        query = {"step": step, "seconds": str(workflow.seconds[step])}
        (await http.get(f"{url}/wait", params=query)).raise_for_status()

    async with httpx2.AsyncClient(headers={"authorization": f"Bearer {TOKEN}"}) as http:
        tasks |= {step: asyncio.create_task(run(step)) for step in workflow.needs}
        await asyncio.gather(*tasks.values())


def _run(
    workflow: Workflow, waited: Sequence[Waited], began: float, ended: float, cpu: tuple[float, float] = (0, 0)
) -> Run:
    by_step: Mapping[str, Waited] = {one.step: one for one in waited}
    hops = [
        by_step[step].began - max(by_step[need].ended for need in needs)
        for step, needs in workflow.needs.items()
        if needs
    ]
    first, last = min(one.began for one in waited), max(one.ended for one in waited)
    return Run(ended - began, first - began, statistics.median(hops), ended - last, *cpu)


def _cpu_of_functions(stub: StubDeployment) -> float:
    """Return the seconds of CPU that the running sandboxes have used."""
    total = 0
    for pool in stub.deployment.aws.functions.values():
        for sandbox in pool.sandboxes:
            with suppress(OSError):  # it has just ended, or has no process yet
                fields = Path(f"/proc/{sandbox.pid}/stat").read_text("utf-8").rpartition(")")[2].split()
                total += int(fields[11]) + int(fields[12])
    return total / _CLOCK_TICKS
