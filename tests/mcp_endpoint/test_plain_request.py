"""Plain requests: the SDK's transport would answer the same, and refuses what is not plain."""

import json
import time
from collections.abc import Mapping
from typing import Any

import pytest
from mcp.server.lowlevel import Server
from mcp.server.transport_security import TransportSecuritySettings

from mcp_endpoint.exchange import McpExchange, SyncHandler
from mcp_endpoint.handler import handler
from mcp_endpoint.protocol.plain_request import parse_plain
from mcp_endpoint.protocol.server import Protocol, meta_tool_server
from tests.core.sample import caller
from tests.lambda_context import Context
from tests.mcp_endpoint.endpoint_client import EndpointClient

SERVER = meta_tool_server()
SECURITY = TransportSecuritySettings(
    allowed_hosts=["mcp.example.com"], allowed_origins=["https://mcp.example.com", "https://app.example.com"]
)
# For the transport the same as without the weight.
NOT_PLAIN = {"accept": "application/json;q=0.9, text/event-stream"}


def with_params(event: Mapping[str, Any], **params: Any) -> dict[str, Any]:
    message = json.loads(event["body"])
    message["params"] |= params
    return {**event, "body": json.dumps(message)}


def is_plain(event: Mapping[str, Any], **headers: str) -> bool:
    body = event["body"]
    return parse_plain(SERVER, json.loads(body), event["headers"] | headers, SECURITY, body.encode()) is not None


def asking(endpoint: EndpointClient, method: str, **params: Any) -> dict[str, Any]:
    """The event of a request for another method."""
    event = with_params(endpoint.event("list_tools", mcp_method=method), **params)
    if name := params.get("name") or params.get("uri"):
        event["headers"]["mcp-name"] = name
    return {**event, "body": json.dumps({**json.loads(event["body"]), "method": method})}


def assert_same_answers(endpoint: EndpointClient, event: dict[str, Any]) -> Any:
    """Check that the SDK's transport and kernel would answer a plain request with the same bytes, and return them."""
    other = {**event, "headers": event["headers"] | NOT_PLAIN}
    assert is_plain(event)
    assert not is_plain(other)
    ours, theirs = (handler(one, Context(endpoint.seconds)) for one in (event, other))  # type: ignore[arg-type]
    assert ours == theirs
    return ours


@pytest.mark.parametrize(
    ("name", "params"),
    [
        ("list_tools", {}),
        ("call", {}),
        ("call", {"arguments": {"module": "rag", "tool": "no_such_tool"}}),
        ("call", {"arguments": {"module": "rag"}}),
        ("call", {"arguments": None}),
    ],
)
def test_a_plain_request_is_answered_as_the_sdk_answers_it(
    endpoint: EndpointClient, name: str, params: dict[str, Any]
) -> None:
    assert_same_answers(endpoint, with_params(endpoint.event(name), **params))


@pytest.mark.parametrize(
    ("method", "params", "status"),
    [
        ("resources/list", {}, 200),
        ("resources/list", {"cursor": "no cursor"}, 400),
        ("resources/templates/list", {}, 200),
        ("resources/read", {"uri": "mcpist://modules/nothing"}, 400),
        ("prompts/list", {}, 200),
        ("prompts/get", {"name": "github.triage_issues", "arguments": {"owner": "octocat", "repo": "hello"}}, 200),
        ("prompts/get", {"name": "nothing"}, 400),
        (
            "completion/complete",
            {"ref": {"type": "ref/prompt", "name": "github.triage_issues"}, "argument": {"name": "owner", "value": ""}},
            200,
        ),
    ],
)
def test_other_methods_are_answered_as_the_sdk_answers_them(
    endpoint: EndpointClient, method: str, params: dict[str, Any], status: int
) -> None:
    assert assert_same_answers(endpoint, asking(endpoint, method, **params))["statusCode"] == status


@pytest.mark.parametrize("method", ["tasks/get", "server/discover", "ping", "nothing/known"])
def test_a_method_that_is_the_kernels_is_not_plain(endpoint: EndpointClient, method: str) -> None:
    assert not is_plain(asking(endpoint, method, taskId="t"))


