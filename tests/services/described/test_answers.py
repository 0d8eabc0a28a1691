"""What the tools of an import show: the id that the next operation needs, the record in its envelopes, no secret."""

import json
from dataclasses import replace
from typing import Any

import pytest

from mcpist.aws.table import ledger_table
from mcpist.errors import InvalidRequest
from mcpist.render.shows import project
from mcpist.running import changes
from mcpist.running.gate import OtherReadingTools, ToolUse
from mcpist.running.options import DEFAULT_OPTIONS
from mcpist.running.undoing import undoable
from mcpist.tools.access.permissions import Permissions
from mcpist.tools.search.catalogue import Catalogue, DefinedModules
from mcpist_services.described.secrets import MASKED, is_secret_name
from tests.core.sample import caller
from tests.faults import for_each
from tests.services.described.library import answers, library, module_of, overlay_of

TEXT = {"type": "string"}


def fields(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


def operation(path: str, schema: dict[str, Any], method: str = "get", **stated: Any) -> dict[str, Any]:
    names = [part[1:].partition("}")[0] for part in path.split("/") if part.startswith("{")]
    parameters = [{"name": name, "in": "path", "required": True, "schema": TEXT} for name in names]
    return {path: {method: {"parameters": parameters, "responses": answers(schema), **stated}}}


CALL = fields(answered_by=TEXT, sid=TEXT, status=TEXT, name=TEXT)
POLICY = fields(id=TEXT, name=TEXT)


@for_each(
    ("paths", "tool", "rows", "column"),
    [
        ([("/Calls.json", fields(calls={"type": "array", "items": CALL})), ("/Calls/{Sid}.json", CALL)],
         "list_calls", "calls", "sid"),
        ([("/repos/{owner}/pulls/{pull_number}", fields(id=TEXT, number=TEXT))], "get_pull", "", "number"),
        ([("/zones/{zone_name}", fields(ttl=TEXT, name=TEXT, slug=TEXT, uid=TEXT))], "get_zone", "", "name"),
        ([("/escalation_policies/{id}", fields(escalation_policy=POLICY, links=TEXT))], "get_escalation_policy", "",
         "escalation_policy.id as id"),
        ([("/accounts/{account_id}", fields(response=fields(data=fields(account=POLICY))))], "get_account", "",
         "response.data.account.id as id"),
        ([("/incidents", fields(entries={"type": "array", "items": fields(incident=POLICY)}))], "list_incidents",
         "entries", "incident.id as id"),
        ([("/discounts", fields(meta=fields(total=TEXT), result=fields(items={"type": "array", "items": POLICY})))],
         "list_discounts", "result.items", "id"),
        ([("/files/{key}/styles", fields(status=TEXT, meta=fields(styles={"type": "array", "items": POLICY})))],
         "list_styles", "meta.styles", "id"),
    ],
)  # fmt: skip
def test_a_tool_shows_the_id_that_the_next_operation_needs(
    paths: list[tuple[str, dict[str, Any]]], tool: str, rows: str, column: str
) -> None:
    described = library(paths={})
    for path, schema in paths:
        described["paths"] |= operation(path, schema)
    rule = overlay_of(described).tools[tool]
    assert rule.rows == rows
    assert column in rule.shows


def test_the_address_of_the_next_page_is_found_in_objects_about_the_pages() -> None:
    links = fields(pages={"allOf": [fields(next={"type": "string", "example": "https://x/?page=2"})]})
    schema = fields(droplets={"type": "array", "items": POLICY}, links=links)
    page = [{"name": "page", "in": "query", "schema": {"type": "integer"}}]
    paging = overlay_of(library(paths=operation("/droplets", schema, parameters=page))).tools["list_droplets"].paging
    assert paging
    assert (paging.kind, paging.field) == ("next_url", "links.pages.next")


@for_each(
    ("path", "method", "stated", "name"),
    [
        ("/books/{id}/loans", "post", {"operationId": "lendBook"}, "lend_book"),
        ("/books/{id}/loans", "post", {"operationId": "lendBook", "summary": "Lend a book"}, "lend_book"),
        ("/tasks/{id}/projects", "get", {"summary": "Get projects a task is in"}, "list_projects"),
        ("/Calls.json", "get", {"summary": "Retrieve a list of calls made to your account"}, "list_calls"),
        ("/reserved_ips", "get", {"summary": "List All Reserved IPs"}, "list_reserved_ips"),
        ("/kubernetes/clusters/{id}", "delete", {"summary": "Delete a Kubernetes Cluster"},
         "delete_kubernetes_cluster"),
    ],
)  # fmt: skip
def test_a_name_is_the_one_that_a_person_would_choose(
    path: str, method: str, stated: dict[str, Any], name: str
) -> None:
    schema = {"type": "array", "items": POLICY} if method == "get" else POLICY
    assert list(overlay_of(library(paths=operation(path, schema, method, **stated))).tools) == [name]


ACCOUNT = fields(
    id=TEXT,
    auth_token=TEXT,
    next_page_token=TEXT,
    pin={"type": "string", "format": "password"},
    keys={"type": "array", "items": fields(name={**TEXT, "example": "AKIAIOSFODNN7EXAMPLE"})},
)
SECRETIVE = {
    "id": "1",
    "auth_token": "canary",
    "next_page_token": "2",
    "pin": "canary",
    "again": {"pin": {"digits": ["canary"]}},
    "keys": [{"name": "canary", "apiKey": "canary"}],
    "more": [
        {"url": "postgres://u:canary@db/x", "token": None, "tokens": ["canary"], "secret": {"password": "canary"}}
    ],
    "said": "ghp_" + "canary" * 6,
    "text": "Your key is ghp_" + "canary" * 6 + "; send authorization: Bearer canary-canary-1",
    "link": "https://files.example/x?page_token=2&access_token=canary#token=canary",
    "payload": json.dumps({"password": "canary", "inner": json.dumps([{"api_key": "canary"}])}),
    "password": {"value": "canary", "expires": "tomorrow"},
    "env": [{"key": "DB_PASSWORD", "value": "canary"}, {"key": "API_TOKEN", "values": ["canary"]}],
}


def test_secrets_are_masked_in_answers_wherever_they_are() -> None:
    module = module_of(library(paths=operation("/accounts/{id}", ACCOUNT)))
    tool = module.tools["get_account"]
    assert not tool.needs_allow
    assert set(tool.shows.fields) == {"id", "keys", "next_page_token"}
    shown = tool.masked(SECRETIVE)
    assert "canary" not in str(shown)
    assert (shown["id"], shown["next_page_token"], shown["more"][0]["token"]) == ("1", "2", None)
    assert shown["link"] == f"https://files.example/x?page_token=2&access_token={MASKED}#token={MASKED}"
    assert (shown["password"]["expires"], shown["env"][0]["key"]) == ("tomorrow", "DB_PASSWORD")
    assert tool.masked("Basic authentication since 2019") == "Basic authentication since 2019"
    assert "canary" not in str(project(shown, tool.shows))
    with pytest.raises(InvalidRequest, match="the mask of a secret"):
        tool.validate({"id": shown["auth_token"]})


def test_a_secret_is_shown_by_a_tool_that_reveals_it_and_needs_to_be_allowed() -> None:
    described = library(paths=operation("/accounts/{id}", ACCOUNT, "post", summary="Create an account"))
    overlay = overlay_of(described)
    ((name, rule),) = overlay.tools.items()
    assert rule.secrets == ("name", "pin")
    assert "auth_token, name, pin in its answer is masked" in rule.review[0]
    kept = overlay.model_copy(update={"tools": {name: rule.model_copy(update={"reveals": True})}})
    from mcpist_services.described.module import module

    tool = module(kept).tools[name]
    assert tool.needs_allow
    assert tool.masked(SECRETIVE) == SECRETIVE


@for_each("name", ["auth_token", "clientSecret", "api_key", "X-API-Key", "password", "privateKey", "secrets", "token"])
def test_a_field_named_as_a_secret_is_one(name: str) -> None:
    assert is_secret_name(name)


@for_each("name", ["next_page_token", "syncToken", "key", "public_key", "token_type", "password_enabled", "secret_id"])
def test_a_field_that_only_speaks_of_a_secret_is_none(name: str) -> None:
    assert not is_secret_name(name)
    assert MASKED


@pytest.mark.usefixtures("aws")
@pytest.mark.parametrize("reveals", [False, True])
def test_the_journal_of_changes_keeps_no_secret_that_a_tool_was_given(reveals: bool) -> None:
    own = module_of(library())
    tool = replace(own.tools["add_book"], reveals=reveals, undo=None if reveals else own.tools["add_book"].undo)
    catalogue = Catalogue("tests.core.sample", (), deployed=lambda: [DefinedModules(["library"], lambda _: own)])
    person, given = replace(caller(), undoable=True), {"title": "Emma", "password": "canary"}
    targets = OtherReadingTools(Permissions(person, catalogue), ToolUse("library", "add_book", given, "r1"))
    with undoable(person, tool, given, DEFAULT_OPTIONS, targets, {"request": "r1", "batch": ""}, "") as pending:
        pending.answer = {"id": 7, "title": "Emma"}
    ledger_table().put_many(pending.kept)
    (record,) = changes.list_changes(person)
    assert record.is_undoable != reveals
    assert changes.load(record).arguments == ({} if reveals else {"title": "Emma", "password": MASKED})
