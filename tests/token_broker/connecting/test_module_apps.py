"""Apps of registered modules: an organization's own OAuth client, pasted or made known to a server that is discovered.

The authorization server is npm's oidc-provider; the module's server names it in its metadata, as RFC 9728 has it.
"""

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any
from urllib.parse import parse_qs, urlsplit

import boto3
import pytest

from mcpist import settings
from mcpist.caller import RegisteredModule
from mcpist.errors import InvalidRequest
from mcpist.oauth.module_app import ModuleAppRequest
from mcpist.people import directory
from tests.core.loopback import Reply, Service, serving_as
from tests.token_broker.authorization_server import AuthorizationServer
from tests.token_broker.conftest import PUBLIC_URL, Broker, error_of
from token_broker.providers import discovery

HOME = "http://127.0.0.1:9"
SECRET = "secret-canary-of-an-app"
PASTED = {"client_id": "theirs", "client_secret": SECRET, "scopes": ["read"]}


class Server(Service):
    """A module's server: its requests need a token, and its metadata name the authorization server."""

    metadata: dict[str, Any]

    def answer(self, page: Any) -> None:
        if page.path.startswith("/.well-known/oauth-protected-resource"):
            self.replies = [Reply(json.dumps(self.metadata).encode())]
        elif page.path == "/as/.well-known/openid-configuration" or "oauth-authorization-server" in page.path:
            self.replies = [Reply(json.dumps(self.metadata.get("server", {})).encode())]
        else:
            named = f'Bearer resource_metadata="{self.url}/.well-known/oauth-protected-resource/mcp", scope="read"'
            self.replies = [Reply(status=401, headers={"www-authenticate": named})]
        super().answer(page)


@pytest.fixture
def server(authorization_server: AuthorizationServer) -> Iterator[Server]:
    """The server of the module `notes`."""
    with serving_as(Server) as server:
        server.metadata = {"resource": f"{server.url}/mcp", "authorization_servers": [authorization_server.url]}
        yield server


@pytest.fixture
def notes(
    door: Broker, server: Server, authorization_server: AuthorizationServer, monkeypatch: pytest.MonkeyPatch
) -> Broker:
    """The broker of a deployment on loopback, where two organizations registered the server as `notes`."""
    monkeypatch.setenv("PUBLIC_URL", HOME)
    monkeypatch.setenv("AUDIENCE", f"{PUBLIC_URL}/mcp")
    settings.settings.cache_clear()
    authorization_server.reset()
    for organization in ("acme", "globex"):
        move(organization, f"{server.url}/mcp")
    return door


def move(organization: str, destination: str) -> None:
    module = RegisteredModule("notes", "upstream", "0" * 64, "2026-11-27T09:00:00Z", "grace", destination)
    directory.change(organization, lambda before: replace(before, modules={"notes": module}))
    directory.access_cache.clear()


def ask(door: Broker, operation: str, who: str = "grace", organization: str = "acme", **fields: Any) -> dict[str, Any]:
    message = {"operation": operation, "proof": door.jwt(who), "organization": organization, "service": "notes"}
    return door.send({**message, **({"roles": ["engineering"]} if organization == "acme" else {}), **fields})


def expire() -> None:
    """Let Ada's access token end."""
    key = {"pk": {"S": "acme#notes"}, "sk": {"S": "user#ada"}}
    ended = {"access_expires_at": {"Action": "PUT", "Value": {"N": "1"}}}
    boto3.client("dynamodb").update_item(TableName="mcpist-Grants", Key=key, AttributeUpdates=ended)


class Browser:
    """A person's browser between the broker and the authorization server."""

    def __init__(self, door: Broker, server: AuthorizationServer, who: str = "ada") -> None:
        self.door, self.server, self.who = door, server, who
        self.proof = door.session(who)

    def tell(self, operation: str, **fields: Any) -> dict[str, Any]:
        return self.door.send({"operation": operation, "proof": self.proof, "organization": "acme", **fields})

    def consent(self) -> dict[str, str]:
        url = str(self.tell("begin", services=["notes"])["result"]["url"])
        landed = self.server.consent(url, self.who)
        assert landed.startswith(f"{HOME}/connect/callback/notes?"), landed
        return {name: values[0] for name, values in parse_qs(urlsplit(landed).query).items()}

    def finish(self, back: dict[str, str]) -> dict[str, Any]:
        return self.tell("finish", provider="notes", **back)

    def token(self) -> str:
        return str(ask(self.door, "resolve", self.who)["result"]["token"])


