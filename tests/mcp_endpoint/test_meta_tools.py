"""The tokens of the three meta-tools, and how `call` handles options and truncated lists."""

import base64
import json
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import EndpointConnectionError
from mcp_types import ResourceLink

from infra.local.login import LocalLogin
from mcp_endpoint.arguments import INPUT_SCHEMAS, REQUEST_MODELS
from mcp_endpoint.exchange import McpExchange
from mcp_endpoint.meta_tools import categories
from mcp_endpoint.meta_tools.declaration import (
    MAX_NAMES_CHARACTERS,
    NOTHING_FOUND,
    ToolAnswer,
    count_modules,
    declare,
    run_meta_tool,
)
from mcp_endpoint.protocol.server import CATEGORY_INSTRUCTIONS, ICON, INSTRUCTIONS
from mcpist.aws.clients import client
from mcpist.caller import Proof, Role, Subject
from mcpist.errors import InvalidRequest, StoreUnavailable, UpstreamUnavailable
from mcpist.files import access
from mcpist.people import directory
from mcpist.running import broker
from mcpist.running.broker import Credential
from mcpist.tools.access.permissions import Permissions
from mcpist.tools.search.index import ModuleEntry
from mcpist_services import NAMES
from mcpist_services.catalogue import CATALOGUE
from tests import members
from tests.core.loopback import Reply, Service, close_connections, json_response, serving
from tests.peers.tokens import o200k

ICON_FILE = Path(__file__).parents[2] / "functions/console/assets/icon.svg"


def test_the_three_meta_tools_with_twenty_modules_stay_under_850_tokens(organization: str, login: LocalLogin) -> None:
    members.put_role(organization, Role("members", modules=NAMES))
    caller = directory.identify(Subject(login.issuer, "uma"), organization=organization)
    tools = declare(Permissions(caller, CATALOGUE))
    listed = [tool.model_dump(mode="json", by_alias=True, exclude_none=True) for tool in tools]
    listed[0]["description"] += "".join(f", category.number_{number}" for number in range(20 - len(NAMES)))
    (tokens,) = o200k(json.dumps(listed, ensure_ascii=False, separators=(",", ":")))
    assert tokens < 850


def test_a_description_names_some_modules_and_counts_the_others() -> None:
    modules = [ModuleEntry(f"category.number_{number}", "", "mcp", None, {}) for number in range(5_000)]
    assert count_modules(modules[:2]) == "2 modules: category.number_0, category.number_1"
    text = count_modules(modules)
    assert text.startswith("5000 modules: category.number_0, ")
    assert text.endswith(" and 4988 more")
    assert len(text) < MAX_NAMES_CHARACTERS + 50
    assert count_modules([]) == "0 modules"


def test_without_arguments_the_modules_are_listed_with_their_descriptions(exchange: McpExchange) -> None:
    (text,) = run_meta_tool(exchange, "get_module_schema", {})
    modules = {module.pop("module"): module for module in json.loads(text)["modules"]}
    assert modules["rag"]["description"].startswith("The organization's own Markdown documents")
    assert modules["rag"]["tools"] == len(exchange.permissions.tools(CATALOGUE.index.modules["rag"]))
    assert "github" in modules


def test_signatures_with_times_come_with_what_a_time_may_be(exchange: McpExchange) -> None:
    (text,) = run_meta_tool(exchange, "get_module_schema", {"modules": ["google_calendar", "files"]})
    calendar, files = json.loads(text)["modules"]
    assert any("time_min?: moment = now" in line for line in calendar["tools"])
    assert list(calendar["formats"]) == ["moment"]
    assert "formats" not in files


