"""The tools by REST: listed, described, searched and called."""

import re
from datetime import UTC, datetime
from typing import Any

import pytest

from mcpist.caller import ANSWER_FORMATS, Role
from mcpist.people import directory
from mcpist.render.read import read
from mcpist.running import broker
from mcpist.tools.access.permissions import Permissions
from mcpist_services import NAMES
from mcpist_services.catalogue import CATALOGUE
from rest_api.tools.names import rest_name
from tests import members
from tests.audit_items import audit_items
from tests.core.sample import caller
from tests.rest_api.rest_client import RestClient

ALL = Role("all", modules=NAMES, allow=("*",), destructive=True)


@pytest.fixture
def rest_of_all(rest: RestClient) -> RestClient:
    """A program of a person who may use every tool."""
    members.put_role("acme", Role("members", modules=NAMES, allow=("*",), destructive=True))
    directory.access_cache.clear()
    return rest


@pytest.fixture(autouse=True)
def without_accounts(aws: list[str]) -> None:  # noqa: ARG001 - the cache is emptied with AWS
    """Let nobody have connected an account, without asking the broker."""
    for services in ("github", "github jira", " ".join(sorted(set(NAMES) - {"rag"}))):
        key = ("acme", "uma", ("members",), services, "", ())
        broker.status_cache.put(key, [{"service": "github", "acts": True, "usable": True}])


def rows() -> list[tuple[str, str]]:
    items = audit_items("acme")
    return [(item["tool"], item["outcome"]) for item in items]


def test_every_tool_has_a_rest_name_of_its_own_that_is_legal_everywhere() -> None:
    permissions = Permissions(caller(ALL), CATALOGUE)
    tools = permissions.catalogue.index.tools
    names = [rest_name(permissions, tool.module, tool.name) for tool in tools]
    assert len(set(names)) == len(names) >= 175
    assert all(re.fullmatch(r"[a-z][a-z0-9-]{0,63}", name) for name in names)
    assert "github-list-issues" in names


