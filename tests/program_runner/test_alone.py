"""No other room starts processes. tests/whole/test_upstreams.py looks at those that run."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MODULES = {"subprocess", "multiprocessing", "pty", "_posixsubprocess"}
CALLS = {
    "fork", "forkpty", "system", "popen", "posix_spawn", "posix_spawnp", "startfile",
    "create_subprocess_exec", "create_subprocess_shell", "subprocess_exec", "subprocess_shell",
    *(f"{verb}{how}" for verb in ("exec", "spawn") for how in ("l", "le", "lp", "lpe", "v", "ve", "vp", "vpe")),
    "ProcessPoolExecutor", "open_process", "run_process", "stdio_client",
}  # fmt: skip
ROOMS = [
    *(door.parent for door in (ROOT / "functions").glob("*/handler.py") if door.parent.name != "program_runner"),
    ROOT / "layers/core/mcpist",
    ROOT / "layers/services/mcpist_services",
]


def starts(source: str) -> Iterator[str]:
    """Yield the names in a source by which a process is started."""
    if not any(word in source for word in MODULES | CALLS):
        return  # it is quicker to search than to parse
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Import(names=names):
                yield from (one.name for one in names if one.name.partition(".")[0] in MODULES)
            case ast.ImportFrom(module=str(module), names=names):
                yield from [module] if module.partition(".")[0] in MODULES else []
                yield from (one.name for one in names if one.name in CALLS)
            case ast.Attribute(attr=name) | ast.Name(id=name) if name in CALLS:
                yield name
            case ast.Call(args=[ast.Constant(value=str(text)), *_]) if text in MODULES:
                yield text  # import_module("subprocess")


@pytest.mark.parametrize("room", ROOMS, ids=lambda room: room.name)
def test_a_room_starts_no_process(room: Path) -> None:
    files = sorted(room.rglob("*.py"))
    assert files
    found = {str(file.relative_to(ROOT)): list(starts(file.read_text("utf-8"))) for file in files}
    assert {file: names for file, names in found.items() if names} == {}


@pytest.mark.parametrize(
    "source",
    [
        "import subprocess",
        "from multiprocessing.pool import Pool",
        "import os; os.execv('/bin/sh', [])",
        "from os import fork",
        "import asyncio; asyncio.create_subprocess_exec('a')",
        "import os; os.posix_spawn('a', [], {})",
        "import_module('subprocess')",
        "from mcp.client.stdio import stdio_client",
    ],
)
def test_the_search_finds_each_way(source: str) -> None:
    assert list(starts(source))
