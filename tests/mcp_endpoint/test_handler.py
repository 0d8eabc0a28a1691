"""The endpoint's handler, with API Gateway's events."""

import base64
import json
import time
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives import serialization

from infra.local.login import LocalLogin
from mcp_endpoint import handler as door
from mcpist import settings
from mcpist.caller import Role, Subject
from mcpist.people import directory
from tests import members
from tests.lambda_context import Context
from tests.mcp_endpoint.endpoint_client import EndpointClient

# -- the protocol --------------------------------------------------------------------------------------


def test_the_three_meta_tools_are_listed_with_the_callers_modules(endpoint: EndpointClient) -> None:
    status, _, answer = endpoint.ask("list_tools")
    assert status == 200
    tools = {tool["name"]: tool for tool in answer["result"]["tools"]}
    assert list(tools) == ["get_module_schema", "call", "batch"]
    assert ", rag" in tools["get_module_schema"]["description"]
    assert answer["result"]["cacheScope"] == "private"


def test_browsers_come_back_by_https_only(endpoint: EndpointClient) -> None:
    for name in ("list_tools", "no_token", "resource_metadata", "get"):
        assert endpoint.ask(name)[1]["strict-transport-security"] == "max-age=31536000"


def test_without_https_nothing_is_said_about_it(endpoint: EndpointClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PUBLIC_URL", "http://127.0.0.1:3000")
    settings.settings.cache_clear()
    assert "strict-transport-security" not in endpoint.ask("resource_metadata")[1]


def test_the_hints_match_the_tools_that_the_caller_may_run(endpoint: EndpointClient) -> None:
    _, _, answer = endpoint.ask("list_tools")
    hints = {tool["name"]: tool["annotations"] for tool in answer["result"]["tools"]}
    assert hints["call"] == {
        "readOnlyHint": True,
        "destructiveHint": False,
        "idempotentHint": True,
        "openWorldHint": True,
    }


def test_a_client_with_the_older_handshake_is_served_on_the_same_path(endpoint: EndpointClient) -> None:
    status, _, answer = endpoint.ask("initialize")
    assert status == 200
    assert answer["result"]["protocolVersion"] == "2025-11-25"
    assert answer["result"]["serverInfo"]["name"] == "mcpist"


def test_every_method_but_post_is_refused(endpoint: EndpointClient) -> None:
    status, headers, _ = endpoint.ask("get")
    assert (status, headers["allow"]) == (405, "POST")


def test_a_browser_is_led_to_the_page_with_the_lines_for_clients(endpoint: EndpointClient) -> None:
    status, headers, _ = endpoint.ask("get", accept="text/html,application/xhtml+xml")
    assert (status, headers["location"]) == (303, "https://mcp.example.com/profile")


def test_header_names_of_any_case_are_understood(endpoint: EndpointClient) -> None:
    event = endpoint.event("list_tools")
    event["headers"] = {name.title(): value for name, value in event["headers"].items()}
    assert endpoint.send(event)[0] == 200


def test_another_host_or_origin_is_refused(endpoint: EndpointClient) -> None:
    assert door.handler(endpoint.event("list_tools", host="evil.example.com"), Context())["statusCode"] == 421
    event = endpoint.event("list_tools", origin="https://evil.example.com")
    assert door.handler(event, Context())["statusCode"] == 403
    assert endpoint.ask("list_tools", origin="https://mcp.example.com")[0] == 200


def test_a_proxy_asks_by_the_apis_own_host(endpoint: EndpointClient) -> None:
    own = "a1b2c3.execute-api.eu-west-1.amazonaws.com"
    event = endpoint.event("list_tools", host=own)
    event["requestContext"]["domainName"] = own
    assert endpoint.send(event)[0] == 200
    event["headers"]["host"] = "evil.example.com"
    assert door.handler(event, Context())["statusCode"] == 421


def test_an_unknown_meta_tool_is_a_protocol_error(endpoint: EndpointClient) -> None:
    event = endpoint.event("call", mcp_name="nope")
    event["body"] = event["body"].replace('"name":"call"', '"name":"nope"')
    assert endpoint.send(event)[2]["error"]["code"] == -32602


def test_a_body_that_is_not_json_is_a_protocol_error_and_later_requests_work(endpoint: EndpointClient) -> None:
    event = endpoint.event("list_tools")
    assert endpoint.send(event | {"body": "{"})[2]["error"]["code"] == -32700
    assert endpoint.ask("list_tools")[0] == 200


def test_a_body_of_two_megabytes_is_refused(endpoint: EndpointClient) -> None:
    body = base64.b64encode(b" " * 2_000_000).decode()
    status, _, answer = endpoint.send(endpoint.event("list_tools") | {"body": body, "isBase64Encoded": True})
    assert (status, answer["error"]["code"]) == (413, "PAYLOAD_TOO_LARGE")


def test_a_defect_is_answered_without_a_stack_trace(endpoint: EndpointClient) -> None:
    event = endpoint.event("list_tools")
    del event["requestContext"]["http"]
    status, _, answer = endpoint.send(event)
    assert (status, answer["error"]["code"]) == (500, "INTERNAL_ERROR")
    assert "request-1" in answer["error"]["hint"]
    assert "Traceback" not in json.dumps(answer)


# -- authorization --------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["resource_metadata", "resource_metadata_of_path"])
def test_the_metadata_names_the_resource_and_its_issuer(endpoint: EndpointClient, login: LocalLogin, name: str) -> None:
    status, _, answer = endpoint.ask(name)
    assert status == 200
    assert answer["resource"] == "https://mcp.example.com/mcp"
    assert answer["authorization_servers"] == [login.issuer]


def test_a_request_without_a_token_gets_a_challenge_with_the_metadatas_address(endpoint: EndpointClient) -> None:
    status, headers, answer = endpoint.ask("no_token")
    assert (status, answer["error"]["code"]) == (401, "AUTHENTICATION_ERROR")
    place = "https://mcp.example.com/.well-known/oauth-protected-resource/mcp"
    assert headers["www-authenticate"] == f'Bearer resource_metadata="{place}"'


def refused_tokens(login: LocalLogin) -> dict[str, str]:
    now = int(time.time())
    claims = {"iss": login.issuer, "sub": "uma", "aud": "https://mcp.example.com/mcp", "exp": now + 300}
    key_id = jwt.get_unverified_header(login.mint("uma"))["kid"]
    public = login._key.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    return {
        "expired": login.mint("uma", expires_in=-120),
        "another audience": login.mint("uma", audience="https://other.example.com/mcp"),
        "another issuer": login.mint("uma", iss="https://other.example.com"),
        "an ID token": login.mint("uma", nonce="n"),
        "alg none": jwt.encode(claims, None, "none", {"kid": key_id}),
        "a symmetric key": jwt.encode(claims, public[:31], "HS256", {"kid": key_id}),
        "no JWT": "hello",
    }


@pytest.mark.filterwarnings("ignore::jwt.warnings.InsecureKeyLengthWarning")
def test_every_invalid_token_is_refused(endpoint: EndpointClient, login: LocalLogin) -> None:
    for kind, token in refused_tokens(login).items():
        status, headers, answer = endpoint.ask("list_tools", token=token)
        assert (status, answer["error"]["code"]) == (401, "AUTHENTICATION_ERROR"), kind
        assert 'error="invalid_token"' in headers["www-authenticate"], kind
        assert token not in json.dumps(answer), kind


def test_a_subject_without_membership_is_forbidden(endpoint: EndpointClient, login: LocalLogin) -> None:
    status, headers, answer = endpoint.ask("list_tools", token=login.mint("stranger"))
    assert (status, answer["error"]["code"]) == (403, "AUTHORIZATION_ERROR")
    assert 'error="insufficient_scope"' in headers["www-authenticate"]


def test_a_member_of_two_organizations_names_one_in_the_path(endpoint: EndpointClient, login: LocalLogin) -> None:
    members.put_organization("other", name="Other")
    members.put_user("other", "uma", name="Uma", subject=Subject(login.issuer, "uma"))
    directory.access_cache.clear()
    assert endpoint.ask("list_tools")[0] == 403
    assert endpoint.ask("of_organization")[0] == 200
    foreign = endpoint.event("of_organization", token=login.mint("ada"))
    foreign["pathParameters"]["organization"] = "other"
    assert endpoint.send(foreign)[0] == 403


def test_a_header_can_select_a_role(endpoint: EndpointClient) -> None:
    assert endpoint.ask("list_tools", x_mcpist_role="members")[0] == 200
    assert endpoint.ask("list_tools", x_mcpist_role="owners")[0] == 403


# -- resources, prompts, completions --------------------------------------------------------------------


def test_only_resources_that_the_caller_may_read_are_listed(endpoint: EndpointClient) -> None:
    offered = endpoint.request("resources/templates/list")["result"]
    assert offered["cacheScope"] == "private"
    templates = {one["name"]: one for one in offered["resourceTemplates"]}
    assert templates["github.file"]["uriTemplate"] == "github://{owner}/{repo}/files/{+path}"
    assert templates["github.file"]["mimeType"] == "text/markdown"
    members.put_role("acme", Role("members", modules=("github", "rag"), deny=("github.get_file",)))
    directory.access_cache.clear()
    left = endpoint.request("resources/templates/list")["result"]["resourceTemplates"]
    assert "github.file" not in {one["name"] for one in left}
    assert "github.issue" in {one["name"] for one in left}


@pytest.mark.parametrize(
    ("uri", "code"),
    [
        ("github://octocat", "FILE_NOT_FOUND"),
        ("nowhere://x", "FILE_NOT_FOUND"),
        ("rag://nothing", "FILE_NOT_FOUND"),
        ("file:///etc/passwd", "FILE_NOT_FOUND"),
        ("mcpist://batches/b_0123456789abcdef", "BATCH_NOT_FOUND"),
    ],
)
def test_an_unknown_address_is_a_typed_error_that_names_it(endpoint: EndpointClient, uri: str, code: str) -> None:
    error = endpoint.request("resources/read", uri=uri)["error"]
    assert error["code"] == -32602
    assert (error["data"]["code"], error["data"]["uri"]) == (code, uri)


def test_a_resource_of_a_service_that_is_not_connected_says_how_to_connect_it(endpoint: EndpointClient) -> None:
    uri = "github://octocat/hello/issues/7"
    error = endpoint.request("resources/read", uri=uri)["error"]
    assert error["data"]["code"] in {"CONNECTION_REQUIRED", "UPSTREAM_UNAVAILABLE"}


def test_prompts_are_listed_with_their_arguments_and_can_be_read(endpoint: EndpointClient) -> None:
    prompts = {one["name"]: one for one in endpoint.request("prompts/list")["result"]["prompts"]}
    assert [argument["name"] for argument in prompts["github.triage_issues"]["arguments"]] == ["owner", "repo"]
    said = endpoint.request(
        "prompts/get", name="github.triage_issues", arguments={"owner": "octocat", "repo": "hello"}
    )["result"]
    assert "octocat/hello" in said["messages"][0]["content"]["text"]


@pytest.mark.parametrize(
    ("name", "arguments", "field"),
    [
        ("github.nothing", {}, "name"),
        ("github.triage_issues", {}, "owner"),
        ("github.triage_issues", {"owner": "a b", "repo": "x"}, "owner"),
        ("github.review_pull", {"owner": "a", "repo": "x", "pull_number": "many"}, "pull_number"),
    ],
)
def test_a_wrong_request_for_a_prompt_is_a_typed_error(
    endpoint: EndpointClient, name: str, arguments: dict[str, str], field: str
) -> None:
    error = endpoint.request("prompts/get", name=name, arguments=arguments)["error"]
    assert (error["code"], error["data"]["details"]["field"]) == (-32602, field)


def test_a_prompt_is_listed_only_for_callers_that_may_use_all_its_tools(endpoint: EndpointClient) -> None:
    members.put_role("acme", Role("members", modules=("github",), deny=("github.list_labels",)))
    directory.access_cache.clear()
    names = {one["name"] for one in endpoint.request("prompts/list")["result"]["prompts"]}
    assert "github.triage_issues" not in names
    assert "github.review_pull" in names
    asked = {"owner": "octocat", "repo": "hello"}
    assert "error" in endpoint.request("prompts/get", name="github.triage_issues", arguments=asked)


def test_an_argument_that_cannot_be_completed_has_no_values(endpoint: EndpointClient) -> None:
    for reference in (
        {"type": "ref/prompt", "name": "github.triage_issues"},
        {"type": "ref/resource", "uri": "github://{owner}/{repo}/files/{+path}"},
    ):
        asked = {"name": "owner", "value": "oct"}
        answer = endpoint.request("completion/complete", ref=reference, argument=asked)
        assert answer["result"]["completion"]["values"] == []


def test_completing_an_unknown_reference_is_a_typed_error(endpoint: EndpointClient) -> None:
    for reference in ({"type": "ref/prompt", "name": "no.such"}, {"type": "ref/resource", "uri": "no://such"}):
        error = endpoint.request("completion/complete", ref=reference, argument={"name": "a", "value": ""})["error"]
        assert error["data"]["code"] == "VALIDATION_ERROR"


# -- the meta-tools -------------------------------------------------------------------------------------


def test_signatures_come_first_and_full_schemas_by_name(endpoint: EndpointClient) -> None:
    _, (text,) = endpoint.call("get_module_schema", modules=["rag"], tools=["get_doc"])
    (module,) = json.loads(text)["modules"]
    assert set(module) == {"module", "description", "api_version", "tools", "formats", "resources", "prompts"}
    (full,) = [tool for tool in module["tools"] if isinstance(tool, dict)]
    assert full["name"] == "get_doc"
    assert full["outputSchema"]["format"] == "markdown"
    assert any(line.startswith("search_docs(query, ") for line in module["tools"] if isinstance(line, str))


def test_full_schemas_have_resources_and_prompts_as_objects(endpoint: EndpointClient) -> None:
    _, (text,) = endpoint.call("get_module_schema", modules=["rag"], full=True)
    (module,) = json.loads(text)["modules"]
    assert all(isinstance(tool, dict) for tool in module["tools"])
    document = next(one for one in module["resources"] if one["uriTemplate"] == "rag://docs/{+path}")
    assert document == {
        "name": document["name"],
        "uriTemplate": "rag://docs/{+path}",
        "description": "A document as Markdown.",
        "mimeType": "text/markdown",
    }
    (prompt,) = [one for one in module["prompts"] if one["name"] == "answer_from_documents"]
    assert [(one["name"], one["required"]) for one in prompt["arguments"]] == [("question", True)]


def test_a_query_finds_the_tools_for_a_task(endpoint: EndpointClient) -> None:
    _, (text,) = endpoint.call("get_module_schema", query="list pull requests of a repository")
    found = {module["module"]: module["tools"] for module in json.loads(text)["modules"]}
    assert any(line.startswith("list_pulls(") for line in found["github"])
    assert not any(line.startswith("get_me(") for line in found["github"])


@pytest.mark.parametrize(
    ("arguments", "code", "field"),
    [
        ({"modules": ["ragg"]}, "MODULE_NOT_FOUND", None),
        ({"modules": ["rag"], "tools": ["get_dok"]}, "TOOL_NOT_FOUND", None),
        ({"tools": ["get_doc"]}, "VALIDATION_ERROR", "modules"),
        ({"modules": 7}, "VALIDATION_ERROR", "modules"),
        ({"modules": ["rag"], "nope": 1}, "VALIDATION_ERROR", "nope"),
    ],
)
def test_a_wrong_request_for_modules_is_a_typed_error(
    endpoint: EndpointClient, arguments: dict[str, Any], code: str, field: str | None
) -> None:
    error = endpoint.error("get_module_schema", **arguments)
    assert error["code"] == code
    assert error["details"].get("field") == field


def test_a_defect_in_a_tool_is_a_typed_error_with_the_requests_id(
    endpoint: EndpointClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FILES_BUCKET", "nobodys-bucket")
    settings.settings.cache_clear()
    error = endpoint.error("call", module="rag", tool="list_tags")
    assert error["code"] == "INTERNAL_ERROR"
    assert "request-1" in error["hint"]
    assert "bucket" not in json.dumps(error)


def test_an_error_about_an_argument_includes_its_schema_alone(endpoint: EndpointClient) -> None:
    error = endpoint.error("call", module="rag", tool="search_docs", params={"query": "x", "limit": "many"})
    assert (error["code"], error["details"]["field"]) == ("VALIDATION_ERROR", "limit")
    assert (error["details"]["schema"]["type"], error["details"]["schema"]["minimum"]) == ("integer", 1)


def test_a_role_without_the_module_neither_sees_nor_calls_it(endpoint: EndpointClient) -> None:
    members.put_role("acme", Role("members", modules=("github",)))
    directory.access_cache.clear()
    _, _, answer = endpoint.ask("list_tools")
    assert "rag" not in answer["result"]["tools"][0]["description"]
    for error in (
        endpoint.error("get_module_schema", modules=["rag"]),
        endpoint.error("call", module="rag", tool="list_tags"),
        endpoint.error("batch", commands='{"module":"rag","tool":"list_tags"}'),
    ):
        assert error["code"] == "AUTHORIZATION_ERROR"


def test_errors_are_in_japanese_if_the_request_asks_for_it(endpoint: EndpointClient) -> None:
    event = endpoint.event("call", accept_language="ja,en;q=0.5")
    event["body"] = event["body"].replace("list_tags", "list_tagz")
    result = endpoint.send(event)[2]["result"]
    assert "ツール" in json.loads(result["content"][0]["text"])["message"]


@pytest.mark.parametrize(
    ("commands", "code", "line"),
    [
        ('{"id":"a","module":"rag","tool":"list_tags"}\n{broken', "VALIDATION_ERROR", 2),
        ('{"id":"a","module":"rag","tool":"list_tags"}\n' * 2, "VALIDATION_ERROR", 2),
        ('{"id":"a","module":"rag","tool":"list_tags","after":["a"]}', "VALIDATION_ERROR", 1),
        ('{"id":"a","module":"rag","tool":"get_doc","params":{"path":"${b.items[0].path}"}}', "VALIDATION_ERROR", 1),
        ('{"id":"a","module":"rag","tool":"get_doc","params":{"path":"${a.items[0].path}"}}', "VALIDATION_ERROR", 1),
        ('{"id":"a","module":"rag","tool":"list_tags"}\n{"module":"rag","tool":"nope"}', "TOOL_NOT_FOUND", 2),
        ('{"id":"a","module":"rag","tool":"get_doc","params":{"paht":"x"}}', "VALIDATION_ERROR", 1),
        ("\n".join(['{"module":"rag","tool":"list_tags"}'] * 101), "VALIDATION_ERROR", None),
        ("", "VALIDATION_ERROR", None),
    ],
    ids=["broken", "duplicate", "cycle", "unknown", "self", "tool", "field", "101 steps", "empty"],
)
def test_an_invalid_batch_is_refused_as_a_whole_and_its_line_is_named(
    endpoint: EndpointClient, aws: list[str], commands: str, code: str, line: int | None
) -> None:
    endpoint.ask("list_tools")
    aws.clear()
    error = endpoint.error("batch", commands=commands)
    assert (error["code"], error["details"].get("line")) == (code, line)
    assert aws == []


def test_a_dry_run_shows_each_step_and_the_machines_size(endpoint: EndpointClient) -> None:
    status, _, answer = endpoint.ask("batch")
    assert status == 200
    plan = json.loads(answer["result"]["content"][0]["text"])
    assert [(step["id"], step["needs"]) for step in plan["steps"]] == [("tags", []), ("docs", ["tags"])]
    assert plan["form"] == "machine"


# -- numbers of the design ------------------------------------------------------------------------------


def test_a_cold_call_needs_three_aws_requests_and_a_warm_one_its_audit_row(
    endpoint: EndpointClient, aws: list[str]
) -> None:
    aws.clear()
    assert endpoint.call("call", module="rag", tool="list_tags") == (False, ["[]"])
    assert aws[0] == "Query"
    assert len(aws) <= 4, aws
    aws.clear()
    endpoint.call("call", module="rag", tool="list_tags")
    assert aws == ["PutItem"]


def test_a_day_that_depends_on_a_zone_is_answered_with_the_whole_call(endpoint: EndpointClient) -> None:
    written = {"module": "rag", "tool": "list_docs_by_date", "params": {"since": "2026-01-01", "until": "today"}}
    error = endpoint.error("call", **written)
    assert "the time zone" in error["message"]
    corrected = error["details"]["corrected"]
    assert corrected == written | {"params": {"since": "2026-01-01", "until": "now UTC"}}
    assert endpoint.call("call", **corrected)[0] is False
