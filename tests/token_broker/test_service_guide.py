"""The guide "a service in six steps", performed: its folder, its line, a real consent, and calls of its three tools."""

import io
import json
import re
import runpy
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import boto3
import pytest

import mcpist_services
from mcpist import memory, settings
from mcpist.aws import clients
from mcpist.caller import Caller, Proof, Role, Subject
from mcpist.errors import RateLimitExceeded, ScopeMissing
from mcpist.people import directory
from mcpist.running.run import run_tool
from mcpist.running.send import cooldowns
from mcpist.tools.search.catalogue import Catalogue
from scripts.reference import page
from tests import members
from tests.core.loopback import Service, close_connections, json_response, serving
from tests.services.test_requests import requests
from tests.token_broker.authorization_server import AuthorizationServer
from tests.token_broker.conftest import PUBLIC_URL, ROOT, Broker, put_person

HOME = "http://127.0.0.1:9"
GUIDE = (ROOT / "docs/services.md").read_text("utf-8").partition("## A service in six steps")[2].partition("\n## ")[0]
SNIPPET = re.compile(r"`layers/services/(mcpist_services/\S+?\.py)`.*?```(?:python)?\n(.*?)```", re.DOTALL)


def snippets() -> dict[str, str]:
    """The guide's code by its file."""
    return {place: "\n".join(line[3:] for line in code.splitlines()).strip() for place, code in SNIPPET.findall(GUIDE)}


def perform_steps(folder: Path, addresses: dict[str, str]) -> dict[str, str]:
    """Write the files of the guide and the line of the table; the vendor's addresses are those of the test."""
    table = "mcpist_services/__init__.py"
    for place, code in snippets().items():
        file = folder / place
        file.parent.mkdir(parents=True, exist_ok=True)
        text = f"{code}\n"
        if place == table:
            known = (ROOT / "layers/services" / table).read_text("utf-8")
            text = known.replace("TITLES = {\n", f"TITLES = {{\n    {text}")
        for vendor, address in addresses.items():
            text = text.replace(vendor, address)
        file.write_text(text, "utf-8")
    titles: dict[str, str] = runpy.run_path(str(folder / table))["TITLES"]
    return titles


@dataclass
class Deployment:
    """A deployment with the guide's service, its vendor and its authorization server."""

    door: Broker
    server: AuthorizationServer
    vendor: Service
    catalogue: Catalogue

    def connect(self) -> dict[str, Any]:
        """Consent in ada's browser, and come back from the provider."""
        proof = self.door.session("ada")
        message = {"proof": proof, "organization": "acme"}
        begun = self.door.send({**message, "operation": "begin", "services": ["jotter"]})["result"]
        landed = urlsplit(self.server.consent(begun["url"]))
        assert landed.path == "/connect/callback/jotter"
        back = {name: values[0] for name, values in parse_qs(landed.query).items()}
        result: dict[str, Any] = self.door.send({**message, "operation": "finish", "provider": "jotter", **back})
        return result["result"]

    def call(self, tool: str, **arguments: Any) -> Any:
        """Call a tool as ada, whose credential the broker resolves."""
        module = self.catalogue.module("jotter")
        return run_tool(self.ada, module, module.tools[tool], arguments, request="r1").json

    @property
    def ada(self) -> Caller:
        caller = directory.identify(Subject(self.door.login.issuer, "ada"), organization="acme")
        return replace(caller, proof=Proof("jwt", self.door.login.mint("ada")))


