"""The shortcuts around libraries: the CPU that each saves today, against a copy of the product without its file."""

import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from benchmarks.report import BENCHMARKS, keep, measured, table
from benchmarks.stub_store import serving_item
from infra.local.names import REGION
from infra.source import ROOT
from tests.project_copy import copy_code

PAIRS = 3
# Each file, and the figures of the probe on which it acts.
SHORTCUTS: Mapping[str, tuple[str, ...]] = {
    "functions/mcp_endpoint/lean_sdk.py": ("import of mcp_endpoint.handler, ms",),
    "functions/mcp_endpoint/protocol/plain_request.py": ("warm tools/call of get_module_schema, ms",),
    "layers/core/mcpist/aws/dynamodb.py": ("first GetItem of a process, ms", "further GetItem, ms"),
}


def measure() -> None:
    """Print the table, and keep it."""
    columns = ("shortcut", "CPU of", "with it", "without", "saved")
    text = f"Measured {measured()}.\n\n{table(columns, [*rows()])}"
    print(text)
    keep(text, BENCHMARKS, "shortcuts")


def rows() -> Iterator[tuple[str, ...]]:
    """Yield a row for each figure; processes with and without a file run in turn."""
    with tempfile.TemporaryDirectory() as scratch, serving_item() as store:
        whole = copy_without("", Path(scratch) / "whole")
        for file, figures in SHORTCUTS.items():
            copy = copy_without(file, Path(scratch) / Path(file).stem)
            probe(whole, store), probe(copy, store)  # they write the bytecode, and do not count
            pairs = [(probe(whole, store), probe(copy, store)) for _ in range(PAIRS)]
            for figure in figures:
                own, other = (statistics.median(each[side][figure] for each in pairs) for side in (0, 1))
                name = f"`{Path(file).name}`"
                yield name, figure, f"{own:.2f}", f"{other:.2f}", f"{other - own:.2f} ({1 - own / other:.0%})"


def copy_without(file: str, folder: Path) -> Path:
    """Copy the rooms that have shortcuts, but not one file, and return the folder."""
    for room in ("functions/mcp_endpoint", "layers/core/mcpist"):
        copy_code(ROOT / room, folder / room)
    if file:
        (folder / file).unlink()
    return folder


def environment_of(folder: Path, store: str) -> dict[str, str]:
    """Return the environment of a process that serves a copy, with a store at an address."""
    paths = (folder / "functions", folder / "layers/core", ROOT / "layers/services", ROOT)
    return {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": os.pathsep.join(map(str, paths)),
        "UPSTREAMS": "/nowhere",
        "AWS_LAMBDA_FUNCTION_NAME": "f",
        "AWS_REGION": REGION,
        "AWS_DEFAULT_REGION": REGION,
        "AWS_ENDPOINT_URL": store,
        "AWS_ACCESS_KEY_ID": "ak",
        "AWS_SECRET_ACCESS_KEY": "sk",
    }


def probe(folder: Path, store: str) -> dict[str, float]:
    """Return the figures of a fresh process that serves a copy."""
    command = [sys.executable, "-m", "benchmarks.shortcut_probe"]
    done = subprocess.run(  # noqa: S603
        command, env=environment_of(folder, store), cwd=folder, capture_output=True, text=True, check=True
    )
    figures: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return figures
