"""A runner in this process, with the programs of this folder on its allow-list."""

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


@pytest.fixture(params=["namespaces", "no namespaces"])
def hostile(request: pytest.FixtureRequest, allow: Callable[..., None], tmp_path: Path) -> Run:
    """Run the hostile program, in namespaces and as on Lambda without them."""
    program = tmp_path / "hostile"
    program.write_text(f"#!{sys.executable}\n{HOSTILE.read_text('utf-8')}")
    program.chmod(0o755)
    allow(program)

    def start(*arguments: str, **fields: Any) -> ProgramResult:
        asked = {"organization": "acme", "program": str(program), "arguments": arguments, **fields}
        return run(ProgramRequest.model_validate(asked), namespaces=request.param == "namespaces")

    return start