@pytest.fixture
def guide(
    door: Broker, authorization_server: AuthorizationServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Deployment]:
    monkeypatch.setenv("PUBLIC_URL", HOME)
    monkeypatch.setenv("AUDIENCE", f"{PUBLIC_URL}/mcp")
    settings.settings.cache_clear()
    authorization_server.reset()
    client = authorization_server.register(f"{HOME}/connect/callback/jotter")
    app = {"client_id": client.id, "client_secret": client.secret}
    parameter = f"{settings.settings().oauth_parameters}/jotter"
    boto3.client("ssm").put_parameter(Name=parameter, Value=json.dumps(app), Type="SecureString", Overwrite=True)
    members.put_role("acme", Role("writers", modules=("jotter",), allow=("jotter.*",)))
    put_person(door.login, "ada", roles=["writers"])

    def invoke(params: Any, **_: Any) -> Any:
        answer = door.send(json.loads(params["body"]))
        payload = {"Payload": io.BytesIO(json.dumps(answer).encode()), "ResponseMetadata": {"RequestId": "i1"}}
        return type("Response", (), {"status_code": 200}), payload

    with serving() as vendor:
        addresses = {
            "https://api.jotter.example.com": vendor.url,
            "https://login.jotter.example.com": authorization_server.url,
        }
        titles = perform_steps(tmp_path, addresses)
        names = tuple(sorted(titles))
        monkeypatch.setattr(mcpist_services, "TITLES", titles)
        monkeypatch.setattr(mcpist_services, "NAMES", names)
        monkeypatch.setattr(mcpist_services, "__path__", [*mcpist_services.__path__, str(tmp_path / "mcpist_services")])
        forget_services()
        memory.forget_all()
        clients.session().register("before-call.lambda.Invoke", invoke)
        yield Deployment(door, authorization_server, vendor, Catalogue("mcpist_services", names))
        clients.session().unregister("before-call.lambda.Invoke", invoke)
    close_connections()
    cooldowns.clear()
    forget_services()


def forget_services() -> None:
    """Read the table anew."""
    mcpist_services.consent.cache_clear()
    mcpist_services.providers.cache_clear()
    for name in [name for name in sys.modules if name.startswith("mcpist_services.jotter")]:
        del sys.modules[name]


def test_a_service_is_one_folder_and_one_line() -> None:
    folders = {place.split("/")[1] for place in snippets()}
    assert folders == {"jotter", "__init__.py"}
    assert snippets()["mcpist_services/__init__.py"] == '"jotter": "Jotter",'
    assert re.findall(r"^(\d)\. ", GUIDE, re.MULTILINE) == list("123456")


def test_a_service_is_added_as_the_guide_says(guide: Deployment) -> None:
    assert guide.connect() == {
        "outcome": "connected",
        "service": "jotter",
        "provider": "jotter",
        "role": "",
        "label": "main",
    }
    guide.vendor.reply_with(json_response({"id": "n7", "title": "Groceries", "text": "Milk"}))
    assert guide.call("create_note", title="Groceries", text="Milk")["id"] == "n7"
    (received,) = guide.vendor.received
    assert (received.method, received.path) == ("POST", "/notes")
    assert json.loads(received.body) == {"title": "Groceries", "text": "Milk"}
    assert guide.server.accepts(received.headers["authorization"].removeprefix("Bearer "))
    guide.vendor.reply_with(json_response({"notes": []}), json_response({"id": "n7"}))
    assert guide.call("list_notes") == {"notes": []}
    assert guide.call("get_note", note_id="n7") == {"id": "n7"}


def test_the_guide_s_service_reads_its_own_refusals(guide: Deployment) -> None:
    guide.connect()
    guide.vendor.reply_with(json_response({"ok": False, "error": "missing_scope", "needed": "write"}))
    with pytest.raises(ScopeMissing):
        guide.call("create_note", title="a", text="b")
    guide.vendor.reply_with(json_response({"ok": False, "error": "ratelimited"}))
    with pytest.raises(RateLimitExceeded):
        guide.call("list_notes")


def test_the_guide_s_service_has_the_page_and_requests_of_the_guide(guide: Deployment) -> None:
    module = guide.catalogue.module("jotter")
    (written,) = re.findall(r"then run `make test`:\n\n   ```\n(.*?)   ```", GUIDE, re.DOTALL)
    first_uses = [line for line in requests(module) if " use 1: " in line]
    assert first_uses == [line.strip() for line in written.splitlines()]
    assert re.search(r"## create_note.*\n\nWrite a note\.", page(module))
    assert mcpist_services.title("jotter") == "Jotter"
    entry = guide.catalogue.read().modules["jotter"]
    assert [*entry.resources, *entry.prompts] == ["note", "summarize"]


def test_the_guide_s_service_is_offered_to_people_whose_roles_use_it(guide: Deployment) -> None:
    message = {"operation": "offer", "proof": guide.door.session("ada"), "organization": "acme"}
    (entry,) = guide.door.send(message)["result"]["services"]
    assert (entry["service"], entry["provider"], entry["consent"]) == ("jotter", "jotter", True)
