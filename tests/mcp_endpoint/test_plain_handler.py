"""A handler's result or error is the same to a client, whether the request was plain or the SDK's kernel called it."""

import json
import logging
import time
from collections.abc import Callable
from typing import Any

import pytest
from mcp.server.transport_security import TransportSecuritySettings
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    METHOD_NOT_FOUND,
    CallToolRequestParams,
    CallToolResult,
    ElicitRequest,
    ElicitRequestFormParams,
    InputRequiredResult,
    TextContent,
)

from mcp_endpoint.exchange import McpClient, McpExchange, SyncHandler
from mcp_endpoint.protocol.plain_request import parse_plain
from mcp_endpoint.protocol.server import LeanServer, Protocol
from mcpist.caller import Caller, ClientInfo, Subject
from mcpist.errors import RequestTimeout

CALLER = Caller("acme", "uma", Subject("https://login.example.com", "uma"), "user", (), client=ClientInfo("agent"))
PREFIX = "io.modelcontextprotocol/"
META = {
    f"{PREFIX}protocolVersion": "2026-07-28",
    f"{PREFIX}clientInfo": {"name": "tester", "version": "7"},
    f"{PREFIX}clientCapabilities": {"elicitation": {"url": {}}, "extensions": {f"{PREFIX.rstrip('/')}/tasks": {}}},
}
HEADERS = {
    "host": "mcp.example.com",
    "content-type": "application/json",
    "mcp-protocol-version": "2026-07-28",
    "mcp-method": "tools/call",
    "mcp-name": "any",
    "x-mcpist-blocks": "separate",
}
SECURITY = TransportSecuritySettings(allowed_hosts=["mcp.example.com"])
PLAIN, KERNEL = "application/json, text/event-stream", "application/json;q=0.9, text/event-stream"
TEXT = TextContent(type="text", text='\u65e5\u672c\u8a9e "quoted"')
QUESTION = ElicitRequest(
    params=ElicitRequestFormParams(message="Sure?", requested_schema={"type": "object", "properties": {}})
)

type Handle = Callable[[McpExchange, CallToolRequestParams], Any]


def answers(handle: Handle, *, number: int | str = 1, meta: dict[str, Any] | None = None, **params: Any) -> list[Any]:
    """What the client of a plain request gets, and that of the kernel's."""
    said = {"name": "any", "arguments": {"a": 1}, "_meta": META | (meta or {}), **params}
    message = {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": said}
    exchange = McpExchange("request-1", time.monotonic() + 10, CALLER)
    handler: Any = SyncHandler(handle)
    server = LeanServer(on_call_tool=handler)
    kinds = [HEADERS | {"accept": accept} for accept in (PLAIN, KERNEL)]
    body = json.dumps(message).encode()
    assert [parse_plain(server, message, headers, SECURITY, body) is not None for headers in kinds] == [True, False]
    protocol = Protocol(server, "https://mcp.example.com")
    try:
        return [protocol.post("/mcp", headers, body, message, exchange) for headers in kinds]
    finally:
        protocol.close()


def returning(result: Any) -> Handle:
    return lambda *_: result


def raising(error: Exception) -> Handle:
    def fail(*_: Any) -> Any:
        raise error

    return fail


def invalid(*_: Any) -> Any:
    return CallToolRequestParams.model_validate({"name": 1})


@pytest.mark.parametrize(
    ("handle", "status"),
    [
        (returning(CallToolResult(content=[TEXT])), 200),
        (returning(CallToolResult(content=[TEXT], is_error=True)), 200),
        (
            returning(CallToolResult(content=[], structured_content={"a": [1, None]}, _meta={"mcpist/account": "u"})),
            200,
        ),
        (returning(CallToolResult(content=[], _meta={f"{PREFIX}serverInfo": {"name": "own", "version": "1"}})), 200),
        (returning(InputRequiredResult(input_requests={"confirm": QUESTION}, request_state="s")), 200),
        (returning({"resultType": "task", "taskId": "t", "_meta": {"a": 1}}), 200),
        (returning({"content": [], "resultType": "complete", "unknown": 1}), 200),
        (returning({"content": "no list"}), 200),
        (returning(["no result"]), 200),
        (raising(MCPError(INVALID_PARAMS, "No", {"code": "X", "hint": None})), 400),
        (raising(MCPError(METHOD_NOT_FOUND, "None")), 404),
        (raising(MCPError(INTERNAL_ERROR, "Ours")), 200),
        (raising(ValueError("s3cret")), 200),
        (invalid, 400),
    ],
)
def test_the_kernels_answer_is_the_plain_one(handle: Handle, status: int, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.CRITICAL):
        plain, kernel = answers(handle)
    assert plain == kernel
    assert plain[0] == status
    assert b"s3cret" not in plain[2]


def test_a_function_whose_time_is_over_while_an_answer_is_written_says_so_itself() -> None:
    with pytest.raises(RequestTimeout):
        answers(raising(RequestTimeout(service="mcpist", seconds=27.0, may_have_happened=True)))


@pytest.mark.parametrize("number", [0, -1, 10**30, "", "a b"])
def test_the_answer_has_the_requests_id(number: int | str) -> None:
    plain, kernel = answers(returning(CallToolResult(content=[])), number=number)
    assert plain == kernel
    assert json.loads(plain[2])["id"] == number


@pytest.mark.parametrize(
    "more",
    [
        {"meta": {"progressToken": "p", f"{PREFIX}logLevel": "debug", "own": {"a": 1}}},
        {"meta": {f"{PREFIX}clientInfo": None}},
        {"meta": {f"{PREFIX}clientCapabilities": {}}},
        {"requestState": "s", "inputResponses": {"confirm": {"action": "accept", "content": {"confirm": True}}}},
        {"task": {"ttl": 60}},
        {"arguments": None},
        {"unknown": 1},
    ],
)
def test_a_handler_learns_the_same(more: dict[str, Any]) -> None:
    seen: list[tuple[Caller, McpClient, CallToolRequestParams]] = []

    def look(exchange: McpExchange, params: CallToolRequestParams) -> CallToolResult:
        seen.append((exchange.caller, exchange.client, params))
        return CallToolResult(content=[])

    plain, kernel = answers(look, **more)
    assert plain == kernel
    assert seen[0] == seen[1]
    assert seen[0][1].separate_blocks
