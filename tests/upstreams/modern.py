"""A server on the official SDK that speaks both eras over HTTP, without sessions."""

import os
from typing import Any

import mcp_types
import uvicorn
from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from starlette.applications import Starlette
from starlette.routing import Mount

ADD = mcp_types.Tool(
    name="add",
    description="Add two numbers",
    input_schema={"type": "object", "properties": {"a": {"type": "number"}, "b": {"type": "number"}}},
    annotations=mcp_types.ToolAnnotations(read_only_hint=True),
)
WHO = mcp_types.Tool(
    name="who",
    description="Tell the token",
    input_schema={"type": "object", "properties": {}},
    annotations=mcp_types.ToolAnnotations(read_only_hint=True),
)


async def list_tools(_: Any, __: Any) -> mcp_types.ListToolsResult:
    return mcp_types.ListToolsResult(tools=[ADD, WHO], ttl_ms=120_000, cache_scope="private")


async def call_tool(context: Any, params: mcp_types.CallToolRequestParams) -> mcp_types.CallToolResult:
    arguments = params.arguments or {}
    if params.name == "who":
        told = context.request.headers.get("authorization", "")
    else:
        told = str(arguments["a"] + arguments["b"])
    return mcp_types.CallToolResult(content=[mcp_types.TextContent(type="text", text=told)])


def main() -> None:
    """Serve until killed."""
    server: Server[Any] = Server("sums", version="1", on_list_tools=list_tools, on_call_tool=call_tool)
    manager = StreamableHTTPSessionManager(server, json_response=True, stateless=True)
    app = Starlette(routes=[Mount("/mcp", app=manager.handle_request)], lifespan=lambda _: manager.run())
    uvicorn.run(app, host="127.0.0.1", port=int(os.environ["PORT"]))


if __name__ == "__main__":
    main()
