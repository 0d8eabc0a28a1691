"""Upstream MCP servers that nobody here wrote, and one of ours on the official SDK."""

import os
import re
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from mcpist_services.upstream.configuration import UpstreamServer
from tests.peers.npm import modules
from tests.peers.pypi import programs

START_SECONDS = 30


def everything() -> UpstreamServer:
    """The SDK authors' server of examples, over stdio: 2025-11-25."""
    return _npm("server-everything", "stdio", description="Examples of everything")


@contextmanager
def everything_http(kind: str = "streamableHttp", port: int = 0) -> Iterator[UpstreamServer]:
    """The same over HTTP: `streamableHttp`, or `sse`, the kind before it; it keeps sessions."""
    program = modules() / "@modelcontextprotocol/server-everything/dist/index.js"
    with _listening(["node", str(program), kind], port) as port:
        if kind == "sse":
            yield UpstreamServer(description="Examples of everything", type="sse", url=f"http://127.0.0.1:{port}/sse")
        else:
            yield UpstreamServer(description="Examples of everything", type="http", url=f"http://127.0.0.1:{port}/mcp")


def filesystem(folder: Path) -> UpstreamServer:
    """Files of one folder."""
    return _npm("server-filesystem", str(folder), description="Files")


def memory(file: Path) -> UpstreamServer:
    """A graph of facts, kept in a file."""
    return _npm("server-memory", description="Facts", MEMORY_FILE_PATH=str(file))


def clock() -> UpstreamServer:
    """The time in the world's zones: 2025-11-25."""
    return UpstreamServer(description="Time", command=str(programs() / "mcp-server-time"))


def modern_clock() -> UpstreamServer:
    """The same of a later release: 2026-07-28."""
    return UpstreamServer(description="Time", command=str(programs("modern") / "mcp-server-time"))


def git(repository: Path) -> UpstreamServer:
    """A git repository."""
    if shutil.which("git") is None:
        pytest.skip("git is not on PATH: install git")
    return UpstreamServer(
        description="Git", command=str(programs() / "mcp-server-git"), args=("--repository", str(repository))
    )


@contextmanager
def modern_http() -> Iterator[UpstreamServer]:
    """A server of ours on the official SDK, in both eras: tools `add` and `who`, which tells the token it was sent."""
    with _listening([sys.executable, str(Path(__file__).with_name("modern.py"))]) as port:
        yield UpstreamServer(
            description="Sums",
            type="http",
            url=f"http://127.0.0.1:{port}/mcp",
            headers={"Authorization": "grant:sums"},
        )


def _npm(package: str, *args: str, description: str, **env: str) -> UpstreamServer:
    program = modules() / f"@modelcontextprotocol/{package}/dist/index.js"
    return UpstreamServer(description=description, command="node", args=(str(program), *args), env=env)


@contextmanager
def _listening(command: list[str], port: int = 0) -> Iterator[int]:
    """A program that listens on the port in PORT, a free one if none is given, and says so."""
    if not port:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
    process = subprocess.Popen(
        command,
        env={"PATH": os.environ["PATH"], "PORT": str(port), "HOME": "/tmp"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    try:
        said = ""
        while not re.search(r"listening on port|running on", said, re.IGNORECASE):
            line = process.stderr.readline()
            assert line, f"{command} does not start: {said}"
            said += line
        with socket.create_connection(("127.0.0.1", port), START_SECONDS):
            pass
        yield port
    finally:
        process.kill()
        process.wait()
        process.stderr.close()
