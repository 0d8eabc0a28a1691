"""The README and the tutorial, walked from top to bottom in a copy of the checkout: every command does what it says."""

import json
import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from itertools import zip_longest
from pathlib import Path
from random import sample

import pytest

from infra.source import ROOT
from tests.peers import npm, pypi

READY_SECONDS = 180
COMMAND_SECONDS = 300
UV = shutil.which("uv") or str(ROOT / ".tools/bin/uv")

PAGES = ("README.md", "docs/tutorial.md")
OWN_TERMINAL = "# in a terminal of its own"
MOCK_PORT = "8090"
# Commands that are too long or need another machine, and what stands for them here.
REPLACED = {
    "make test": "make test ARGS=tests/infra/cli/test_tools.py",
    "mcpist api import https://example.com/openapi.json --name example": (
        "mcpist api import functions/rest_api/openapi.json --server https://mcp.example.com --name example"
    ),
}
IN_AWS = "it needs an account in AWS; tests/rehearsal deploys on an engine"
LEFT_OUT = dict.fromkeys(("make deploy", 'make deploy ARGS="Administrator=ada@example.com"'), IN_AWS)
INSTALLED = (".venv", ".tools")
# uv as it is, but that nothing is compiled for a minute of CPU which is compiled in this checkout.
INSTALLING = """
[ "$1" = sync ] || exec {uv} "$@"
{uv} "$@" --no-compile-bytecode && PYTHONPATH={root} {python} -m tests.project_copy "$PWD/.venv"
"""
NEEDED_PROGRAMS = ("rg", "jq", "node")


def commands(page: str) -> list[str]:
    """The commands of a page's shell blocks, a heredoc as one with its text, without comments but OWN_TERMINAL."""
    found: list[str] = []
    for block in re.findall(r"^```sh\n(.*?)^```", (ROOT / page).read_text("utf-8"), re.MULTILINE | re.DOTALL):
        parts = re.split(r"^(.*<<'(\w+)'\n(?:.*\n)*?\2)$", block, flags=re.MULTILINE)
        for lines, heredoc in zip_longest(parts[::3], parts[1::3]):
            found += [re.sub(rf"\s+(?!{OWN_TERMINAL})#\s.*", "", line) for line in lines.splitlines() if line]
            found += [heredoc] if heredoc else []
    return found


def free_port() -> str:
    """A port that no outgoing connection takes before it is listened on: these get ports from 32768 on."""
    for port in sample(range(20_000, 30_000), 50):
        with suppress(OSError), socket.create_server(("127.0.0.1", port)):
            return str(port)
    raise OSError("no port is free")


@dataclass
class Walk:
    """A copy of the checkout, with the environment of its `make shell`, and the time of each command."""

    folder: Path
    environment: dict[str, str]
    seconds: list[tuple[float, str]] = field(default_factory=list)
    running: ExitStack = field(default_factory=ExitStack)
    terminals: ExitStack = field(default_factory=ExitStack)
    mock_port: str = field(default_factory=free_port)

    def perform(self, command: str) -> None:
        """Run a command; `make up` stays until the next one."""
        started = time.perf_counter()
        if command.startswith("make up"):
            self.running.close()
            self.running.enter_context(self._up(command))
        elif command.endswith(OWN_TERMINAL):
            program = f".venv/bin/{command.removesuffix(OWN_TERMINAL)}".replace(MOCK_PORT, self.mock_port)
            self.terminals.enter_context(self._started(program))
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
            summary = str((document["metadata"].get("texts") or [""])[0]).partition("\n")[0]
            assert "failed" not in summary, document

    def _shell(self, command: str) -> subprocess.CompletedProcess[str]:
        script = f"set -e\n{command.replace(MOCK_PORT, self.mock_port)}\necho it ended well >&2\n"
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
        with self._started(command) as process:
            assert process.stdout
            line = process.stdout.readline()
            assert line, process.communicate()[1]
            assert json.loads(line)["success"], line
            yield

    @contextmanager
    def _started(self, command: str) -> Iterator[subprocess.Popen[str]]:
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
            yield process
        finally:
            os.killpg(process.pid, signal.SIGINT)
            process.communicate(timeout=READY_SECONDS)


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which what the first page installs is there for the second."""
    return tmp_path_factory.mktemp("installed") / "copy"


@pytest.fixture
def walk(installed: Path, tmp_path: Path) -> Iterator[Walk]:
    """A copy of what git knows, and a folder of programs before all others: servers of npm and PyPI that are here."""
    if missing := [name for name in NEEDED_PROGRAMS if shutil.which(name) is None]:
        pytest.skip(f"not installed: {', '.join(missing)}")
    copy_checkout(installed)
    bin_folder = tmp_path / "bin"
    bin_folder.mkdir()
    write_program(bin_folder / "uv", INSTALLING.format(uv=UV, root=ROOT, python=sys.executable))
    servers = {"npx": npm.modules() / ".bin/mcp-server-everything", "uvx": pypi.programs() / "mcp-server-time"}
    for name, program in servers.items():
        write_program(bin_folder / name, f"exec {program}")
    kept = {
        name: value
        for name, value in os.environ.items()
        # With the variables of `make test` its own make would say which folder it enters.
        if not name.startswith(("MCPIST_", "AWS_", "VIRTUAL_ENV", "MAKE", "MFLAGS", "ARGS"))
    }
    own = {"PATH": f"{bin_folder}:{os.environ['PATH']}", "PORT": free_port(), "SHELL": "/bin/bash"}
    found = Walk(installed, kept | own | {"XDG_CONFIG_HOME": str(tmp_path / "config")})
    with found.running, found.terminals:
        yield found


def write_program(file: Path, script: str) -> None:
    file.write_text(f"#!/bin/sh\n{script}\n")
    file.chmod(0o755)


def copy_checkout(folder: Path) -> None:
    """Copy what git knows, with links to what others wrote, as `make .venv/.peers` has installed it here.

    Of what the folder had before only what `make` installed is left.
    """
    for name in folder.iterdir() if folder.exists() else ():
        if name.name not in INSTALLED:
            shutil.rmtree(name) if name.is_dir() else name.unlink()
    listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    files = subprocess.run(listed, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\0")
    for name in filter(None, files):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)  # with its time, else make would install again
    npm.modules(), pypi.programs()
    locks = [Path(name) for name in files if name.endswith("package-lock.json")]
    for peers in (*(lock.with_name("node_modules") for lock in locks), Path("tests/peers/.venv")):
        (folder / peers).symlink_to(ROOT / peers)


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES)
def test_every_command_of_the_page_does_what_it_says(walk: Walk, page: str) -> None:
    for command in commands(page):
        if command not in LEFT_OUT:
            walk.perform(REPLACED.get(command, command))
    print(*(f"{seconds:7.1f} s  {command}" for seconds, command in walk.seconds), sep="\n")  # noqa: T201 - who waits


def test_the_pages_have_commands_in_their_blocks() -> None:
    found = commands("README.md")
    assert not {*REPLACED, *LEFT_OUT} - {*found, *commands("docs/tutorial.md")}
    assert sum(command.endswith(OWN_TERMINAL) for command in commands("docs/tutorial.md")) == 1
    assert {"make up", "make shell", "mcpist modules"} <= {*found}
    assert any(command.startswith("mcpist batch - <<'STEPS'\n{") and command.endswith("\nSTEPS") for command in found)
