"""Descriptions are fetched from a server, and judge requests whatever form they came in."""

import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import httpx2
import pytest
import yaml

from tests.services.descriptions.contract import Contract, ContractError
from tests.services.descriptions.fetch import fetch

OK = {"200": {"description": "", "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Item"}}}}}
PLAIN = {
    "openapi": "3.0.3",
    "servers": [{"url": "https://api.example.com"}],
    "paths": {
        "/items": {
            "get": {
                "operationId": "listItems",
                "parameters": [{"name": "sort", "in": "query", "schema": {"enum": ["name", "age"]}}],
                "responses": OK,
            }
        },
        "/others": {"get": {"operationId": "listOthers", "responses": {"200": {"description": ""}}}},
    },
    "components": {
        "schemas": {
            "Item": {"type": "object", "properties": {"part": {"$ref": "#/components/schemas/Part"}}},
            "Part": {"type": "object", "properties": {"id": {"type": "integer"}}},
            "Unused": {"type": "string"},
        }
    },
}
SECOND = {
    "openapi": "3.0.1",
    "paths": {"/boards": {"get": {"operationId": "listBoards", "responses": OK}}},
    "components": {"schemas": {"Item": {"type": "object", "properties": {"name": {"type": "string"}}}}},
}
DISCOVERY = {
    "name": "calendar",
    "version": "v3",
    "rootUrl": "https://www.googleapis.com/",
    "servicePath": "calendar/v3/",
    "schemas": {
        "Event": {
            "id": "Event",
            "type": "object",
            "properties": {
                "id": {"type": "string"},
                "start": {"type": "string", "annotations": {"required": ["calendar.events.insert"]}},
            },
        }
    },
    "resources": {
        "events": {
            "methods": {
                "insert": {
                    "id": "calendar.events.insert",
                    "path": "calendars/{calendarId}/events",
                    "httpMethod": "POST",
                    "parameters": {
                        "calendarId": {"type": "string", "location": "path", "required": True},
                        "maxAttendees": {"type": "integer", "location": "query", "minimum": "1"},
                    },
                    "request": {"$ref": "Event"},
                    "response": {"$ref": "Event"},
                    "scopes": ["https://www.googleapis.com/auth/calendar.events"],
                }
            }
        }
    },
}
SLACK = {
    "swagger": "2.0",
    "host": "slack.com",
    "basePath": "/api",
    "schemes": ["https"],
    "consumes": ["application/x-www-form-urlencoded"],
    "securityDefinitions": {
        "slackAuth": {"type": "oauth2", "flow": "implicit", "authorizationUrl": "https://x", "scopes": {}}
    },
    "paths": {
        "/chat.postMessage": {
            "post": {
                "operationId": "chat_postMessage",
                "consumes": ["application/x-www-form-urlencoded"],
                "parameters": [
                    {"name": "token", "in": "header", "type": "string", "required": True},
                    {"name": "channel", "in": "formData", "type": "string", "required": True},
                ],
                "responses": {"200": {"description": "", "schema": {"type": ["object", "null"]}}},
                "security": [{"slackAuth": ["chat:write"]}],
            }
        }
    },
}
ORDER = {"name": "$orderby", "in": "query", "schema": {"type": "array", "items": {"enum": ["id"]}}}
GRAPH = PLAIN | {
    "servers": [{"url": "https://graph.example.com/v1.0"}],
    "paths": {
        "/me/todo/lists": {"get": {"operationId": "x", "parameters": [ORDER], "responses": OK}},
        "/users": {"get": {"operationId": "y", "responses": {"200": {"description": ""}}}},
    },
}
SITE: dict[str, Any] = {
    "/plain": PLAIN,
    "/second": SECOND,
    "/discovery": DISCOVERY,
    "/slack": SLACK,
    "/graph.yaml": GRAPH,
}


