"""The imports of each function's handler, by their cost: what a cold sandbox does before its first request.

Fresh processes import one handler each, in turn with the parts of the MCP SDK that a bare server imports.
"""

import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from benchmarks.report import BENCHMARKS, keep, measured, table
from infra.source import ROOT

ROUNDS = 7
SHOWN_PACKAGES = 6
BARE = "mcp.server.lowlevel, mcp.server.streamable_http_manager"
# Of the CPU that a bare server's imports take.
MAX_RATIOS: Mapping[str, float] = {
    "mcp_endpoint": 0.95,
    "console": 0.6,
    "rest_api": 0.6,
    "step_runner": 0.45,
    "token_broker": 0.45,
    "login": 0.55,
    "program_runner": 0.4,
    "janitor": 0.4,
}
_TIMED = re.compile(r"import time: +(\d+) \| +\d+ \| +([\w.]+)")
_PROBE = """
import json, sys, time
began = time.process_time()
import {modules}
print(json.dumps([(time.process_time() - began) * 1000, len(sys.modules)]))
"""


@dataclass(frozen=True, slots=True)
class ImportCost:
    """The imports of a handler in one process."""

    cpu_ms: float
    modules: int


def measure() -> None:
    """Print the table, and keep it."""
    with tempfile.TemporaryDirectory() as bytecode:
        rows = [*_rows(_environment(bytecode))]
    columns = ("function", "CPU of its imports, against a bare SDK server's", "at most", "modules", "most of it, ms")
    text = f"Measured {measured()}.\n\n{table(columns, rows)}"
    print(text)
    keep(text, BENCHMARKS, "imports")


def _rows(environment: Mapping[str, str]) -> Iterator[tuple[str, ...]]:
    wanted = {"bare": BARE, **{name: f"{name}.handler" for name in MAX_RATIOS}}
    costs: dict[str, list[ImportCost]] = {name: [] for name in wanted}
    for number in range(ROUNDS + 1):  # the first round writes the bytecode and does not count
        for name, modules in wanted.items():
            found = probe(modules, environment)
            if number:
                costs[name].append(found)
    bare = statistics.median(cost.cpu_ms for cost in costs["bare"])
    for name, at_most in MAX_RATIOS.items():
        own = statistics.median(cost.cpu_ms for cost in costs[name])
        heaviest = packages(timed_imports(wanted[name], environment)).most_common(SHOWN_PACKAGES)
        shown = ", ".join(f"{package} {round(microseconds / 1000)}" for package, microseconds in heaviest)
        ratio = f"{own / bare:.2f} ({own:.0f} ms : {bare:.0f} ms)"
        yield f"`{name}`", ratio, str(at_most), str(costs[name][-1].modules), shown


def probe(modules: str, environment: Mapping[str, str]) -> ImportCost:
    """Import modules in a fresh process."""
    done = _python("-c", _PROBE.format(modules=modules), environment=environment)
    return ImportCost(*json.loads(done.stdout.splitlines()[-1]))


def timed_imports(modules: str, environment: Mapping[str, str]) -> str:
    """Return what Python says of the time of each import."""
    return _python("-X", "importtime", "-c", f"import {modules}", environment=environment).stderr


def packages(timed: str) -> Counter[str]:
    """Return the microseconds of the imports of each top-level package, without those that they import."""
    found: Counter[str] = Counter()
    for own, module in _TIMED.findall(timed):
        found[module.partition(".")[0]] += int(own)
    return found


def _python(*arguments: str, environment: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, *arguments]
    return subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True, check=True)  # noqa: S603


def _environment(bytecode: str) -> dict[str, str]:
    rooms: Iterable[Path] = (ROOT / "functions", ROOT / "layers/core", ROOT / "layers/services")
    return {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": os.pathsep.join(map(str, rooms)),
        "PYTHONPYCACHEPREFIX": bytecode,
        "PYDANTIC_DISABLE_PLUGINS": "__all__",
        "UPSTREAMS": "/nowhere.json",
    }