def test_tools_are_listed_by_pages_after_permissions(rest: RestClient) -> None:
    first = rest.get("/v1/tools", limit=3).json
    assert first["pagination"]["limit"] == 3
    assert first["pagination"]["totalPages"] == -(-first["pagination"]["total"] // 3)
    second = rest.get("/v1/tools", limit=3, page=2).json
    assert not {tool["name"] for tool in first["tools"]} & {tool["name"] for tool in second["tools"]}
    assert {tool["effect"] for tool in rest.get("/v1/tools", limit=100).json["tools"]} == {"reads"}
    assert rest.get("/v1/tools", page=1000).json["tools"] == []


def test_a_listed_tool_has_its_metadata_and_the_state_of_its_account(rest: RestClient) -> None:
    (tool,) = [
        one
        for one in rest.get("/v1/tools", module="github", limit=100).json["tools"]
        if one["fullName"] == "github.list_issues"
    ]
    assert tool["name"] == "github-list-issues"
    assert tool["connected"] is True
    assert tool["connectUrl"].endswith("/connect/github?organization=acme&user=uma")
    assert tool["version"] == "1.0.0"
    assert tool["dependencies"] == ["github"]
    assert tool["enabled"] is True
    assert tool["parameters"] == rest.get("/v1/tools/github-list-issues").json["parameters"] != []


def test_every_tool_has_a_signature_and_a_description(rest_of_all: RestClient) -> None:
    hits = rest_of_all.post("/v1/tools/search", {"query": "list create delete documents issues", "limit": 100}).json
    described = {one["name"]: one for one in hits["results"]}
    assert len(described) > 20
    for one in described.values():
        assert re.fullmatch(r"\w+\(.*\) -> [^:]+", one["signature"]), one["signature"]
        assert one["description"][0].isupper(), one["description"]
    assert described["rag-search-docs"]["description"].startswith("Search the documents")


def test_a_tool_without_an_account_says_so(rest: RestClient) -> None:
    (tool, *_) = rest.get("/v1/tools", module="rag").json["tools"]
    assert (tool["connected"], tool["connectUrl"], tool["dependencies"]) == (None, None, [])


@pytest.mark.parametrize(
    ("query", "field"),
    [({"page": 0}, "page"), ({"limit": 101}, "limit"), ({"effect": "eats"}, "effect"), ({"format": "x"}, "format")],
)
def test_a_bad_query_is_refused_and_named(rest: RestClient, query: dict[str, Any], field: str) -> None:
    answer = rest.get("/v1/tools", **query)
    assert (answer.status, answer.json["code"], answer.json["success"]) == (400, "VALIDATION_ERROR", False)
    assert answer.json["details"]["field"] == field


def test_each_platform_gets_its_own_definitions(rest: RestClient) -> None:
    ask = {"module": "rag", "limit": 1}
    (openai,) = rest.get("/v1/tools", format="openai", **ask).json["tools"]
    (anthropic,) = rest.get("/v1/tools", format="anthropic", **ask).json["tools"]
    (gemini,) = rest.get("/v1/tools", format="gemini", **ask).json["tools"]
    assert openai["type"] == "function"
    (declared,) = gemini["functionDeclarations"]
    schema = anthropic["input_schema"]
    assert schema["type"] == "object"
    assert openai["function"]["parameters"] == declared["parametersJsonSchema"] == schema
    assert openai["function"]["name"] == declared["name"] == anthropic["name"]


def test_a_tool_is_described_with_its_parameters_by_either_name(rest: RestClient) -> None:
    tool = rest.get("/v1/tools/rag-search-docs").json
    assert tool == rest.get("/v1/tools/rag.search_docs").json
    parameters = {one["name"]: one for one in tool["parameters"]}
    assert (parameters["query"]["type"], parameters["query"]["required"]) == ("string", True)
    assert parameters["limit"]["type"] == "number"
    assert tool["examples"][0]["parameters"]
    assert tool["outputFields"]


def test_a_tool_is_described_in_the_language_of_the_request(rest_of_all: RestClient) -> None:
    japanese = rest_of_all.with_headers(accept_language="ja")
    (listed,) = [
        one
        for one in japanese.get("/v1/tools", module="google_calendar").json["tools"]
        if one["fullName"] == "google_calendar.get_event"
    ]
    assert listed["description"] == "予定 1 件の日時、場所、参加者、説明を読む。"
    tool = japanese.get("/v1/tools/google_calendar.get_event").json
    described = {one["name"]: one["description"] for one in tool["parameters"]}
    assert (tool["description"], described["event_id"]) == (
        listed["description"],
        "list_events が示す id、例: 7k3f9q0m2a",
    )
    assert tool["inputSchema"]["properties"]["event_id"]["description"] == described["event_id"]
    platform = japanese.get("/v1/tools", module="google_calendar", format="anthropic").json["tools"]
    assert listed["description"] in {one["description"] for one in platform}


def test_every_parameter_of_every_tool_has_one_of_the_five_types(rest_of_all: RestClient) -> None:
    for name in NAMES:
        for tool in rest_of_all.get("/v1/tools", module=name, limit=100).json["tools"]:
            described = rest_of_all.get(f"/v1/tools/{tool['name']}").json
            assert {one["type"] for one in described["parameters"]} <= {
                "string",
                "number",
                "boolean",
                "object",
                "array",
            }


def test_an_unknown_tool_is_not_found(rest: RestClient) -> None:
    for answer in (rest.get("/v1/tools/rag-serch-docs"), rest.call("rag-serch-docs"), rest.call("nothing.at_all")):
        assert answer.status == 404
        assert answer.json["code"] == "TOOL_NOT_FOUND"
        assert answer.json["error"].startswith("Tool not found: ")
    assert "rag-search-docs" in rest.call("rag-serch-docs").json["hint"]


def test_a_tool_of_other_roles_is_refused_with_a_row(rest: RestClient) -> None:
    answer = rest.call("rag-delete-doc", parameters={"path": "x.md"})
    assert (answer.status, answer.json["code"]) == (403, "AUTHORIZATION_ERROR")
    assert rows() == [("rag.delete_doc", "AUTHORIZATION_ERROR")]


def test_a_tool_is_called(rest: RestClient) -> None:
    answer = rest.call("rag-list-tags")
    body = answer.json
    assert (answer.status, body["success"], body["request_id"]) == (200, True, "request-1")
    assert isinstance(body["executionTime"], int)
    assert datetime.fromisoformat(body["timestamp"]).tzinfo == UTC
    assert rows() == [("rag.list_tags", "succeeded")]


def test_a_compact_result_is_the_text_that_a_model_reads(rest: RestClient) -> None:
    for form in ANSWER_FORMATS:
        assert read(rest.call("rag.list_tags", options={"format": form}).json["result"]) == {"items": []}
    assert rest.call("rag.list_tags", options={"format": "yaml"}).status == 400


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"name": "rag-search-docs"}, "query"),
        ({"name": "rag-search-docs", "parameters": {"query": "x", "nope": 1}}, "nope"),
        ({"name": "rag-list-tags", "options": {"timeout": 1}}, "options.timeout"),
        ({"name": "rag-list-tags", "more": 1}, "more"),
        ({}, "name"),
        ([], "body"),
        ("{", "body"),
        ('{"name": NaN}', "body"),
        ('{"name": "\\ud800"}', "body"),
        ("[" * 100_000, "body"),
    ],
)
def test_a_malformed_call_is_refused_and_named(rest: RestClient, body: Any, field: str) -> None:
    answer = rest.post("/v1/tools/call", body)
    assert (answer.status, answer.json["code"]) == (400, "VALIDATION_ERROR")
    assert answer.json["details"]["field"] == field
    assert "executionTime" in answer.json


