"""Clients that nobody here wrote: the whole login, then each list, a schema, a call, a batch, and no account.

Their versions stand in tests/peers: clients.txt, modern_clients.txt, clients/package.json and package.json.
"""

import asyncio
import json
import os
import subprocess
from pathlib import Path
from typing import Any

import httpx2
import pytest

from infra.local.demo import USER
from infra.local.deployment import LocalDeployment
from tests.accounts import disconnect
from tests.peers.npm import PEERS, modern_node, modules
from tests.peers.pypi import Kind, programs
from tests.whole.test_login import Browser

TOOLS = ["get_module_schema", "call", "batch"]
STEPS = [
    {"id": "find", "module": "rag", "tool": "search_docs", "params": {"query": "token", "limit": 1}},
    {"id": "read", "module": "rag", "tool": "get_doc", "params": {"path": "${find.items[0].path}"}, "output": True},
]
BATCH = "\n".join(map(json.dumps, STEPS))
USES = {
    "schema": ("get_module_schema", {"modules": ["rag"]}),
    "call": ("call", {"module": "rag", "tool": "list_tags"}),
    "batch": ("batch", {"commands": BATCH}),
    "no_account": ("call", {"module": "github", "tool": "get_me"}),
}
PROGRAM_SECONDS = 120
INSPECTOR_TOOL_ERROR = 5
PYTHON_CLIENTS: dict[Kind, tuple[str, ...]] = {
    "clients": (
        *("autogen", "google_adk", "langchain", "mcp_use", "openai_agents", "pydantic_ai", "smolagents", "strands"),
    ),
    "modern_clients": ("fastmcp", "llama_index"),
}
NODE_CLIENTS = ("ai_sdk", "mcp_remote", "mcporter", "typescript_1", "typescript_2")


@pytest.fixture
def alone(deployment: LocalDeployment) -> LocalDeployment:
    """A deployment in which nobody has connected GitHub."""
    disconnect(deployment, "github")
    return deployment


def task(deployment: LocalDeployment) -> str:
    """Return what a driver of tests/peers/clients reads."""
    return json.dumps({"url": deployment.mcp_url, "token": deployment.token(), "uses": USES})


def check(answer: dict[str, Any], deployment: LocalDeployment) -> None:
    """Check what a client shows its model: the tools, and the first text of each answer."""
    assert sorted(answer["tools"]) == sorted(TOOLS)
    assert "search_docs(query" in answer["schema"]
    assert "security" in answer["call"]
    assert "find succeeded, read succeeded." in answer["batch"]
    assert "read: succeeded" in answer["batch"], "the first text is the summary alone"
    assert f"{deployment.aws.api_url}/connect/github" in answer["no_account"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "client"), [(kind, client) for kind, clients in PYTHON_CLIENTS.items() for client in clients]
)
def test_a_python_client_uses_each_meta_tool_and_shows_the_link_to_connect(
    alone: LocalDeployment, kind: Kind, client: str, tmp_path: Path
) -> None:
    driver = [programs(kind) / "python", PEERS / "clients/clients.py", client]
    check(json.loads(run(driver, stdin=task(alone), home=tmp_path, MCP_USE_ANONYMIZED_TELEMETRY="false")), alone)


@pytest.mark.slow
@pytest.mark.parametrize("client", NODE_CLIENTS)
def test_a_node_client_uses_each_meta_tool_and_shows_the_link_to_connect(
    alone: LocalDeployment, client: str, tmp_path: Path
) -> None:
    for folder in (PEERS, PEERS / "clients"):
        modules(folder)
    driver = [modern_node(), PEERS / "clients/clients.mjs", client]
    check(json.loads(run(driver, stdin=task(alone), home=tmp_path)), alone)


@pytest.mark.parametrize(
    ("package", "protocol", "path"),
    [("@modelcontextprotocol/sdk", None, ""), ("@modelcontextprotocol/client", "2026-07-28", "/readonly")],
)
def test_a_typescript_client_logs_in_and_uses_each_meta_tool(
    deployment: LocalDeployment, package: str, protocol: str | None, path: str
) -> None:
    asked = {"sdk": package, "url": deployment.mcp_url + path, "person": USER.sub, "batch": BATCH}
    answer = json.loads(run([modern_node(), PEERS / "client.mjs"], stdin=json.dumps(asked)))
    assert answer["tools"] == TOOLS
    assert answer.get("protocol") == protocol
    assert answer["schema"]["modules"][0]["module"] == "rag"
    assert "security" in answer["call"]
    assert "read" in answer["batch"]
    assert "succeeded" in answer["batch"]


@pytest.mark.slow
def test_mcp_remote_logs_in_as_the_person_whom_the_browser_chooses(deployment: LocalDeployment, tmp_path: Path) -> None:
    for folder in (PEERS, PEERS / "clients"):
        modules(folder)
    program = [modern_node(), PEERS / "clients/node_modules/mcp-remote/dist/client.js", deployment.mcp_url]
    environment = os.environ | {"HOME": str(tmp_path), "MCP_REMOTE_CONFIG_DIR": str(tmp_path), "PATH": "/nonexistent"}
    with subprocess.Popen(
        program, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment
    ) as client:  # it ends with its standard input
        assert client.stdout
        said, browser = [], Browser()
        for line in client.stdout:
            said.append(line)
            if "/authorize?" in line:
                asyncio.run(browser.open(line.strip()))
            if "Waiting for authorization" in line:  # its own page is there only now
                httpx2.get(browser.landed, timeout=PROGRAM_SECONDS)
    assert any("Connected successfully" in line for line in said), said
    assert any("get_module_schema" in line for line in said), said


@pytest.mark.parametrize("era", ["modern", pytest.param("legacy", marks=pytest.mark.slow)])
def test_the_inspector_uses_each_meta_tool(alone: LocalDeployment, era: str, tmp_path: Path) -> None:
    deployment = alone

    def inspect(method: str, *more: str, status: int = 0) -> Any:
        launcher = modules() / "@modelcontextprotocol/inspector/clients/launcher/build/index.js"
        how = ["--cli", deployment.mcp_url, "--transport", "http", "--protocol-era", era, "--format", "json"]
        token = ["--header", f"authorization: Bearer {deployment.token()}"]
        return json.loads(
            run([modern_node(), launcher, *how, *token, "--method", method, *more], home=tmp_path, status=status)
        )["result"]

    def use(meta_tool: str, /, *, status: int = 0, **arguments: Any) -> str:
        pairs = [
            f"{name}={value if isinstance(value, str) else json.dumps(value)}" for name, value in arguments.items()
        ]
        text: str = inspect("tools/call", "--tool-name", meta_tool, "--tool-arg", *pairs, status=status)["content"][0][
            "text"
        ]
        return text

    assert [tool["name"] for tool in inspect("tools/list")["tools"]] == TOOLS
    assert '"module":"rag"' in use("get_module_schema", modules=["rag"])
    assert "security" in use("call", module="rag", tool="list_tags")
    assert "succeeded" in use("batch", commands=BATCH)
    assert "/connect/github" in use("call", status=INSPECTOR_TOOL_ERROR, module="github", tool="get_me")


def run(command: list[Any], *, stdin: str = "", home: Path | None = None, status: int = 0, **variables: str) -> str:
    """Run a program that ends with a status, and return its output."""
    environment = os.environ | variables | ({"HOME": str(home)} if home else {})
    done = subprocess.run(
        command,
        input=stdin,
        capture_output=True,
        text=True,
        timeout=PROGRAM_SECONDS,
        check=False,
        env=environment,
    )
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout
