"""The extension Skills (`io.modelcontextprotocol/skills`): its methods, which the SDK has no types for.

Specification: https://modelcontextprotocol.io/seps/2640-skills-extension
"""

from collections.abc import Callable
from typing import Any

from mcp.server.lowlevel import Server
from mcp_types import PaginatedRequestParams, RequestParams

from mcp_endpoint.exchange import Handle, McpExchange, SyncHandler
from mcpist.files.content import MARKDOWN

SKILLS_EXTENSION = "io.modelcontextprotocol/skills"
DIRECTORY_TYPE = "inode/directory"


class UriParams(RequestParams):
    """The params of `skills/get` and of `resources/directory/read`."""

    uri: str


def install(server: Server[Any], answering: Callable[[Handle], Handle], ttl_ms: int) -> None:
    """Declare the extension and serve its methods."""
    cacheable = {"ttlMs": ttl_ms, "cacheScope": "private"}

    def list_skills(exchange: McpExchange, _: PaginatedRequestParams | None) -> dict[str, Any]:
        from mcpist_services import skills  # few requests wait for it

        found = [skill.entry() for skill in skills.list_skills(exchange.permissions)]
        return {"resultType": "complete", "skills": found, **cacheable}

    def get_skill(exchange: McpExchange, params: UriParams) -> dict[str, Any]:
        from mcpist_services import skills

        found = skills.find(exchange.permissions, params.uri)
        return {"resultType": "complete", "skill": found.entry(), **cacheable}

    def read_directory(exchange: McpExchange, params: UriParams) -> dict[str, Any]:
        from mcpist_services import skills

        children = skills.children(exchange.permissions, params.uri)
        rows = [
            {"uri": uri, "name": uri.rpartition("/")[2], "mimeType": DIRECTORY_TYPE if is_folder else MARKDOWN}
            for uri, is_folder in children.items()
        ]
        return {"resultType": "complete", "resources": rows}

    server.extensions[SKILLS_EXTENSION] = {"directoryRead": True}
    server.add_request_handler("skills/list", PaginatedRequestParams, SyncHandler(answering(list_skills)))
    server.add_request_handler("skills/get", UriParams, SyncHandler(answering(get_skill)))
    server.add_request_handler("resources/directory/read", UriParams, SyncHandler(answering(read_directory)))
