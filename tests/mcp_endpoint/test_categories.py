import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mcp_endpoint.meta_tools import categories as proxy
from mcpist.caller import Role
from mcpist.people import directory
from mcpist.settings import settings
from mcpist_services.upstream.connections import upstreams as upstreams_of_this_sandbox
from tests import members
from tests.audit_items import audit_items
from tests.mcp_endpoint.endpoint_client import EndpointClient
from tests.upstreams.configured import READS, Upstreams, configured, forget_sessions, reset_upstreams

PATH = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
READ = {"name": "read_file", "description": "Read a file", "inputSchema": PATH, "annotations": READS}
SHOT = {"name": "screenshot", "description": "Take a picture", "annotations": READS}
FAIL = {"name": "fail", "description": "Fail", "annotations": READS}
WIPE = {"name": "wipe", "description": "Wipe the disk"}
SHELL = {"name": "execute_shell_command", "description": "Run a command"}
IMAGE = {"type": "image", "data": "aGVsbG8=", "mimeType": "image/png"}
LINK = {"type": "resource_link", "name": "notes", "uri": "file:///notes.md"}
ANSWERS = {
    "read_file": {
        "content": [{"type": "text", "text": '[{"line": 1, "text": "hello"}]'}],
        "_meta": {"example.com/took": 3},
    },
    "screenshot": {"content": [{"type": "text", "text": "A dot"}, IMAGE, LINK]},
    "fail": {"content": [{"type": "text", "text": "There is no disk"}], "isError": True},
}
SCRIPT = {
    "tools": [READ, SHOT, FAIL, WIPE, SHELL],
    "answers": ANSWERS,
    "resources": [{"name": "notes", "uri": "file:///notes.md", "mimeType": "text/markdown"}],
    "contents": {"file:///notes.md": [{"uri": "file:///notes.md", "mimeType": "text/markdown", "text": "# Notes"}]},
    "prompts": [{"name": "review", "description": "Review it", "arguments": [{"name": "what", "required": True}]}],
}
CATEGORIES = {
    "serena.fs": {
        "description": "Files of the project",
        "server": "serena",
        "skill": "Read before you write.",
        "tools": {
            "includeNames": ["mcp__serena__read_file", "screenshot", "fail", "wipe", "no_such_tool"],
            "overrides": {"wipe": {"enabled": False}, "read_file": {"description": "Read one file of the project"}},
        },
    },
    "serena.shell": {"description": "Commands", "server": "serena", "tools": {"includePatterns": ["execute*"]}},
}


@pytest.fixture
def upstreams(organization: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Upstreams]:
    everything = Role("members", ("rag", "serena.fs", "serena.shell"), ("serena.*",), destructive=True)
    members.put_role(organization, everything)
    with configured(tmp_path, monkeypatch) as upstreams:
        upstreams.configure({"serena": upstreams.scripted("serena", **SCRIPT)}, CATEGORIES)
        yield upstreams


@pytest.fixture
def classic(endpoint: EndpointClient, upstreams: Upstreams) -> EndpointClient:  # noqa: ARG001 - the door needs its upstreams
    return endpoint.at("/mcp/categories")


def tools(door: EndpointClient) -> dict[str, Any]:
    return {tool["name"]: tool for tool in door.request("tools/list")["result"]["tools"]}


def schemas(door: EndpointClient, category: str = "serena.fs", **more: Any) -> dict[str, Any]:
    failed, (text,) = door.call("get-category-tools", category=category, **more)
    assert not failed, text
    answer: dict[str, Any] = json.loads(text)
    return answer


def test_a_client_of_the_proxy_tools_sees_only_these_two_with_its_categories(classic: EndpointClient) -> None:
    listed = tools(classic)
    assert list(listed) == ["get-category-tools", "call-category-tool"]
    assert "- serena.fs: Files of the project\n- serena.shell: Commands" in listed["get-category-tools"]["description"]
    assert "rag" not in listed["get-category-tools"]["description"]
    assert listed["get-category-tools"]["annotations"]["readOnlyHint"]
    assert "error" in classic.request("resources/list")


