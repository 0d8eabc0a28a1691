"""Costs of upstreams: tokens, a proxied call against a direct one, cold sandboxes, many users at once."""

import asyncio
import json
import os
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client

from benchmarks.report import Row
from benchmarks.stub_deployment import LARGE_ACCOUNT
from infra.cli.document import CommandError
from infra.cli.endpoint import Endpoint
from infra.local.demo import USER
from infra.local.deployment import DeploymentOptions, LocalDeployment, run_local_deployment
from infra.source import ROOT
from mcpist.render.answer import compact_json
from mcpist.settings import settings
from mcpist_services.upstream.configuration import UpstreamServer
from mcpist_services.upstream.connections import SHARED, Upstreams
from mcpist_services.upstream.requests import call_tool
from tests.peers.tokens import o200k
from tests.upstreams.connected import connected_to
from tests.upstreams.servers import clock, everything_http, filesystem, memory

CALLS, WARM_UP = 200, 20
USERS, CALLS_A_USER = 20, 5
ECHO = {"message": "hello"}


def rows() -> Iterator[Row]:
    """Measure all; without Node, one row says so."""
    try:
        with ExitStack() as stack:
            stack.enter_context(_on_loopback())
            yield from _measured(stack, _servers(stack))
    except pytest.skip.Exception as absent:
        yield "upstreams", f"not measured: {absent}", ""


@contextmanager
def _on_loopback() -> Iterator[None]:
    """Set a public URL on loopback, since only such a deployment may reach upstreams on loopback."""
    os.environ["PUBLIC_URL"] = "http://127.0.0.1"
    settings.cache_clear()
    yield
    del os.environ["PUBLIC_URL"]
    settings.cache_clear()


def _servers(stack: ExitStack) -> dict[str, UpstreamServer]:
    folder = Path(stack.enter_context(TemporaryDirectory()))
    everything = stack.enter_context(everything_http())
    return {
        "everything": everything,
        "time": clock(),
        "disk": filesystem(folder),
        "facts": memory(folder / "facts.json"),
    }


def _measured(stack: ExitStack, servers: dict[str, UpstreamServer]) -> Iterator[Row]:
    folder = Path(stack.enter_context(TemporaryDirectory()))
    yield _direct(servers)
    file = folder / "upstreams.json"
    file.write_text(json.dumps(_file(servers)), "utf-8")
    with run_local_deployment(
        DeploymentOptions(docs=ROOT / "docs", upstreams=file, parameters=LARGE_ACCOUNT)
    ) as deployment:
        yield from _tokens(deployment, servers)
        yield _whole(deployment)
        yield _cold(deployment)
        yield _concurrent_users(deployment)


def _file(servers: dict[str, UpstreamServer]) -> dict[str, Any]:
    """Return a file with a category for each server, and one for the tool that is called."""
    echo = {"description": "Echo.", "server": "everything", "tools": {"includeNames": ["echo"]}}
    rest = {"description": "All else.", "server": "everything", "tools": {"includePatterns": ["*"]}}
    now = {"description": "The time.", "server": "time", "tools": {"includeNames": ["get_current_time"]}}
    told = {name: one.model_dump(mode="json", by_alias=True, exclude_defaults=True) for name, one in servers.items()}
    return {"mcpServers": told, "categories": {"echo": echo, "everything": rest, "time": now}}


def _direct(servers: dict[str, UpstreamServer]) -> Row:
    """Compare a call by our connections with one by the SDK's client, alternating, in one process."""
    with connected_to(**servers) as upstreams:  # type: ignore[arg-type]  # no server has the name of an option
        ours, direct = asyncio.run(_alternating(upstreams, servers["everything"].url))
    return "a proxied call (streamable HTTP, warm) against a direct client, median", _ratio(ours, direct), "2"


