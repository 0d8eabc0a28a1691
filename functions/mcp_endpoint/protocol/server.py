"""The two MCP servers: one with the meta-tools, resources, prompts and tasks, one with the tools of categories."""

from typing import Any

from mcp.server.caching import CacheableMethod, CacheHint
from mcp.server.lowlevel import Server

from mcp_endpoint import tasks
from mcp_endpoint.protocol import methods, tools
from mcpist.version import VERSION

SERVER_NAME = "mcpist"
LIST_METHODS: tuple[CacheableMethod, ...] = ("tools/list", "resources/list", "resources/templates/list", "prompts/list")
LIST_CACHE_MILLISECONDS = 60_000


def meta_tool_server() -> Server[Any]:
    """Return the server of `/mcp`."""
    server = Server(
        SERVER_NAME,
        version=VERSION,
        cache_hints=dict.fromkeys(LIST_METHODS, CacheHint(ttl_ms=LIST_CACHE_MILLISECONDS, scope="private")),
        get_tool_input_schema=_no_header_arguments,
        on_list_tools=tools.list_tools,
        on_call_tool=tools.call_tool,
        on_list_resources=methods.list_resources,
        on_list_resource_templates=methods.list_resource_templates,
        on_read_resource=methods.read_resource,
        on_list_prompts=methods.list_prompts,
        on_get_prompt=methods.get_prompt,
        on_completion=methods.complete,
    )
    tasks.install(server, get=methods.get_task, update=methods.update_task, cancel=methods.cancel_task)
    return server


def category_server() -> Server[Any]:
    """Return the server of `/mcp/categories`."""
    return Server(
        SERVER_NAME,
        version=VERSION,
        cache_hints={"tools/list": CacheHint(ttl_ms=LIST_CACHE_MILLISECONDS, scope="private")},
        get_tool_input_schema=_no_header_arguments,
        on_list_tools=tools.list_category_tools,
        on_call_tool=tools.call_category_tool,
    )


def _no_header_arguments(_: str) -> None:
    """Tell the SDK that no argument comes in a header, so that it need not search each call's schema for one."""