@pytest.mark.parametrize(
    ("name", "params"),
    [
        ("call", {"arguments": "no object"}),
        ("call", {"inputResponses": []}),
        ("call", {"name": None}),
        ("list_tools", {"cursor": 7}),
        ("list_tools", {"_meta": None}),
    ],
)
def test_the_sdk_refuses_params_of_another_shape(endpoint: EndpointClient, name: str, params: dict[str, Any]) -> None:
    event = with_params(endpoint.event(name), **params)
    assert not is_plain(event)
    assert status_of(event) == 400


@pytest.mark.parametrize(
    "meta",
    [
        {"io.modelcontextprotocol/clientInfo": {"name": "nameless"}},
        {"io.modelcontextprotocol/clientCapabilities": {"elicitation": 1}},
        {"io.modelcontextprotocol/logLevel": "loud"},
    ],
)
def test_the_sdk_refuses_an_envelope_of_another_shape(endpoint: EndpointClient, meta: dict[str, Any]) -> None:
    event = endpoint.event("call")
    event = with_params(event, _meta=json.loads(event["body"])["params"]["_meta"] | meta)
    assert not is_plain(event)
    assert status_of(event) == 400


def test_a_notification_is_the_transports(endpoint: EndpointClient) -> None:
    event = asking(endpoint, "notifications/cancelled", requestId=1)
    message = json.loads(event["body"])
    del message["id"]
    event = {**event, "body": json.dumps(message)}
    assert not is_plain(event)
    assert status_of(event) == 202


def test_an_unknown_meta_tool_is_the_same_error_whoever_answers(endpoint: EndpointClient) -> None:
    event = with_params(endpoint.event("call", mcp_name="nothing"), name="nothing")
    answer = assert_same_answers(endpoint, event)
    assert (answer["statusCode"], json.loads(answer["body"])["error"]["code"]) == (400, -32602)


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"host": "elsewhere.example"}, 421),
        ({"origin": "https://elsewhere.example"}, 403),
        ({"content-type": "text/plain"}, 400),
        ({"accept": "text/html"}, 406),
        ({"mcp-method": "tools/list"}, 400),
        ({"mcp-name": "batch"}, 400),
        ({"mcp-name": "call, call"}, 400),
        ({"mcp-protocol-version": "2099-01-01"}, 400),
    ],
)
def test_the_transport_refuses_what_is_not_plain(
    endpoint: EndpointClient, headers: dict[str, str], status: int
) -> None:
    event = endpoint.event("call")
    assert is_plain(event)
    assert not is_plain(event, **headers)
    assert status_of({**event, "headers": event["headers"] | headers}) == status


def test_an_allowed_origin_is_plain(endpoint: EndpointClient) -> None:
    assert is_plain(endpoint.event("call"), origin="https://app.example.com")


@pytest.mark.parametrize(
    "changes",
    [
        {"jsonrpc": "1.0"},
        {"id": True},
        {"id": 1.5},
        {"id": None},
        {"id": "\ud800"},
        {"params": []},
        {"params": {}},
        {"method": "subscriptions/listen"},
        {"method": ["tools/call"]},
    ],
)
def test_another_message_is_not_plain(endpoint: EndpointClient, changes: dict[str, Any]) -> None:
    event = endpoint.event("call")
    message = json.loads(event["body"]) | changes
    assert not is_plain({**event, "body": json.dumps(message)})


@pytest.mark.parametrize(("find_schema", "plain"), [(lambda _: None, True), (lambda _: {}, False), (None, False)])
def test_a_tool_that_may_take_arguments_from_headers_is_the_transports(
    endpoint: EndpointClient, find_schema: Any, plain: bool
) -> None:
    server, event = meta_tool_server(), endpoint.event("call")
    server.get_tool_input_schema = find_schema
    assert (parse_plain(server, json.loads(event["body"]), event["headers"], SECURITY, b"{}") is not None) == plain


# -- clients with a handshake -----------------------------------------------------------------------------

HANDSHAKES = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05", "")


def by_handshake(event: Mapping[str, Any], version: str = "2025-06-18", /, **params: Any) -> dict[str, Any]:
    """The same request as a client sends it that has described itself before."""
    headers = {name: value for name, value in event["headers"].items() if not name.startswith("mcp-")}
    message = json.loads(event["body"])
    message["params"] = {name: value for name, value in (message["params"] | params).items() if name != "_meta"}
    headers |= {"mcp-protocol-version": version} if version else {}
    return {**event, "headers": headers, "body": json.dumps(message, ensure_ascii=False)}