def test_tools_that_change_something_are_marked_and_the_marks_explained(
    exchange: McpExchange, organization: str
) -> None:
    members.put_role(organization, Role("members", modules=NAMES, allow=("*",), destructive=True))
    directory.access_cache.clear()
    caller = directory.identify(exchange.caller.subject, organization=organization)
    exchange = replace(exchange, caller=replace(caller, proof=exchange.caller.proof))
    arguments = {"modules": ["google_calendar"]}
    (calendar,) = json.loads(run_meta_tool(exchange, "get_module_schema", arguments)[0])["modules"]
    lines = {line.partition("(")[0]: line for line in calendar["tools"]}
    assert ": ! Create an event in a calendar" in lines["create_event"]
    assert ": !! Delete an event" in lines["delete_event"]
    assert ": Read one event" in lines["get_event"]
    assert calendar["marks"] == "! writes, !? asks, !! destroys"
    reader = replace(exchange, caller=replace(exchange.caller, reading_only=True))
    (read_only,) = json.loads(run_meta_tool(reader, "get_module_schema", arguments)[0])["modules"]
    assert "marks" not in read_only


def test_a_japanese_reader_gets_japanese_descriptions_and_the_same_examples(exchange: McpExchange) -> None:
    exchange = replace(exchange, caller=replace(exchange.caller, locale="ja"))
    arguments = {"modules": ["google_calendar"], "tools": ["get_event"]}
    (calendar,) = json.loads(run_meta_tool(exchange, "get_module_schema", arguments)[0])["modules"]
    assert calendar["description"] == "Google カレンダー: カレンダー、予定と参加者、空き時間。"
    (full,) = [tool for tool in calendar["tools"] if isinstance(tool, dict)]
    assert full["description"] == "予定 1 件の日時、場所、参加者、説明を読む。"
    assert full["inputSchema"]["properties"]["event_id"]["description"] == "list_events が示す id、例: 7k3f9q0m2a"
    assert full["examples"][0]["description"] == full["description"]
    lines = [line for line in calendar["tools"] if isinstance(line, str)]
    assert any(line.startswith("list_calendars(") and "を一覧する。" in line for line in lines)
    (listed,) = [
        module
        for module in json.loads(run_meta_tool(exchange, "get_module_schema", {})[0])["modules"]
        if module["module"] == "google_calendar"
    ]
    assert listed["description"] == calendar["description"]


def test_no_argument_is_declared_to_come_in_a_header() -> None:
    assert "x-mcp-header" not in json.dumps([INPUT_SCHEMAS, categories.INPUT_SCHEMAS])


@pytest.fixture
def exchange(organization: str, login: LocalLogin) -> McpExchange:
    caller = directory.identify(Subject(login.issuer, "uma"), organization=organization)
    return McpExchange("r1", time.monotonic() + 29, replace(caller, proof=Proof("jwt", "j.w.t")))


@pytest.fixture
def github(exchange: McpExchange, monkeypatch: pytest.MonkeyPatch) -> Iterator[Service]:
    """GitHub on loopback, with an account of Uma's."""
    caller = exchange.caller
    credential = Credential("t", account_id="7", account_name="uma", owner="user#uma", expires_at=None)
    broker.credential_cache.put((caller.organization, caller.user, caller.role_names, "github", "", ()), credential)
    with serving() as service:
        monkeypatch.setattr(CATALOGUE.module("github"), "host", service.url)
        yield service
    close_connections()


def branches(exchange: McpExchange, **more: Any) -> Any:
    params = {"owner": "octocat", "repo": "hello-world"} | more.pop("params", {})
    told = run_meta_tool(exchange, "call", {"module": "github", "tool": "list_branches", "params": params, **more})
    assert isinstance(told, ToolAnswer)
    assert told.account == "uma"
    return told.parts


def test_a_truncated_list_has_a_second_text_so_that_raw_output_stays_json(
    github: Service, exchange: McpExchange
) -> None:
    page = json_response([{"name": "main"}], link=f'<{github.url}/x?page=2>; rel="next"')
    github.reply_with(page)
    text, more = branches(exchange, params={"limit": 1}, raw_output=True)
    assert json.loads(text) == [{"name": "main"}]
    assert "cursor=" in more
    github.reply_with(json_response([{"name": "main"}]))
    (text,) = branches(exchange)
    assert "main" in text


