"""A stdio MCP server below a supervisor, which speaks JSON-RPC lines over its standard input and output.

It ends with the sandbox, its lines are bounded, and its standard error is kept out of the protocol.
"""

import asyncio
import logging
import re
import select
import shutil
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCError, jsonrpc_message_adapter
from pydantic import ValidationError

from mcpist.errors import ProgramUnavailable
from mcpist.programs.messages import ServerDeclaration
from mcpist.visible_text import visible
from mcpist_services.upstream.checked_items import shallow
from mcpist_services.upstream.faults import Faults
from mcpist_services.upstream.secret_detection import without_secrets
from program_runner.confinement.order import GRACE_SECONDS, Order
from program_runner.process import inherited_environment, network_environment, supervisor_command, supervisor_options

CHUNK_BYTES = 65_536
LINE_EDGE_BYTES = 200
STDERR_TAIL_BYTES = 4_000
STDERR_LINES, MAX_STDERR_CHARACTERS = 4, 400  # of an error
SUPERVISOR_END_SECONDS = 3.0

type Streams = tuple[MemoryObjectReceiveStream[SessionMessage | Exception], MemoryObjectSendStream[SessionMessage]]

# Finds the id of a response that is too large to be parsed: servers write it first or last.
_ID_FIRST = re.compile(rb'^\s*{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"id"\s*:\s*(\d+)\s*,')
_ID_LAST = re.compile(rb'"id"\s*:\s*(\d+)\s*}\s*$')

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Surroundings:
    """The place of a running server."""

    folder: str
    """Its working directory."""
    home: str
    namespaces: bool = True


class ChildProcess:
    """A running server, and the two streams for the SDK."""

    def __init__(self, process: asyncio.subprocess.Process, control: socket.socket, faults: Faults, limit: int) -> None:
        self._process = process
        self._control = control
        self._faults = faults
        self._limit = limit
        self._stderr_tail = bytearray()
        self._stderr_ended = asyncio.Event()
        self._incoming_sender, self.incoming = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        self.outgoing, self._outgoing_receiver = anyio.create_memory_object_stream[SessionMessage](0)

    def is_fresh(self) -> bool:
        """Whether the server runs at this moment: its end is seen at its output before its supervisor has ended."""
        if self._process.returncode is not None:
            return False
        pipe: asyncio.ReadTransport = self._process._transport.get_pipe_transport(1)  # type: ignore[attr-defined]  # noqa: SLF001 - asyncio shows it nowhere else
        if pipe.is_closing():
            return False
        poll = select.poll()
        poll.register(pipe.get_extra_info("pipe"), 0)
        return not poll.poll(0)

    async def read(self) -> None:
        """Pass on the server's messages until it ends; lines that are no messages are skipped."""
        assert self._process.stdout is not None
        with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
            async for line, is_complete in lines(self._process.stdout, self._limit):
                message = self._message(line) if is_complete else self._too_large(line)
                if message is not None:
                    await self._incoming_sender.send(message)
        with suppress(TimeoutError):
            async with asyncio.timeout(GRACE_SECONDS):
                await self._process.wait()
                await self._stderr_ended.wait()
        problem = f"its process ended (exit code {self._process.returncode})"
        last = self._last_lines()
        self._faults.close(self._faults.unavailable(f"{problem}: {last}" if last else problem))
        self._incoming_sender.close()

    async def write(self) -> None:
        """Pass on our messages until the server's input is closed."""
        assert self._process.stdin is not None
        with suppress(OSError, anyio.BrokenResourceError, anyio.ClosedResourceError):
            async for outgoing in self._outgoing_receiver:
                line = outgoing.message.model_dump_json(by_alias=True, exclude_unset=True)
                self._process.stdin.write(line.encode() + b"\n")
                await self._process.stdin.drain()

    async def drain_stderr(self) -> None:
        """Read standard error, so that the server is not blocked, and keep the end of it."""
        assert self._process.stderr is not None
        while chunk := await self._process.stderr.read(CHUNK_BYTES):
            self._stderr_tail += chunk
            del self._stderr_tail[:-STDERR_TAIL_BYTES]
        self._stderr_ended.set()

    async def end(self) -> None:
        """Stop the server and its child processes: by closing its input, then by its supervisor."""
        for stream in (self.incoming, self.outgoing, self._incoming_sender, self._outgoing_receiver):
            stream.close()
        assert self._process.stdin is not None
        self._process.stdin.close()
        await self._has_ended(GRACE_SECONDS)
        self._control.close()
        if not await self._has_ended(GRACE_SECONDS + SUPERVISOR_END_SECONDS):
            self._process.kill()
            await self._has_ended(GRACE_SECONDS)
        self._process._transport.close()  # type: ignore[attr-defined]  # noqa: SLF001 - a grandchild may hold a pipe
        stderr = self._faults.redact(self._stderr_tail.decode(errors="replace"))
        logger.debug("upstream process ended", extra={"server": self._faults.service, "stderr": stderr})

    def _last_lines(self) -> str:
        """Return the end of standard error as one line that can be shown: its values that look like secrets are cut."""
        written = self._stderr_tail.decode(errors="replace").splitlines()
        last = [line.strip() for line in written if line.strip()][-STDERR_LINES:]
        return visible(without_secrets(" | ".join(last)))[-MAX_STDERR_CHARACTERS:]

    async def _has_ended(self, seconds: float) -> bool:
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._process.wait()
        return self._process.returncode is not None

    def _message(self, line: bytes) -> SessionMessage | None:
        try:
            return SessionMessage(jsonrpc_message_adapter.validate_json(shallow(line), by_name=False))
        except ValidationError:
            return None

    def _too_large(self, line: bytes) -> SessionMessage | None:
        """Fail the request whose response is too large; if its id cannot be found, the connection must end."""
        found = _ID_FIRST.search(line) or _ID_LAST.search(line)
        if found is None:
            self._faults.close(self._faults.too_large(self._limit))
            return None
        error: JSONRPCError = self._faults.error_response(int(found[1]), self._faults.too_large(self._limit))
        return SessionMessage(error)


