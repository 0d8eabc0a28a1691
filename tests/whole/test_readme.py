"""The README, walked from top to bottom in a copy of the checkout: every command does what it says."""

import json
import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from itertools import zip_longest
from pathlib import Path

import pytest

from infra.source import ROOT
from tests.peers import npm, pypi

READY_SECONDS = 180
COMMAND_SECONDS = 300
UV = shutil.which("uv") or str(ROOT / ".tools/bin/uv")

# Commands that are too long or need another machine, and what stands for them here.
REPLACED = {
    "make test": "make test ARGS=tests/infra/cli/test_tools.py",
    "mcpist api import https://example.com/openapi.json --name example": (
        "mcpist api import functions/rest_api/openapi.json --server https://mcp.example.com --name example"
    ),
}
LEFT_OUT = {"make deploy": "it needs an account in AWS; tests/rehearsal deploys on an engine"}
NEEDED_PROGRAMS = ("rg", "jq", "node")


def commands() -> list[str]:
    """The commands of the README's shell blocks, a heredoc as one with its text, without comments."""
    found: list[str] = []
    for block in re.findall(r"^```sh\n(.*?)^```", (ROOT / "README.md").read_text("utf-8"), re.MULTILINE | re.DOTALL):
        parts = re.split(r"^(.*<<'(\w+)'\n(?:.*\n)*?\2)$", block, flags=re.MULTILINE)
        for lines, heredoc in zip_longest(parts[::3], parts[1::3]):
            found += [re.sub(r"\s+#\s.*", "", line) for line in lines.splitlines() if line]
            found += [heredoc] if heredoc else []
    return found


@dataclass
class Walk:
    """A copy of the checkout, with the environment of its `make shell`, and the time of each command."""

    folder: Path
    environment: dict[str, str]
    seconds: list[tuple[float, str]] = field(default_factory=list)
    running: ExitStack = field(default_factory=ExitStack)

    def perform(self, command: str) -> None:
        """Run a command; `make up` stays until the next one."""
        started = time.perf_counter()
        if command.startswith("make up"):
            self.running.close()
            self.running.enter_context(self._up(command))
        else:
            self._run("" if command == "make shell" else command)
        self.seconds.append((time.perf_counter() - started, command.splitlines()[0]))

    def _run(self, command: str) -> None:
        """Run a command in `make shell`, where the README says that it is run; again while its error says so."""
        until = time.monotonic() + COMMAND_SECONDS
        while '"retryable": true' in (done := self._shell(command)).stdout and time.monotonic() < until:
            self.seconds.append((0.0, f"again: {command.splitlines()[0]}"))  # a server starts slowly on a busy machine
        assert done.stderr.rstrip().endswith("it ended well"), f"{command}\n{done.stdout}\n{done.stderr}"
        if command.startswith("mcpist"):
            document = json.loads(done.stdout)
            assert document["success"], document
            assert "failed" not in str(document["metadata"].get("texts", "")).partition("\n")[0], document

    def _shell(self, command: str) -> subprocess.CompletedProcess[str]:
        script = f"set -e\n{command}\necho it ended well >&2\n"
        return subprocess.run(
            ["make", "--silent", "shell"],
            cwd=self.folder,
            env=self.environment,
            input=script,
            capture_output=True,
            text=True,
            timeout=COMMAND_SECONDS,
            check=False,
        )

    @contextmanager
    def _up(self, command: str) -> Iterator[None]:
        process = subprocess.Popen(
            shlex.split(command),
            cwd=self.folder,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        try:
            assert process.stdout
            line = process.stdout.readline()
            assert line, process.communicate()[1]
            assert json.loads(line)["success"], line
            yield
        finally:
            os.killpg(process.pid, signal.SIGINT)
            process.communicate(timeout=READY_SECONDS)


@pytest.fixture
def walk(tmp_path: Path) -> Iterator[Walk]:
    """A copy of what git knows, and a folder of programs before all others: servers of npm and PyPI that are here."""
    if missing := [name for name in NEEDED_PROGRAMS if shutil.which(name) is None]:
        pytest.skip(f"not installed: {', '.join(missing)}")
    listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    files = subprocess.run(listed, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\0")
    for name in filter(None, files):
        if (ROOT / name).is_file():
            (tmp_path / "copy" / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, tmp_path / "copy" / name)
    bin_folder = tmp_path / "bin"
    bin_folder.mkdir()
    (bin_folder / "uv").symlink_to(UV)
    servers = {"npx": npm.modules() / ".bin/mcp-server-everything", "uvx": pypi.programs() / "mcp-server-time"}
    for name, program in servers.items():
        (bin_folder / name).write_text(f"#!/bin/sh\nexec {program}\n")
        (bin_folder / name).chmod(0o755)
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = str(server.getsockname()[1])
    kept = {
        name: value
        for name, value in os.environ.items()
        # With the variables of `make test` its own make would say which folder it enters.
        if not name.startswith(("MCPIST_", "AWS_", "VIRTUAL_ENV", "MAKE", "MFLAGS", "ARGS"))
    }
    own = {"PATH": f"{bin_folder}:{os.environ['PATH']}", "PORT": port, "SHELL": "/bin/bash"}
    found = Walk(tmp_path / "copy", kept | own | {"XDG_CONFIG_HOME": str(tmp_path / "config")})
    with found.running:
        yield found


@pytest.mark.slow
def test_every_command_of_the_readme_does_what_it_says(walk: Walk) -> None:
    for command in commands():
        if command not in LEFT_OUT:
            walk.perform(REPLACED.get(command, command))
    print(*(f"{seconds:7.1f} s  {command}" for seconds, command in walk.seconds), sep="\n")  # noqa: T201 - who waits
    assert not {*REPLACED, *LEFT_OUT} - {*commands()}  # each of them is still in the README


def test_the_readme_has_commands_in_its_blocks() -> None:
    found = commands()
    assert {"make up", "make shell", "mcpist modules"} <= {*found}
    assert any(command.startswith("mcpist batch - <<'STEPS'\n{") and command.endswith("\nSTEPS") for command in found)
