"""The modules of an organization by REST: listed, registered, switched, approved and removed."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mcpist.people import directory
from mcpist.running import broker
from tests.rest_api.rest_client import RestClient
from tests.services.described.library import library
from tests.services.registered.conftest import fake as fake
from tests.upstreams.configured import configured, reset_upstreams
from tests.upstreams.fake_upstream import FakeUpstream

APP = {"token_url": "https://library.example/t", "destination": "https://library.example bearer", "scopes": []}


@pytest.fixture
def ada(rest: RestClient, monkeypatch: pytest.MonkeyPatch) -> Iterator[RestClient]:
    """The administrator of a local deployment, whose broker has no accounts."""
    audience = "https://mcp.example.com/mcp"
    for name, value in {"PUBLIC_URL": "http://127.0.0.1:1", "AUDIENCE": audience}.items():
        monkeypatch.setenv(name, value)
    reset_upstreams()
    killed: list[str] = []

    def administer(_: Any, operation: str, **fields: Any) -> dict[str, Any]:
        assert operation in {"kill", "set_app", "show_app", "remove_app"}
        if operation.endswith("_app"):
            return {"app": {"client_id": "ours"} if operation == "show_app" else APP | fields.get("app", {})}
        killed.append(fields["service"])
        return {"killed": [], "dropped": 0, "more": False}

    monkeypatch.setattr(broker, "administer", administer)
    monkeypatch.setattr(broker, "request", lambda *_, **__: {"services": [{"consent": False}], "grants": []})
    yield rest.of("ada")
    monkeypatch.undo()
    reset_upstreams()


def put_in_role(ada: RestClient, *modules: str) -> None:
    assert ada.send("PATCH", "/v1/roles/members", {"modules": ["rag", *modules], "allow": ["*"]}).status == 200
    directory.access_cache.clear()


def modules_of(client: RestClient, **query: Any) -> dict[str, dict[str, Any]]:
    return {module["name"]: module for module in client.get("/v1/modules", **query).json["modules"]}


def test_a_module_that_the_deployment_hides_is_reported(
    ada: RestClient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert ada.post("/v1/modules", {"name": "library", "openapi": library()}).status == 201
    directory.access_cache.clear()
    assert ada.get("/v1/modules/library").json["hidden"] is False
    assert (modules_of(ada)["library"]["registeredBy"], modules_of(ada)["library"]["hidesRegistered"]) == ("ada", False)
    with configured(tmp_path, monkeypatch) as upstreams:
        upstreams.configure({"library": {"description": "Books", "type": "http", "url": "http://127.0.0.1:1/mcp"}})
        put_in_role(ada, "library")
        assert ada.get("/v1/modules/library").json["hidden"] is True
        row = modules_of(ada)["library"]
        assert (row["source"], row["registeredBy"], row["hidesRegistered"]) == ("upstream", "", True)


def test_the_app_of_a_module_is_set_shown_and_removed(ada: RestClient) -> None:
    described = library()
    flow = {"authorizationUrl": "https://library.example/a", "tokenUrl": "https://library.example/t", "scopes": {}}
    scheme = {"type": "oauth2", "flows": {"authorizationCode": flow}}
    described["components"]["securitySchemes"] = dict.fromkeys(described["components"]["securitySchemes"], scheme)
    assert ada.post("/v1/modules", {"name": "library", "openapi": described}).status == 201
    directory.access_cache.clear()
    path = "/v1/modules/library/app"
    made = ada.send("PUT", path, {"clientId": "ours", "clientSecret": "secret-canary"})
    assert made.status == 200, made.text
    assert (made.json["clientId"], made.json["authorizeUrl"]) == ("ours", "https://library.example/a")
    assert "secret-canary" not in made.text
    assert ada.get(path).json["clientId"] == "ours"
    assert ada.send("DELETE", path).json["clientId"] == ""
    assert ada.of("uma").send("PUT", path, {}).json["code"] == "AUTHORIZATION_ERROR"
    assert ada.of("uma").get(path).json["code"] == "AUTHORIZATION_ERROR"


def test_an_api_is_registered_used_and_removed(ada: RestClient) -> None:
    body = {"name": "library", "openapi": library(), "tags": ["books"], "version": "2.1.0"}
    made = ada.post("/v1/modules", body)
    assert made.status == 201, made.text
    assert (made.json["source"], made.json["registeredBy"], made.json["takesAccounts"]) == ("api", "ada", True)
    assert "get_book" in [tool["name"] for tool in made.json["tools"]]
    directory.access_cache.clear()
    assert "library" not in modules_of(ada.of("uma"))
    assert ada.of("uma").get("/v1/tools/library.get_book").json["code"] in {"TOOL_NOT_FOUND", "AUTHORIZATION_ERROR"}
    put_in_role(ada, "library")
    row = modules_of(ada.of("uma"), tag="books")["library"]
    assert (row["version"], row["registeredBy"], row["dependencies"]) == ("2.1.0", "ada", ["library"])
    assert ada.of("uma").get("/v1/tools", module="library").json["pagination"]["total"] == row["toolCount"]
    assert ada.post("/v1/modules", body).status == 409
    assert ada.post("/v1/modules", body | {"overwrite": True}).status == 201
    removed = ada.send("DELETE", "/v1/modules/library")
    assert removed.status == 200
    directory.access_cache.clear()
    assert ada.of("uma").call("library.get_book", parameters={"book_id": "1"}).status == 404
    assert ada.get("/v1/modules/library").json["code"] == "MODULE_NOT_FOUND"


def test_a_server_is_registered_and_its_tools_are_approved(ada: RestClient, fake: FakeUpstream) -> None:
    url = f"http://127.0.0.1:{fake.port}/mcp"
    made = ada.post("/v1/modules", {"name": "notes", "url": url, "description": "Notes"})
    assert made.status == 201, made.text
    assert {tool["name"]: tool["state"] for tool in made.json["tools"]} == {"find_note": "new", "drop_note": "new"}
    put_in_role(ada, "notes")
    assert ada.of("uma").call("notes.find_note").json["code"] == "TOOL_DISABLED"
    seen = [tool["fingerprint"] for tool in made.json["tools"]]
    approved = ada.post("/v1/modules/notes/approve", {"tools": ["find_note"], "fingerprints": seen})
    assert {tool["name"]: tool["state"] for tool in approved.json["tools"]} == {
        "find_note": "approved",
        "drop_note": "new",
    }
    called = ada.of("uma").call("notes.find_note", parameters={"text": "x"})
    assert called.status == 200, called.text
    assert ada.post("/v1/modules/notes/approve", {"tools": ["nothing"]}).status == 400


def test_a_dry_run_shows_the_tools_and_registers_nothing(ada: RestClient, fake: FakeUpstream) -> None:
    shown = ada.send("POST", "/v1/modules", {"name": "library", "openapi": library()}, dryRun="true")
    assert (shown.status, shown.json["dryRun"]) == (200, True)
    url = f"http://127.0.0.1:{fake.port}/mcp"
    body = {"name": "notes", "url": url, "description": "Notes"}
    shown = ada.send("POST", "/v1/modules", body, dryRun="true")
    assert len(shown.json["tools"]) == 2
    assert directory.read("acme").modules == {}


@pytest.mark.parametrize("name", ["rag", "rag.list_docs", "rag-list-docs"])
def test_a_module_or_tool_is_switched_off_and_on(ada: RestClient, name: str) -> None:
    kind = "modules" if name == "rag" else "tools"
    call = "rag.list_docs"
    assert ada.of("uma").call(call).status == 200
    off = ada.send("PATCH", f"/v1/{kind}/{name}", {"enabled": False})
    assert off.status == 200, off.text
    assert [change["path"] for change in off.json["changes"]] == ["disabled"]
    directory.access_cache.clear()
    refused = ada.of("uma").call(call)
    assert (refused.status, refused.json["code"]) == (403, "TOOL_DISABLED")
    listed = ada.of("uma").get("/v1/tools", module="rag", enabled="false").json["tools"]
    assert "rag.list_docs" in [tool["fullName"] for tool in listed]
    assert ada.send("PATCH", f"/v1/{kind}/{name}", {"enabled": True}).status == 200
    directory.access_cache.clear()
    assert ada.of("uma").call(call).status == 200
    rows = ada.get("/v1/audit").json["rows"]
    assert [row["tool"] for row in rows if row["event"] == "change"] == ["modules.enable", "modules.disable"]


def test_only_administrators_change_modules_and_each_attempt_has_a_row(ada: RestClient) -> None:
    uma = ada.of("uma")
    refused = (
        uma.post("/v1/modules", {"name": "library", "openapi": library()}),
        uma.send("PATCH", "/v1/modules/rag", {"enabled": False}),
        uma.send("PATCH", "/v1/tools/rag.list_docs", {"enabled": False}),
        uma.send("DELETE", "/v1/modules/rag"),
        uma.post("/v1/modules/rag/approve", {}),
        uma.get("/v1/modules/rag"),
    )
    assert {answer.json["code"] for answer in refused} == {"AUTHORIZATION_ERROR"}
    rows = [row for row in ada.get("/v1/audit").json["rows"] if row["user"] == "uma"]
    assert {row["outcome"] for row in rows} == {"AUTHORIZATION_ERROR"}
    assert sorted(row["event"] for row in rows) == ["change"] * 5 + ["look"]  # a read changes nothing


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "name"),
        ({"name": "library"}, "url"),
        ({"name": "library", "url": "https://notes.example.com/mcp"}, "description"),
        ({"name": "library", "openapi": library(), "color": "red"}, "color"),
    ],
)
def test_a_missing_field_is_named(ada: RestClient, body: dict[str, Any], field: str) -> None:
    refused = ada.post("/v1/modules", body)
    assert (refused.status, refused.json["details"]["field"]) == (400, field)


def test_a_description_may_be_larger_than_other_bodies(ada: RestClient) -> None:
    described = library()
    described["info"]["description"] = "Books. " * 300_000
    assert len(json.dumps(described)) > 2_000_000
    assert ada.post("/v1/modules", {"name": "library", "openapi": described}).status == 201
    assert ada.post("/v1/tools/call", {"name": "x", "parameters": {"a": "b" * 1_100_000}}).status == 413


def test_an_administrator_lists_all_modules_and_others_their_own(ada: RestClient) -> None:
    put_in_role(ada)
    assert set(modules_of(ada.of("uma"))) == {"rag"}
    everything = modules_of(ada)
    assert {"rag", "github", "notion"} <= set(everything)
    assert set(modules_of(ada, category=everything["rag"]["category"])) == {
        name for name, module in everything.items() if module["category"] == everything["rag"]["category"]
    }
