"""`make bench`: measure, print the tables, and keep them in the pages of docs."""

import argparse
from collections.abc import Callable
from importlib import import_module

from benchmarks import broker, calls, catalogue, console, costs, cpu, imports, load, noise, scale, workflows
from benchmarks.report import BENCHMARKS, Row, keep, measured, table
from benchmarks.stub_deployment import StubDeployment, run_stub_deployment

# These use the peers and simulators of the tests, which are imported only where such a part is measured.
WITH_TESTS = {
    "peers": ("tokens", "machines", "upstreams", "contention"),
    "answers": ("answers",),
    "apis": ("apis",),
    "chains": ("chains",),
    "files": ("files",),
    "programs": ("programs",),
}


def main() -> None:
    """Measure the named part; without a name, all but the hours of `load`."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=main.__doc__)
    named = parser.add_subparsers(dest="named")
    named.add_parser("engine", help="the search, the CPU of calls, what a batch takes beside single calls")
    named.add_parser("costs", help="count what calls and batches ask of AWS, and price it")
    named.add_parser("scale", help="simulate the busiest hour of 10,000 organizations against the limits of AWS")
    named.add_parser("imports", help="the imports of each function, by their cost")
    flows = named.add_parser("workflows", help="six workflows as batches, against their ideal")
    flows.add_argument("only", nargs="*", help="the names of some")
    pages = named.add_parser("console", help="the CPU and the size of the console's pages")
    pages.add_argument("--large", action="store_true", help="also of 1,000 users, 5,000 tools and 100,000 audit rows")
    noisy = named.add_parser("noise", help="hostile requests of one user, and what another organization waits")
    noisy.add_argument("--requests", type=int, default=noise.REQUESTS)
    loaded = named.add_parser("load", help="many clients at once for some minutes: no error, no growing memory")
    loaded.add_argument("--minutes", type=float, default=10)
    loaded.add_argument("--clients", type=int, default=50)
    loaded.add_argument("--batches", type=int, default=1_000, help="batches while a sandbox is killed every second")
    named.add_parser("peers", help="tokens, machines, upstream servers and a contended lease, beside the tests' peers")
    named.add_parser("answers", help="the fields of what the vendors' descriptions answer")
    named.add_parser("apis", help="imported APIs, from real descriptions")
    named.add_parser("chains", help="tasks that take tools of several services, each as one batch")
    named.add_parser("files", help="questions about large results")
    named.add_parser("programs", help="questions that programs answer about drafts")
    chosen = parser.parse_args()
    match chosen.named:
        case None:
            measure_all()
        case "workflows":
            workflows.measure(chosen.only)
        case "console":
            console.measure(large=chosen.large)
        case "noise":
            noise.measure(chosen.requests)
        case "load":
            load.measure(chosen.clients, chosen.minutes * 60, chosen.batches)
        case name if name in WITH_TESTS:
            measure_with_tests(name)
        case name:
            PARTS[name]()


def measure_all() -> None:
    """Measure every part but `load`; the one that can fail comes last."""
    imports.measure()
    measure_engine()
    measure_costs()
    workflows.measure()
    console.measure()
    scale.measure()
    for name in WITH_TESTS:
        measure_with_tests(name)
    noise.measure()


def measure_engine() -> None:
    """Measure what needs only one seeded deployment."""
    with run_stub_deployment() as stub:
        _print(engine_rows(stub), "engine")


def engine_rows(stub: StubDeployment) -> list[Row]:
    """Return the rows of the first table."""
    deployment = stub.deployment
    rows = [*catalogue.rows(), *cpu.caching(stub.service.url), *cpu.sandboxes(stub), *calls.requests(deployment)]
    rows += [*broker.rows(deployment, stub.folder), *cpu.planning(), *calls.command_line(deployment)]
    return [*rows, *calls.batches(deployment), *calls.shapes(deployment)]


def measure_costs() -> None:
    """Count and price what calls and batches ask of AWS."""
    with run_stub_deployment() as stub:
        costs.measure(stub)


def measure_with_tests(name: str) -> None:
    """Measure a part that uses what the tests have."""
    modules = [import_module(f"benchmarks.{module}") for module in WITH_TESTS[name]]
    _print([row for module in modules for row in module.rows()], name)


def _print(rows: list[Row], name: str) -> None:
    text = f"Measured {measured()}.\n\n{table(('what', 'seen', 'at most'), rows)}"
    print(text)
    keep(text, BENCHMARKS, name)


PARTS: dict[str, Callable[[], None]] = {
    "engine": measure_engine,
    "costs": measure_costs,
    "scale": scale.measure,
    "imports": imports.measure,
}

if __name__ == "__main__":
    main()