@pytest.mark.parametrize("version", HANDSHAKES)
@pytest.mark.parametrize(
    ("name", "params"),
    [
        ("list_tools", {}),
        ("list_tools", {"cursor": "no cursor"}),
        ("call", {}),
        ("call", {"arguments": {"module": "rag", "tool": "search_docs", "params": {"query": "日本 \U0001f600"}}}),
        ("call", {"arguments": {"module": "rag", "tool": "no_such_tool"}}),
        ("call", {"arguments": None}),
        ("call", {"name": "nothing"}),
        ("get_module_schema", {}),
        ("batch", {"arguments": {"commands": [], "dry_run": True}}),
    ],
)
def test_a_client_with_a_handshake_reads_the_same_bytes(
    endpoint: EndpointClient, version: str, name: str, params: dict[str, Any]
) -> None:
    answer = assert_same_answers(endpoint, by_handshake(endpoint.event(name), version, **params))
    assert answer["statusCode"] == 200, "such clients read errors from the body alone"


@pytest.mark.parametrize("method", ["resources/list", "resources/templates/list", "prompts/list"])
def test_lists_without_params_are_the_same_for_a_client_with_a_handshake(endpoint: EndpointClient, method: str) -> None:
    event = by_handshake(asking(endpoint, method))
    message = {name: value for name, value in json.loads(event["body"]).items() if name != "params"}
    assert_same_answers(endpoint, {**event, "body": json.dumps(message | {"id": "one"})})


@pytest.mark.parametrize("params", [{"name": "nothing"}, {"name": "github.triage_issues", "arguments": {"owner": "o"}}])
def test_prompts_are_the_same_for_a_client_with_a_handshake(endpoint: EndpointClient, params: dict[str, Any]) -> None:
    assert_same_answers(endpoint, by_handshake(asking(endpoint, "prompts/get", **params)))


def test_a_defect_is_the_same_error_for_a_client_with_a_handshake(endpoint: EndpointClient) -> None:
    def fail(*_: Any) -> None:
        raise KeyError("a defect")

    protocol = Protocol(Server("defect", on_list_tools=SyncHandler(fail)), "https://mcp.example.com")
    event = by_handshake(endpoint.event("list_tools"))
    message, exchange = json.loads(event["body"]), McpExchange("request-1", time.monotonic() + 30, caller())
    ours, theirs = (
        protocol.post("/mcp", event["headers"] | headers, event["body"].encode(), message, exchange)
        for headers in ({}, NOT_PLAIN)
    )
    protocol.close()
    assert (ours[0], json.loads(ours[2])["error"]["code"]) == (200, 0)
    assert (ours[0], ours[2], dict(sorted(ours[1].items()))) == (theirs[0], theirs[2], dict(sorted(theirs[1].items())))


@pytest.mark.parametrize(
    "changes",
    [
        {"params": {"name": "call", "arguments": {"module": "\ud800"}}},
        {"params": {"name": "call", "arguments": json.loads("[" * 300 + "]" * 300)}},
        {"params": {"name": "call", "_meta": []}},
        {"params": None},
        {"result": {}},
        {"method": "initialize"},
        {"method": "ping"},
    ],
)
def test_what_the_transport_reads_in_another_way_is_not_plain(
    endpoint: EndpointClient, changes: dict[str, Any]
) -> None:
    event = by_handshake(endpoint.event("call"))
    assert is_plain(event)
    assert not is_plain({**event, "body": json.dumps(json.loads(event["body"]) | changes)})


def test_what_is_no_single_message_is_not_plain(endpoint: EndpointClient) -> None:
    event = endpoint.event("call")
    message = json.loads(event["body"])
    assert parse_plain(SERVER, {}, event["headers"], SECURITY, b"{}") is None
    assert status_of({**event, "body": json.dumps([message])}) == 400


def status_of(event: dict[str, Any]) -> int:
    return int(handler(event, Context())["statusCode"])  # type: ignore[arg-type]
