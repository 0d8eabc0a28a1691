"""The pages of the list of resources: those with fixed addresses, then the rows of the tools that list others."""

import base64
import json
from collections.abc import Iterator
from typing import Any

from mcp_types import ListResourcesResult
from mcp_types import Resource as Listed

from mcp_endpoint import resources
from mcp_endpoint.exchange import Exchange
from mcpist.errors import InvalidRequest
from mcpist.running.gate import ToolUse, admit
from mcpist.tools.access.permissions import Permissions
from mcpist.tools.declare.materials import Resource
from mcpist.tools.declare.tool import Tool

PAGE_ROWS = 100


def page(exchange: Exchange, permissions: Permissions, cursor: str) -> ListResourcesResult:
    """Return the page that a cursor names; the first page for an empty one."""
    number, after = _place(cursor) if cursor else (0, "")
    listed = [] if cursor else resources.list_fixed(permissions)
    listings = list(_listings(permissions))
    if number >= len(listings):
        return ListResourcesResult(resources=listed)
    resource, tool = listings[number]
    arguments: dict[str, Any] = {"limit": PAGE_ROWS} | ({"after": after} if after else {})
    use = ToolUse(tool.module, tool.name, arguments, exchange.request_id)
    result = admit(permissions, use).run(exchange.remaining)
    listed += [_listed(resource, row) for row in result.json]
    number, after = (number, result.json[-1][resource.variables[0]]) if result.more else (number + 1, "")
    return ListResourcesResult(resources=listed, next_cursor=_cursor(number, after) if number < len(listings) else None)


def _listings(permissions: Permissions) -> Iterator[tuple[Resource, Tool]]:
    """Yield the caller's resources that a tool lists, where it may use that tool."""
    for module in permissions.modules():
        for entry in permissions.resources(module):
            if entry.listed_by and permissions.allows(module.tools[entry.listed_by]):
                home = permissions.catalogue.module(module.name)
                yield home.resources[entry.name], home.tools[entry.listed_by]


def _listed(resource: Resource, row: dict[str, Any]) -> Listed:
    name = row[resource.variables[0]]
    return Listed(
        name=name,
        title=row.get("title"),
        uri=resource.address(name),
        mime_type=resource.mime_type,
        size=row.get("size_bytes"),
    )


def _cursor(number: int, after: str) -> str:
    """Return the cursor of the rows of a listing after one of them."""
    return base64.urlsafe_b64encode(json.dumps([number, after]).encode()).decode()


def _place(cursor: str) -> tuple[int, str]:
    """Return what a cursor says."""
    try:
        number, after = json.loads(base64.urlsafe_b64decode(cursor))
        return range(1_000)[number], str(after)
    except (ValueError, TypeError, IndexError, RecursionError):
        raise InvalidRequest(field="cursor", problem="it is none of this list") from None
