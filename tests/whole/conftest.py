"""The whole house on the embedded AWS, with a module of probes beside the real ones."""

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import CallToolResult, TextContent
from mcpist import directory
from mcpist.caller import Role

from infra.local.house import ORGANIZATION, ROLE, USER, House, open_house, with_modules
from infra.local.operator import operating

HERE = Path(__file__).parent
MODULES = ("github", "probe", "rag")


@dataclass(frozen=True)
class Visitor:
    """One of the house's people with a real MCP client."""

    house: House
    token: str
    mode: str = "auto"

    def call(self, name: str, /, **arguments: Any) -> CallToolResult:
        """What a meta-tool answers."""
        return asyncio.run(self._ask(lambda client: client.call_tool(name, arguments)))

    def texts(self, name: str, /, **arguments: Any) -> list[str]:
        """The texts that a meta-tool answers without an error."""
        result = self.call(name, **arguments)
        texts = [block.text for block in result.content if isinstance(block, TextContent)]
        assert not result.is_error, texts
        return texts

    def tools(self) -> list[Any]:
        """The tools as the endpoint lists them."""
        return asyncio.run(self._ask(lambda client: client.list_tools())).tools

    async def _ask(self, question: Any) -> Any:
        headers = {"authorization": f"Bearer {self.token}"}
        async with (
            httpx2.AsyncClient(headers=headers, timeout=60) as http,
            Client(streamable_http_client(self.house.mcp_url, http_client=http), mode=self.mode) as client,
        ):
            return await question(client)


@pytest.fixture(scope="session")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    root = with_modules(tmp_path_factory.mktemp("house"), HERE / "probe.py")
    with open_house(docs=HERE / "documents", root=root, modules=MODULES) as house:
        with operating(house.aws):
            everything = Role(ROLE, modules=MODULES, allow=("probe.*",))
            directory.put_role(ORGANIZATION, everything)
        yield house


@pytest.fixture
def user(house: House) -> Visitor:
    return Visitor(house, house.token(USER))
