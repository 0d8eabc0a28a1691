"""`mcpist up`, killed and started again: its people, their clients and what they stored are still there."""

import asyncio
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp.client.auth import AuthorizationCodeResult, OAuthClientProvider
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import OAuthClientMetadata
from mcp_types import TextContent

from infra.local.demo import ADMINISTRATOR, USER
from infra.source import ROOT
from rehearsal.person import Browser, InMemoryTokens, agree
from tests.peers.npm import modern_node, modules

REDIRECT = "http://localhost:8787/callback"
CHANGE_SECONDS = 20
PAUSE_SECONDS = 0.5  # else the attempts reach the limit of a user's requests in a minute


class Stack:
    """A running `mcpist up`."""

    def __init__(self, process: subprocess.Popen[str], facts: dict[str, Any], folder: Path) -> None:
        self.process, self.facts, self.folder = process, facts, folder
        self.url: str = facts["mcp_url"]

    def mcpist(self, *arguments: str, fails: bool = False) -> dict[str, Any]:
        """Run a command in its folder, as its administrator; return the metadata, or the error."""
        done = subprocess.run(
            [sys.executable, "-m", "infra.cli.main", *arguments],
            cwd=self.folder,
            env=ENVIRONMENT,
            capture_output=True,
            text=True,
            check=False,
        )
        document = json.loads(done.stdout)
        assert document["success"] != fails, document
        return document["error" if fails else "metadata"]  # type: ignore[no-any-return]

    def kill(self) -> None:
        """End it without a warning."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()


ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT)}


@contextmanager
def up(folder: Path, port: int, *arguments: str, stack: str = "default") -> Iterator[Stack]:
    """Run `mcpist up` in a folder until the context ends."""
    command = [sys.executable, "-m", "infra.cli.main", "--stack", stack, "up", "--port", str(port)]
    with (
        (folder / "up.log").open("w") as log,
        subprocess.Popen(
            [*command, "--docs", str(folder / "notes"), *arguments],
            cwd=folder,
            env=ENVIRONMENT,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
        ) as process,
    ):
        try:
            assert process.stdout
            document = json.loads(process.stdout.readline())
            assert document["success"], document
            yield Stack(process, document["metadata"], folder)
        finally:
            process.terminate()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with one document."""
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes/walrus.md").write_text("# The walrus\n\nIt has tusks.")
    return tmp_path


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


class SdkClient:
    """The Python SDK's client, which keeps its login as an agent does, and counts its logins."""

    def __init__(self, url: str) -> None:
        self.url, self.memory, self.logins = url, InMemoryTokens(), 0
        self._landed = ""

    def call(self, tool: str, **params: Any) -> str:
        """Call a tool of `rag` and return its text."""
        return asyncio.run(self._call(tool, params))

    async def _call(self, tool: str, params: dict[str, Any]) -> str:
        metadata = OAuthClientMetadata.model_validate({"client_name": "agent", "redirect_uris": [REDIRECT]})
        login = OAuthClientProvider(self.url, metadata, self.memory, self._open, self._come_back)
        async with (
            httpx2.AsyncClient(auth=login, timeout=60) as http,
            Client(streamable_http_client(self.url, http_client=http)) as client,
        ):
            result = await client.call_tool("call", {"module": "rag", "tool": tool, "params": params})
        return "\n".join(block.text for block in result.content if isinstance(block, TextContent))

    async def _open(self, url: str) -> None:
        self.logins += 1
        self._landed = authorize(url)

    async def _come_back(self) -> AuthorizationCodeResult:
        found = httpx2.URL(self._landed).params
        return AuthorizationCodeResult(code=found["code"], state=found["state"], iss=found.get("iss"))


def authorize(url: str) -> str:
    """Log Uma in, who agrees, and return the address to which that leads."""
    with httpx2.Client(timeout=60) as web:
        return agree(web, url, USER.sub)


class McpRemote:
    """npm's mcp-remote as a desktop client runs it: a stdio server that logs in by a browser."""

    def __init__(self, url: str, folder: Path) -> None:
        program = modules() / "mcp-remote/dist/proxy.js"
        self._errors = folder / "stderr"
        with self._errors.open("w") as errors:
            self.process = subprocess.Popen(
                [modern_node(), program, url, str(free_port()), "--allow-http"],
                env={**os.environ, "MCP_REMOTE_CONFIG_DIR": str(folder), "PATH": "/nowhere"},  # without a browser
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
            )

    def initialize(self, *, logs_in: bool = False) -> None:
        """Begin the session; `logs_in` says whether a person must come."""
        client = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}
        self._send({"id": 0, "method": "initialize", "params": client})
        if logs_in:
            url = _until(lambda: re.search(r"http://\S+/authorize\?\S+", self._errors.read_text()))
            landed = authorize(url[0])
            _until(lambda: _answers(landed))  # it may write the address before it listens
        self._answer()
        self._send({"method": "notifications/initialized"})

    def call(self, tool: str, **params: Any) -> str:
        """Call a tool of `rag` and return its text."""
        asked = {"name": "call", "arguments": {"module": "rag", "tool": tool, "params": params}}
        self._send({"id": 1, "method": "tools/call", "params": asked})
        return str(self._answer()["result"]["content"][0]["text"])

    def close(self) -> str:
        """End it and return its log."""
        self.process.terminate()
        self.process.communicate()
        return self._errors.read_text()

    def _send(self, message: dict[str, Any]) -> None:
        assert self.process.stdin
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        self.process.stdin.flush()

    def _answer(self) -> dict[str, Any]:
        assert self.process.stdout
        while "id" not in (message := json.loads(self.process.stdout.readline())):
            continue
        return message  # type: ignore[no-any-return]


