"""Clients that are on no registry: their documented requests, replayed through the whole login.

The documents are those that the clients published in October 2026; the requests stand in events/.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from math import inf
from typing import Any

import pytest

from login import clients
from login.handler import handler
from mcpist.people import identity
from mcpist.people.identity import IssuerKeys
from tests.conftest import TEMPLATE
from tests.login.conftest import Context, Program, Visitor, query, verified
from tests.login.signers import Signer

type Door = Callable[..., dict[str, Any]]
EVENTS = TEMPLATE.parent / "events"
VERIFIER = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"  # of the example of RFC 7636
PERSONS = ["authorization_code", "refresh_token"]


@dataclass(frozen=True)
class Documented:
    """A client, and where its answers go."""

    name: str
    redirect_uri: str
    document: dict[str, Any] | None = None
    """What it publishes at its id; None for one that registers."""
    jwks_url: str = ""
    asked_again: bool = False
    """Whether it is asked about each time, as what listens on loopback is."""

    @property
    def events(self) -> str:
        return self.name.lower().replace(" ", "_").replace(".", "_")


CLAUDE = Documented(
    "claude.ai",
    "https://claude.ai/api/mcp/auth_callback",
    {
        "client_id": "https://claude.ai/oauth/mcp-oauth-client-metadata",
        "client_name": "Claude",
        "client_uri": "https://claude.ai",
        "redirect_uris": ["https://claude.ai/api/mcp/auth_callback"],
        "grant_types": [*PERSONS, "urn:ietf:params:oauth:grant-type:jwt-bearer"],
        "response_types": ["code"],
        "token_endpoint_auth_method": "none",
    },
)
CHATGPT = Documented(
    "ChatGPT",
    "https://chatgpt.com/connector_platform_oauth_redirect",
    {
        "client_id": "https://chatgpt.com/oauth/client.json",
        "client_name": "ChatGPT",
        "redirect_uris": ["https://chatgpt.com/connector_platform_oauth_redirect"],
        "grant_types": PERSONS,
        "response_types": ["code"],
        "token_endpoint_auth_method": "private_key_jwt",
        "jwks_uri": "https://chatgpt.com/oauth/jwks.json",
    },
    jwks_url="https://chatgpt.com/oauth/jwks.json",
)
VS_CODE = Documented(
    "VS Code",
    "http://127.0.0.1:33418/",
    {
        "client_id": "https://vscode.dev/oauth/client-metadata.json",
        "client_name": "Visual Studio Code",
        "client_uri": "https://vscode.dev/product",
        "grant_types": [*PERSONS, "urn:ietf:params:oauth:grant-type:device_code"],
        "response_types": ["code"],
        "token_endpoint_auth_method": "none",
        "application_type": "native",
        "redirect_uris": ["http://127.0.0.1:33418/", "https://vscode.dev/redirect"],
    },
    asked_again=True,
)
CURSOR = Documented("Cursor", "cursor://anysphere.cursor-mcp/oauth/callback")


def replay(name: str, client_id: str = "") -> dict[str, Any]:
    """The answer to a request of events/."""
    text = (EVENTS / f"login_{name}.json").read_text("utf-8").replace("CLIENT", client_id)
    answer: dict[str, Any] = handler(json.loads(text), Context())
    return answer


@pytest.mark.parametrize("client", [CLAUDE, CHATGPT, VS_CODE, CURSOR], ids=lambda client: client.events)
def test_the_documented_requests_of_a_client_lead_through_the_whole_login(
    door: Door, uma: Visitor, client: Documented
) -> None:
    signer = Signer()
    if client.document:
        client_id = client.document["client_id"]
        found = clients.described_by(client_id, client.document)
        assert found
        clients.documents.put(client_id, found)
    else:
        made = replay(f"register_{client.events}")
        client_id = json.loads(made["body"])["client_id"]
    if client.jwks_url:
        keys = IssuerKeys(client_id, jwks_url=client.jwks_url)
        keys.keys, keys.stale_at, keys.next_fetch_at = {"k1": identity.jwt.PyJWK(signer.jwks["keys"][0])}, inf, inf
        identity.named_keys.put((client_id, client.jwks_url), keys)
    begun = uma.kept(replay(f"authorize_{client.events}", client_id))
    answer = uma.decide(uma.open(uma.choose(begun["headers"]["location"])))
    assert answer["headers"]["location"].startswith(f"{client.redirect_uri}?")
    program = Program(door, client_id, client.redirect_uri, VERIFIER)

    def proof() -> dict[str, str]:
        return signer.prove(client_id) if client.jwks_url else {}

    tokens = program.redeem(query(answer)["code"], **proof())
    assert verified(tokens).client_id == client_id, tokens
    assert tokens["scope"] == "mcp offline_access"
    assert verified(program.refresh(tokens["refresh_token"], **proof()))
    again = uma.open(uma.choose(uma.kept(replay(f"authorize_{client.events}", client_id))["headers"]["location"]))
    assert again["statusCode"] == (200 if client.asked_again else 303)
    if client.jwks_url:
        assert program.refresh(tokens["refresh_token"])["error"] == "invalid_client", "its key is its proof"