@pytest.fixture
def ada(notes: Broker, authorization_server: AuthorizationServer) -> Browser:
    """A member of an organization whose administrator had the server make our client known."""
    made = ask(notes, "set_app", app={})
    assert "result" in made, made
    return Browser(notes, authorization_server)


def test_a_server_that_is_discovered_knows_our_client_and_people_connect_refresh_and_disconnect(
    ada: Browser, server: Server
) -> None:
    app = ask(ada.door, "show_app")["result"]["app"]
    assert (app["token_url"], app["resource"]) == (f"{ada.server.url}/token", f"{server.url}/mcp")
    assert (app["scopes"], app["issuer"]) == (["read"], ada.server.url)
    form = {name: app[name] for name in ("client_id", "authorize_url", "token_url")} | {"scopes": ["read", "write"]}
    assert ask(ada.door, "set_app", app=form)["result"]["app"] == app | {"scopes": ["read", "write"]}
    assert ask(ada.door, "set_app", app=form | {"scopes": ["read"]})["result"]["app"] == app
    (entry,) = ada.tell("offer", services=["notes"])["result"]["services"]
    assert (entry["consent"], entry["keys"], entry["registered"]) == (True, False, True)
    assert ada.finish(ada.consent())["result"]["outcome"] == "connected"
    expire()
    before = set(ada.server.state.access_tokens)
    token = ada.token()
    assert {token} == set(ada.server.state.access_tokens) - before
    assert ada.token() == token
    assert ask(ada.door, "revoke", "ada")["result"]["proof"]["at_provider"] == "revoked"
    assert token not in ada.server.state.access_tokens
    assert error_of(ask(ada.door, "resolve", "ada")) == "ConnectionRequired"


def test_no_other_organization_sees_or_uses_an_app(ada: Browser) -> None:
    asked = {"who": "hal", "organization": "globex"}
    (entry,) = ask(ada.door, "offer", **asked, services=["notes"])["result"]["services"]
    assert (entry["consent"], entry["keys"]) == (False, True)
    hal = {"proof": ada.door.session("hal"), "organization": "globex", "services": ["notes"]}
    assert error_of(ada.door.send({"operation": "begin", **hal})) == "NotConfigured"


@pytest.mark.parametrize(("operation", "fields"), [("set_app", {"app": {}}), ("show_app", {}), ("remove_app", {})])
def test_only_an_administrator_reads_or_changes_an_app(ada: Browser, operation: str, fields: dict[str, Any]) -> None:
    assert error_of(ask(ada.door, operation, "ada", **fields)) == "AuthorizationError"


def test_an_app_counts_only_for_the_place_that_it_was_set_for(ada: Browser, server: Server) -> None:
    back = ada.consent()
    assert ada.finish(ada.consent())["result"]["outcome"] == "connected"
    expire()
    redeemed = len(ada.server.state.redeems)
    move("acme", f"{server.url}/elsewhere")
    assert error_of(ada.tell("begin", services=["notes"])) == "NotConfigured"
    assert error_of(ada.finish(back)) == "NotConfigured"
    ask(ada.door, "resolve", "ada")
    assert len(ada.server.state.redeems) == redeemed
    assert ask(ada.door, "show_app")["result"]["app"] is None


def test_a_code_or_a_token_is_never_sent_to_another_app(ada: Browser, server: Server) -> None:
    assert ada.finish(ada.consent())["result"]["outcome"] == "connected"
    expire()
    back = ada.consent()
    known = ask(ada.door, "show_app")["result"]["app"]["client_id"]
    other = PASTED | {"client_id": known, "authorize_url": f"{server.url}/a", "token_url": f"{server.url}/t"}
    assert error_of(ask(ada.door, "set_app", app=other)) == "AlreadyExists"
    assert ask(ada.door, "remove_app")["result"] == {"removed": True}
    assert ask(ada.door, "set_app", app=other)["result"]["app"]["client_id"] == known
    server.received.clear()
    assert error_of(ada.finish(back)) == "StaleConnection"
    ask(ada.door, "resolve", "ada")
    assert ask(ada.door, "revoke", "ada")["result"]["proof"]["at_provider"] == "failed"
    assert server.received == []


