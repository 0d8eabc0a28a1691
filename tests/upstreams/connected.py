"""Connections to upstream servers as a test's sandbox has them."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import mcp_types
import pytest

from mcpist import settings
from mcpist.programs.messages import ServerRequest
from mcpist_services.upstream.configuration import UpstreamServer
from mcpist_services.upstream.connections import SHARED, Identity, Upstreams
from mcpist_services.upstream.requests import call_tool
from program_runner.sessions import Sessions

FAULTY = Path(__file__).with_name("faulty.py")


@contextmanager
def connected_to(*, namespaces: bool = False, folder: str = "", **servers: UpstreamServer) -> Iterator[Upstreams]:
    """Connections to these servers, all ended afterwards; processes have the numbers that a test sees."""
    sessions = Sessions(None, folder, namespaces=namespaces)
    upstreams = Upstreams(servers, InProcessRunner(sessions))
    try:
        yield upstreams
    finally:
        upstreams.close()
        sessions.close()


class InProcessRunner:
    """Asks these sessions as a door asks the program runner."""

    def __init__(self, sessions: Sessions) -> None:
        self.sessions = sessions

    def __call__(self, request: ServerRequest, *, deadline: float) -> bytes:
        assert request.seconds <= max(0.001, deadline - time.monotonic()) + 0.1
        return self.sessions.ask(ServerRequest.model_validate_json(request.model_dump_json()))


@contextmanager
def public_url(monkeypatch: pytest.MonkeyPatch, url: str) -> Iterator[None]:
    """The settings of an endpoint at this URL: on loopback, those of the embedded stack."""
    monkeypatch.setenv("PUBLIC_URL", url)
    monkeypatch.setenv("LOCAL_SERVICES", "on" if url.startswith("http://127.0.0.1:") else "off")
    settings.settings.cache_clear()
    yield
    settings.settings.cache_clear()


def faulty(*modes: str, **more: Any) -> UpstreamServer:
    """The faulty server over stdio, which may be as slow as the configuration allows."""
    slow: dict[str, Any] = {"timeout_seconds": 55, **more}
    return UpstreamServer(description="Faults", command=sys.executable, args=("-S", str(FAULTY), *modes), **slow)


def deadline_in(seconds: float = 60) -> float:
    """A moment on the monotonic clock."""
    return time.monotonic() + seconds


def text_of(result: mcp_types.CallToolResult) -> str:
    """The text of a result that has one block."""
    (block,) = result.content
    assert isinstance(block, mcp_types.TextContent)
    return block.text


def call(
    upstreams: Upstreams,
    tool: str,
    *,
    identity: Identity = SHARED,
    seconds: float = 60,
    reads: bool = False,
    **arguments: Any,
) -> str:
    """What a tool of the only server says."""
    (server,) = upstreams.servers
    return text_of(
        upstreams.send(server, identity, call_tool(tool, arguments, reads=reads), deadline=deadline_in(seconds))
    )
