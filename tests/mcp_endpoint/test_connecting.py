"""Calls without an account: which clients are asked to connect one, and what happens after the answer."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from mcp_endpoint import elicitation
from mcpist.aws.attributes import unpack
from mcpist.aws.table import ledger_table
from mcpist.caller import Role
from mcpist.people.questions import SORT_KEY
from mcpist.polling import Polling
from mcpist_services.catalogue import CATALOGUE
from tests import members
from tests.core.loopback import Reply, serving
from tests.mcp_endpoint.endpoint_client import EndpointClient
from tests.mcp_endpoint.fake_broker import FakeBroker, grant

GET_ME: dict[str, Any] = {"module": "github", "tool": "get_me"}
URL = "https://mcp.example.com/connect/github?organization=acme&user=uma"
OPENED = {"action": "accept"}


@pytest.fixture
def accounts(endpoint: EndpointClient, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeBroker]:  # noqa: ARG001 - it makes AWS
    with serving() as service:
        monkeypatch.setattr(CATALOGUE.module("github"), "host", service.url)
        yield FakeBroker(service)


@pytest.fixture
def asker(endpoint: EndpointClient) -> EndpointClient:
    """A client that can have its person open an address."""
    return endpoint.with_capabilities(elicitation={"url": {}})


def answered(door: EndpointClient, question: dict[str, Any], reply: Any = OPENED, **changes: Any) -> dict[str, Any]:
    """Send the same call again with the person's answer and return the response."""
    replies = {} if reply is None else {"inputResponses": {"connect": reply}}
    params = {"name": "call", "arguments": GET_ME, "requestState": question["requestState"], **replies, **changes}
    return door.request("tools/call", **params)


def begun(door: EndpointClient, capabilities: dict[str, Any]) -> dict[str, str]:
    """Return the headers with which a client of 2025-11-25 goes on after its `initialize`."""
    event = door.event("initialize")
    message = json.loads(event["body"])
    message["params"]["capabilities"] = capabilities
    headers = door.send(event | {"body": json.dumps(message)})[1]
    return {"mcp_session_id": headers["mcp-session-id"]} if "mcp-session-id" in headers else {}


def refused(door: EndpointClient, version: str) -> Any:
    """Return the response to a client of an older protocol."""
    event = door.event("call", mcp_protocol_version=version)
    message = json.loads(event["body"])
    message["params"] = {"name": "call", "arguments": GET_ME}
    for header in ("mcp-method", "mcp-name"):
        del event["headers"][header]
    return door.send(event | {"body": json.dumps(message)})[2]


# -- which clients are asked ----------------------------------------------------------------------------


def test_a_client_that_opens_addresses_is_asked_to_connect(asker: EndpointClient, accounts: FakeBroker) -> None:
    question = asker.result("call", **GET_ME)
    assert question["resultType"] == "input_required"
    asked = question["inputRequests"]["connect"]
    assert asked["method"] == "elicitation/create"
    assert (asked["params"]["mode"], asked["params"]["url"]) == ("url", URL)
    assert asked["params"]["message"] == "No github account is connected."
    assert accounts.service.received == []


@pytest.mark.parametrize("capabilities", [{}, {"elicitation": {}}, {"elicitation": {"form": {}}}])
@pytest.mark.usefixtures("accounts")
def test_a_client_that_opens_no_addresses_gets_an_error_with_the_link(
    endpoint: EndpointClient, capabilities: dict[str, Any]
) -> None:
    error = endpoint.with_capabilities(**capabilities).error("call", **GET_ME)
    assert error["code"] == "CONNECTION_REQUIRED"
    assert URL in error["hint"]


@pytest.mark.usefixtures("accounts")
def test_the_protocol_of_2025_11_25_has_an_error_for_clients_that_declared_to_open_addresses(
    endpoint: EndpointClient,
) -> None:
    client = endpoint.with_headers(**begun(endpoint, {"elicitation": {"form": {}, "url": {}}}))
    error = refused(client, "2025-11-25")["error"]
    (asked,) = error["data"]["elicitations"]
    assert (error["code"], asked["mode"], asked["url"]) == (-32042, "url", URL)
    assert asked["elicitationId"]
    assert URL in error["message"]


