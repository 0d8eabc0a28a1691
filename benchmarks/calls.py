"""Calls and batches on the embedded stack: their requests to AWS, and how long they take."""

import os
import statistics
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from benchmarks.report import Row, ratio
from benchmarks.stub_deployment import SLOW_RESPONSE_SECONDS
from infra.cli.endpoint import Endpoint
from infra.local.demo import ORGANIZATION, USER
from infra.local.deployment import LocalDeployment, operating
from infra.source import ROOT
from mcpist.people import in_flight
from tests import accounts
from tests.traffic import traffic_of

TIMED_RUNS = 3
WARM_CALLS = 100
WIDE_STEPS = 30
PLACES = 4  # half of OrganizationConcurrency


@contextmanager
def kept_connection(deployment: LocalDeployment) -> Iterator[Endpoint]:
    """Return an endpoint whose requests share a connection, as those of clients do."""
    endpoint = Endpoint.at(deployment.mcp_url, deployment.token(USER))
    with endpoint.session.connected():
        yield endpoint


def release_places(deployment: LocalDeployment) -> None:
    """Release what sandboxes keep that are no more."""
    with operating(deployment.aws):
        in_flight.release_all(ORGANIZATION)


def requests(deployment: LocalDeployment) -> list[Row]:
    """Count the AWS requests of a `call` that needs a grant, in cold sandboxes and in warm ones."""
    accounts.connect(deployment, "stub", "stub-token")
    endpoint = Endpoint.at(deployment.mcp_url, deployment.token(USER))
    rows: list[Row] = []
    for state, calls, aim in (("cold", 1, "4 + 3"), ("warm", WARM_CALLS, "1.1 + 0")):
        if state == "cold":
            for pool in deployment.aws.functions.values():
                pool.stop_idle()
            release_places(deployment)
        traffic_of(deployment.aws).requests.clear()
        for _ in range(calls):
            endpoint.call("call", {"module": "stub", "tool": "ask"})
        counted = Counter(request.function for request in traffic_of(deployment.aws).requests)
        seen = " + ".join(f"{counted[name] / calls:.3g}" for name in ("McpEndpointFunction", "TokenBrokerFunction"))
        rows.append((f"AWS requests of a {state} `call` with a grant (endpoint + broker)", seen, aim))
    return rows


def command_line(deployment: LocalDeployment) -> list[Row]:
    """Measure a warm `mcpist call`, from its start to its end."""
    options = ["--url", deployment.mcp_url, "--token", deployment.token(USER)]
    command = [sys.executable, "-m", "infra.cli.main", "call", "rag", "list_tags", *options]

    def run() -> None:
        subprocess.run(command, cwd=ROOT, stdout=subprocess.DEVNULL, check=True)  # noqa: S603

    run()
    before = os.times()
    wall = _seconds(run)
    after = os.times()
    cpu = (after.children_user + after.children_system - before.children_user - before.children_system) / TIMED_RUNS
    return [("a warm `mcpist call`, from its start to its end (its CPU)", f"{wall:.2f} s ({cpu:.2f} s)", "0.5 s")]


def batches(deployment: LocalDeployment) -> list[Row]:
    """Compare the wall time of batches with that of the same calls one by one."""
    with kept_connection(deployment) as endpoint:
        return [*_batches(endpoint), *_wide_batch(deployment, endpoint)]


def _batches(endpoint: Endpoint) -> list[Row]:
    search = {"module": "rag", "tool": "search_docs", "params": {"query": "batch"}}
    idle = {"module": "stub", "tool": "idle", "params": {}}
    slow = {**idle, "tool": "ask_slowly"}
    rows: list[Row] = []
    for name, steps in (
        ("ten independent `rag` calls", [{"id": f"s{n}", **search} for n in range(10)]),
        ("a chain of five `rag` calls", _chain(search, 5)),
        ("a chain of twenty `rag` calls", _chain(search, 20)),
        ("a chain of five calls of a stub", _chain(idle, 5)),
        ("a chain of twenty calls of a stub", _chain(idle, 20)),
        (
            f"ten independent calls of a service that takes {SLOW_RESPONSE_SECONDS} s",
            [{"id": f"s{n}", **slow} for n in range(10)],
        ),
    ):
        endpoint.call("batch", {"commands": steps})  # creates the machine and warms the sandboxes
        together = _seconds(lambda steps=steps: endpoint.call("batch", {"commands": steps}))
        single = _seconds(lambda steps=steps: [endpoint.call("call", _call(step)) for step in steps])
        rows.append((f"{name}: by `batch` against one by one", ratio(together, single, "s"), "1"))
    return rows


