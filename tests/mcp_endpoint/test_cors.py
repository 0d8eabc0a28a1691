"""Requests from web pages of other origins."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from mcp.server.streamable_http import LAST_EVENT_ID_HEADER, MCP_SESSION_ID_HEADER
from mcp.shared.inbound import MCP_METHOD_HEADER, MCP_NAME_HEADER, MCP_PROTOCOL_VERSION_HEADER

from infra.local.login import LocalLogin
from mcp_endpoint import handler as door
from mcp_endpoint.exchange import BLOCKS_HEADER
from mcp_endpoint.handler import PROTOCOL_HEADERS
from mcpist.http.bearer import FORMAT_HEADER, ORGANIZATION_HEADER, ROLE_HEADER
from mcpist.http.request import ALLOWED_HEADERS
from tests.lambda_context import Context
from tests.mcp_endpoint.endpoint_client import EVENTS, EndpointClient

type Given = Callable[..., EndpointClient]

APP = "https://app.example.com"
FOREIGN = "https://evil.example.com"
# What a browser or API Gateway sends by itself, or a page may always send.
UNASKED = {"accept-encoding", "content-length", "host", "user-agent", "x-amzn-trace-id"}
ASKED = ("list_tools", "call", "get", "no_token", "resource_metadata", "resource_metadata_of_path")


@pytest.fixture
def allowing(given: Given) -> EndpointClient:
    """An endpoint that allows two other origins."""
    return given(ALLOWED_ORIGINS=f"http://127.0.0.1:6274,{APP}")


def asked(endpoint: EndpointClient, name: str, origin: str, method: str = "") -> dict[str, Any]:
    event = endpoint.event(name, origin=origin)
    event["requestContext"]["http"]["method"] = method or event["requestContext"]["http"]["method"]
    response: dict[str, Any] = door.handler(event, Context())
    return response


@pytest.mark.parametrize("name", ASKED)
def test_an_allowed_page_can_read_every_response_with_its_challenge(allowing: EndpointClient, name: str) -> None:
    headers = asked(allowing, name, APP)["headers"]
    assert headers["access-control-allow-origin"] == APP
    assert {"www-authenticate", "retry-after"} <= set(headers["access-control-expose-headers"].split(", "))
    assert headers["vary"] == "origin"
    assert "access-control-allow-credentials" not in headers


@pytest.mark.parametrize("name", ASKED)
def test_a_page_of_another_origin_can_read_nothing(allowing: EndpointClient, name: str) -> None:
    for origin in (FOREIGN, "null", f"{APP}.evil.example.com", APP.upper(), ""):
        headers = asked(allowing, name, origin)["headers"]
        assert not {header for header in headers if header.startswith("access-control-")}
        assert headers["vary"] == "origin"


def test_an_allowed_page_can_read_errors_too(allowing: EndpointClient, login: LocalLogin) -> None:
    refused = allowing.event("list_tools", token=login.mint("stranger"), origin=APP)
    large = allowing.event("list_tools", origin=APP) | {"body": " " * 1_000_001}
    broken = allowing.event("list_tools", origin=APP) | {"requestContext": {"domainName": "mcp.example.com"}}
    for event, status in ((refused, 403), (large, 413), (broken, 500)):
        response = door.handler(event, Context())
        assert response["statusCode"] == status
        assert response["headers"]["access-control-allow-origin"] == APP


def test_the_origins_that_may_ask_are_the_own_one_and_those_allowed(allowing: EndpointClient) -> None:
    seen = [asked(allowing, "list_tools", one)["statusCode"] for one in (APP, "https://mcp.example.com", FOREIGN)]
    assert seen == [200, 200, 403]


@pytest.mark.parametrize("name", ASKED)
def test_a_preflight_names_the_allowed_methods_and_headers(allowing: EndpointClient, name: str) -> None:
    response = asked(allowing, name, APP, "OPTIONS")
    assert (response["statusCode"], response["body"]) == (204, "")
    assert response["headers"]["access-control-allow-origin"] == APP
    assert response["headers"]["access-control-allow-methods"] == "GET, POST"
    assert int(response["headers"]["access-control-max-age"]) > 0
    assert asked(allowing, name, FOREIGN, "OPTIONS")["statusCode"] == 405


def test_an_allowed_page_may_send_every_header_that_the_endpoint_reads() -> None:
    may = {*ALLOWED_HEADERS, *PROTOCOL_HEADERS}
    events = [json.loads(file.read_text("utf-8")) for file in EVENTS.glob("mcp_endpoint_*.json")]
    sent = {name for event in events for name in event["headers"] if not name.startswith("x-forwarded-")} - UNASKED
    known = {MCP_METHOD_HEADER, MCP_NAME_HEADER, MCP_PROTOCOL_VERSION_HEADER, MCP_SESSION_ID_HEADER}
    assert may == sent | known | {LAST_EVENT_ID_HEADER, ORGANIZATION_HEADER, ROLE_HEADER, FORMAT_HEADER, BLOCKS_HEADER}


def test_header_names_of_any_case_are_understood(allowing: EndpointClient) -> None:
    event = allowing.event("list_tools", origin=APP)
    event["headers"] = {name.title(): value for name, value in event["headers"].items()}
    assert door.handler(event, Context())["headers"]["access-control-allow-origin"] == APP


@pytest.mark.parametrize("name", ASKED)
def test_without_allowed_origins_there_are_no_cors_headers(endpoint: EndpointClient, name: str) -> None:
    for method in ("", "OPTIONS"):
        response = asked(endpoint, name, APP, method)
        assert not {header for header in response["headers"] if header.startswith(("access-control-", "vary"))}
        assert not method or response["statusCode"] == 405


def test_the_metadata_can_only_be_read(endpoint: EndpointClient) -> None:
    response = asked(endpoint, "resource_metadata", "", "POST")
    assert (response["statusCode"], response["headers"]["allow"]) == (405, "GET")
