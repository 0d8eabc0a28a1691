"""`mcpist program check`, what `make build` refuses to pack, and what `mcpist up` offers."""

import json
import os
import shutil
import struct
from pathlib import Path
from typing import Any

import pytest

from infra.cli.deployable import architecture, problem_of
from infra.cli.document import CALLER
from infra.cli.main import run
from infra.local.additions import local_programs
from tests.services.programs.declarations import TEXT, tool, written

EXAMPLES = Path(__file__).parents[3] / "examples/programs"
SCRIPT = b"#!/usr/bin/env python3\nprint(1)\n"
RUN = tool(["run", {"input": "it"}], {"it": TEXT})
SAMPLE = {"name": "sample", "description": "Programs.", "version": "1", "tools": [RUN]}


def command(capsys: pytest.CaptureFixture[str], *arguments: str | Path, fails: bool = False) -> dict[str, Any]:
    """The metadata of a check that succeeds, or the error of one that fails."""
    code = run(["program", "check", *map(str, arguments)])
    document: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert code == (CALLER if fails else 0), document
    found: dict[str, Any] = document["error" if fails else "metadata"]
    return found


def elf(machine: int = 62, kind: int = 3, *, bits: int = 2, loader: bytes = b"", table: int = 64) -> bytes:
    """A file that begins like an executable of Linux; with a loader it has a segment that names it."""
    head = b"\x7fELF" + bytes([bits, 1, 1]) + bytes(9)
    head += struct.pack("<HHIQQQIHHH", kind, machine, 1, 0, table, 0, 0, 64, 56, 1)
    segment = struct.pack("<IIQQQQQQ", 3 if loader else 1, 0, 120, 0, 0, len(loader), 0, 0)
    return head.ljust(64, b"\0") + segment + loader


def placed(folder: Path, content: bytes, mode: int = 0o755) -> Path:
    """A packaged program."""
    file = folder / "sample/run"
    file.parent.mkdir(exist_ok=True)
    file.write_bytes(content)
    file.chmod(mode)
    return file


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (SCRIPT, ""),
        (b"#!/bin/sh\n", ""),
        (b"#! /usr/bin/env bash\n", ""),
        (b"#!/usr/bin/perl\n", "is a script of /usr/bin/perl"),
        (b"#!/usr/bin/env node\n", "is a script of /usr/bin/env node"),
        (b"#!\n", "is a script of nothing"),
        (b"print(1)\n", "neither a script"),
        (b"\x7fELF", "neither a script"),
        (elf(), ""),
        (elf(kind=2, loader=b"/lib64/ld-linux-x86-64.so.2\0"), ""),
        (elf(loader=b"/lib/ld-musl-x86_64.so.1\0"), "needs /lib/ld-musl-x86_64.so.1"),
        (elf(183), "is made for arm64, and the functions run on x86_64"),
        (elf(8), "is made for machine 8"),
        (elf(bits=1), "is no 64-bit program"),
        (elf(kind=1), "is no executable"),
        (elf(table=10**9), "a loader that cannot be read"),
    ],
)
def test_a_program_is_a_script_or_an_executable_that_lambda_runs(tmp_path: Path, content: bytes, problem: str) -> None:
    found = problem_of(placed(tmp_path, content), "x86_64")
    assert found.startswith(problem) or problem in found
    assert bool(found) == bool(problem)


def test_a_program_that_is_missing_or_not_executable_is_named(tmp_path: Path) -> None:
    assert problem_of(tmp_path / "sample/run", "x86_64") == "is not in the folder sample"
    assert "chmod +x" in problem_of(placed(tmp_path, SCRIPT, 0o644), "x86_64")
    assert problem_of(placed(tmp_path, elf(183)), "arm64") == ""
    assert architecture() == "x86_64"


def test_a_check_names_every_problem(nowhere: Path, capsys: pytest.CaptureFixture[str]) -> None:
    written(nowhere, SAMPLE)
    written(nowhere, "{", "broken.json")
    error = command(capsys, nowhere, "--deploy", fails=True)
    assert [problem["field"] for problem in error["details"]["problems"]] == [
        "broken.json: line 1, column 2",
        "sample.json: tools.0.argv.0",
    ]
    assert "1 more" in error["message"]
    (nowhere / "broken.json").unlink()
    placed(nowhere, SCRIPT)
    assert command(capsys, nowhere, "--deploy")["programs"][0]["tools"] == ["run (reads)"]
    assert command(capsys, nowhere / "sample.json")["programs"][0]["name"] == "sample"
    assert command(capsys, nowhere / "none", fails=True)["code"] == "FILE_NOT_FOUND"


def test_the_examples_are_right_and_the_writers_tools_can_be_deployed(capsys: pytest.CaptureFixture[str]) -> None:
    assert len(command(capsys, EXAMPLES)["programs"]) == 4
    assert command(capsys, EXAMPLES / "writers.json", "--deploy")["programs"][0]["name"] == "writers"
    assert "rg is not in the folder" in command(capsys, EXAMPLES / "ripgrep.json", "--deploy", fails=True)["message"]


def test_one_machine_runs_packaged_programs_and_those_that_declarations_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tools = [RUN, tool(["own"], name="second"), tool(["bin/own"], name="third"), tool(["missing"], name="fourth")]
    written(tmp_path, {**SAMPLE, "tools": tools})
    written(tmp_path, "[]", "broken.json")
    (tmp_path / "sample").mkdir()
    shutil.copy(placed(tmp_path, SCRIPT), tmp_path / "sample/own")
    (tmp_path / "path").mkdir()
    installed = tmp_path / "path/run"
    (tmp_path / "sample/run").rename(installed)
    monkeypatch.setenv("PATH", str(tmp_path / "path"))
    said: list[str] = []
    with local_programs(tmp_path, said.append) as (names, settings):
        folder = Path(settings["PROGRAMS"])
        kept = [one["name"] for one in json.loads((folder / "sample.json").read_text("utf-8"))["tools"]]
        assert kept == [RUN["name"], "second"], "a program that is not installed is not offered"
        assert os.access(folder / "sample/own", os.X_OK)
        assert settings["ALLOWED_PROGRAMS"] == str(installed)
        assert names == ("sample",)
    assert not folder.exists()
    assert said == [
        "left out broken.json: it is no object",
        "sample: the program bin/own is neither in its folder nor installed here",
        "sample: the program missing is neither in its folder nor installed here",
    ]
    with local_programs(tmp_path / "sample.json", said.append) as (names, settings):
        assert names == ("sample",)
    written(tmp_path, {**SAMPLE, "name": "gone", "tools": tools[2:]}, "gone.json")
    with local_programs(tmp_path / "gone.json", said.append) as (names, _):
        assert names == ()
    with local_programs(tmp_path / "nothing", said.append) as (names, settings):
        assert settings["ALLOWED_PROGRAMS"] == ""
