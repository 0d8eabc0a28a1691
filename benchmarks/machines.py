"""Computed times and costs of batches on AWS: makespans on a virtual clock, sizes, and costs by count."""

import statistics
from collections.abc import Iterator, Sequence
from random import Random

from benchmarks.meter import EXECUTION_GIGABYTES
from benchmarks.prices import dollars
from benchmarks.report import Row
from mcpist.batch.language.graph import Graph
from mcpist.batch.machine.definition import Machine, build_machine, build_relay
from mcpist.batch.machine.layout import MachineTooLarge
from tests.core.batch.graphs import Batch, timed
from tests.core.batch.shapes import seeded
from tests.core.batch.stub_runner import StepRunner, ideal_times, step_seconds

STEP_RUNNER = "arn:aws:lambda:us-east-1:123456789012:function:mcpist-StepRunnerFunction-0123456789AB:live"
GRAPHS = 300
MAX_MICROSECONDS = 5_000_000
MIN_SIZES = range(1, 61, 10)

# The assumed usage of a step: it reads, in a batch of 30, with one source and one read of the directory.
INVOCATION_SECONDS = 0.4
READS = {"header and step": 2, "directory": 1, "a source's result": 1}
WRITES = {
    "step as planned": 1,
    "claim": 1,
    "result of up to 2 KB": 2,
    "settling, a header of up to 2 KB": 2,
    "audit, with its two indexes": 3,
    "its place among its organization's, taken and freed": 2,
}


def rows() -> Iterator[Row]:
    """Yield every figure with its bound."""
    batches = [timed(seeded(seed), Random(seed), max_seconds=MAX_MICROSECONDS) for seed in range(GRAPHS)]  # noqa: S311
    machines = [_machine(batch) for batch in batches]
    yield from makespans(batches, machines)
    yield from sizes(batches, machines)
    yield from costs(batches)


def makespans(batches: Sequence[Batch], machines: Sequence[Machine | None]) -> Iterator[Row]:
    """Compare the makespan of batches with their longest paths, if steps have no overhead."""
    best = [max(ideal_times(batch.graph, batch.seconds)[1].values()) or 1 for batch in batches]
    on_machines = [
        _makespan(batch, made) / ends for batch, made, ends in zip(batches, machines, best, strict=True) if made
    ]
    relayed = [_makespan(batch, None) / ends for batch, ends in zip(batches, best, strict=True)]
    waves = [_in_waves(batch) / ends for batch, ends in zip(batches, best, strict=True)]
    one_by_one = [sum(map(step_seconds, batch.seconds)) / ends for batch, ends in zip(batches, best, strict=True)]
    for name, ratios, most in (
        (f"machine ({len(on_machines)} of them fit one)", on_machines, "1.00"),
        ("relay", relayed, "1.00"),
        ("waves, level by level", waves, ""),
        ("one by one", one_by_one, ""),
    ):
        worst = statistics.quantiles(ratios, n=20)[-1]
        seen = f"{statistics.mean(ratios):.2f}, 95th percentile {worst:.2f}"
        yield f"makespan of {GRAPHS} seeded batches against the ideal: {name}", seen, most


def sizes(batches: Sequence[Batch], machines: Sequence[Machine | None]) -> Iterator[Row]:
    """Measure the sizes of machines, and which graphs fit one."""
    shares = []
    for min_size in MIN_SIZES:
        fit = [made is not None for batch, made in zip(batches, machines, strict=True) if _is_of(batch, min_size)]
        shares.append(f"{min_size}-{min_size + 9}: {sum(fit) / len(fit):.0%}")
    yield "seeded graphs that fit a machine, by their steps (a quarter are layered)", ", ".join(shares), ""
    fitting = [made for made in machines if made]
    counts = sorted(made.states for made in fitting)
    kilobytes = sorted(len(made.definition_json) / 1000 for made in fitting)
    yield "states of their machines: median, largest", f"{statistics.median(counts):.0f}, {counts[-1]}", "2,500"
    yield (
        "their definitions: median, largest",
        f"{statistics.median(kilobytes):.0f} KB, {kilobytes[-1]:.0f} KB",
        "1,000 KB",
    )
    steps = sum(len(batch.graph.needs) for batch, made in zip(batches, machines, strict=True) if made)
    yield "states of a machine for each step", f"{sum(counts) / steps:.1f}", ""


def costs(batches: Sequence[Batch]) -> Iterator[Row]:
    """Compute the usage and cost of a step without `each`; with it, each element is one more invocation."""
    plain = [Batch(batch.graph, frozenset(), (1,) * len(batch.graph.needs)) for batch in batches]
    fitting = [(batch, made) for batch in plain if (made := _machine(batch))]
    steps = sum(len(batch.graph.needs) for batch, _ in fitting)
    invocations = {
        "machine": sum(len(_run(batch, made).payloads) for batch, made in fitting) / steps,
        "relay": sum(len(_run(batch, None).payloads) for batch, _ in fitting) / steps,
    }
    executions = {"machine": len(fitting) / steps, "relay": 1 + len(fitting) / steps}
    yield "Lambda invocations a step: machine, relay", _pair(invocations), "1.00, 1.10"
    yield "executions a step: machine, relay", _pair(executions), ""
    units = f"{sum(READS.values())} reads, {sum(WRITES.values())} writes"
    yield "DynamoDB units a step (a batch of 30, results of up to 2 KB)", units, ""
    costs = {form: 1e6 * _dollars(invocations[form], executions[form]) for form in invocations}
    yield f"dollars a million steps of {INVOCATION_SECONDS} s at 1 GB: machine, relay", _pair(costs), ""


def _machine(batch: Batch) -> Machine | None:
    try:
        return build_machine(batch.graph, STEP_RUNNER, batch.map_steps)
    except MachineTooLarge:
        return None


def _run(batch: Batch, made: Machine | None) -> StepRunner:
    runner = StepRunner(batch.graph, batch.seconds)
    if made:
        runner.run(made.definition)
    else:
        runner.relay(build_relay(batch.graph, STEP_RUNNER).definition)
    return runner


def _makespan(batch: Batch, made: Machine | None) -> float:
    return _run(batch, made).clock.now or 1


def _in_waves(batch: Batch) -> float:
    """Return the time of a batch that runs level by level."""
    levels: dict[int, list[float]] = {}
    for i, level in _levels(batch.graph).items():
        levels.setdefault(level, []).append(step_seconds(batch.seconds[i]))
    return sum(map(max, levels.values())) or 1


def _levels(graph: Graph) -> dict[int, int]:
    found: dict[int, int] = {}
    for i in graph.order:
        found[i] = 1 + max((found[need] for need in graph.needs[i]), default=0)
    return found


def _is_of(batch: Batch, min_size: int) -> bool:
    return min_size <= len(batch.graph.needs) < min_size + 10


def _dollars(invocations: float, executions: float) -> float:
    """Return the cost of one step, whose execution lasts as long as the step."""
    used = {
        "lambda_request": invocations,
        "lambda_gb_second": invocations * INVOCATION_SECONDS,
        "dynamodb_read": sum(READS.values()),
        "dynamodb_write": sum(WRITES.values()),
        "states_request": executions,
        "states_gb_second": INVOCATION_SECONDS * EXECUTION_GIGABYTES,
    }
    return sum(dollars(used).values())


def _pair(values: dict[str, float]) -> str:
    return ", ".join(f"{value:.2f}" for value in values.values())
