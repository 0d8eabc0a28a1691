"""The wheel: installed alone by people who only use a deployment, or with the embedded AWS; both used."""

import json
import shutil
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from infra.cli.document import ADMINISTRATOR, USER
from infra.cli.main import COMMANDS
from infra.local.deployment import LocalDeployment
from infra.source import ROOT
from tests.project_copy import lend_bytecode

UV = shutil.which("uv") or str(ROOT / ".tools/bin/uv")

# Prints each command's exit code and what it prints.
EXPLAIN = """
import contextlib, io, json, sys
from infra.cli.main import run

def explained(name):
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        return run([name, "--help"]), printed.getvalue()

print(json.dumps({name: explained(name) for name in sys.argv[1:]}))
"""

type Run = subprocess.CompletedProcess[str]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("built")
    uv("build", "--quiet", "--wheel", "--out-dir", str(folder), str(ROOT))
    (wheel,) = folder.glob("*.whl")
    return wheel


@pytest.fixture(scope="module")
def program(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`mcpist`, as the wheel installs it into an environment of its own."""
    return installed(str(wheel), tmp_path_factory.mktemp("wheel"))


def installed(requirement: str, folder: Path) -> Path:
    uv("venv", "--quiet", "--python", "3.13", str(folder / "venv"))
    uv("pip", "install", "--quiet", "--python", str(folder / "venv/bin/python"), requirement)
    lend_bytecode(folder / "venv")
    return folder / "venv/bin/mcpist"


def uv(*arguments: str) -> None:
    done = subprocess.run([UV, *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def run(program: Path, *arguments: str) -> Run:
    """Run it in a folder that has neither a checkout nor a login."""
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(program.parent)}
    command = [str(program), *arguments]
    return subprocess.run(command, cwd=program.parent, env=environment, capture_output=True, text=True, check=False)


def document(done: Run) -> Any:
    assert done.stdout, done.stderr
    return json.loads(done.stdout)


@pytest.mark.slow
def test_the_wheel_has_no_embedded_aws_and_uses_a_deployment(program: Path, deployment: LocalDeployment) -> None:
    packages = {file.name for file in (program.parents[1] / "lib").glob("python3*/site-packages/*")}
    assert {"mcpist", "mcpist_services"} <= packages
    assert not {"moto", "awslambdaric", "pytest"} & packages
    named = ["--url", deployment.mcp_url, "--token", deployment.token()]
    found = document(run(program, *named, "call", "rag", "search_docs", "query=broker", "limit=1"))
    assert "broker" in str(found["metadata"]["texts"][0])
    steps = program.parent / "steps.jsonl"
    steps.write_text('{"id":"tags","module":"rag","tool":"list_tags","output":true}\n')
    assert "done, 1 of 1 steps" in document(run(program, *named, "batch", str(steps)))["metadata"]["texts"][0]
    assert document(run(program, "plan", str(steps)))["metadata"]["depth"] == 1
    refused = run(program, "--url", deployment.mcp_url, "call", "rag", "list_tags")
    assert (refused.returncode, document(refused)["error"]["code"]) == (USER, "AUTHENTICATION_ERROR")


@pytest.mark.slow
def test_each_command_of_the_wheel_explains_itself(program: Path) -> None:
    """In one process, since the program itself has run above: each would import the same again."""
    named = [name for name in COMMANDS if name != "up"]
    command = [str(program.parent / "python"), "-I", "-c", EXPLAIN, *named]
    done = subprocess.run(command, cwd=program.parent, env={}, capture_output=True, text=True, check=False)
    explained = json.loads(done.stdout)
    assert [name for name, (code, text) in explained.items() if (code, text[:14]) != (0, "Usage: mcpist ")] == []
    assert list(explained) == named


@pytest.mark.slow
def test_a_command_that_needs_the_extra_says_what_is_not_installed(program: Path) -> None:
    done = run(program, "up", "--help")
    assert (done.returncode, document(done)["error"]["code"]) == (ADMINISTRATOR, "NOT_CONFIGURED")


@pytest.mark.slow
def test_with_its_extra_the_wheel_runs_everything_in_an_empty_folder(wheel: Path, tmp_path: Path) -> None:
    program = installed(f"mcpist[local] @ {wheel.as_uri()}", tmp_path)
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "PORT": "0"}
    with subprocess.Popen(
        [str(program), "up"], cwd=tmp_path, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as up:
        try:
            assert up.stdout
            assert up.stderr
            line = up.stdout.readline()
            assert line, up.stderr.read()
            facts = json.loads(line)["metadata"]
            named = ["--url", facts["mcp_url"], "--token", facts["access_token"]]
            found = document(run(program, *named, "call", "rag", "search_docs", "query=broker", "limit=1"))
            assert "broker" in str(found["metadata"]["texts"][0])
        finally:
            up.send_signal(signal.SIGINT)
            up.communicate(timeout=60)
    assert up.returncode == 0