@pytest.mark.parametrize("as_file", [False, True])
def test_a_download_names_the_file_that_it_has_stored(github: Service, exchange: McpExchange, as_file: bool) -> None:
    github.reply_with(Reply(b"line 1\nExit code 1", headers={"content-type": "text/plain"}))
    params = {"owner": "octocat", "repo": "hello-world", "job_id": 7}
    asked = {"module": "github", "tool": "get_job_logs", "params": params, "options": {"as_file": as_file}}
    told = run_meta_tool(exchange, "call", asked)
    assert isinstance(told, ToolAnswer)
    text, link = told.parts
    assert isinstance(text, str)
    assert isinstance(link, ResourceLink)
    reference = json.loads(text.partition("\n")[0].removeprefix("file: "))
    assert access.load(exchange.caller, reference)[1] == b"line 1\nExit code 1"
    assert text.endswith("begins:\nline 1\nExit code 1")
    assert (link.uri, link.mime_type) == (f"mcpist://files/{reference['sha256']}", "text/plain")


def test_a_write_whose_answer_cannot_be_stored_is_not_to_be_sent_again(
    github: Service, exchange: McpExchange, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unreachable(**_: Any) -> None:
        raise EndpointConnectionError(endpoint_url="")

    github.reply_with(json_response({"number": 1}))
    monkeypatch.setattr(client("s3"), "put_object", unreachable)
    members = Role("members", modules=NAMES, allow=("github.*",))
    issue = {"owner": "octocat", "repo": "hello-world", "title": "t"}
    asked = {"module": "github", "tool": "create_issue", "params": issue, "options": {"as_file": True}}
    with pytest.raises(StoreUnavailable) as lost:
        run_meta_tool(replace(exchange, caller=replace(exchange.caller, roles=(members,))), "call", asked)
    details = lost.value.as_dict()["details"]
    assert details["may_have_happened"]
    assert "retryable" not in details


def test_a_call_retries_as_often_as_its_options_say(github: Service, exchange: McpExchange) -> None:
    github.reply_with(Reply(b"", 502), json_response([]))
    branches(exchange, options={"retry": 1, "retry_delay": 0})
    assert len(github.received) == 2
    github.reply_with(Reply(b"", 502))
    with pytest.raises(UpstreamUnavailable):
        branches(exchange)
    assert len(github.received) == 1


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"timeout": 31}, "options.timeout"),
        ({"retry": 4}, "options.retry"),
        ({"retry_delay": -1}, "options.retry_delay"),
        ({"retries": 1}, "options.retries"),
        (7, "options"),
    ],
)
def test_options_out_of_bounds_or_unknown_are_refused(exchange: McpExchange, options: Any, field: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        branches(exchange, options=options)
    assert refused.value.details["field"] == field


def found(exchange: McpExchange, query: str) -> dict[str, Any]:
    (text,) = run_meta_tool(exchange, "get_module_schema", {"query": query})
    return {module["module"]: module for module in json.loads(text)["modules"]}


def test_a_module_shows_the_accounts_of_which_a_call_can_name_one(exchange: McpExchange) -> None:
    shared = {"service": "github", "usable": True, "open_to": [], "account_id": "1", "default": False, "acts": False}
    rows = [
        shared | {"owner": "role#members", "label": "work", "account_name": "team"},
        shared | {"owner": "user#uma", "label": "main", "account_name": "uma", "default": True, "acts": True},
        shared | {"owner": "user#uma", "label": "work", "account_name": "uma-inc"},
    ]
    broker.status_cache.put(broker.cache_key(exchange.caller, "github"), rows)
    (text,) = run_meta_tool(exchange, "get_module_schema", {"modules": ["github"]})
    (module,) = json.loads(text)["modules"]
    assert module["accounts"]["labels"] == ["main: uma (default)", "work: uma-inc"]
    broker.status_cache.put(broker.cache_key(exchange.caller, "github"), rows[1:2])
    assert "accounts" not in run_meta_tool(exchange, "get_module_schema", {"modules": ["github"]})[0]


def test_a_search_result_says_whether_its_account_is_connected(exchange: McpExchange) -> None:
    caller = exchange.caller
    services = tuple(module for module in found(exchange, "list pull requests on GitHub") if module != "rag")
    key = (caller.organization, caller.user, caller.role_names, " ".join(services), "", ())
    broker.status_cache.put(
        key,
        [
            {
                "service": "github",
                "acts": True,
                "usable": True,
                "label": "main",
                "owner": "user#uma",
                "open_to": [],
                "default": True,
                "account_name": "uma",
            }
        ],
    )
    assert found(exchange, "list pull requests on GitHub")["github"]["connected"] is True
    broker.status_cache.clear()


def test_a_search_result_omits_the_account_if_the_broker_fails(exchange: McpExchange) -> None:
    assert "connected" not in found(exchange, "list pull requests on GitHub")["github"]


def test_the_server_says_in_about_150_tokens_how_its_tools_go_together() -> None:
    counts = o200k(INSTRUCTIONS, CATEGORY_INSTRUCTIONS)
    assert all(count <= 150 for count in counts), counts
    assert all(name in INSTRUCTIONS for name in REQUEST_MODELS)
    assert all(name in CATEGORY_INSTRUCTIONS for name in categories.REQUEST_MODELS)


def test_the_servers_icon_is_the_consoles() -> None:
    kind, _, content = ICON.src.partition(";base64,")
    assert kind == f"data:{ICON.mime_type}"
    assert base64.b64decode(content) == ICON_FILE.read_bytes().strip()


def test_a_search_for_documents_is_led_by_the_module_of_documents(exchange: McpExchange) -> None:
    (text,) = run_meta_tool(exchange, "get_module_schema", {"query": "find documents about tokens"})
    assert json.loads(text)["modules"][0]["module"] == "rag"


BROKER_SEARCH = {"query": "token broker", "limit": 1}


@pytest.mark.parametrize(
    "arguments",
    [
        {"module": "rag", "tool": "search_docs", "params": json.dumps(BROKER_SEARCH)},
        {"module": "rag", "tool": "rag.search_docs", "params": BROKER_SEARCH},
    ],
)
def test_a_call_as_some_models_write_it_runs(exchange: McpExchange, arguments: dict[str, Any]) -> None:
    asked = run_meta_tool(exchange, "call", {"module": "rag", "tool": "search_docs", "params": BROKER_SEARCH})
    answer = run_meta_tool(exchange, "call", arguments)
    assert isinstance(answer, ToolAnswer)
    assert answer == asked


@pytest.mark.parametrize(("params", "problem"), [("{", "it is not JSON"), ("[]", "it is not a JSON object")])
def test_params_in_a_text_that_is_no_object_are_refused(exchange: McpExchange, params: str, problem: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        run_meta_tool(exchange, "call", {"module": "rag", "tool": "search_docs", "params": params})
    assert refused.value.details["field"] == "params"
    assert refused.value.details["problem"].startswith(problem)


@pytest.mark.parametrize("arguments", [{"modules": "rag", "tools": "search_docs"}, {"tools": ["rag.search_docs"]}])
def test_schemas_are_asked_for_by_one_name_or_by_full_names(exchange: McpExchange, arguments: dict[str, Any]) -> None:
    asked = run_meta_tool(exchange, "get_module_schema", {"modules": ["rag"], "tools": ["search_docs"]})
    assert run_meta_tool(exchange, "get_module_schema", arguments) == asked


def test_a_search_that_finds_nothing_says_how_to_go_on(exchange: McpExchange) -> None:
    (text,) = run_meta_tool(exchange, "get_module_schema", {"query": "xyzzy plugh"})
    assert json.loads(text) == {"modules": [], "note": NOTHING_FOUND}
