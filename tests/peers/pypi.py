"""Programs from PyPI by others, in virtual environments: MCP servers and clients, cwltool, scim2-tester, AgentDojo."""

import functools
import hashlib
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Literal

import pytest

from tests.internet import fetching_environment
from tests.peers.npm import alone

PEERS = Path(__file__).parent
INSTALL_SECONDS = 300

type Kind = Literal["handshake", "modern", "cwl", "clients", "modern_clients", "scim", "agentdojo", "openapi"]


@functools.cache
def programs(kind: Kind = "handshake") -> Path:
    """The folder of their commands, filled as `{kind}.txt` says; skips the test where there is no uv."""
    if shutil.which("uv") is None:
        pytest.skip("uv is not on PATH: `make test` brings it")
    folder = PEERS / ".venv" / kind
    stamp = folder / ".installed"
    wanted = hashlib.sha256((PEERS / f"{kind}.txt").read_bytes()).hexdigest()
    with alone("pypi"):
        if not stamp.exists() or stamp.read_text() != wanted:
            _install(folder, kind)
            stamp.write_text(wanted)
    return folder / "bin"


def _install(folder: Path, kind: str) -> None:
    """Fill the environment; needs the index, once."""
    commands: tuple[list[str | Path], ...] = (
        ["uv", "venv", "--clear", "--python", sys.executable, folder],
        ["uv", "pip", "sync", "--python", folder / "bin/python", PEERS / f"{kind}.txt"],
    )
    for command in commands:
        done = subprocess.run(
            command,
            env=fetching_environment(),
            capture_output=True,
            text=True,
            timeout=INSTALL_SECONDS,
            check=False,
        )
        assert done.returncode == 0, done.stderr
