"""A step with `each` over long lists of a service that answers at once: requests to AWS, seconds and memory."""

import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from benchmarks.calls import kept_connection
from benchmarks.processes import sampling
from benchmarks.report import Row, show
from benchmarks.stub_deployment import StubDeployment, run_stub_deployment, say
from infra.cli.document import CommandError
from infra.cli.endpoint import Endpoint
from tests import accounts
from tests.traffic import traffic_of

LENGTHS = (1_000, 10_000)
BATCH_SECONDS = 3_000
SAMPLE_SECONDS = 0.25
MAX_REQUESTS_PER_ELEMENT = 0.42  # a tenth of what elements took that ran one by one
MEMORY_MB = 1_024  # of the template
STEP_RUNNER = "StepRunnerFunction"


def measure() -> list[str]:
    """Measure, write the table into docs/benchmarks.md, and return the bounds that were missed."""
    with run_stub_deployment() as stub:
        accounts.connect(stub.deployment, "stub", "stub-token")
        return show([row for length in LENGTHS for row in rows(stub, length)], "lists")


def rows(stub: StubDeployment, length: int) -> Iterator[Row]:
    """Run a batch that reads for each element of a list, and yield what it took."""
    deployment, traffic = stub.deployment, traffic_of(stub.deployment.aws)
    params = {"step": "${each.name}", "seconds": 0.0}
    each = {"each": "${list.items}", "each_limit": length}
    steps: list[dict[str, Any]] = [
        {"id": "list", "module": "stub", "tool": "number", "params": {"rows": length}},
        {"id": "read", "module": "stub", "tool": "wait", "params": params, **each},
    ]
    stub.service.waited.clear()
    traffic.requests.clear()
    say(f"{length:,} elements")

    def sandboxes() -> dict[str, int]:
        return {one.id: one.pid for one in deployment.aws.functions[STEP_RUNNER].sandboxes if one.pid is not None}

    began = time.perf_counter()
    with kept_connection(deployment) as endpoint, sampling(sandboxes, SAMPLE_SECONDS) as samples:
        summary = _run_to_end(endpoint, steps)
    seconds = time.perf_counter() - began
    if f"({length} elements: {length} succeeded)" not in summary:
        raise RuntimeError(summary)
    asked = Counter(one.step for one in stub.service.waited)
    requests = [one for one in traffic.requests if one.function == STEP_RUNNER]
    memory = max(one.memory_kb for found in samples.values() for one in found) / 1024
    name = f"`each` over {length:,} rows"
    yield f"{name}: elements that were read once", f"{sum(n == 1 for n in asked.values()):,}", f"{length:,} or more"
    yield f"{name}: in all", f"{seconds:.1f} s, {seconds / length * 1000:.1f} ms an element", ""
    per_element = f"{len(requests) / length:.2f} ({len(requests):,})"
    yield (
        f"{name}: the step runner's requests to AWS for an element (in all)",
        per_element,
        f"{MAX_REQUESTS_PER_ELEMENT}",
    )
    yield f"{name}: the most memory of a step runner", f"{memory:.0f} MB", f"{MEMORY_MB} MB"


def _run_to_end(endpoint: Endpoint, steps: list[dict[str, Any]]) -> str:
    """Run a batch to its end, and return its summary; a busy machine does not answer each request in time."""
    summary: str = endpoint.call("batch", {"commands": steps, "timeout": BATCH_SECONDS}).texts[0]
    until = time.monotonic() + BATCH_SECONDS
    while ": running," in summary and time.monotonic() < until:
        with suppress(CommandError):
            summary = endpoint.call("batch", {"batch_id": summary.split()[1].rstrip(":")}).texts[0]
    return summary
