"""Plain requests: the SDK's transport would answer the same, and refuses what is not plain."""

import json
from collections.abc import Mapping
from typing import Any

import pytest
from mcp.server.transport_security import TransportSecuritySettings

from mcp_endpoint.handler import handler
from mcp_endpoint.protocol.plain_request import route_of
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
    return route_of(SERVER, json.loads(event["body"]), event["headers"] | headers, SECURITY) is not None


@pytest.mark.parametrize(
    ("name", "params"),
    [
        ("list_tools", {}),
        ("call", {}),
        ("call", {"arguments": {"module": "rag", "tool": "no_such_tool"}}),
        ("call", {"arguments": {"module": "rag"}}),
        ("call", {"arguments": "no object"}),
        ("call", {"arguments": None}),
        ("list_tools", {"cursor": 7}),
    ],
)
def test_a_plain_request_is_answered_as_the_sdks_transport_answers_it(
    endpoint: EndpointClient, name: str, params: dict[str, Any]
) -> None:
    event = with_params(endpoint.event(name), **params)
    other = {**event, "headers": event["headers"] | NOT_PLAIN}
    assert is_plain(event)
    assert not is_plain(other)
    assert endpoint.send(event) == endpoint.send(other)


def test_an_unknown_meta_tool_is_the_same_error_whoever_answers(endpoint: EndpointClient) -> None:
    event = with_params(endpoint.event("call", mcp_name="nothing"), name="nothing")
    status, _, answer = endpoint.send(event)
    assert (status, answer["error"]["code"]) == (400, -32602)
    assert is_plain(event)
    assert endpoint.send({**event, "headers": event["headers"] | NOT_PLAIN})[2] == answer


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
    assert (route_of(server, json.loads(event["body"]), event["headers"], SECURITY) is not None) == plain


def test_what_is_no_single_message_is_not_plain(endpoint: EndpointClient) -> None:
    event = endpoint.event("call")
    message = json.loads(event["body"])
    assert route_of(SERVER, {}, event["headers"], SECURITY) is None
    assert status_of({**event, "body": json.dumps([message])}) == 400


def status_of(event: dict[str, Any]) -> int:
    return int(handler(event, Context())["statusCode"])  # type: ignore[arg-type]
