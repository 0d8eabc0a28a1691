"""The part of `make bench` that needs the tests' peers and simulators: measure, print, keep in docs/benchmarks.md."""

from infra.bench.report import BENCHMARKS, keep, measured, table
from tests.bench import contention, machines, tokens, upstreams

if __name__ == "__main__":
    rows = [*tokens.rows(), *machines.rows(), *upstreams.rows(), *contention.rows()]
    text = f"Measured {measured()}.\n\n{table(('what', 'seen', 'at most'), rows)}"
    print(text)
    keep(text, BENCHMARKS, "peers")