@pytest.mark.parametrize("version", ["2025-03-26", "2025-06-18", "2025-11-25"])
@pytest.mark.parametrize("capabilities", [{}, {"elicitation": {}}, {"elicitation": {"form": {}}}, {"elicitation": []}])
@pytest.mark.usefixtures("accounts")
def test_clients_of_older_protocols_get_a_result_with_the_link(
    endpoint: EndpointClient, version: str, capabilities: dict[str, Any]
) -> None:
    went_on = begun(endpoint, capabilities)
    assert went_on == {}
    result = refused(endpoint, version)["result"]
    assert result["isError"]
    assert URL in json.loads(result["content"][0]["text"])["hint"]


@pytest.mark.parametrize("session_id", ["", "another-server-gave-it", "opens-urls"])
@pytest.mark.usefixtures("accounts")
def test_a_session_id_that_says_nothing_of_addresses_changes_nothing(endpoint: EndpointClient, session_id: str) -> None:
    assert refused(endpoint.with_headers(mcp_session_id=session_id), "2025-11-25")["result"]["isError"]


def test_each_client_that_opens_addresses_has_a_session_id_of_its_own(endpoint: EndpointClient) -> None:
    first, second = (begun(endpoint, {"elicitation": {"url": {}}})["mcp_session_id"] for _ in range(2))
    assert first != second


@pytest.mark.usefixtures("accounts")
def test_the_question_is_in_japanese_if_the_request_asks_for_it(asker: EndpointClient) -> None:
    event = asker.event("call", accept_language="ja")
    message = json.loads(event["body"])
    message["params"]["arguments"] = GET_ME
    message["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"] = asker.capabilities
    asked = asker.send(event | {"body": json.dumps(message)})[2]["result"]["inputRequests"]["connect"]
    assert "接続されていません" in asked["params"]["message"]


# -- after the answer -----------------------------------------------------------------------------------


def test_the_call_runs_as_soon_as_the_account_is_connected(asker: EndpointClient, accounts: FakeBroker) -> None:
    question = asker.result("call", **GET_ME)
    accounts.acting = grant()
    result = answered(asker, question)["result"]
    assert "octocat" in result["content"][0]["text"]
    assert result["_meta"]["mcpist/account"] == "octocat"


def test_the_call_waits_while_the_person_connects(asker: EndpointClient, accounts: FakeBroker) -> None:
    question = asker.result("call", **GET_ME)
    accounts.later = (1, grant())
    assert "octocat" in answered(asker, question)["result"]["content"][0]["text"]
    assert accounts.operations[-3:] == ["status", "status", "resolve"]


