"""`make bench`: measure, print the tables, and keep them in the pages of docs."""

import argparse
import sys
from collections.abc import Callable
from importlib import import_module

from benchmarks import (
    broker,
    calls,
    catalogue,
    console,
    costs,
    cpu,
    fairness,
    imports,
    large_visits,
    lists,
    login,
    noise,
    saturation,
    scale,
    shortcuts,
    soak,
    workflows,
)
from benchmarks.report import Row, show
from benchmarks.stub_deployment import StubDeployment, run_stub_deployment

SATURATION_SECONDS = 20.0
FLOOD_SECONDS = 60.0
# These use the peers and simulators of the tests, which are imported only where such a part is measured.
WITH_TESTS = {
    "peers": ("tokens", "machines", "upstreams", "contention"),
    "answers": ("answers",),
    "apis": ("apis",),
    "chains": ("chains",),
    "files": ("files",),
    "programs": ("programs",),
    "undo": ("undo",),
    "unseen": ("unseen",),
}


def main() -> None:
    """Measure the named part; without a name, all but the hours of `soak`. Name each bound that is missed, and fail."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=main.__doc__)
    named = parser.add_subparsers(dest="named")
    named.add_parser("engine", help="the search, the CPU of calls, what a batch takes beside single calls")
    named.add_parser("costs", help="count what calls and batches ask of AWS, and price it")
    named.add_parser("scale", help="simulate the busiest hour of 10,000 organizations, and visit one of 1,000 users")
    named.add_parser("lists", help="a step for each of a thousand and ten thousand rows")
    named.add_parser("imports", help="the imports of each function, by their cost")
    named.add_parser("shortcuts", help="what each shortcut around a library saves")
    flows = named.add_parser("workflows", help="six workflows as batches, against their ideal")
    flows.add_argument("only", nargs="*", help="the names of some")
    named.add_parser("console", help="the CPU and the size of the console's pages")
    noisy = named.add_parser("noise", help="hostile requests of one user, and what another organization waits")
    noisy.add_argument("--requests", type=int, default=noise.REQUESTS)
    unfair = named.add_parser("fairness", help="a flood of one organization, and what another one waits meanwhile")
    unfair.add_argument("--minutes", type=float, default=1)
    long = named.add_parser("soak", help="many clients with pauses for some minutes: no error, no growing memory")
    long.add_argument("--minutes", type=float, default=10, help="under each of the two runtimes")
    long.add_argument("--clients", type=int, default=50)
    long.add_argument("--batches", type=int, default=1_000, help="batches while a sandbox is killed every second")
    dense = named.add_parser("saturation", help="requests a second of clients without pauses, at a bounded percentile")
    dense.add_argument("--seconds", type=float, default=SATURATION_SECONDS, help="of each number of clients")
    named.add_parser("peers", help="tokens, machines, upstream servers and a contended lease, beside the tests' peers")
    named.add_parser("answers", help="the fields of what the vendors' descriptions answer")
    named.add_parser("apis", help="imported APIs, from real descriptions")
    named.add_parser("chains", help="tasks that take tools of several services, each as one batch")
    named.add_parser("files", help="questions about large results")
    named.add_parser("unseen", help="the search, on tasks of others, which PyPI's packages have")
    named.add_parser("programs", help="questions that programs answer about drafts")
    named.add_parser("undo", help="previews, the journal of changes, and a hundred undos")
    chosen = parser.parse_args()
    if problems := measure(chosen):
        sys.exit("\n".join(f"missed: {problem}" for problem in problems))


def measure(chosen: argparse.Namespace) -> list[str]:
    """Measure what a command line names, and return the bounds that were missed."""
    match chosen.named:
        case None:
            return measure_all()
        case "workflows":
            workflows.measure(chosen.only)
        case "noise":
            return noise.measure(chosen.requests)
        case "fairness":
            return fairness.measure(chosen.minutes * 60)
        case "soak":
            return soak.measure(chosen.clients, chosen.minutes * 60, chosen.batches)
        case "saturation":
            return saturation.measure(chosen.seconds)
        case name if name in WITH_TESTS:
            return measure_with_tests(name)
        case name:
            return PARTS[name]() or []
    return []


def measure_all() -> list[str]:
    """Measure every part but `soak`, and return the bounds that were missed."""
    imports.measure()
    shortcuts.measure()
    problems = measure_engine()
    measure_costs()
    workflows.measure()
    console.measure()
    problems += lists.measure() + measure_scale()
    for name in WITH_TESTS:
        problems += measure_with_tests(name)
    return [*problems, *saturation.measure(SATURATION_SECONDS), *noise.measure(), *fairness.measure(FLOOD_SECONDS)]


def measure_scale() -> list[str]:
    """Simulate many organizations, visit a large one, and return the bounds that it misses."""
    scale.measure()
    return large_visits.measure()


def measure_engine() -> list[str]:
    """Measure what needs only one seeded deployment."""
    with run_stub_deployment() as stub:
        return show(engine_rows(stub), "engine")


def engine_rows(stub: StubDeployment) -> list[Row]:
    """Return the rows of the first table."""
    deployment = stub.deployment
    rows = [*catalogue.rows(), *cpu.caching(stub.service.url), *cpu.sandboxes(stub), *calls.requests(deployment)]
    rows += [
        *broker.rows(deployment, stub.folder),
        *login.rows(deployment, stub.folder),
        *cpu.planning(),
        *calls.command_line(deployment),
    ]
    return [*rows, *calls.batches(deployment), *calls.shapes(deployment)]


def measure_costs() -> None:
    """Count and price what calls and batches ask of AWS."""
    with run_stub_deployment({}) as stub:
        costs.measure(stub)


def measure_with_tests(name: str) -> list[str]:
    """Measure a part that uses what the tests have."""
    modules = [import_module(f"benchmarks.{module}") for module in WITH_TESTS[name]]
    return show([row for module in modules for row in module.rows()], name)


PARTS: dict[str, Callable[[], list[str] | None]] = {
    "engine": measure_engine,
    "costs": measure_costs,
    "scale": measure_scale,
    "console": console.measure,
    "lists": lists.measure,
    "imports": imports.measure,
    "shortcuts": shortcuts.measure,
}

if __name__ == "__main__":
    main()
