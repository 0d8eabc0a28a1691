"""The transport to a server over HTTP; one that speaks over stdio is reached through the program runner."""

from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from typing import Any

from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client

from mcpist_services.upstream.configuration import UpstreamServer
from mcpist_services.upstream.faults import Faults
from mcpist_services.upstream.http import ConnectionPool, UpstreamTransport, client_factory

MAX_SSE_EVENT_BYTES = 1_000_000  # the SDK accepts no larger events on an SSE transport


async def open_http(
    pool: ConnectionPool, server: UpstreamServer, headers: Mapping[str, str], faults: Faults, stack: AsyncExitStack
) -> AbstractAsyncContextManager[Any]:
    """Return the transport to a server of the type http or sse."""
    is_sse = server.type == "sse"
    limit = min(server.result_bytes, MAX_SSE_EVENT_BYTES) if is_sse else server.result_bytes
    transport = UpstreamTransport(pool, faults, limit, is_sse=is_sse)
    make = client_factory(transport, headers, server.timeout_seconds)
    if is_sse:
        return sse_client(server.url, httpx_client_factory=make)
    client = await stack.enter_async_context(make())
    return streamable_http_client(server.url, http_client=client, max_sse_event_size=limit)
