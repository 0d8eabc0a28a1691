"""The whole login by the SDK's own client: challenge, metadata, registration, PKCE, token, tools."""

import asyncio
from urllib.parse import parse_qs, urlsplit

import httpx2
import pytest
from mcp.client.auth import OAuthClientProvider
from mcp.client.auth.oauth2 import AuthorizationCodeResult
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import OAuthClientMetadata
from mcp_types import TextContent

from infra.local.deployment import USER, LocalDeployment
from infra.rehearsal.person import InMemoryTokens

REDIRECT = "http://localhost:8787/callback"


class Browser:
    """A person who chooses who they are on the login's page."""

    def __init__(self) -> None:
        self.landed = ""

    async def open(self, url: str) -> None:
        with httpx2.Client() as web:
            page = web.get(url).headers["location"]
            request = parse_qs(urlsplit(page).query)["request"][0]
            login = f"{urlsplit(page).scheme}://{urlsplit(page).netloc}/login"
            self.landed = web.post(login, data={"request": request, "sub": USER.sub}).headers["location"]

    async def come_back(self) -> AuthorizationCodeResult:
        found = {name: values[0] for name, values in parse_qs(urlsplit(self.landed).query).items()}
        return AuthorizationCodeResult(code=found["code"], state=found["state"], iss=found.get("iss"))


async def ask_as_a_newcomer(deployment: LocalDeployment, mode: str, memory: InMemoryTokens) -> tuple[list[str], str]:
    """The tools that a client lists that had no token before, and what one call answers."""
    browser = Browser()
    metadata = OAuthClientMetadata.model_validate({"client_name": "test", "redirect_uris": [REDIRECT]})
    login = OAuthClientProvider(deployment.mcp_url, metadata, memory, browser.open, browser.come_back)
    async with (
        httpx2.AsyncClient(auth=login, timeout=60) as http,
        Client(streamable_http_client(deployment.mcp_url, http_client=http), mode=mode) as client,
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
    tools, tags = asyncio.run(ask_as_a_newcomer(deployment, mode, memory))
    assert tools == ["get_module_schema", "call", "batch"]
    assert "security" in tags
    assert memory.tokens
    assert memory.client
    assert memory.client.client_id != "local"