def test_a_pasted_key_is_never_sent_to_an_app_that_is_set_later(notes: Broker, server: Server) -> None:
    assert ask(notes, "paste", "ada", key="a-key-of-the-notes")["result"]["outcome"] == "connected"
    urls = {"authorize_url": f"{server.url}/a", "token_url": f"{server.url}/t", "revoke_url": f"{server.url}/r"}
    assert "result" in ask(notes, "set_app", app=PASTED | urls)
    server.received.clear()
    assert ask(notes, "resolve", "ada")["result"]["token"] == "a-key-of-the-notes"
    assert ask(notes, "revoke", "ada")["result"]["proof"]["at_provider"] == "unsupported"
    assert server.received == []


def test_a_secret_is_sealed_for_its_addresses_and_is_in_no_answer(
    notes: Broker, server: Server, capfd: pytest.CaptureFixture[str]
) -> None:
    urls = {"authorize_url": f"{server.url}/a", "token_url": f"{server.url}/t"}
    made = ask(notes, "set_app", app=PASTED | urls)
    shown = ask(notes, "show_app")
    assert made == shown
    assert SECRET not in f"{made} {shown} {notes.items()} {capfd.readouterr()}"
    rotated = ask(notes, "set_app", app=PASTED | urls | {"client_secret": f"{SECRET}-2", "scopes": ["read", "write"]})
    assert rotated["result"]["app"]["scopes"] == ["read", "write"]
    (item,) = [one for one in notes.items() if one["pk"] == {"S": "#apps#acme"}]
    moved = {**item, "app": {"S": item["app"]["S"].replace(f"{server.url}/t", f"{server.url}/evil")}}
    boto3.client("dynamodb").put_item(TableName="mcpist-Grants", Item=moved)
    assert error_of(ask(notes, "show_app")) == "IntegrityError"


@pytest.mark.parametrize(
    ("app", "field"),
    [
        ({"authorize_url": "https://10.0.0.1/a", "token_url": "https://x.example/t"}, "app.authorize_url"),
        ({"authorize_url": "https://x.example/a", "token_url": "http://x.example/t"}, "app.token_url"),
        ({"authorize_url": "https://x.example/a", "token_url": "https://169.254.169.254/t"}, "app.token_url"),
        ({"authorize_url": "https://x.example/a"}, "app"),
        (
            {
                "authorize_url": "https://x.example/a",
                "token_url": "https://x.example/t",
                "revoke_url": "https://y.example/r",
            },
            "arguments",
        ),
    ],
)
def test_an_address_that_is_private_or_elsewhere_is_refused(notes: Broker, app: dict[str, str], field: str) -> None:
    refused = ask(notes, "set_app", app=PASTED | app)
    assert refused["error"]["details"]["field"] == field


AS = {"authorization_endpoint": "/a", "token_endpoint": "/t", "code_challenge_methods_supported": ["S256"]}


@pytest.mark.parametrize(
    ("resource", "described", "problem"),
    [
        ({"resource": "https://other.example/mcp"}, {}, "another resource"),
        ({"authorization_servers": []}, {}, "names no authorization server"),
        ({"authorization_servers": ["https://192.168.0.1"]}, {}, "refused"),
        ({"authorization_servers": ["SELF/as"]}, {"issuer": "https://evil.example"}, "another issuer"),
        ({"authorization_servers": ["SELF/as"]}, {"issuer": "SELF/as"}, "PKCE"),
        ({"authorization_servers": ["SELF/as"]}, {"issuer": "SELF/as", **AS}, "registers no clients"),
        (
            {"authorization_servers": ["SELF/as"]},
            {"issuer": "SELF/as", **AS, "registration_endpoint": "http://10.1.1.1/"},
            "refused",
        ),
    ],
)
def test_metadata_that_lead_elsewhere_or_promise_too_little_are_refused(
    notes: Broker, server: Server, resource: dict[str, Any], described: dict[str, Any], problem: str
) -> None:
    told = json.dumps(server.metadata | resource | {"server": described}).replace("SELF", server.url)
    server.metadata = json.loads(told)
    refused = ask(notes, "set_app", app={})
    assert error_of(refused) == "InvalidRequest"
    assert problem in refused["error"]["details"]["problem"]


def test_a_server_that_reads_client_documents_gets_the_address_of_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PUBLIC_URL", PUBLIC_URL)
    settings.settings.cache_clear()
    metadata = {"client_id_metadata_document_supported": True, "registration_endpoint": "https://x.example/r"}
    made = discovery.make_client("notes", metadata, ("read",), ["none"])
    assert made == {"client_id": f"{PUBLIC_URL}/connect/clients/notes"}
    with pytest.raises(InvalidRequest):
        discovery.make_client("notes", {}, (), [])
    assert ModuleAppRequest(client_id="x").fields() == {"client_id": "x"}
