"""Clients that nobody here wrote, from the first request without a token to a batch."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from infra.local.deployment import USER, LocalDeployment
from tests.peers.npm import PEERS, modern_node, modules

TOOLS = ["get_module_schema", "call", "batch"]
STEPS = [
    {"id": "find", "module": "rag", "tool": "search_docs", "params": {"query": "token", "limit": 1}},
    {"id": "read", "module": "rag", "tool": "get_doc", "params": {"path": "${find.items[0].path}"}, "output": True},
]
BATCH = "\n".join(map(json.dumps, STEPS))
PROGRAM_SECONDS = 120


@pytest.mark.parametrize(
    ("package", "protocol", "path"),
    [("@modelcontextprotocol/sdk", None, ""), ("@modelcontextprotocol/client", "2026-07-28", "/readonly")],
)
def test_a_typescript_client_logs_in_and_uses_each_meta_tool(
    deployment: LocalDeployment, package: str, protocol: str | None, path: str
) -> None:
    asked = {"sdk": package, "url": deployment.mcp_url + path, "person": USER.sub, "batch": BATCH}
    answer = json.loads(run([PEERS / "client.mjs"], stdin=json.dumps(asked)))
    assert answer["tools"] == TOOLS
    assert answer.get("protocol") == protocol
    assert answer["schema"]["modules"][0]["module"] == "rag"
    assert "security" in answer["call"]
    assert "read" in answer["batch"]
    assert "succeeded" in answer["batch"]


@pytest.mark.parametrize("era", ["modern", "legacy"])
def test_the_inspector_uses_each_meta_tool(deployment: LocalDeployment, era: str, tmp_path: Path) -> None:
    def inspect(method: str, *more: str) -> Any:
        launcher = modules() / "@modelcontextprotocol/inspector/clients/launcher/build/index.js"
        how = ["--cli", deployment.mcp_url, "--transport", "http", "--protocol-era", era, "--format", "json"]
        token = ["--header", f"authorization: Bearer {deployment.token()}"]
        return json.loads(run([launcher, *how, *token, "--method", method, *more], home=tmp_path))["result"]

    def use(meta_tool: str, /, **arguments: Any) -> str:
        pairs = [
            f"{name}={value if isinstance(value, str) else json.dumps(value)}" for name, value in arguments.items()
        ]
        text: str = inspect("tools/call", "--tool-name", meta_tool, "--tool-arg", *pairs)["content"][0]["text"]
        return text

    assert [tool["name"] for tool in inspect("tools/list")["tools"]] == TOOLS
    assert '"module":"rag"' in use("get_module_schema", modules=["rag"])
    assert "security" in use("call", module="rag", tool="list_tags")
    assert "succeeded" in use("batch", commands=BATCH)


def run(command: list[Any], *, stdin: str = "", home: Path | None = None) -> str:
    """Run a program with Node and return its output."""
    environment = os.environ | ({"HOME": str(home)} if home else {})
    done = subprocess.run(
        [modern_node(), *command],
        input=stdin,
        capture_output=True,
        text=True,
        timeout=PROGRAM_SECONDS,
        check=False,
        env=environment,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
