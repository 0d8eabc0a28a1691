"""A runner in this process, with the programs of this folder on its allow-list."""

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from mcpist.memory import forget_all
from mcpist.programs.messages import ProgramRequest, ProgramResult
from program_runner.run import run

HOSTILE = Path(__file__).with_name("hostile.py")

type Run = Callable[..., ProgramResult]


@pytest.fixture
def allow(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., None]]:
    """Put programs on this machine's allow-list."""

    def allow(*programs: str | Path) -> None:
        monkeypatch.setenv("ALLOWED_PROGRAMS", ",".join(map(str, programs)))
        forget_all()

    yield allow
    monkeypatch.undo()
    forget_all()


# A kernel's own way to keep programs apart: namespaces; Landlock where there are none; and as on Lambda neither, where
# only packaged programs run.
WAYS = ("namespaces", "landlock", "neither")


@pytest.fixture(params=WAYS)
def hostile(
    request: pytest.FixtureRequest, allow: Callable[..., None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Run:
    """Run the hostile program in each way."""
    package = tmp_path / "package"
    package.mkdir()
    program = write_script(package / "hostile", HOSTILE.read_text("utf-8"))
    monkeypatch.setenv("PROGRAMS", str(package))
    allow(program)

    def start(*arguments: str, **fields: Any) -> ProgramResult:
        name = "hostile" if request.param == "neither" else str(program)
        asked = {"organization": "acme", "program": name, "arguments": arguments, **fields}
        message = ProgramRequest.model_validate(asked)
        return run(message, namespaces=request.param == "namespaces", landlock=request.param != "neither")

    return start


def write_script(path: Path, source: str) -> Path:
    """Write a program in Python, whose interpreter is the installed one: a confined program sees no environment."""
    path.write_text(f"#!{os.path.realpath(sys.executable)}\n{source}")
    path.chmod(0o755)
    return path