def test_a_destructive_call_runs_once_after_a_person_has_agreed(rest_of_all: RestClient) -> None:
    asked = rest_of_all.call("rag-delete-doc", parameters={"path": "old.md"})
    assert (asked.status, asked.json["code"]) == (428, "CONFIRMATION_REQUIRED")
    state = asked.json["details"]["confirmation"]
    assert asked.json["details"]["destructive"] == [{"tool": "rag.delete_doc", "targets": {"path": "old.md"}}]
    agreed = {"parameters": {"path": "old.md"}, "confirmation": state}
    assert (
        rest_of_all.call("rag-delete-doc", **agreed).json["code"] == "FILE_NOT_FOUND"
    )  # it ran: there is no such document
    assert rest_of_all.call("rag-delete-doc", **agreed).status == 400
    other = rest_of_all.call("rag-delete-doc", parameters={"path": "other.md"}, confirmation=state)
    assert other.json["code"] == "VALIDATION_ERROR"


def test_tools_are_searched_by_a_task(rest: RestClient) -> None:
    category = rest.get("/v1/tools/rag-search-docs").json["category"]
    found = rest.post(
        "/v1/tools/search", {"query": "search documents", "filters": {"category": category}, "limit": 2}
    ).json
    assert len(found["results"]) == 2 <= found["total"]
    assert found["results"][0]["score"] == 1
    assert all("(" in one["signature"] for one in found["results"])
    none = rest.post("/v1/tools/search", {"query": "search documents", "filters": {"tags": ["no such tag"]}}).json
    assert (none["results"], none["total"]) == ([], 0)


def test_a_search_counts_all_that_fit_and_knows_the_word_get(rest_of_all: RestClient) -> None:
    shown = {"limit": 100}
    found = rest_of_all.post("/v1/tools/search", {"query": "list", **shown}).json
    assert len(found["results"]) == 100 < found["total"]
    named = rest_of_all.post("/v1/tools/search", {"query": "get", **shown}).json
    assert named["total"] > 10
    assert all("get" in one["fullName"].partition(".")[2].split("_") for one in named["results"])


@pytest.mark.parametrize("body", [{}, {"query": " "}])
def test_a_search_without_a_query_is_refused(rest: RestClient, body: dict[str, Any]) -> None:
    answer = rest.post("/v1/tools/search", body)
    assert answer.status == 400
    assert "Query is required" in answer.json["error"]
