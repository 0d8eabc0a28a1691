"""A server's lists of tools, resources and prompts, read page by page; each item is checked alone."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Literal

import mcp_types
from mcp import MCPError
from mcp.client import Client, ClientSession
from mcp_types import PaginatedRequestParams
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import TypeAdapter

from mcpist.errors import SchemaFetchError
from mcpist_services.upstream.checked_items import ITEM_TYPES, ListCheck, ListTooLarge, RejectedItem

MAX_LISTING_PAGES = 500
MAX_MATERIALS = 200  # of a server: each is pinned when it is first seen

_KIND_OF_METHOD: Mapping[str, str] = {
    "tools/list": "tools",
    "resources/list": "resources",
    "resources/templates/list": "resourceTemplates",
    "prompts/list": "prompts",
}
# The checks of the lists that this task reads.
_checks: ContextVar[Mapping[str, ListCheck]] = ContextVar("checks")


type ServerMaterial = mcp_types.Resource | mcp_types.ResourceTemplate | mcp_types.Prompt


@dataclass(frozen=True, slots=True)
class Listing:
    """All pages of a server's lists.

    `ttl_seconds` is how long the server says that they are valid; a `private` listing is valid for the identity that
    asked only. `rejected` items are not in the other lists.
    """

    tools: tuple[mcp_types.Tool, ...]
    ttl_seconds: float | None = None
    scope: Literal["public", "private"] = "public"
    resources: tuple[mcp_types.Resource, ...] = ()
    resource_templates: tuple[mcp_types.ResourceTemplate, ...] = ()
    prompts: tuple[mcp_types.Prompt, ...] = ()
    rejected: tuple[RejectedItem, ...] = ()

    @property
    def materials(self) -> tuple[ServerMaterial, ...]:
        """Its prompts, templates and resources, as many as are offered."""
        found: list[ServerMaterial] = [*self.prompts, *self.resource_templates, *self.resources]
        return tuple(found[:MAX_MATERIALS])


_LISTING = TypeAdapter(Listing)


def listing_to_json(listing: Listing) -> dict[str, Any]:
    """Return a listing as JSON."""
    content: dict[str, Any] = _LISTING.dump_python(listing, mode="json", by_alias=True, exclude_none=True)
    return content


def listing_from_json(content: Mapping[str, Any], **known: Any) -> Listing:
    """Return the listing of its JSON; `known` takes the place of what the JSON says."""
    return _LISTING.validate_python({**content, **known})


async def read(client: Client) -> Listing:
    """Read a server's lists; a list other than the tools' that it does not have, or that is too large, is empty."""
    session, offers = client.session, client.server_capabilities
    checks = {kind: ListCheck(kind) for kind in ITEM_TYPES}
    _checks.set(checks)
    tools, resources, templates, prompts = await asyncio.gather(
        _pages(session.list_tools) if offers.tools else _empty(),
        _optional(session.list_resources) if offers.resources else _empty(),
        _optional(session.list_resource_templates) if offers.resources else _empty(),
        _optional(session.list_prompts) if offers.prompts else _empty(),
    )
    has_cache_hints = client.protocol_version in MODERN_PROTOCOL_VERSIONS and bool(tools)
    return Listing(
        tools=tuple(tool for page in tools for tool in page.tools),
        ttl_seconds=min(page.ttl_ms for page in tools) / 1000 if has_cache_hints else None,
        scope="private" if has_cache_hints and any(page.cache_scope == "private" for page in tools) else "public",
        resources=tuple(one for page in resources for one in page.resources),
        resource_templates=tuple(one for page in templates for one in page.resource_templates),
        prompts=tuple(one for page in prompts for one in page.prompts),
        rejected=tuple(rejected for check in checks.values() for rejected in check.rejected),
    )


def check_lists(session: ClientSession) -> None:
    """Let a session sift the pages of its lists before the SDK reads them, which refuses a page for one broken item."""
    dispatcher = session._dispatcher  # noqa: SLF001 - the SDK has no hook between the transport and its own types
    send_raw_request = dispatcher.send_raw_request

    async def send_and_sift(method: str, *arguments: Any, **options: Any) -> dict[str, Any]:
        page = await send_raw_request(method, *arguments, **options)
        kind = _KIND_OF_METHOD.get(method)
        return page if kind is None else _checks.get()[kind].sift(page)

    dispatcher.send_raw_request = send_and_sift  # type: ignore[method-assign]


type _ListMethod = Callable[..., Awaitable[Any]]


async def _pages(list_method: _ListMethod) -> list[Any]:
    """Read all pages; raise if a server never ends them or repeats a cursor."""
    pages: list[Any] = []
    seen: set[str | None] = set()
    cursor: str | None = None
    while cursor not in seen and len(pages) < MAX_LISTING_PAGES:
        seen.add(cursor)
        try:
            page = await list_method(params=PaginatedRequestParams(cursor=cursor) if cursor else None)
        except ListTooLarge as error:
            raise SchemaFetchError(service="", problem=str(error)) from None  # the caller names the server
        pages.append(page)
        cursor = page.next_cursor or None
    return pages


async def _optional(list_method: _ListMethod) -> list[Any]:
    try:
        return await _pages(list_method)
    except (MCPError, SchemaFetchError):
        return []


async def _empty() -> list[Any]:
    return []