@asynccontextmanager
async def child(server: ServerDeclaration, surroundings: Surroundings, faults: Faults) -> AsyncIterator[Streams]:
    """Open a server's streams for the context; raises ProgramUnavailable if there is no such command."""
    environment = inherited_environment() | network_environment() | {"HOME": surroundings.home} | server.environment
    program = shutil.which(server.command, path=environment.get("PATH"))
    if program is None:
        raise ProgramUnavailable(service=faults.service, program=server.command, problem="there is no such command")
    process, control = await _start_supervisor()
    # It lives long and may use the network, so neither its memory nor its files have a limit.
    order = Order(
        (program, *server.arguments), surroundings.folder, environment, network=True, namespaces=surroundings.namespaces
    )
    control.sendall(order.encode())
    running = ChildProcess(process, control, faults, server.result_bytes)
    faults.is_fresh = running.is_fresh
    async with anyio.create_task_group() as tasks:
        for task in (running.read, running.write, running.drain_stderr):
            tasks.start_soon(task)
        try:
            yield running.incoming, running.outgoing
        finally:
            with anyio.CancelScope(shield=True):
                await running.end()
            tasks.cancel_scope.cancel()


async def _start_supervisor() -> tuple[asyncio.subprocess.Process, socket.socket]:
    """Start a supervisor, which waits for its order at the socket."""
    control, theirs = socket.socketpair()
    with theirs:
        process = await asyncio.create_subprocess_exec(
            *supervisor_command(theirs.fileno()), **supervisor_options(theirs)
        )
    return process, control


async def lines(stream: asyncio.StreamReader, limit: int) -> AsyncIterator[tuple[bytes, bool]]:
    """Yield each line, and whether it is whole: of a line over the limit only the beginning and the end are kept."""
    line, is_complete = bytearray(), True
    while chunk := await stream.read(CHUNK_BYTES):
        for place, piece in enumerate(chunk.split(b"\n")):
            if place:
                yield bytes(line), is_complete
                line, is_complete = bytearray(), True
            line += piece
            if len(line) > limit:
                del line[LINE_EDGE_BYTES:-LINE_EDGE_BYTES]
                is_complete = False
