"""A tool and a module that an administrator has switched off, at each entrance of the endpoint."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from infra.local.login import LocalLogin
from mcpist.caller import Role, Subject
from mcpist.people import directory
from mcpist.registry.entries import disable
from mcpist_services import NAMES
from mcpist_services.catalogue import CATALOGUE
from tests import members
from tests.mcp_endpoint.endpoint_client import EndpointClient
from tests.mcp_endpoint.test_categories import SCRIPT
from tests.upstreams.configured import Upstreams, configured

OWNER = {"owner": "octocat", "repo": "hello"}
NOTES_URI = "mcpist://categories/serena/serena/file:///notes.md"

type Switch = Callable[[str], None]


@pytest.fixture
def off(organization: str, login: LocalLogin) -> Switch:
    """Switch something off, as a sandbox sees it when its cache has expired."""

    def off(name: str) -> None:
        ada = directory.identify(Subject(login.issuer, "ada"))
        directory.change(organization, disable(CATALOGUE.of(ada), name))
        directory.access_cache.clear()

    return off


@pytest.fixture
def upstreams(organization: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Upstreams]:
    """One server, whose category has its name."""
    role = Role("members", (*NAMES, "serena"), ("serena.*",))
    members.put_role(organization, role)
    with configured(tmp_path, monkeypatch) as upstreams:
        tools = {"includeNames": [tool["name"] for tool in SCRIPT["tools"]]}
        upstreams.configure(
            {"serena": upstreams.scripted("serena", **SCRIPT)},
            {"serena": {"description": "Files", "server": "serena", "tools": tools}},
        )
        yield upstreams


def text_of(endpoint: EndpointClient, name: str, /, **arguments: Any) -> str:
    failed, (text, *_) = endpoint.call(name, **arguments)
    assert not failed, text
    return text


def code(endpoint: EndpointClient, method: str, **params: Any) -> str:
    """Return the code of a protocol method's error."""
    found: str = endpoint.request(method, **params)["error"]["data"]["code"]
    return found


def test_a_tool_is_off_for_every_meta_tool(endpoint: EndpointClient, off: Switch) -> None:
    off("github.list_issues")
    assert "list_issues(" not in text_of(endpoint, "get_module_schema", modules=["github"])
    assert "list_issues(" not in text_of(endpoint, "get_module_schema", query="list the issues of a repository")
    refused = (
        endpoint.error("get_module_schema", modules=["github"], tools=["list_issues"]),
        endpoint.error("call", module="github", tool="list_issues", params=OWNER),
        endpoint.error("batch", commands=[{"module": "github", "tool": "list_issues", "params": OWNER}]),
        endpoint.error("batch", commands=[{"module": "github", "tool": "list_issues"}], dry_run=True),
    )
    assert {error["code"] for error in refused} == {"TOOL_DISABLED"}


def test_a_module_is_off_for_every_meta_tool(endpoint: EndpointClient, off: Switch) -> None:
    off("github")
    (declared, *_) = endpoint.request("tools/list")["result"]["tools"]
    assert "github" not in declared["description"]
    assert "notion" in declared["description"]
    hits = json.loads(text_of(endpoint, "get_module_schema", query="list the issues of a GitHub repository"))
    assert "github" not in {module["module"] for module in hits["modules"]}
    refused = (
        endpoint.error("get_module_schema", modules=["github"]),
        endpoint.error("call", module="github", tool="list_issues", params=OWNER),
        endpoint.error("batch", commands=[{"module": "github", "tool": "list_issues", "params": OWNER}]),
    )
    assert {error["code"] for error in refused} == {"TOOL_DISABLED"}


def test_a_module_that_is_off_stands_as_an_error_beside_the_others(endpoint: EndpointClient, off: Switch) -> None:
    off("github")
    said = json.loads(text_of(endpoint, "get_module_schema", modules=["github", "rag"]))["modules"]
    assert [module["module"] for module in said] == ["rag", "github"]
    assert said[1]["error"]["code"] == "TOOL_DISABLED"


@pytest.mark.parametrize("name", ["github", "github.get_issue"])
def test_a_resource_goes_with_its_tool(endpoint: EndpointClient, off: Switch, name: str) -> None:
    uri = "github://octocat/hello/issues/7"
    template = "github://{owner}/{repo}/issues/{number}"
    assert code(endpoint, "resources/read", uri=uri) != "TOOL_DISABLED"
    off(name)
    assert code(endpoint, "resources/read", uri=uri) == "TOOL_DISABLED"
    listed = endpoint.request("resources/templates/list")["result"]["resourceTemplates"]
    assert template not in {one["uriTemplate"] for one in listed}
    reference = {"type": "ref/resource", "uri": template}
    asked = {"name": "owner", "value": ""}
    assert code(endpoint, "completion/complete", ref=reference, argument=asked) == "VALIDATION_ERROR"


@pytest.mark.parametrize("name", ["github", "github.list_labels"])
def test_a_prompt_goes_with_its_tools(endpoint: EndpointClient, off: Switch, name: str) -> None:
    prompt = "github.triage_issues"
    assert "result" in endpoint.request("prompts/get", name=prompt, arguments=OWNER)
    off(name)
    assert code(endpoint, "prompts/get", name=prompt, arguments=OWNER) == "TOOL_DISABLED"
    assert prompt not in {one["name"] for one in endpoint.request("prompts/list")["result"]["prompts"]}
    reference = {"type": "ref/prompt", "name": prompt}
    asked = {"name": "owner", "value": ""}
    assert code(endpoint, "completion/complete", ref=reference, argument=asked) == "TOOL_DISABLED"


@pytest.mark.usefixtures("upstreams")
def test_a_category_is_off_also_for_its_own_tools(endpoint: EndpointClient, off: Switch) -> None:
    classic = endpoint.at("/mcp/categories")
    asked = {"category": "serena", "name": "read_file", "args": {"path": "a.md"}}
    text_of(classic, "call-category-tool", **asked)
    assert "result" in endpoint.request("resources/read", uri=NOTES_URI)
    off("serena.read_file")
    assert classic.error("call-category-tool", **asked)["code"] == "ToolDisabled"
    assert "read_file" not in json.loads(text_of(classic, "get-category-tools", category="serena"))["tools"]
    off("serena")
    assert classic.error("get-category-tools", category="serena")["code"] == "ToolDisabled"
    assert "- serena:" not in classic.request("tools/list")["result"]["tools"][0]["description"]
    assert code(endpoint, "resources/read", uri=NOTES_URI) == "TOOL_DISABLED"
    assert code(endpoint, "prompts/get", name="serena.review", arguments={"what": "it"}) == "TOOL_DISABLED"
    listed = endpoint.request("resources/list")["result"]["resources"]
    assert NOTES_URI not in {one["uri"] for one in listed}


def test_a_module_whose_server_is_down_stands_as_an_error_beside_the_others(
    endpoint: EndpointClient, upstreams: Upstreams
) -> None:
    upstreams.configure(
        {"serena": {"type": "http", "url": "http://127.0.0.1:1/mcp", "description": "Files"}},
    )
    said = json.loads(text_of(endpoint, "get_module_schema", modules=["serena", "rag"]))["modules"]
    assert [module["module"] for module in said] == ["rag", "serena"]
    assert said[1]["error"]["code"] in {"UPSTREAM_UNAVAILABLE", "SCHEMA_FETCH_ERROR"}
    assert endpoint.error("get_module_schema", modules=["serena"])["code"] == said[1]["error"]["code"]