def test_a_person_who_needs_longer_is_asked_again_under_the_same_state(
    asker: EndpointClient, accounts: FakeBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    question = asker.result("call", **GET_ME)
    monkeypatch.setattr(elicitation, "ACCOUNT_POLLING", Polling(initial_seconds=60, max_seconds=60))
    again = answered(asker, question)["result"]
    assert again["requestState"] == question["requestState"]
    assert again["inputRequests"] == question["inputRequests"]
    accounts.acting = grant()
    assert "octocat" in answered(asker, again)["result"]["content"][0]["text"]


@pytest.mark.parametrize("action", ["decline", "cancel"])
def test_a_person_who_declines_gets_the_error_with_the_link(
    asker: EndpointClient, accounts: FakeBroker, action: str
) -> None:
    question = asker.result("call", **GET_ME)
    accounts.acting = grant()
    result = answered(asker, question, {"action": action})["result"]
    error = json.loads(result["content"][0]["text"])
    assert (result["isError"], error["code"]) == (True, "CONNECTION_REQUIRED")
    assert URL in error["hint"]
    assert accounts.service.received == []


def test_a_retry_without_an_answer_does_not_wait(asker: EndpointClient, accounts: FakeBroker) -> None:
    question = asker.result("call", **GET_ME)
    accounts.asked.clear()
    assert answered(asker, question, None)["result"]["requestState"] == question["requestState"]
    assert accounts.operations == ["resolve"]


def test_a_reconnected_account_is_distinguished_from_the_broken_one(
    asker: EndpointClient, accounts: FakeBroker
) -> None:
    accounts.acting = grant(3, usable=False)
    question = asker.result("call", **GET_ME)
    accounts.later = (1, grant(4))
    assert "octocat" in answered(asker, question)["result"]["content"][0]["text"]
    assert [one.get("refused") for one in accounts.asked if one["operation"] == "resolve"] == [None, 3]


def test_a_token_that_the_service_refuses_asks_to_connect_again(asker: EndpointClient, accounts: FakeBroker) -> None:
    accounts.acting = grant(3)
    accounts.service.replies = [Reply(b'{"message": "Bad credentials"}', 401)]
    question = asker.result("call", **GET_ME)
    assert question["inputRequests"]["connect"]["params"]["url"] == URL
    assert [one.get("refused") for one in accounts.asked if one["operation"] == "resolve"] == [None, 3]
    accounts.later, accounts.service.replies = (1, grant(4)), [Reply(b'{"login": "octocat"}')]
    assert "octocat" in answered(asker, question)["result"]["content"][0]["text"]


def test_a_token_refused_after_a_write_asks_nothing_since_the_call_would_write_again(
    asker: EndpointClient, accounts: FakeBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(CATALOGUE.module("notion"), "host", accounts.service.url)
    members.put_role("acme", Role("members", ("notion",), ("notion.*",)))
    accounts.acting = grant()
    first = [{"id": f"b{place}"} for place in range(100)]
    accounts.service.replies = [Reply(json.dumps({"results": first}).encode()), Reply(b"{}", 401)]
    params = {"block_id": "0" * 32, "markdown": "\n\n".join(["line"] * 101)}
    answer = asker.result("call", module="notion", tool="append_blocks", params=params)
    assert answer["isError"]
    assert '"may_have_happened":true' in answer["content"][0]["text"]


# -- states ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("state", ["b_0123456789abcdef", "made up", "x" * 5_000])
def test_an_unknown_state_is_refused(asker: EndpointClient, accounts: FakeBroker, state: str) -> None:
    accounts.acting = grant()
    assert answered(asker, {"requestState": state})["error"]["code"] == -32602
    assert accounts.asked == []


def test_a_state_is_valid_for_one_call_of_one_person_for_ten_minutes(
    asker: EndpointClient, accounts: FakeBroker
) -> None:
    question = asker.result("call", **GET_ME)
    accounts.acting = grant()
    other = {"module": "github", "tool": "get_me", "params": {"other": 1}}
    assert answered(asker, question, arguments=other)["error"]["code"] == -32602
    assert answered(asker.of("ada"), question)["error"]["code"] == -32602
    ledger_table().update(f"acme#{question['requestState']}", SORT_KEY, "SET #until = :past", values={":past": 1})
    assert answered(asker, question)["error"]["code"] == -32602
    assert accounts.service.received == []


def test_no_secret_is_stored_with_a_question(asker: EndpointClient, accounts: FakeBroker) -> None:
    accounts.acting = grant(3, usable=False)
    question = asker.result("call", **GET_ME)
    (item,) = ledger_table().query(f"acme#{question['requestState']}")
    assert set(item) == {"pk", "sk", "kind", "digest", "context", "until", "expires_at", "user", "shown"}
    assert (item["user"], item["shown"]) == ("uma", {})
    context = unpack(item["context"])
    assert set(context) == {"error", "service", "account", "grant"}
    assert context["grant"] == ["user#uma", 3, "main"]


# -- batches --------------------------------------------------------------------------------------------


def test_a_calls_state_gives_a_batch_no_permission(asker: EndpointClient, accounts: FakeBroker) -> None:
    question = asker.result("call", **GET_ME)
    accounts.acting = grant()
    answer = answered(asker, question, name="batch", arguments={"commands": '{"module":"rag","tool":"list_tags"}'})
    assert "batch b_" in answer["result"]["content"][0]["text"]
