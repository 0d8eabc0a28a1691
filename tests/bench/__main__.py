"""The part of `make bench` that needs the tests' peers and simulators: measure, print, keep in docs/benchmarks.md."""

import sys
from collections.abc import Callable, Iterable

from infra.bench.report import BENCHMARKS, Row, keep, measured, table
from tests.bench import answers, apis, chains, contention, files, machines, programs, tokens, upstreams

PEERS = (tokens.rows, machines.rows, upstreams.rows, contention.rows)


def main(named: list[str]) -> None:
    """Measure the named part, or all."""
    parts: dict[str, tuple[Callable[[], Iterable[Row]], ...]] = {
        "peers": PEERS,
        "answers": (answers.rows,),
        "apis": (apis.rows,),
        "chains": (chains.rows,),
        "files": (files.rows,),
        "programs": (programs.rows,),
    }
    for name in named or parts:
        rows = [row for measure in parts[name] for row in measure()]
        text = f"Measured {measured()}.\n\n{table(('what', 'seen', 'at most'), rows)}"
        print(text)
        keep(text, BENCHMARKS, name)


if __name__ == "__main__":
    main(sys.argv[1:])
