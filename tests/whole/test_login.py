"""The whole login by the SDK's own client: challenge, metadata, registration, PKCE, token, tools."""

import asyncio
import json
import time
from urllib.parse import parse_qs, urlsplit

import httpx2
import pytest
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from mcp.client.auth import OAuthClientProvider
from mcp.client.auth.extensions.client_credentials import (
    ClientCredentialsOAuthProvider,
    PrivateKeyJWTOAuthProvider,
    SignedJWTParameters,
)
from mcp.client.auth.extensions.identity_assertion import IdentityAssertionOAuthProvider
from mcp.client.auth.oauth2 import AuthorizationCodeResult
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import OAuthClientMetadata
from mcp_types import TextContent

from infra.local.demo import ADMINISTRATOR, ORGANIZATION, ROLE, USER
from infra.local.deployment import LocalDeployment
from rehearsal.person import InMemoryTokens, agree
from tests.core.loopback import json_response, serving
from tests.login.signers import Signer

REDIRECT = "http://localhost:8787/callback"


class Browser:
    """A person who chooses who they are on the login's page."""

    def __init__(self) -> None:
        self.landed = ""

    async def open(self, url: str) -> None:
        with httpx2.Client(timeout=60) as web:
            self.landed = agree(web, url, USER.sub)

    async def come_back(self) -> AuthorizationCodeResult:
        found = {name: values[0] for name, values in parse_qs(urlsplit(self.landed).query).items()}
        return AuthorizationCodeResult(code=found["code"], state=found["state"], iss=found.get("iss"))


async def ask_as_a_newcomer(url: str, mode: str, memory: InMemoryTokens) -> tuple[list[str], str]:
    """The tools that a client lists that had no token before, and what one call answers."""
    browser = Browser()
    metadata = OAuthClientMetadata.model_validate({"client_name": "test", "redirect_uris": [REDIRECT]})
    login = OAuthClientProvider(url, metadata, memory, browser.open, browser.come_back)
    async with (
        httpx2.AsyncClient(auth=login, timeout=60) as http,
        Client(streamable_http_client(url, http_client=http), mode=mode) as client,
    ):
        tools = [tool.name for tool in (await client.list_tools()).tools]
        result = await client.call_tool("call", {"module": "rag", "tool": "list_tags"})
        (block,) = result.content
        assert isinstance(block, TextContent)
        return tools, block.text


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_a_client_without_a_token_finds_the_login_and_comes_back_with_one(
    deployment: LocalDeployment, mode: str
) -> None:
    memory = InMemoryTokens()
    tools, tags = asyncio.run(ask_as_a_newcomer(deployment.mcp_url, mode, memory))
    assert tools == ["get_module_schema", "call", "batch"]
    assert "security" in tags
    assert memory.tokens
    assert memory.client
    assert memory.client.client_id != "local"


@pytest.mark.parametrize("path", ["/mcp", "/mcp/"])
def test_a_client_may_ask_for_localhost_and_with_a_slash(deployment: LocalDeployment, path: str) -> None:
    url = deployment.aws.api_url.replace("127.0.0.1", "localhost") + path
    tools, tags = asyncio.run(ask_as_a_newcomer(url, "auto", InMemoryTokens()))
    assert tools == ["get_module_schema", "call", "batch"]
    assert "security" in tags


def test_a_token_for_one_name_of_the_host_is_taken_at_another_and_by_the_broker(deployment: LocalDeployment) -> None:
    url = deployment.mcp_url.replace("127.0.0.1", "localhost")
    headers = {"authorization": f"Bearer {deployment.token()}", "accept": "application/json, text/event-stream"}
    arguments = {"module": "github", "tool": "get_me"}
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "call", "arguments": arguments}}
    with httpx2.Client(headers=headers) as web:
        answer = web.post(url, json=message, headers={"mcp-protocol-version": "2025-11-25"}).json()
        refused = web.post(url, json=message, headers={"authorization": "Bearer x"})
    assert "AUTHENTICATION_ERROR" not in json.dumps(answer["result"])
    assert f"{url.removesuffix('/mcp')}/.well-known/" in refused.headers["x-mcpist-www-authenticate"]


def test_a_browser_at_another_name_of_the_host_is_led_to_the_one_of_the_login(deployment: LocalDeployment) -> None:
    with httpx2.Client(headers={"accept": "text/html"}) as web:
        answer = web.get(deployment.console_url.replace("127.0.0.1", "localhost"))
    assert (answer.status_code, answer.headers["location"]) == (303, deployment.console_url)


async def ask_without_a_person(url: str, login: httpx2.Auth) -> str:
    """What a call of a program answers."""
    async with (
        httpx2.AsyncClient(auth=login, timeout=60) as http,
        Client(streamable_http_client(url, http_client=http), mode="auto") as client,
    ):
        (block,) = (await client.call_tool("call", {"module": "rag", "tool": "list_tags"})).content
        assert isinstance(block, TextContent)
        return block.text


def signing_key(signer: Signer) -> str:
    pem = signer.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    return str(pem.decode())


@pytest.mark.slow
def test_programs_without_a_person_and_a_companys_issuer_get_in_by_the_sdks_own_clients(
    deployment: LocalDeployment,
) -> None:
    url, signer = f"{deployment.mcp_url}/{ORGANIZATION}", Signer()
    issuer = deployment.aws.api_url
    web = httpx2.Client(
        base_url=issuer, headers={"authorization": f"Bearer {deployment.token(ADMINISTRATOR)}"}, timeout=60
    )
    robot = {"name": "Robot", "roles": [ROLE]}
    keyed = web.post("/v1/services", json={**robot, "user": "keyed", "public_key": signer.pem}).json()
    secret = web.post("/v1/services", json={**robot, "user": "secret"}).json()
    proof = SignedJWTParameters(
        issuer=keyed["client_id"],
        subject=keyed["client_id"],
        signing_key=signing_key(signer),
        signing_algorithm="ES256",
    )
    by_key = PrivateKeyJWTOAuthProvider(
        url, InMemoryTokens(), keyed["client_id"], proof.create_assertion_provider(), issuer=issuer
    )
    by_secret = ClientCredentialsOAuthProvider(
        url, InMemoryTokens(), secret["client_id"], secret["client_secret"], issuer=issuer
    )
    with serving() as company:
        metadata = {"issuer": company.url, "jwks_uri": f"{company.url}/keys"}
        company.replies = [json_response(metadata), json_response(signer.jwks)]
        trusted = {"issuer": company.url, "adds_people": True, "roles": [ROLE]}
        assert web.patch("/v1/organization", json={"trusted_issuers": [trusted]}).status_code == 200

        async def assert_identity(audience: str, resource: str) -> str:
            now = int(time.time())
            said = {"iss": company.url, "sub": "zoe", "aud": audience, "resource": resource, "iat": now}
            said |= {"exp": now + 300, "jti": "1", "client_id": secret["client_id"]}
            return signer.sign(said, "oauth-id-jag+jwt")

        by_company = IdentityAssertionOAuthProvider(
            url, InMemoryTokens(), secret["client_id"], secret["client_secret"], issuer, assert_identity
        )
        for login in (by_key, by_secret, by_company):
            assert "security" in asyncio.run(ask_without_a_person(url, login))
    users = {one["user"] for one in web.get("/v1/users").json()["users"]}
    (zoe,) = (user for user in users if user.startswith("zoe-"))
    for user in ("keyed", "secret", zoe):
        assert web.delete(f"/v1/users/{user}").status_code == 200
    assert web.patch("/v1/organization", json={"trusted_issuers": []}).status_code == 200
    web.close()