async def _alternating(upstreams: Upstreams, url: str) -> tuple[float, float]:
    ours: list[float] = []
    direct: list[float] = []
    async with Client(streamable_http_client(url)) as client:
        for _ in range(WARM_UP + CALLS):
            ours.append(
                _seconds(
                    lambda: upstreams.send(
                        "everything", SHARED, call_tool("echo", ECHO), deadline=time.monotonic() + 20
                    )
                )
            )
            started = time.perf_counter()
            await client.call_tool("echo", ECHO)
            direct.append(time.perf_counter() - started)
    return median(ours[WARM_UP:]), median(direct[WARM_UP:])


def _tokens(deployment: LocalDeployment, servers: dict[str, UpstreamServer]) -> Iterator[Row]:
    with connected_to(**servers) as upstreams:  # type: ignore[arg-type]  # no server has the name of an option
        lists = [upstreams.list_tools(name, deadline=time.monotonic() + 60).tools for name in servers]
    tools = [tool.model_dump(mode="json", by_alias=True, exclude_none=True) for tools in lists for tool in tools]
    shown = Endpoint.at(deployment.mcp_url, deployment.token(USER)).tools()
    flat, seen = o200k(compact_json(tools), compact_json(shown))
    yield f"tokens (o200k) of the {len(tools)} tools of {len(servers)} upstreams, flat", f"{flat:,}", ""
    yield "tokens of what a client sees of them: the three meta-tools, all modules and categories", f"{seen:,}", ""


def _whole(deployment: LocalDeployment) -> Row:
    """Compare the same call through the embedded stack, where each writes an audit row, with one of `rag`."""
    endpoint = Endpoint.at(deployment.mcp_url, deployment.token(USER))
    with endpoint.session.connected():
        proxied = _timed(lambda: endpoint.call("call", _call()))
        own = _timed(lambda: endpoint.call("call", {"module": "rag", "tool": "list_tags"}))
    return "a proxied `call` through the embedded stack, against one of `rag` there, median", _ratio(proxied, own), ""


def _timed(call: Callable[[], Any]) -> float:
    times = [_seconds(call) for _ in range(WARM_UP + CALLS // 4)]
    return median(times[WARM_UP:])


def _cold(deployment: LocalDeployment) -> Row:
    """Measure new sandboxes, with the servers' listings in the table."""
    endpoint = Endpoint.at(deployment.mcp_url, deployment.token(USER))
    endpoint.call("get_module_schema", {"modules": ["echo", "time", "disk", "facts"]})
    times = []
    for _ in range(3):
        for pool in deployment.aws.functions.values():
            pool.stop_idle()
        times.append(_seconds(lambda: endpoint.call("call", _call())))
    return "a cold sandbox to its first answer of one of four upstreams", f"{median(times):.2f} s", ""


def _concurrent_users(deployment: LocalDeployment) -> Row:
    """Measure many users at once, each with a client; the embedded stack has ten sandboxes."""

    def work(_: int) -> list[float]:
        endpoint = Endpoint.at(deployment.mcp_url, deployment.token(USER))
        try:
            with endpoint.session.connected():
                return [_seconds(lambda: endpoint.call("call", _call())) for _ in range(CALLS_A_USER)]
        except (
            CommandError
        ):  # where the machine cannot start ten sandboxes with their servers in the time of one request
            return []

    with ThreadPoolExecutor(USERS) as users:
        list(users.map(work, range(USERS)))  # starts the sandboxes
        started = time.perf_counter()
        times = [seconds for one in users.map(work, range(USERS)) for seconds in one]
    took = time.perf_counter() - started
    what = f"{USERS} users at once, {CALLS_A_USER} proxied calls each: median (slowest) of those that were answered"
    seen = f"{median(times):.2f} s ({max(times):.2f} s)" if times else "none"
    return what, f"{seen}, {len(times)} of {USERS * CALLS_A_USER}, {len(times) / took:.0f} a second", ""


def _call() -> dict[str, Any]:
    return {"module": "echo", "tool": "echo", "params": ECHO}


def _seconds(work: Callable[[], Any]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def _ratio(ours: float, theirs: float) -> str:
    return f"{ours / theirs:.2f} ({ours * 1000:.1f} ms : {theirs * 1000:.1f} ms)"
