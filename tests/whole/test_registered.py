"""A module that an administrator registers while everything runs: used by every door, switched off, and removed."""

import json
from collections.abc import Iterator
from typing import Any

import httpx2
import pytest

from infra.local.demo import ADMINISTRATOR, ROLE
from infra.local.deployment import LocalDeployment
from tests.accounts import forget
from tests.upstreams.fake_upstream import FakeUpstream, serving_fake
from tests.whole.conftest import McpUser


class Rest:
    """The administrator's program."""

    def __init__(self, deployment: LocalDeployment) -> None:
        self.deployment = deployment
        self.headers = {"authorization": f"Bearer {deployment.token(ADMINISTRATOR)}"}

    def send(self, method: str, path: str, body: Any = None) -> Any:
        """Send a request that must succeed; then let every sandbox read the directory again."""
        url = f"{self.deployment.aws.api_url}{path}"
        answer = httpx2.request(method, url, json=body, headers=self.headers, timeout=60)
        assert answer.is_success, answer.text
        forget(self.deployment)
        return answer.json()


@pytest.fixture
def fake() -> Iterator[FakeUpstream]:
    with serving_fake() as fake:
        schema = {"type": "object", "properties": {"text": {"type": "string"}}}
        tool = {"name": "find_note", "description": "Find a note", "inputSchema": schema}
        fake.says["tools/list"] = {"tools": [tool | {"annotations": {"readOnlyHint": True}}]}
        yield fake


def code_of(user: McpUser, name: str, **arguments: Any) -> str:
    result = user.call(name, **arguments)
    assert result.is_error
    (block,) = result.content
    code: str = json.loads(block.text)["code"]  # type: ignore[union-attr]
    return code


@pytest.mark.slow
def test_a_server_is_registered_used_switched_off_and_removed(
    deployment: LocalDeployment, user: McpUser, fake: FakeUpstream
) -> None:
    rest = Rest(deployment)
    role = rest.send("GET", f"/v1/roles/{ROLE}")
    url = f"http://127.0.0.1:{fake.port}/mcp"
    call = {"module": "notes", "tool": "find_note", "params": {"text": "x"}}
    step = {"id": "find", "output": True, **call}
    try:
        registered = rest.send("POST", "/v1/modules", {"name": "notes", "url": url, "description": "The notes"})
        assert [tool["state"] for tool in registered["tools"]] == ["new"]
        assert code_of(user, "call", **call) == "AUTHORIZATION_ERROR"
        rest.send("PATCH", f"/v1/roles/{ROLE}", {"modules": [*role["modules"], "notes"], "allow": ["notes.*"]})
        assert code_of(user, "call", **call) == "TOOL_DISABLED"
        rest.send("POST", "/v1/modules/notes/approve", {})
        assert user.texts("call", **call) == ["echo"]
        assert "echo" in user.texts("batch", commands=[step])[-1]
        rest.send("PATCH", "/v1/modules/notes", {"enabled": False})
        assert code_of(user, "call", **call) == "TOOL_DISABLED"
        rest.send("PATCH", "/v1/modules/notes", {"enabled": True})
        assert user.texts("call", **call) == ["echo"]
        rest.send("DELETE", "/v1/modules/notes")
        assert code_of(user, "call", **call) == "MODULE_NOT_FOUND"
        assert code_of(user, "batch", commands=[step]) == "MODULE_NOT_FOUND"
        assert rest.send("GET", f"/v1/roles/{ROLE}")["modules"] == role["modules"]
    finally:
        rest.send("PATCH", f"/v1/roles/{ROLE}", {"modules": role["modules"], "allow": role["allow"]})
