"""The wheel of people who only use a deployment: built, installed alone, and used."""

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from infra.cli.document import ADMINISTRATOR, USER
from infra.cli.main import COMMANDS
from infra.local.deployment import ROOT, LocalDeployment

UV = shutil.which("uv") or str(ROOT / ".tools/bin/uv")

type Run = subprocess.CompletedProcess[str]


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`mcpist`, as the wheel installs it into an environment of its own."""
    folder = tmp_path_factory.mktemp("wheel")
    uv("build", "--quiet", "--wheel", "--out-dir", str(folder), str(ROOT))
    (wheel,) = folder.glob("*.whl")
    uv("venv", "--quiet", "--python", "3.13", str(folder / "venv"))
    uv("pip", "install", "--quiet", "--python", str(folder / "venv/bin/python"), str(wheel))
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
    assert "broker" in found["metadata"]["texts"][0]
    steps = program.parent / "steps.jsonl"
    steps.write_text('{"id":"tags","module":"rag","tool":"list_tags","output":true}\n')
    assert "done, 1 of 1 steps" in document(run(program, *named, "batch", str(steps)))["metadata"]["texts"][0]
    assert document(run(program, "plan", str(steps)))["metadata"]["depth"] == 1
    refused = run(program, "--url", deployment.mcp_url, "call", "rag", "list_tags")
    assert (refused.returncode, document(refused)["error"]["code"]) == (USER, "AUTHENTICATION_ERROR")


@pytest.mark.slow
@pytest.mark.parametrize("name", COMMANDS)
def test_each_command_of_the_wheel_explains_itself_or_says_that_it_needs_a_checkout(program: Path, name: str) -> None:
    done = run(program, name, "--help")
    if name == "up":
        assert (done.returncode, document(done)["error"]["code"]) == (ADMINISTRATOR, "NOT_CONFIGURED")
    else:
        assert (done.returncode, done.stdout[:14]) == (0, "Usage: mcpist "), done.stderr
