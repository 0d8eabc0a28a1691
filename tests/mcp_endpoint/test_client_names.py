"""The program that a person uses, in the audit rows of all that it does."""

import json
from typing import Any

from tests.audit_items import audit_items
from tests.mcp_endpoint.endpoint_client import EndpointClient

CLIENT_INFO = "io.modelcontextprotocol/clientInfo"


def rows() -> list[dict[str, Any]]:
    return audit_items("acme")


def test_a_client_names_itself_in_each_request(endpoint: EndpointClient) -> None:
    token = endpoint.login.mint("uma", client_id="c-7")
    event = endpoint.event("call", token=token, user_agent="python/3.13")
    message = json.loads(event["body"])
    message["params"]["_meta"][CLIENT_INFO] = {"name": "co\x1bde", "version": "9" * 300}
    status, _, answer = endpoint.send(event | {"body": json.dumps(message)})
    assert (status, answer["result"].get("isError", False)) == (200, False), answer
    (row,) = rows()
    assert (row["client_name"], row["client_version"], row["client_id"]) == ("code", "9" * 100, "c-7")
    assert row["door"] == "mcp_endpoint"


def test_a_refused_use_names_the_client_as_well(endpoint: EndpointClient) -> None:
    event = endpoint.event("call", user_agent="python/3.13")
    message = json.loads(event["body"])
    message["params"]["arguments"] = {"module": "rag", "tool": "put_doc", "params": {}}
    endpoint.send(event | {"body": json.dumps(message)})
    (row,) = rows()
    assert (row["outcome"], row["tool"]) == ("AUTHORIZATION_ERROR", "rag.put_doc")
    assert row["client_name"]
    assert row["client_id"] == "local"


def test_a_client_of_a_handshake_version_is_known_by_its_user_agent(endpoint: EndpointClient) -> None:
    event = endpoint.event("call", user_agent="Inspector/0.9", mcp_protocol_version="2025-06-18")
    message = json.loads(event["body"])
    del message["params"]["_meta"]
    endpoint.send(event | {"body": json.dumps(message)})
    (row,) = rows()
    assert (row["outcome"], row["client_name"], row["client_version"]) == ("succeeded", "Inspector/0.9", "")


def test_a_request_continues_the_trace_of_its_header_or_of_its_message(endpoint: EndpointClient) -> None:
    trace, other, span = "a" * 32, "c" * 32, "b" * 16
    event = endpoint.event("call", traceparent=f"00-{trace}-{span}-01")
    endpoint.send(event)
    message = json.loads(event["body"])
    message["params"]["_meta"]["traceparent"] = f"00-{other}-{span}-01"
    endpoint.send(event | {"body": json.dumps(message)})
    assert [row["trace"] for row in rows()] == [trace, other]
    assert {row["correlation"] for row in rows()} == {"request-1"}
