import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import boto3
import pytest

from mcpist.caller import Caller, Role, Subject
from mcpist.errors import ToolExecutionError, UpstreamSecretMissing
from mcpist.running.run import run_tool
from mcpist.tools.access.permissions import Permissions
from mcpist_services.catalogue import CATALOGUE
from mcpist_services.upstream import peers
from tests.core.loopback import listening
from tests.upstreams.configured import READS, Upstreams, configured

PATH = "/mcpist/stack/upstreams/vault/key"
ROLE = Role("members", ("vault",), ("vault.*",))
UMA = Caller("acme", "uma", Subject("https://login.example.com", "uma"), "user", (ROLE,))


class Vault:
    """An upstream over HTTP that opens to one key."""

    def __init__(self) -> None:
        self.key = "first-key"
        self.refused = 0
        vault = self

        class Pages(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                request = json.loads(self.rfile.read(int(self.headers["content-length"])))
                opens = self.headers.get("x-api-key") == vault.key
                vault.refused += not opens
                answer = {"jsonrpc": "2.0", "id": request.get("id"), **said(request)} if opens else {"message": "no"}
                body = json.dumps(answer).encode()
                self.send_response(401 if not opens else 200 if "id" in request else 202)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: Any) -> None:
                """Silent."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Pages)


def said(request: dict[str, Any]) -> dict[str, Any]:
    match request["method"]:
        case "initialize":
            info = {"name": "vault", "version": "1"}
            return {"result": {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": info}}
        case "tools/list":
            tool = {"name": "peek", "description": "Peek", "inputSchema": {"type": "object"}, "annotations": READS}
            return {"result": {"tools": [tool]}}
        case "tools/call":
            return {"result": {"content": [{"type": "text", "text": "gold"}]}}
        case method:
            return {"error": {"code": -32601, "message": f"no {method} here"}}


@pytest.fixture
def vault(aws: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Vault]:  # noqa: ARG001
    vault = Vault()
    monkeypatch.setenv("PUBLIC_URL", "http://127.0.0.1")
    boto3.client("ssm").put_parameter(Name=PATH, Value=vault.key, Type="SecureString")
    with listening(vault.server), configured(tmp_path, monkeypatch) as upstreams:
        configure(upstreams, vault, f"ssm:{PATH}")
        yield vault


def configure(upstreams: Upstreams, vault: Vault, key: str) -> None:
    url = f"http://127.0.0.1:{vault.server.server_port}/mcp"
    server = {"description": "A vault", "type": "http", "url": url, "headers": {"X-Api-Key": key}}
    category = {"description": "A vault", "server": "safe", "tools": {"includeNames": ["peek"]}}
    upstreams.configure({"safe": server}, {"vault": category})


def peek() -> Any:
    permissions = Permissions(UMA, CATALOGUE)
    tool = permissions.tool("vault", "peek")
    return run_tool(UMA, permissions.catalogue.module("vault"), tool, {}, request="r1").json


def test_a_stored_parameter_is_read_once_and_opens_the_server(vault: Vault, aws: list[str]) -> None:
    assert [peek(), peek()] == ["gold", "gold"]
    assert aws.count("GetParameter") == 1
    assert vault.refused == 0


def test_a_parameter_that_has_been_changed_is_read_again_when_the_server_refuses_the_old_one(vault: Vault) -> None:
    assert peek() == "gold"
    vault.key = "second-key"
    boto3.client("ssm").put_parameter(Name=PATH, Value=vault.key, Type="SecureString", Overwrite=True)
    assert peek() == "gold"
    assert vault.refused > 0


def test_a_server_that_refuses_the_new_one_too_says_so_without_it(vault: Vault) -> None:
    assert peek() == "gold"
    vault.key = "nobody-knows"
    with pytest.raises(ToolExecutionError) as refused:
        peek()
    assert refused.value.details["http_status"] == 401
    assert "first-key" not in str(refused.value.as_dict())


def test_a_secret_that_was_not_stored_is_the_operators_to_store(vault: Vault) -> None:  # noqa: ARG001
    boto3.client("ssm").delete_parameter(Name=PATH)
    with pytest.raises(
        UpstreamSecretMissing, match="its secret /mcpist/stack/upstreams/vault/key was not stored"
    ) as found:
        peek()
    assert found.value.text().hint.endswith("mcpist upstream secret set vault/key")
    assert "retryable" not in found.value.as_dict()["details"]


def test_an_identity_shows_no_secret(vault: Vault) -> None:
    assert vault.key not in repr(peers.identity_for(UMA, "safe"))
    assert peers.owner(UMA, "safe") == ("", "")
