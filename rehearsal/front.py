"""The front: a CONNECT proxy that takes the API's host names to the engine, so that clients use a stack's own URLs."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from infra.local.server import listen

CHUNK_BYTES = 65_536


@contextmanager
def running_front(host_suffix: str, engine_port: int) -> Iterator[str]:
    """Serve the proxy on a free loopback port until the context ends, and yield its URL."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="front", daemon=True)
    thread.start()

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError, EOFError):
            await _tunnel(reader, writer, host_suffix, engine_port)
        writer.close()

    async def serve() -> asyncio.Server:
        return await asyncio.start_server(connected, sock=listen("127.0.0.1", 0))

    server = asyncio.run_coroutine_threadsafe(serve(), loop).result()
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        asyncio.run_coroutine_threadsafe(_close(server), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


async def _close(server: asyncio.Server) -> None:
    """Stop listening, and end the connections that are still open."""
    server.close()
    open_connections = asyncio.all_tasks() - {asyncio.current_task()}
    for task in open_connections:
        task.cancel()
    await asyncio.gather(*open_connections, return_exceptions=True)


async def _tunnel(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, suffix: str, engine_port: int) -> None:
    """Answer one CONNECT and copy both directions until one of them ends."""
    method, address, _ = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split(" ", 2)
    if method != "CONNECT" or not address.endswith(f"{suffix}:443"):
        writer.write(b"HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\n\r\n")
        return
    writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
    engine_reader, engine_writer = await asyncio.open_connection("127.0.0.1", engine_port)
    copies = [asyncio.create_task(_copy(reader, engine_writer)), asyncio.create_task(_copy(engine_reader, writer))]
    try:
        await asyncio.wait(copies, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for copy in copies:
            copy.cancel()
        engine_writer.close()


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while chunk := await reader.read(CHUNK_BYTES):
            writer.write(chunk)
            await writer.drain()
