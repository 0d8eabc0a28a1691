"""Plain requests: the SDK's transport would answer the same, and refuses what is not plain."""

import json
from collections.abc import Mapping
from typing import Any

import pytest
from mcp.server.transport_security import TransportSecuritySettings

from mcp_endpoint.handler import handler
from mcp_endpoint.protocol.plain_request import parse_plain
from mcp_endpoint.protocol.server import meta_tool_server
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
    return parse_plain(SERVER, json.loads(event["body"]), event["headers"] | headers, SECURITY) is not None


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
    assert (parse_plain(server, json.loads(event["body"]), event["headers"], SECURITY) is not None) == plain


def test_what_is_no_single_message_is_not_plain(endpoint: EndpointClient) -> None:
    event = endpoint.event("call")
    message = json.loads(event["body"])
    assert parse_plain(SERVER, {}, event["headers"], SECURITY) is None
    assert status_of({**event, "body": json.dumps([message])}) == 400


def status_of(event: dict[str, Any]) -> int:
    return int(handler(event, Context())["statusCode"])  # type: ignore[arg-type]
