"""The metrics of a request."""

import json

import pytest

from mcp_endpoint import exchange
from tests import emf
from tests.mcp_endpoint.endpoint_client import EndpointClient

type Counts = dict[str, float]


def counts(capsys: pytest.CaptureFixture[str]) -> Counts:
    """Return the metrics since the last call, e.g. `Errors TIMEOUT` for one with a dimension, without latencies."""
    found: Counts = {}
    for one in emf.seen(capsys.readouterr().out):
        by = [value for name, value in one.dimensions if name != "service"]
        found[" ".join([one.name, *by])] = one.value
        assert one.correlation == "request-1"
    found.pop("Latency", None)
    return found


def test_a_call_and_its_tokens_are_counted(endpoint: EndpointClient, capsys: pytest.CaptureFixture[str]) -> None:
    endpoint.call("call", module="rag", tool="list_tags")
    assert counts(capsys) == {"Calls": 1, "TokensBefore": 1, "TokensAfter": 1}


def test_raw_output_is_not_rendered(endpoint: EndpointClient, capsys: pytest.CaptureFixture[str]) -> None:
    endpoint.call("call", module="rag", tool="list_tags", raw_output=True)
    assert counts(capsys) == {"Calls": 1}


def test_a_tools_error_is_counted_once_by_its_code(
    endpoint: EndpointClient, capsys: pytest.CaptureFixture[str]
) -> None:
    endpoint.error("call", module="rag", tool="get_doc", params={"path": "nothing.md"})
    assert counts(capsys) == {"Calls": 1, "Errors FILE_NOT_FOUND": 1}


def test_a_refused_call_is_not_counted_as_a_call(endpoint: EndpointClient, capsys: pytest.CaptureFixture[str]) -> None:
    endpoint.error("call", module="rag", tool="nope")
    assert counts(capsys) == {"Errors TOOL_NOT_FOUND": 1}
    endpoint.request("resources/read", uri="rag://docs/nothing.md")
    assert counts(capsys)["Errors FILE_NOT_FOUND"] == 1
    endpoint.at("/mcp/categories").request("tools/call", name="get-category-tools", arguments={"category": "none"})
    assert counts(capsys) == {"Errors MODULE_NOT_FOUND": 1}


def test_a_missing_token_is_counted_as_an_error_and_a_list_is_not_counted(
    endpoint: EndpointClient, capsys: pytest.CaptureFixture[str]
) -> None:
    endpoint.ask("no_token")
    assert counts(capsys) == {"Errors AUTHENTICATION_ERROR": 1}
    endpoint.ask("list_tools")
    assert counts(capsys) == {}


def test_a_defect_is_counted_as_one(endpoint: EndpointClient, capsys: pytest.CaptureFixture[str]) -> None:
    event = endpoint.event("list_tools")
    del event["requestContext"]["http"]
    status, _, body = endpoint.send(event)
    assert (status, body["error"]["code"]) == (500, "INTERNAL_ERROR")
    assert counts(capsys) == {"Errors INTERNAL_ERROR": 1}
    assert "INTERNAL_ERROR" in json.dumps(body)


def test_the_last_log_line_names_what_was_asked_and_the_error_in_an_answer(
    endpoint: EndpointClient, capsys: pytest.CaptureFixture[str]
) -> None:
    endpoint.error("call", module="rag", tool="nope")
    endpoint.request("tools/call", name="a-secret-of-the-client", arguments={})
    endpoint.request("a/secret-of-the-client")
    lines = map(json.loads, capsys.readouterr().out.splitlines())
    ended = [line for line in lines if line.get("message") == "response"]
    names = ("mcp.method.name", "gen_ai.tool.name", "error.type", "http.response.status_code", "outcome")
    called, unknown_tool, unknown_method = ([line.get(name) for name in names] for line in ended)
    assert called == ["tools/call", "call", "TOOL_NOT_FOUND", 200, "OK"]
    assert unknown_tool[:2] == ["tools/call", None]
    assert unknown_method[:2] == [None, None]


def test_the_methods_and_tools_that_are_logged_are_those_that_are_served(endpoint: EndpointClient) -> None:
    listed = [
        tool["name"]
        for client in (endpoint, endpoint.at("/mcp/categories"))
        for tool in client.request("tools/list")["result"]["tools"]
    ]
    assert sorted(listed) == sorted(exchange.TOOLS)