def test_only_schemas_of_enabled_tools_are_returned(classic: EndpointClient) -> None:
    answer = schemas(classic)
    assert list(answer["tools"]) == ["read_file", "screenshot", "fail"]
    assert answer["tools"]["read_file"] == {
        "description": "Read one file of the project",
        "inputSchema": PATH,
        "annotations": READS,
    }
    assert answer["meta"] == {
        "category": "serena.fs",
        "sourceServer": "serena",
        "skill": "Read before you write.",
        "unavailableTools": ["no_such_tool"],
    }
    asked = schemas(classic, toolNames=["mcp__serena__read_file", "wipe", "nothing"])
    assert list(asked["tools"]) == ["read_file"]
    assert asked["meta"]["unavailableTools"] == ["wipe", "nothing"]


def test_a_call_before_its_schema_was_loaded_returns_the_servers_result_unchanged(classic: EndpointClient) -> None:
    result = classic.result("call-category-tool", category="serena.fs", name="read_file", args={"path": "a.md"})
    assert result["content"] == ANSWERS["read_file"]["content"]
    assert result["_meta"]["example.com/took"] == 3
    result = classic.result("call-category-tool", category="serena.fs", name="screenshot")
    assert result["content"] == ANSWERS["screenshot"]["content"]


def test_a_failed_tools_result_is_returned_unchanged(classic: EndpointClient) -> None:
    result = classic.result("call-category-tool", category="serena.fs", name="fail")
    assert (result["isError"], result["content"]) == (True, ANSWERS["fail"]["content"])


@pytest.mark.parametrize(
    ("asked", "code"),
    [
        ({"category": "serena.no", "name": "read_file"}, "UnknownCategory"),
        ({"category": "rag", "name": "search_docs"}, "UnknownCategory"),
        ({"category": "serena.fs", "name": "no_such_tool"}, "UnknownTool"),
        ({"category": "serena.fs", "name": "wipe"}, "ToolDisabled"),
        ({"category": "serena.shell", "name": "execute_shell_command"}, "ToolDisabled"),
        ({"category": "serena.fs", "name": "read_file", "args": "{no json"}, "ValidationError"),
        ({"category": "serena.fs", "name": "read_file", "args": "[1]"}, "ValidationError"),
        ({"category": "serena.fs", "name": "read_file", "args": {"path": [3]}}, "ValidationError"),
        ({"category": "serena.fs"}, "ValidationError"),
    ],
)
def test_errors_have_the_names_of_this_interface(classic: EndpointClient, asked: dict[str, Any], code: str) -> None:
    assert classic.error("call-category-tool", **asked)["code"] == code


def test_arguments_as_json_text_are_accepted(classic: EndpointClient) -> None:
    failed, _ = classic.call("call-category-tool", category="serena.fs", name="read_file", args='{"path": "a"}')
    assert not failed


def test_every_error_code_of_an_upstream_has_a_name_in_this_interface() -> None:
    assert set(proxy.ERROR_NAMES.values()) == {
        "ValidationError",
        "ToolDisabled",
        "UnknownCategory",
        "UnknownTool",
        "UpstreamCallError",
        "UpstreamUnavailable",
        "SchemaFetchError",
        "ConfirmationRequired",
    }


def test_an_unknown_category_is_called_one(classic: EndpointClient) -> None:
    error = classic.error("get-category-tools", category="serena.no")
    assert error["message"] == 'There is no category "serena.no".'
    assert error["hint"].startswith("Categories: serena.fs")


