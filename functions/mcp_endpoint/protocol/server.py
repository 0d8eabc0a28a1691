"""The two MCP servers: one with the meta-tools, resources, prompts and tasks, one with the tools of categories."""

from typing import Any

from mcp.server.caching import CacheableMethod, CacheHint
from mcp.server.lowlevel import Server
from mcp_types import Icon

from mcp_endpoint import tasks
from mcp_endpoint.protocol import methods, tools
from mcp_endpoint.protocol.plain_request import PlainHandler
from mcpist.version import VERSION

SERVER_NAME, TITLE = "mcpist", "MCPist"
INSTRUCTIONS = (
    "MCPist has your organization's tools for many services behind three. get_module_schema finds them: by query where "
    "you do not know the module, by modules to read their signatures. call runs one tool. batch runs many as one "
    "graph, whose steps take values from each other's results: use it in place of several calls. Answers are compact; "
    "a large result is a file, which the module files reads in parts. If an account is missing, show the user the link."
)
CATEGORY_INSTRUCTIONS = (
    "The tools of MCP servers, by category. get-category-tools gives a category's tools with their schemas; "
    "call-category-tool runs one of them."
)
ICON = Icon(
    src=(
        "data:image/svg+xml;base64,PHN2ZyB4bWxucz0iaHR0cDovL3d3dy53My5vcmcvMjAwMC9zdmciIHZpZXdCb3g9IjAgMCAzMi"
        "AzMiI+PHJlY3Qgd2lkdGg9IjMyIiBoZWlnaHQ9IjMyIiByeD0iOCIgZmlsbD0iIzJmNGFjNyIvPjxwYXRoIGQ9Ik04IDIzVjEwbD"
        "ggOCA4LTh2MTMiIGZpbGw9Im5vbmUiIHN0cm9rZT0iI2ZmZiIgc3Ryb2tlLXdpZHRoPSIzIiBzdHJva2UtbGluZWNhcD0icm91bm"
        "QiIHN0cm9rZS1saW5lam9pbj0icm91bmQiLz48L3N2Zz4="
    ),
    mime_type="image/svg+xml",
    sizes=["any"],
)
LIST_METHODS: tuple[CacheableMethod, ...] = ("tools/list", "resources/list", "resources/templates/list", "prompts/list")
LIST_CACHE_MILLISECONDS = 60_000


class LeanServer(Server[Any]):
    """The SDK's server, with less work for each message.

    Its only middleware is for OpenTelemetry's SDK, which no function has: our spans are X-Ray's.
    """

    def __init__(self, name: str, **options: Any) -> None:
        super().__init__(name, **options)
        self.middleware.clear()
        self._stamp = super().server_info_stamp

    @property
    def server_info_stamp(self) -> dict[str, Any]:
        """The server's description in each answer; icons are not copied, since an answer is only written as JSON."""
        return dict(self._stamp)


def meta_tool_server() -> Server[Any]:
    """Return the server of `/mcp`."""
    server = LeanServer(
        SERVER_NAME,
        version=VERSION,
        title=TITLE,
        instructions=INSTRUCTIONS,
        icons=[ICON],
        cache_hints=dict.fromkeys(LIST_METHODS, CacheHint(ttl_ms=LIST_CACHE_MILLISECONDS, scope="private")),
        get_tool_input_schema=_no_header_arguments,
        on_list_tools=PlainHandler(tools.list_tools),
        on_call_tool=PlainHandler(tools.call_tool),
        on_list_resources=PlainHandler(methods.list_resources),
        on_list_resource_templates=PlainHandler(methods.list_resource_templates),
        on_read_resource=PlainHandler(methods.read_resource),
        on_list_prompts=PlainHandler(methods.list_prompts),
        on_get_prompt=PlainHandler(methods.get_prompt),
        on_completion=PlainHandler(methods.complete),
    )
    tasks.install(server, get=methods.get_task, update=methods.update_task, cancel=methods.cancel_task)
    return server


def category_server() -> Server[Any]:
    """Return the server of `/mcp/categories`."""
    return LeanServer(
        SERVER_NAME,
        version=VERSION,
        title=TITLE,
        instructions=CATEGORY_INSTRUCTIONS,
        icons=[ICON],
        cache_hints={"tools/list": CacheHint(ttl_ms=LIST_CACHE_MILLISECONDS, scope="private")},
        get_tool_input_schema=_no_header_arguments,
        on_list_tools=PlainHandler(tools.list_category_tools),
        on_call_tool=PlainHandler(tools.call_category_tool),
    )


def _no_header_arguments(_: str) -> None:
    """Tell the SDK that no argument comes in a header, so that it need not search each call's schema for one."""