@pytest.fixture
def site() -> Iterator[str]:
    class Pages(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            found = SITE.get(self.path)
            text = yaml.safe_dump(found) if self.path.endswith(".yaml") else json.dumps(found)
            self.send_response(200 if found else 404)
            self.end_headers()
            self.wfile.write(text.encode())

        def log_message(self, *_: Any) -> None:
            """Silent."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Pages) as server:
        thread = Thread(target=server.serve_forever, args=[0.01])
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def read(url: str) -> bytes:
    with httpx2.Client() as client:
        return client.get(url).raise_for_status().content


def contract(folder: Path, name: str) -> Contract:
    return Contract(name, json.loads((folder / f"{name}.openapi.json").read_text("utf-8")))


def test_parts_become_one_description(site: str, tmp_path: Path) -> None:
    parts = [{"url": f"{site}/plain"}, {"url": f"{site}/second", "components": "Agile.", "paths": "/agile"}]
    assert fetch({"jira": {"server": "https://your-domain.example.com", "parts": parts}}, tmp_path / "to", read) == []
    found = contract(tmp_path / "to", "jira")
    assert found.check("GET", "https://acme.example.com/items?sort=age", {}).operation == "listItems"
    assert found.reply(found.call_of("listItems")) == (200, {"part": {"id": 1}})
    assert found.check("GET", "https://acme.example.com/agile/boards", {}).operation == "listBoards"
    assert found.reply(found.call_of("listBoards")) == (200, {"name": "text"})
    with pytest.raises(ContractError, match="sort"):
        found.check("GET", "https://acme.example.com/items?sort=size", {})


def test_googles_form_becomes_a_description(site: str, tmp_path: Path) -> None:
    source = {"parts": [{"url": f"{site}/discovery", "form": "discovery"}]}
    assert fetch({"google-calendar": source}, tmp_path / "to", read) == []
    found = contract(tmp_path / "to", "google-calendar")
    url, headers = "https://www.googleapis.com/calendar/v3/calendars/me/events", {"content-type": "application/json"}
    bearer = headers | {"authorization": "Bearer x"}
    assert found.check("POST", url, bearer, b'{"start": "now"}').operation == "calendar.events.insert"
    for body, problem in ((b'{"id": "1"}', "'start' is a required"), (b'{"start": "", "end": ""}', "unknown field")):
        with pytest.raises(ContractError, match=problem):
            found.check("POST", url, bearer, body)
    with pytest.raises(ContractError, match="minimum of 1"):
        found.check("POST", f"{url}?maxAttendees=0", bearer, b'{"start": "now"}')
    with pytest.raises(ContractError, match="no credentials"):
        found.check("POST", url, headers, b'{"start": "now"}')


def test_slacks_form_takes_json_and_a_bearer_token(site: str, tmp_path: Path) -> None:
    assert fetch({"slack": {"parts": [{"url": f"{site}/slack", "form": "slack"}]}}, tmp_path / "to", read) == []
    found = contract(tmp_path / "to", "slack")
    headers = {"content-type": "application/json", "authorization": "Bearer x"}
    url = "https://slack.com/api/chat.postMessage"
    assert found.check("POST", url, headers, b'{"channel": "C1"}').operation == "chat.postMessage"
    with pytest.raises(ContractError, match="'channel' is a required"):
        found.check("POST", url, headers, b"{}")


def test_microsofts_form_keeps_what_is_asked_for(site: str, tmp_path: Path) -> None:
    source = {"parts": [{"url": f"{site}/graph.yaml", "form": "graph", "keep": "/me/todo/"}]}
    assert fetch({"msgraph-todo": source}, tmp_path / "to", read) == []
    found = contract(tmp_path / "to", "msgraph-todo")
    assert found.operations() == {"me.todo.lists.List": "GET /me/todo/lists"}
    assert set(found.doc["components"]["schemas"]) == {"Item", "Part"}
    found.check("GET", "https://graph.example.com/v1.0/me/todo/lists?$orderby=title", {})


def test_nothing_changes_unless_all_descriptions_could_be_read(site: str, tmp_path: Path) -> None:
    good, folder = {"parts": [{"url": f"{site}/plain"}]}, tmp_path / "to"
    assert fetch({"good": good}, folder, read) == []
    bad = {"parts": [{"url": f"{site}/gone"}]}
    (problem,) = fetch({"better": good, "bad": bad}, folder, read)
    assert problem.startswith("bad: ")
    assert "404" in problem
    assert [file.name for file in folder.iterdir()] == ["good.openapi.json"]