def test_while_the_server_is_down_descriptions_are_listed_and_a_call_reports_it(
    classic: EndpointClient, upstreams: Upstreams
) -> None:
    upstreams.break_server("serena")
    assert "- serena.fs: Files of the project" in tools(classic)["get-category-tools"]["description"]
    for name, more in (
        ("get-category-tools", {}),
        ("call-category-tool", {"name": "read_file", "args": {"path": "a"}}),
    ):
        assert classic.error(name, category="serena.fs", **more)["code"] == "UpstreamUnavailable"


def test_while_the_server_is_down_known_schemas_are_still_returned(
    classic: EndpointClient, upstreams: Upstreams
) -> None:
    known = schemas(classic)
    upstreams.break_server("serena")
    assert schemas(classic) == known
    refused = classic.error("call-category-tool", category="serena.fs", name="read_file", args={"path": "a"})
    assert refused["code"] == "UpstreamUnavailable"
    after = schemas(classic)
    assert (after["tools"], after["meta"]["stale"]) == (known["tools"], True)
    upstreams.say("serena", **SCRIPT)
    upstreams_of_this_sandbox().close()
    upstreams_of_this_sandbox.cache_clear()
    forget_sessions()
    classic.result("call-category-tool", category="serena.fs", name="read_file", args={"path": "a"})
    assert schemas(classic) == known


def test_a_tool_of_which_nobody_says_what_it_does_asks_whether_it_may_change_something(
    classic: EndpointClient, upstreams: Upstreams
) -> None:
    category = {"description": "All", "server": "serena", "tools": {"includeNames": ["wipe", "erase"]}}
    erase = {"name": "erase", "annotations": {"destructiveHint": True}}
    server = upstreams.scripted("serena", tools=[WIPE, erase])
    upstreams.configure({"serena": server}, {"serena.fs": category})
    unknown = classic.error("call-category-tool", category="serena.fs", name="wipe")
    assert (unknown["code"], unknown["details"]["destructive"][0]["undeclared"]) == ("ConfirmationRequired", True)
    assert "may change something" in unknown["message"]
    assert "destroy" not in unknown["message"] + unknown["hint"]
    known = classic.error("call-category-tool", category="serena.fs", name="erase")
    assert "destroyed" in known["message"]
    assert "undeclared" not in known["details"]["destructive"][0]
    upstreams.configure({"serena": {**server, "effect": "writes"}}, {"serena.fs": category})
    assert not classic.call("call-category-tool", category="serena.fs", name="wipe")[0]


def test_the_list_of_categories_is_bounded_in_lines_and_characters(
    classic: EndpointClient, upstreams: Upstreams
) -> None:
    long = {"description": "word " * 190, "server": "serena"}
    upstreams.configure(
        {"serena": upstreams.scripted("serena", **SCRIPT)}, {f"c{number:03}": long for number in range(150)}
    )
    members.put_role("acme", Role("members", tuple(f"c{number:03}" for number in range(150))))
    directory.access_cache.clear()
    description = tools(classic)["get-category-tools"]["description"]
    assert len(description) < proxy.MAX_CATEGORY_LIST_CHARACTERS + 300
    assert description.splitlines()[-1].startswith("and ")


