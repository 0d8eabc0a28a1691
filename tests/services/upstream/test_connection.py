"""One connection, to a server that answers by a script and over no network."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import pytest
from mcp.client import Client
from mcp.shared.memory import create_client_server_memory_streams
from mcp.shared.message import SessionMessage
from mcp_types import METHOD_NOT_FOUND, REQUEST_TIMEOUT, ErrorData, JSONRPCError, JSONRPCRequest, JSONRPCResponse

from mcpist.errors import Timeout
from mcpist.running.refusals import Failure
from mcpist_services.upstream.configuration import UpstreamServer
from mcpist_services.upstream.connection import UpstreamConnection
from tests.upstreams.fake_upstream import ABOUT


class ScriptedServer:
    """A server that answers a method as `says` has it, and the others never; `asked` are its requests' methods."""

    def __init__(self, **says: Any) -> None:
        self.says: dict[str, Any] = {"initialize": ABOUT, **says}
        self.asked: list[str] = []

    async def open(self, *_: Any) -> AbstractAsyncContextManager[Any]:
        return self._transport()

    @asynccontextmanager
    async def _transport(self) -> AsyncIterator[Any]:
        async with create_client_server_memory_streams() as (client, (read, write)):
            answering = asyncio.create_task(self._answer(read, write))
            try:
                yield client
            finally:
                answering.cancel()

    async def _answer(self, read: Any, write: Any) -> None:
        async for received in read:
            request = received.message
            if not isinstance(request, JSONRPCRequest):
                continue
            self.asked.append(request.method)
            match self.says.get(request.method):
                case ErrorData() as error:
                    await write.send(SessionMessage(JSONRPCError(jsonrpc="2.0", id=request.id, error=error)))
                case dict() as result:
                    await write.send(SessionMessage(JSONRPCResponse(jsonrpc="2.0", id=request.id, result=result)))


def with_connection(server: ScriptedServer, use: Callable[[UpstreamConnection], Awaitable[None]]) -> None:
    async def run() -> None:
        configured = UpstreamServer(description="Scripted", command="scripted")
        connection = UpstreamConnection("scripted", configured, (), server.open, "legacy")
        assert await connection.open() is None
        await use(connection)
        await connection.close()
        assert connection.is_closed

    asyncio.run(run())


async def request_in_vain(connection: UpstreamConnection) -> None:
    """Send a request that is not answered in time."""

    async def list_tools(client: Client) -> Any:
        return await client.session.list_tools()

    failed = await connection.send(list_tools, time.monotonic() + 0.05)
    assert isinstance(failed, Failure)
    assert isinstance(failed.error, Timeout)


@pytest.mark.parametrize(
    "answer", [{}, {"_meta": 3}, ErrorData(code=METHOD_NOT_FOUND, message="no ping")], ids=["pong", "broken", "error"]
)
def test_a_server_that_was_late_is_pinged_once_and_used_on_if_it_answers_at_all(answer: Any) -> None:
    server = ScriptedServer(ping=answer)

    async def use(connection: UpstreamConnection) -> None:
        assert await connection.is_usable()
        assert "ping" not in server.asked
        await request_in_vain(connection)
        assert await connection.is_usable()
        assert await connection.is_usable()
        assert server.asked.count("ping") == 1

    with_connection(server, use)


def test_a_server_that_gives_no_sign_of_life_is_not_used_again() -> None:
    server = ScriptedServer(ping=ErrorData(code=REQUEST_TIMEOUT, message="the SDK waited in vain"))

    async def use(connection: UpstreamConnection) -> None:
        await request_in_vain(connection)
        assert not await connection.is_usable()
        assert connection.faults.closed.is_set()
        assert server.asked[-1] == "ping"

    with_connection(server, use)
