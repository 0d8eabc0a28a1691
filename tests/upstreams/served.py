"""A server of the official SDK on loopback."""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from threading import Thread
from typing import Any

import uvicorn
from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from starlette.applications import Starlette
from starlette.routing import Mount


@contextmanager
def served(server: Server[Any]) -> Iterator[str]:
    """The server's URL while the context lasts."""
    manager = StreamableHTTPSessionManager(server, json_response=True, stateless=True)

    @asynccontextmanager
    async def running(_: Starlette) -> AsyncIterator[None]:
        async with manager.run():
            yield

    app = Starlette(routes=[Mount("/mcp", app=manager.handle_request)], lifespan=running)
    config = uvicorn.Config(app, host="127.0.0.1", port=0, log_level="warning", ws="none")
    socket = config.bind_socket()
    socket.listen()  # a client that comes before the server has started waits
    web = uvicorn.Server(config)
    thread = Thread(target=web.run, args=([socket],))
    thread.start()
    try:
        yield f"http://127.0.0.1:{socket.getsockname()[1]}/mcp/"
    finally:
        web.should_exit = True
        thread.join()
        socket.close()