def test_a_setting_lists_the_proxy_tools_beside_the_meta_tools(
    endpoint: EndpointClient, upstreams: Upstreams, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert list(tools(endpoint)) == ["get_module_schema", "call", "batch"]
    assert "Unknown tool" in endpoint.request("tools/call", name="get-category-tools", arguments={})["error"]["message"]
    monkeypatch.setenv("CATEGORY_TOOLS", "on")
    settings.cache_clear()
    offered = list(tools(endpoint))
    assert offered == ["get_module_schema", "call", "batch", *proxy.REQUEST_MODELS]
    refused = endpoint.request("tools/call", name="none", arguments={})["error"]["message"]
    assert refused == f"Unknown tool: none. Tools: {', '.join(offered)}"
    assert list(schemas(endpoint)["tools"]) == ["read_file", "screenshot", "fail"]
    assert upstreams


@pytest.mark.usefixtures("upstreams")
def test_a_category_is_listed_and_its_schema_loads(endpoint: EndpointClient) -> None:
    assert "serena.fs, " in tools(endpoint)["get_module_schema"]["description"]
    _, (text,) = endpoint.call("get_module_schema", modules=["serena.fs"], tools=["serena.fs.read_file"])
    (module,) = json.loads(text)["modules"]
    assert module["skill"] == "Read before you write."
    full, *signatures = module["tools"]
    assert full["inputSchema"] == PATH
    assert signatures == ["screenshot(): Take a picture", "fail(): Fail"]
    assert module["resources"] == ["mcpist://categories/serena.fs/serena/file:///notes.md: "]
    assert module["prompts"] == ["review(what): Review it"]


@pytest.mark.usefixtures("upstreams")
def test_a_call_returns_compact_text_and_other_blocks_unchanged(endpoint: EndpointClient) -> None:
    _, texts = endpoint.call("call", module="serena.fs", tool="read_file", params={"path": "a.md"})
    assert texts == ['[{"line":1,"text":"hello"}]']
    content = endpoint.result("call", module="serena.fs", tool="screenshot")["content"]
    assert content == [{"type": "text", "text": "A dot"}, IMAGE, LINK]
    content = endpoint.result("call", module="serena.fs", tool="screenshot", raw_output=True)["content"]
    assert content == [{"type": "text", "text": '"A dot"'}, IMAGE, LINK]


@pytest.mark.usefixtures("upstreams")
def test_a_failed_call_has_the_tools_own_message(endpoint: EndpointClient) -> None:
    error = endpoint.error("call", module="serena.fs", tool="fail")
    assert (error["code"], error["message"]) == ("TOOL_EXECUTION_ERROR", "serena answered: There is no disk")


@pytest.mark.usefixtures("upstreams")
def test_disabled_tools_cannot_be_run_by_any_interface(endpoint: EndpointClient) -> None:
    assert endpoint.error("call", module="serena.fs", tool="wipe")["code"] == "TOOL_DISABLED"
    step = {"id": "a", "module": "serena.fs", "tool": "wipe"}
    assert endpoint.error("batch", commands=[step])["code"] == "TOOL_DISABLED"


@pytest.mark.usefixtures("upstreams")
def test_a_call_is_recorded_in_the_audit_under_its_category(endpoint: EndpointClient) -> None:
    endpoint.call("call", module="serena.fs", tool="read_file", params={"path": "a.md"})
    endpoint.call("call", module="serena.fs", tool="fail")
    assert [(row["service"], row["tool"], row["outcome"]) for row in audit_items("acme")] == [
        ("serena.fs", "serena.fs.read_file", "succeeded"),
        ("serena.fs", "serena.fs.fail", "TOOL_EXECUTION_ERROR"),
    ]


@pytest.mark.usefixtures("upstreams")
def test_a_block_that_is_too_large_becomes_a_file(endpoint: EndpointClient, upstreams: Upstreams) -> None:
    large = IMAGE | {"data": "aGVs" * 1_000_000}
    upstreams.say("serena", **SCRIPT | {"answers": {"screenshot": {"content": [large, IMAGE]}}})
    note, image = endpoint.result("call", module="serena.fs", tool="screenshot")["content"]
    assert note["text"].startswith('[image/png of 3000000 bytes: {"path":"files/acme/')
    assert image == IMAGE


@pytest.mark.usefixtures("upstreams")
def test_resources_and_prompts_of_the_server_are_offered_under_its_first_category(endpoint: EndpointClient) -> None:
    endpoint.call("get_module_schema", modules=["serena.fs"])
    uri = "mcpist://categories/serena.fs/serena/file:///notes.md"
    offered = {one["uri"] for one in endpoint.request("resources/list")["result"]["resources"]}
    assert uri in offered
    (content,) = endpoint.request("resources/read", uri=uri)["result"]["contents"]
    assert (content["uri"], content["text"]) == (uri, "# Notes")
    named = {one["name"] for one in endpoint.request("prompts/list")["result"]["prompts"]}
    assert "serena.fs.review" in named
    said = endpoint.request("prompts/get", name="serena.fs.review", arguments={"what": "it"})["result"]
    assert said["messages"][0]["content"]["text"] == 'review {"what": "it"}'


@pytest.mark.usefixtures("upstreams")
def test_a_resource_of_another_roles_category_cannot_be_read(endpoint: EndpointClient) -> None:
    members.put_role("acme", Role("members", ("rag",)))
    directory.access_cache.clear()
    uri = "mcpist://categories/serena.fs/serena/file:///notes.md"
    assert endpoint.request("resources/read", uri=uri)["error"]["data"]["code"] == "AUTHORIZATION_ERROR"


@pytest.mark.usefixtures("upstreams")
def test_a_new_sandbox_returns_a_schema_without_the_server(endpoint: EndpointClient, upstreams: Upstreams) -> None:
    endpoint.call("get_module_schema", modules=["serena.fs"])
    upstreams.break_server("serena")
    reset_upstreams()
    failed, (text,) = endpoint.call("get_module_schema", modules=["serena.fs"])
    assert not failed
    assert len(json.loads(text)["modules"][0]["tools"]) == 3


def test_a_proxied_tool_that_destroys_asks_the_person_where_the_client_has_forms(
    classic: EndpointClient, upstreams: Upstreams
) -> None:
    categories = {"serena": {"description": "Files", "server": "serena", "tools": {"includeNames": ["wipe"]}}}
    upstreams.configure({"serena": upstreams.scripted("serena", **SCRIPT)}, categories)
    members.put_role("acme", Role("members", ("serena",), ("serena.*",), destructive=True))
    directory.access_cache.clear()
    use = {"category": "serena", "name": "wipe", "args": {"disk": "C"}}
    asker = classic.with_capabilities(elicitation={"form": {}})
    question = asker.result("call-category-tool", **use, confirm=True)
    message = question["inputRequests"]["confirm"]["params"]["message"]
    assert message.startswith("Nobody has said what this does; it may change something:\n- serena.wipe {")
    yes = {"confirm": {"action": "accept", "content": {"confirm": True}}}
    answer = {"requestState": question["requestState"], "inputResponses": yes}
    result = asker.result("call-category-tool", **use, more=answer)
    assert json.loads(result["content"][0]["text"]) == {"disk": "C"}
    again = asker.request("tools/call", name="call-category-tool", arguments=use, **answer)
    assert again["error"]["code"] == -32602
    assert classic.error("call-category-tool", **use)["code"] == "ConfirmationRequired"


def test_the_name_of_a_server_stands_for_its_only_category(
    endpoint: EndpointClient, organization: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    members.put_role(organization, Role("members", ("rag", "disk.read"), ("disk.*",)))
    one = {"disk.read": {**CATEGORIES["serena.fs"], "server": "serena"}}
    with configured(tmp_path, monkeypatch) as upstreams:
        upstreams.configure({"serena": upstreams.scripted("serena", **SCRIPT)}, one)
        assert (
            json.loads(endpoint.call("get_module_schema", modules=["serena"])[1][0])["modules"][0]["module"]
            == "disk.read"
        )
        for named in ({"module": "serena", "tool": "read_file"}, {"tool": "serena.read_file"}, {"tool": "read_file"}):
            assert endpoint.call("call", **named, params={"path": "a"})[0] is False
        assert "read_file" in schemas(endpoint.at("/mcp/categories"), "serena")["tools"]


@pytest.mark.usefixtures("upstreams")
def test_the_name_of_a_server_with_several_categories_means_none_of_them(endpoint: EndpointClient) -> None:
    error = endpoint.error("call", module="serena", tool="read_file", params={"path": "a"})
    assert (error["code"], "serena.fs" in error["hint"]) == ("MODULE_NOT_FOUND", True)
