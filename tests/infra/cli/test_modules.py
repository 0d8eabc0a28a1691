"""`mcpist module` and `mcpist tool`."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from infra.cli import modules as command
from infra.cli.rest_client import Access
from mcpist.people import directory
from tests.infra.cli.conftest import Mcpist
from tests.rest_api.fake_broker import FakeBroker
from tests.services.described.library import library, overlay_of
from tests.services.registered.conftest import fake as fake
from tests.upstreams.configured import reset_upstreams
from tests.upstreams.fake_upstream import FakeUpstream


@pytest.fixture(autouse=True)
def local(mcpist: Mcpist, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:  # noqa: ARG001 - the deployment
    """A local deployment, in which a server on loopback may be registered."""
    monkeypatch.setenv("AUDIENCE", "https://mcp.example.com/mcp")
    monkeypatch.setenv("PUBLIC_URL", "http://127.0.0.1:1")
    reset_upstreams()
    yield
    monkeypatch.undo()
    reset_upstreams()


def test_an_api_is_registered_from_its_description_and_shown(mcpist: Mcpist, tmp_path: Path) -> None:
    file = tmp_path / "library.json"
    described = library()
    described["security"] = []
    described["components"].pop("securitySchemes")
    file.write_text(json.dumps(described), "utf-8")
    options = ("--api", str(file), "--tags", "books, loans", "--version", "2.0.0", "--operations", "GET *")
    dry = mcpist("module", "register", "library", *options, "--dry-run")
    assert "get_book" in [tool["name"] for tool in dry["tools"]]
    assert directory.read("acme").modules == {}
    mcpist("module", "register", "library", *options)
    directory.access_cache.clear()
    assert mcpist("module", "show", "library")["registeredBy"] == "ada"
    (listed,) = (one for one in mcpist("module", "list", "--tag", "loans")["modules"] if one["name"] == "library")
    assert (listed["version"], listed["source"]) == ("2.0.0", "api")
    assert mcpist("module", "register", "library", *options, fails=True)["code"] == "CONFLICT"
    second = tmp_path / "readers.json"
    second.write_text(json.dumps(described | {"paths": {"/readers": described["paths"]["/books"]}}), "utf-8")
    both = mcpist("module", "register", "two", "--api", str(file), "--api", str(second), "--dry-run")
    assert len(both["tools"]) > len(dry["tools"])


def test_an_overlay_is_registered_with_its_corrections(mcpist: Mcpist, tmp_path: Path) -> None:
    file = tmp_path / "library.yaml"
    overlay = overlay_of(library()).model_copy(update={"name": "library"})
    file.write_text(json.dumps(overlay.dump()), "utf-8")
    made = mcpist("module", "register", "library", "--overlay", str(file), "--dry-run")
    assert {tool["name"] for tool in made["tools"]} == set(overlay.tools)


def test_a_server_is_registered_approved_and_removed(mcpist: Mcpist, fake: FakeUpstream) -> None:
    url = f"http://127.0.0.1:{fake.port}/mcp"
    mcpist("module", "register", "notes", "--mcp", url, "--description", "Notes", "--include", "find_note")
    approved = mcpist("module", "approve", "notes", "drop_note")
    assert {tool["name"]: tool["state"] for tool in approved["tools"]}["drop_note"] == "approved"
    made = command.register_module(Access(), "notes", mcp=url, description="Notes", overwrite=True)
    assert made.drawing.endswith("mcpist role set ROLE --modules ...,notes --allow ...,notes.*")
    mcpist("module", "remove", "notes")
    assert mcpist("module", "show", "notes", fails=True)["code"] == "MODULE_NOT_FOUND"
    assert "was registered" in mcpist("module", "show", "rag", fails=True)["message"]
    assert mcpist("module", "register", "notes", "--mcp", url, fails=True)["details"]["field"] == "description"


def test_a_server_of_the_catalogue_is_added_with_its_app(
    mcpist: Mcpist, broker: FakeBroker, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shown = {"client_id": "ours", "token_url": "https://sentry.example/t", "destination": "https://mcp.sentry.dev/mcp"}
    broker.answers |= {"set_app": {"app": shown}, "show_app": {"app": shown}}
    file = tmp_path / "app.json"
    file.write_text('{"client_id": "ours", "client_secret": "secret-canary"}', "utf-8")
    assert mcpist("api", "add", "sentry", str(file))["app"]["clientId"] == "ours"
    (sent,) = (message["app"] for message in broker.messages if message["operation"] == "set_app")
    assert sent == {"client_id": "ours", "client_secret": "secret-canary"}
    assert mcpist("module", "app", "sentry", "--show")["clientId"] == "ours"
    assert mcpist("module", "app", "sentry", "--remove")["clientId"] == ""
    file.write_text('{"client_id": "ours", "client_secret": "secret-canary", "x": 1}', "utf-8")
    assert mcpist("module", "app", "sentry", str(file), fails=True)["code"] == "VALIDATION_ERROR"
    assert "secret-canary" not in capsys.readouterr().out
    assert "sentry" in mcpist("api", "add", "sentri", fails=True)["message"]


@pytest.mark.parametrize(("kind", "name"), [("module", "rag"), ("tool", "rag.list_docs"), ("tool", "rag-list-docs")])
def test_a_module_or_tool_is_switched_off_and_on(mcpist: Mcpist, kind: str, name: str) -> None:
    entry = "rag" if kind == "module" else "rag.list_docs"
    dry = mcpist(kind, "disable", name, "--dry-run")
    assert "rag.list_docs" in dry["effects"][0]["vanish"]
    mcpist(kind, "disable", name)
    assert directory.read("acme").disabled == (entry,)
    directory.access_cache.clear()
    assert "rag.list_docs" in [tool["fullName"] for tool in mcpist("tool", "list", "--disabled")["tools"]]
    mcpist(kind, "enable", name)
    assert directory.read("acme").disabled == ()


def test_tools_are_listed_over_all_pages_searched_and_shown(mcpist: Mcpist, broker: FakeBroker) -> None:
    broker.answers["status"] = {"grants": []}
    tools = [tool["fullName"] for tool in mcpist("tool", "list")["tools"]]
    assert len(tools) == len(set(tools)) > 100
    assert {name.partition(".")[0] for name in tools} >= {"github", "rag"}
    only = mcpist("tool", "list", "--module", "rag", "--effect", "reads")["tools"]
    assert {(tool["module"], tool["effect"]) for tool in only} == {("rag", "reads")}
    assert mcpist("tool", "search", "search our documents")["results"][0]["module"] == "rag"
    assert mcpist("tool", "show", "rag.list_docs")["name"] == "rag-list-docs"


def test_headers_of_a_server_have_a_name_and_a_value(mcpist: Mcpist, fake: FakeUpstream) -> None:
    register = ("module", "register", "notes", "--mcp", f"http://127.0.0.1:{fake.port}/mcp", "--description", "Notes")
    refused = mcpist(*register, "--header", "X-Shelf", fails=True)
    assert (refused["code"], refused["message"]) == ("VALIDATION_ERROR", "--header: X-Shelf has no value.")
    mcpist(*register, "--header", "X-Shelf: 7: b", "--include", "find_note")
    assert "7: b" in {headers.get("x-shelf") for _, headers in fake.received}
