"""`/mcp/readonly`: the meta-tools with reading tools alone, and what clients ask their person there and at `/mcp`."""

from pathlib import Path
from typing import Any

import pytest

from mcpist.caller import Role
from mcpist.people import directory
from mcpist_services import NAMES
from tests import members
from tests.audit_items import audit_items
from tests.mcp_endpoint.client_approvals import Approval, claude_code, codex, cursor
from tests.mcp_endpoint.endpoint_client import EndpointClient
from tests.mcp_endpoint.ledger_driver import LedgerDriver

PUT = {"module": "rag", "tool": "put_doc", "params": {"path": "notes/new.md", "content": "x"}}
DELETE = {"module": "rag", "tool": "delete_doc", "params": {"path": "notes/old.md"}}
READ = {"module": "rag", "tool": "list_tags"}
# What docs/clients.md says to put into each client's settings.
CLIENTS = {
    "codex": codex(),
    "codex, writes": codex("writes"),
    "claude code": claude_code("mcp__reader"),
    "cursor": cursor("reader:*"),
}


@pytest.fixture
def writer(endpoint: EndpointClient) -> EndpointClient:
    """A client whose person may use everything."""
    members.put_role("acme", Role("members", modules=NAMES, allow=("*",), destructive=True))
    directory.access_cache.clear()
    return endpoint


@pytest.fixture
def reader(writer: EndpointClient) -> EndpointClient:
    return writer.at("/mcp/readonly")


def annotations(client: EndpointClient) -> dict[str, dict[str, Any]]:
    tools = client.request("tools/list")["result"]["tools"]
    return {tool["name"]: tool["annotations"] for tool in tools}


def test_the_same_three_meta_tools_say_that_they_only_read(reader: EndpointClient, writer: EndpointClient) -> None:
    hints = annotations(reader)
    assert list(hints) == ["get_module_schema", "call", "batch"]
    assert all(hint["readOnlyHint"] and not hint["destructiveHint"] for hint in hints.values())
    assert annotations(writer)["batch"]["destructiveHint"]


@pytest.mark.parametrize("path", ["/mcp/readonly", "/mcp/readonly/", "/mcp/acme/readonly"])
@pytest.mark.parametrize("use", [PUT, DELETE, DELETE | {"confirm": True}])
def test_a_tool_that_changes_something_is_refused_and_recorded(
    writer: EndpointClient, path: str, use: dict[str, Any]
) -> None:
    error = writer.at(path).error("call", **use)
    assert error["code"] == "AUTHORIZATION_ERROR"
    assert error["hint"] == "Use the same address without /readonly."
    (row,) = audit_items("acme")
    assert (row["tool"], row["outcome"]) == (f"rag.{use['tool']}", "AUTHORIZATION_ERROR")


def test_what_the_roles_do_not_permit_reads_the_same_at_both_addresses(
    reader: EndpointClient, writer: EndpointClient
) -> None:
    members.put_role("acme", Role("members", modules=NAMES))
    directory.access_cache.clear()
    assert reader.error("call", **PUT) == writer.error("call", **PUT)


def test_a_batch_takes_only_reads(reader: EndpointClient) -> None:
    error = reader.error("batch", commands=[READ, PUT])
    assert (error["code"], error["details"]["line"]) == ("AUTHORIZATION_ERROR", 2)
    assert not reader.call("batch", commands=[READ])[0]


def test_the_steps_of_a_batch_only_read_even_if_a_tool_changes_later(reader: EndpointClient) -> None:
    _, (summary, *_) = reader.call("batch", commands=[READ])
    assert LedgerDriver(summary.split()[1].rstrip(":")).head.reading_only


def test_a_batch_with_writes_is_not_resumed_there(reader: EndpointClient, writer: EndpointClient) -> None:
    _, (summary, *_) = writer.call("batch", commands=[{"id": "put", **PUT}])
    driver = LedgerDriver(summary.split()[1].rstrip(":"))
    driver.finish("put", "failed")
    assert reader.error("batch", resume=driver.head.batch)["code"] == "AUTHORIZATION_ERROR"


def test_only_reading_tools_are_shown(reader: EndpointClient) -> None:
    _, (text,) = reader.call("get_module_schema", modules=["rag"])
    assert "put_doc" not in text
    assert "search_docs" in text
    assert reader.error("get_module_schema", modules=["rag"], tools=["put_doc"])["code"] == "AUTHORIZATION_ERROR"


def test_prompts_that_write_are_not_offered(reader: EndpointClient, writer: EndpointClient) -> None:
    offered = {prompt["name"] for prompt in reader.request("prompts/list")["result"]["prompts"]}
    assert offered < {prompt["name"] for prompt in writer.request("prompts/list")["result"]["prompts"]}


def test_the_metadata_and_the_challenge_lead_to_the_one_resource(reader: EndpointClient) -> None:
    event = reader.event("no_token")
    status, headers, _ = reader.send(event)
    assert status == 401
    link = headers["www-authenticate"].partition('resource_metadata="')[2].partition('"')[0]
    path = reader.event("resource_metadata_of_path") | {"rawPath": "/.well-known/oauth-protected-resource/mcp/readonly"}
    assert link.endswith("/.well-known/oauth-protected-resource/mcp")
    assert reader.send(path)[2]["resource"] == "https://mcp.example.com/mcp"


# -- what clients ask -------------------------------------------------------------------------------


def replay(client: EndpointClient, server: str, asks: Approval, *uses: tuple[str, dict[str, Any]]) -> int:
    """Make some uses as a client does, and return how often its person is asked, by the client or by our form."""
    hints, questions = annotations(client), 0
    for name, arguments in uses:
        questions += asks(server, name, hints[name])
        questions += "inputRequests" in client.result(name, **arguments)
    return questions


READS = (
    ("get_module_schema", {"modules": ["rag"]}),
    ("call", READ),
    ("batch", {"commands": [READ] * 20}),
)
WRITES = ("batch", {"commands": [PUT | {"params": {"path": f"notes/{n}.md", "content": "x"}} for n in range(100)]})


@pytest.mark.parametrize("client", CLIENTS)
def test_no_read_asks_anybody_at_the_reading_address(reader: EndpointClient, client: str) -> None:
    asker = reader.with_capabilities(elicitation={"form": {}})
    assert replay(asker, "reader", CLIENTS[client], *READS) == 0


@pytest.mark.parametrize("client", CLIENTS)
def test_a_batch_of_a_hundred_writes_asks_once(writer: EndpointClient, client: str) -> None:
    asker = writer.with_capabilities(elicitation={"form": {}})
    assert replay(asker, "mcpist", CLIENTS[client], WRITES) == 1


def test_a_read_at_the_address_that_writes_asks(writer: EndpointClient) -> None:
    assert replay(writer, "mcpist", codex(), ("call", READ)) == 1


def test_the_settings_in_the_guide_are_those_of_the_replay() -> None:
    guide = (Path(__file__).parents[2] / "docs/clients.md").read_text("utf-8")
    assert '{"permissions": {"allow": ["mcp__reader"]}}' in guide
    assert '{"mcpAllowlist": ["reader:*"]}' in guide
