"""Every entrance refuses a caller who may do nothing, with the same error, and leaves a row."""

import json
from collections.abc import Callable

import pytest

from infra.local.login import LocalLogin
from mcpist.caller import Role, Subject
from tests import members
from tests.audit_items import audit_items
from tests.lost_rows import demand_rows, lose_rows
from tests.mcp_endpoint.endpoint_client import EndpointClient
from tests.rest_api.rest_client import RestClient

STEP = '{"module":"rag","tool":"list_tags"}'


def by_call(mcp: EndpointClient, _: RestClient) -> str:
    return str(mcp.error("call", module="rag", tool="list_tags")["code"])


def by_batch(mcp: EndpointClient, _: RestClient) -> str:
    return str(mcp.error("batch", commands=STEP)["code"])


def by_resource(mcp: EndpointClient, _: RestClient) -> str:
    return str(mcp.request("resources/read", uri="github://o/r/files/README.md")["error"]["data"]["code"])


def by_prompt(mcp: EndpointClient, _: RestClient) -> str:
    return str(mcp.request("prompts/get", name="rag.summarise_document", arguments={})["error"]["data"]["code"])


def by_completion(mcp: EndpointClient, _: RestClient) -> str:
    reference = {"type": "ref/prompt", "name": "rag.summarise_document"}
    answer = mcp.request("completion/complete", ref=reference, argument={"name": "path", "value": ""})
    return str(answer["error"]["data"]["code"])


def by_rest_call(_: EndpointClient, rest: RestClient) -> str:
    return str(rest.call("rag-list-tags").json["code"])


def by_rest_batch(_: EndpointClient, rest: RestClient) -> str:
    return str(rest.post("/v1/batches", {"commands": STEP}).json["code"])


def by_dry_run(mcp: EndpointClient, _: RestClient) -> str:
    return str(mcp.error("call", module="rag", tool="list_tags", dry_run=True)["code"])


def by_file(mcp: EndpointClient, _: RestClient) -> str:
    return str(mcp.error("call", module="files", tool="list")["code"])


@pytest.fixture
def nobody(organization: str, login: LocalLogin) -> tuple[EndpointClient, RestClient]:
    """The clients of a person whose only role has no module."""
    members.put_role(organization, Role("nothing"))
    members.put_user(organization, "eve", name="Eve", subject=Subject(login.issuer, "eve"), roles=["nothing"])
    return EndpointClient(login, user="eve"), RestClient(login, user="eve")


@pytest.mark.parametrize("enter", [by_call, by_batch, by_rest_call, by_rest_batch])
def test_who_may_do_nothing_is_refused_at_every_entrance_with_a_row(
    nobody: tuple[EndpointClient, RestClient], enter: Callable[[EndpointClient, RestClient], str]
) -> None:
    assert enter(*nobody) == "AUTHORIZATION_ERROR"
    rows = audit_items("acme")
    refused = [(row["tool"], row["outcome"]) for row in rows if row["event"] == "use"]
    assert refused == [("rag.list_tags", "AUTHORIZATION_ERROR")]


def test_who_may_do_nothing_reads_no_resource_and_sees_nothing(nobody: tuple[EndpointClient, RestClient]) -> None:
    mcp, rest = nobody
    assert [enter(mcp, rest) for enter in (by_resource, by_prompt, by_completion)] == ["AUTHORIZATION_ERROR"] * 3
    assert rest.get("/v1/tools").json["tools"] == []
    assert rest.get("/v1/tools/rag-list-tags").json["code"] == "AUTHORIZATION_ERROR"
    assert rest.post("/v1/tools/search", {"query": "documents"}).json["results"] == []
    assert mcp.error("get_module_schema", modules=["rag"])["code"] == "AUTHORIZATION_ERROR"
    listed = json.dumps(
        mcp.request("prompts/list")["result"]["prompts"] + mcp.request("resources/list")["result"]["resources"]
    )
    assert listed == "[]"


@pytest.mark.parametrize("enter", [by_call, by_rest_call, by_file, by_dry_run])
def test_no_entrance_answers_without_a_row_where_the_owner_demands_rows(
    organization: str,  # noqa: ARG001
    login: LocalLogin,
    enter: Callable[[EndpointClient, RestClient], str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    demand_rows(monkeypatch)
    lose_rows()
    assert enter(EndpointClient(login, user="uma"), RestClient(login, user="uma")) == "STORE_UNAVAILABLE"


@pytest.mark.parametrize("enter", [by_call, by_batch, by_rest_call, by_rest_batch])
def test_no_entrance_refuses_without_a_row_where_the_owner_demands_rows(
    nobody: tuple[EndpointClient, RestClient],
    enter: Callable[[EndpointClient, RestClient], str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    demand_rows(monkeypatch)
    lose_rows()
    assert enter(*nobody) == "STORE_UNAVAILABLE"