def _answers(url: str) -> bool:
    try:
        return httpx2.get(url).is_success
    except httpx2.ConnectError:
        return False


def _until(attempt: Any, seconds: float = CHANGE_SECONDS) -> Any:
    """Repeat an attempt until it has a result."""
    end = time.monotonic() + seconds
    while not (result := attempt()):
        assert time.monotonic() < end, "nothing happened"
        time.sleep(PAUSE_SECONDS)
    return result


@contextmanager
def mcp_remote(url: str, folder: Path) -> Iterator[McpRemote]:
    """Run mcp-remote until the context ends."""
    remote = McpRemote(url, folder)
    try:
        yield remote
    finally:
        remote.close()


@pytest.mark.slow
def test_clients_people_and_files_go_on_after_a_kill(folder: Path) -> None:
    port = free_port()
    with ExitStack() as stack:
        with up(folder, port) as first:
            agent, person = SdkClient(first.url), Browser(ADMINISTRATOR.sub)
            stack.enter_context(person.client)
            remote = stack.enter_context(mcp_remote(first.url, folder))
            _use_everything(first, agent, remote, person)
            first.kill()
        (folder / "notes/later.md").write_text("# Later\n\nA seal came while it was down.")
        began = datetime.now(UTC).isoformat()
        with up(folder, port, "--audit-export", "siem") as second:
            assert "tusks" in remote.call("search_docs", query="walrus")  # by the same process as before
            _expect_a_later_session_without_a_login(second, folder)
            assert "seal" in agent.call("search_docs", query="seal")
            assert agent.logins == 1
            assert ADMINISTRATOR.name in person.client.get(f"{second.facts['api_url']}/profile").text
            users = {user["user"]: user["roles"] for user in second.mcpist("user", "list")["users"]}
            assert users[USER.sub] == ["readers"]
            _expect_the_folder_is_followed(agent, folder)
            _expect_each_row_is_delivered(second, folder / "siem", began)


def _use_everything(stack: Stack, agent: SdkClient, remote: McpRemote, person: Browser) -> None:
    """Log in with all clients, and change a role, a user and the documents."""
    assert "tusks" in agent.call("search_docs", query="walrus")
    remote.initialize(logs_in=True)
    assert "tusks" in remote.call("search_docs", query="walrus")
    person.open(stack.facts["console_url"])
    assert ADMINISTRATOR.name in person.client.get(f"{stack.facts['api_url']}/profile").text
    stack.mcpist("role", "create", "readers", "--modules", "rag", "--allow", "rag.put_doc")
    stack.mcpist("user", "set", USER.sub, "--roles", "readers")
    stored = {"path": "own.md", "content": "# Own\n\nOnly here: narwhal."}
    _until(lambda: "created" in agent.call("put_doc", **stored))  # a sandbox remembers roles for seconds


def _expect_a_later_session_without_a_login(stack: Stack, folder: Path) -> None:
    with mcp_remote(stack.url, folder) as remote:
        remote.initialize()
        assert "narwhal" in remote.call("search_docs", query="narwhal")
        assert "/authorize?" not in remote.close()


def _expect_the_folder_is_followed(agent: SdkClient, folder: Path) -> None:
    (folder / "notes/now.md").write_text("# Now\n\nAn otter.")
    _until(lambda: "otter" in agent.call("search_docs", query="otter"))
    (folder / "notes/walrus.md").unlink()
    _until(lambda: "tusks" not in agent.call("search_docs", query="walrus"))
    assert "narwhal" in agent.call("search_docs", query="narwhal")  # no file, so none that was removed


def _expect_each_row_is_delivered(stack: Stack, folder: Path, began: str) -> None:
    rows = stack.mcpist("audit", "--since", "1h", "--limit", "1000")["rows"]
    written = {row["id"] for row in rows if row["time"] >= began}
    assert written

    def delivered() -> set[str]:
        lines = [line for file in folder.rglob("*.jsonl") for line in file.read_text().splitlines()]
        return {json.loads(line)["metadata"]["uid"] for line in lines}

    _until(lambda: written <= delivered())


@pytest.mark.slow
def test_two_stacks_keep_their_own_state_and_one_of_a_name_runs_once(folder: Path) -> None:
    with up(folder, free_port()) as one, up(folder, free_port(), stack="two") as two:
        assert one.facts["issuer"] != two.facts["issuer"]
        two.mcpist("--stack", "two", "role", "create", "clerks")
        shown = {stack["stack"]: stack for stack in one.mcpist("ps")["stacks"]}
        assert {name: stack["mcp_url"] for name, stack in shown.items()} == {"default": one.url, "two": two.url}
        assert shown["two"]["pid"] == two.process.pid
        taken = one.mcpist("--stack", "two", "up", "--port", str(free_port()), fails=True)
        assert two.url in taken["message"]
        assert "clerks" not in str(one.mcpist("role", "list"))
        assert "clerks" in str(one.mcpist("--stack", "two", "role", "list"))
        two.kill()
        assert one.mcpist("--stack", "two", "ps")["stacks"][1]["state"] == "stopped"
    with up(folder, free_port(), "--fresh", stack="two") as fresh:
        assert "clerks" not in str(fresh.mcpist("--stack", "two", "role", "list"))