def _wide_batch(deployment: LocalDeployment, endpoint: Endpoint) -> list[Row]:
    """Measure a batch with more steps than places, beside nothing else."""
    waiting = [{"step": f"s{n}", "seconds": 1.0} for n in range(WIDE_STEPS)]
    steps = [{"id": one["step"], "module": "stub", "tool": "wait", "params": one} for one in waiting]
    _run_to_end(endpoint, steps)
    traffic_of(deployment.aws).requests.clear()
    started = time.perf_counter()
    _run_to_end(endpoint, steps)
    seconds, asked = time.perf_counter() - started, traffic_of(deployment.aws).requests
    invoked = {request.invocation for request in asked if request.function == "StepRunnerFunction"}
    what = f"{WIDE_STEPS} steps of a second at once, against what {PLACES} places allow"
    return [
        (what, ratio(seconds, WIDE_STEPS / PLACES, "s"), "1.2"),
        ("their invocations of the step runner, of which none is refused", f"{len(invoked)}", f"{WIDE_STEPS}"),
        ("AWS requests of all functions for them", f"{len(asked)}", ""),
    ]


def shapes(deployment: LocalDeployment) -> list[Row]:
    """Measure a batch's overhead: time for each hop, and the endpoint's requests for each step."""
    with kept_connection(deployment) as endpoint:
        return _shapes(deployment, endpoint)


def _shapes(deployment: LocalDeployment, endpoint: Endpoint) -> list[Row]:
    idle: dict[str, Any] = {"module": "stub", "tool": "idle", "params": {}}
    chain = _chain(idle, 30)
    fan = [{**idle, "id": "list", "tool": "hundred"}, {**idle, "id": "fan", "each": "${list.items}"}]
    rows: list[Row] = []
    for name, steps, hops in (("a chain of 30 steps", chain, 30), ("a fan-out of 100 elements", fan, 100)):
        endpoint.call("batch", {"commands": steps})
        seconds = _seconds(lambda steps=steps: endpoint.call("batch", {"commands": steps}))
        rows.append((f"{name}, on the embedded stack", f"{seconds:.1f} s, {seconds / hops * 1000:.0f} ms a hop", ""))
    counts = {}
    for size in (10, 50, 100):
        steps = [{**idle, "id": f"s{n}"} for n in range(size)]
        _run_to_end(endpoint, steps)
        traffic_of(deployment.aws).requests.clear()
        _run_to_end(endpoint, steps)
        asked = [
            request for request in traffic_of(deployment.aws).requests if request.function == "McpEndpointFunction"
        ]
        polls = sum(request.operation == "GetItem" for request in asked)
        counts[size] = f"{len(asked) - polls} + {polls} polls"
    seen = ", ".join(f"{size} steps: {count}" for size, count in counts.items())
    return [*rows, ("AWS requests of the endpoint for a batch", seen, "constant + 1 per 25 steps + polls")]


def _chain(step: dict[str, Any], length: int) -> list[dict[str, Any]]:
    """Return steps of which each waits for the one before."""
    return [{**step, "id": f"s{n}", "after": [f"s{n - 1}"] if n else []} for n in range(length)]


def _call(step: dict[str, Any]) -> dict[str, Any]:
    return {name: step[name] for name in ("module", "tool", "params")}


def _run_to_end(endpoint: Endpoint, steps: list[dict[str, Any]]) -> None:
    """Run a batch to its end."""
    summary = endpoint.call("batch", {"commands": steps}).texts[0]
    while ": running," in summary:
        summary = endpoint.call("batch", {"batch_id": summary.split()[1].rstrip(":")}).texts[0]


def _seconds(work: Any) -> float:
    times = []
    for _ in range(TIMED_RUNS):
        started = time.perf_counter()
        work()
        times.append(time.perf_counter() - started)
    return statistics.median(times)
