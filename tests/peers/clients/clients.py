"""Python clients of other projects: each lists the tools, loads a schema, calls, runs a batch, and lacks an account.

Run by the Python of their own environment with the client's name; standard input has the URL, the token and the batch,
standard output the texts that a model reads.
"""

import asyncio
import json
import logging
import sys
from collections.abc import Awaitable, Callable
from typing import Any

logging.disable()

type Use = Callable[[str, dict[str, Any]], Awaitable[str]]
type Session = Callable[[list[str], Use], Awaitable[None]]


async def langchain(url: str, headers: dict[str, str], session: Session) -> None:
    """langchain-mcp-adapters: a refusal is a ToolException, which agents show to their model."""
    from langchain_core.tools import ToolException
    from langchain_mcp_adapters.client import MultiServerMCPClient

    server: Any = {"transport": "streamable_http", "url": url, "headers": headers}
    tools = {tool.name: tool for tool in await MultiServerMCPClient({"mcpist": server}).get_tools()}

    async def use(name: str, arguments: dict[str, Any]) -> str:
        try:
            return text_of(await tools[name].ainvoke(arguments))
        except ToolException as error:
            return str(error)

    await session(list(tools), use)


async def autogen(url: str, headers: dict[str, str], session: Session) -> None:
    """AutoGen's workbench."""
    from autogen_ext.tools.mcp import McpWorkbench, StreamableHttpServerParams

    async with McpWorkbench(StreamableHttpServerParams(url=url, headers=headers)) as workbench:

        async def use(name: str, arguments: dict[str, Any]) -> str:
            return (await workbench.call_tool(name, arguments)).to_text()

        await session([tool["name"] for tool in await workbench.list_tools()], use)


async def google_adk(url: str, headers: dict[str, str], session: Session) -> None:
    """Google's Agent Development Kit."""
    from google.adk.tools.mcp_tool.mcp_session_manager import StreamableHTTPConnectionParams
    from google.adk.tools.mcp_tool.mcp_toolset import McpToolset

    toolset = McpToolset(connection_params=StreamableHTTPConnectionParams(url=url, headers=headers))
    tools = {tool.name: tool for tool in await toolset.get_tools()}

    async def use(name: str, arguments: dict[str, Any]) -> str:
        return text_of(await tools[name].run_async(args=arguments, tool_context=Context()))

    class Context:
        """What the toolset reads of an agent's run."""

        def __getattr__(self, _: str) -> None:
            return None

    await session(list(tools), use)
    await toolset.close()


async def mcp_use(url: str, headers: dict[str, str], session: Session) -> None:
    """mcp-use."""
    from mcp_use import MCPClient

    token = headers["authorization"].removeprefix("Bearer ")
    client = MCPClient(config={"mcpServers": {"mcpist": {"url": url, "auth": token}}})
    opened = await client.create_session("mcpist")

    async def use(name: str, arguments: dict[str, Any]) -> str:
        return text_of(await opened.call_tool(name, arguments))

    await session([tool.name for tool in await opened.list_tools()], use)
    await client.close_all_sessions()


async def smolagents(url: str, headers: dict[str, str], session: Session) -> None:
    """smolagents, whose tools return the first text."""
    from smolagents import MCPClient

    server = {"url": url, "transport": "streamable-http", "headers": headers}
    client = await asyncio.to_thread(MCPClient, server, structured_output=False)
    tools = {tool.name: tool for tool in client.get_tools()}

    async def use(name: str, arguments: dict[str, Any]) -> str:
        return str(await asyncio.to_thread(lambda: tools[name](**arguments)))

    await session(list(tools), use)
    client.disconnect()


async def openai_agents(url: str, headers: dict[str, str], session: Session) -> None:
    """OpenAI's Agents SDK."""
    from agents.mcp import MCPServerStreamableHttp

    async with MCPServerStreamableHttp({"url": url, "headers": headers}) as server:

        async def use(name: str, arguments: dict[str, Any]) -> str:
            return text_of(await server.call_tool(name, arguments))

        await session([tool.name for tool in await server.list_tools()], use)


async def pydantic_ai(url: str, headers: dict[str, str], session: Session) -> None:
    """Pydantic AI: a refusal is a ModelRetry, which it shows to its model."""
    from pydantic_ai import ModelRetry
    from pydantic_ai.mcp import MCPToolset

    async with MCPToolset(url, headers=headers) as server:

        async def use(name: str, arguments: dict[str, Any]) -> str:
            try:
                return text_of(await server.direct_call_tool(name, arguments))
            except ModelRetry as error:
                return error.message

        await session([tool.name for tool in await server.list_tools()], use)


async def strands(url: str, headers: dict[str, str], session: Session) -> None:
    """Strands Agents."""
    from mcp.client.streamable_http import streamablehttp_client
    from strands.tools.mcp import MCPClient

    client = MCPClient(lambda: streamablehttp_client(url, headers=headers))
    with client:

        async def use(name: str, arguments: dict[str, Any]) -> str:
            return text_of(await client.call_tool_async("1", name, arguments))

        await session([tool.tool_name for tool in client.list_tools_sync()], use)


async def llama_index(url: str, headers: dict[str, str], session: Session) -> None:
    """LlamaIndex."""
    from llama_index.tools.mcp import BasicMCPClient, McpToolSpec

    spec = McpToolSpec(client=BasicMCPClient(url, headers=headers))
    tools = {tool.metadata.get_name(): tool for tool in await spec.to_tool_list_async()}

    async def use(name: str, arguments: dict[str, Any]) -> str:
        return str((await tools[name].acall(**arguments)).content)

    await session(list(tools), use)


async def fastmcp(url: str, headers: dict[str, str], session: Session) -> None:
    """FastMCP's client."""
    from fastmcp import Client
    from fastmcp.client.transports import StreamableHttpTransport
    from fastmcp.exceptions import ToolError

    async with Client(StreamableHttpTransport(url, headers=headers)) as client:

        async def use(name: str, arguments: dict[str, Any]) -> str:
            try:
                return text_of((await client.call_tool(name, arguments)).content)
            except ToolError as error:
                return str(error)

        await session([tool.name for tool in await client.list_tools()], use)


def text_of(answer: Any) -> str:
    """The first text of an answer, in any of the shapes that clients return."""
    if isinstance(answer, str):
        return answer
    if isinstance(answer, list | tuple):
        return text_of(answer[0])
    if isinstance(answer, dict):
        inner = answer.get("text") or answer.get("content")
        return text_of(inner) if inner else json.dumps(answer)  # a client that reads JSON in a text
    return text_of(getattr(answer, "text", None) or answer.content)


async def main() -> None:
    given = json.load(sys.stdin)
    found: dict[str, Any] = {}

    async def session(tools: list[str], use: Use) -> None:
        found["tools"] = tools
        for key, (name, arguments) in given["uses"].items():
            found[key] = await use(name, arguments)

    await globals()[sys.argv[1]](given["url"], {"authorization": f"Bearer {given['token']}"}, session)
    sys.stdout.write(json.dumps(found))


asyncio.run(main())
