"""The sandbox's connections to upstream MCP servers, as synchronous code sees them."""

import asyncio
import atexit
import hashlib
import json
import logging
import time
from collections.abc import Coroutine, Mapping
from dataclasses import dataclass, field, replace
from functools import cache, partial
from typing import Any

import mcp_types
from mcp import MCPError
from mcp.client import Client
from mcp_types import HEADER_MISMATCH, INVALID_REQUEST
from pydantic import TypeAdapter

from mcpist.errors import McpistError, SchemaFetchError, Timeout, UpstreamUnavailable
from mcpist.running.refusals import Failure
from mcpist_services.upstream import listing
from mcpist_services.upstream.background import Background
from mcpist_services.upstream.configuration import Server, configuration
from mcpist_services.upstream.connection import Connection, Request
from mcpist_services.upstream.http import Pool
from mcpist_services.upstream.link import Link
from mcpist_services.upstream.listing import Listing

__all__ = ["SHARED", "Identity", "Listing", "Upstreams", "upstreams"]

MOST_LINKS = 100
IDLE_SECONDS = 300.0
CLOSE_SECONDS = 6.0

# They print answers and addresses, which tell secrets and other people's texts.
_LOUD = ("client", "httpcore2", "httpx2", "mcp.client")

_ANSWER: TypeAdapter[mcp_types.CallToolResult | mcp_types.InputRequiredResult] = TypeAdapter(
    mcp_types.CallToolResult | mcp_types.InputRequiredResult
)

logger = logging.getLogger(__name__)

type Key = tuple[str, str, str, str]


@dataclass(frozen=True, slots=True)
class Identity:
    """For whom an upstream is asked: two identities share no session, but for that of a child process.

    `secrets` are the resolved values of the server's references, by the reference: `{"grant:github": "gho_..."}`.
    """

    organization: str = ""
    user: str = ""
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)


SHARED = Identity()


class Upstreams:
    """The connections of one sandbox; all moments (`until`) are on the monotonic clock.

    Nothing runs before the first request, so that a sandbox may be copied from a snapshot until then.
    """

    def __init__(self, servers: Mapping[str, Server] | None = None) -> None:
        self._servers = servers
        self._background = Background()
        self._links: dict[Key, Link] = {}
        self._turns: dict[str, asyncio.Semaphore] = {}
        self._pool: Pool | None = None
        self._closing: set[asyncio.Task[None]] = set()

    def list_tools(self, server: str, identity: Identity = SHARED, *, until: float) -> Listing:
        """Everything that a server offers.

        Raises `UpstreamUnavailable` or `Timeout` where it cannot be reached, and `SchemaFetchError` where it can but
        does not tell its tools.
        """
        return self._run(self._list(server, identity, until), server, until)

    def call(
        self,
        server: str,
        identity: Identity,
        tool: str,
        arguments: Mapping[str, Any],
        *,
        until: float,
        reads: bool = False,
    ) -> mcp_types.CallToolResult:
        """Run a tool; one that `reads` is sent again if its connection breaks.

        A result that says `is_error` is a result. Raises `ToolExecutionError` where the server refuses the request
        itself (`http_status` 401 when it refuses the token), `Timeout` and `UpstreamUnavailable` where it does not
        answer, with the detail `may_have_happened`, and `AnswerTooLarge`.
        """

        async def ask(client: Client) -> mcp_types.CallToolResult:
            return await _call(client, tool, dict(arguments))

        return self._run(self._ask(server, identity, ask, until, reads=reads), server, until)

    def read_resource(self, server: str, identity: Identity, uri: str, *, until: float) -> mcp_types.ReadResourceResult:
        """Read one of a server's resources."""

        async def ask(client: Client) -> mcp_types.ReadResourceResult:
            return await client.session.read_resource(uri)

        return self._run(self._ask(server, identity, ask, until, reads=True), server, until)

    def get_prompt(
        self, server: str, identity: Identity, name: str, arguments: Mapping[str, str], *, until: float
    ) -> mcp_types.GetPromptResult:
        """One of a server's prompts, filled in."""

        async def ask(client: Client) -> mcp_types.GetPromptResult:
            return await client.session.get_prompt(name, dict(arguments))

        return self._run(self._ask(server, identity, ask, until, reads=True), server, until)

    def start(self, identity: Identity = SHARED) -> None:
        """Begin to connect to all servers that need no user, side by side, and return at once.

        A server that cannot be reached is tried again, ever more rarely. `identity` brings the stored parameters.
        """
        for name, server in self.servers.items():
            if not server.grants and server.references <= set(identity.secrets):
                self._background.begin(self._keep_trying(name, identity))

    def close(self) -> None:
        """End all connections and all child processes."""
        if self._background.started:
            try:
                self._background.run(self._close(), time.monotonic() + CLOSE_SECONDS)
            except TimeoutError:
                logger.warning("upstreams did not close in time")
            self._background.stop()

    @property
    def servers(self) -> Mapping[str, Server]:
        """The configured servers, by name."""
        return configuration().servers if self._servers is None else self._servers

    def _run[T](self, work: Coroutine[Any, Any, T], server: str, until: float) -> T:
        begun = time.monotonic()
        try:
            return self._background.run(work, until)
        except TimeoutError:
            error = Timeout(service=server, seconds=round(time.monotonic() - begun, 1))
            error.details["may_have_happened"] = True
            raise error from None

    async def _ask[T](self, name: str, identity: Identity, request: Request[T], until: float, *, reads: bool) -> T:
        return await self._link(name, identity).ask(request, until=until, reads=reads)

    async def _list(self, name: str, identity: Identity, until: float) -> Listing:
        connected = await self._link(name, identity).connect(until)
        if isinstance(connected, Failure):
            raise connected.error
        try:
            found = await self._ask(name, identity, listing.read, until, reads=True)
        except McpistError as error:
            problem = error.details.get("problem") or str(error)
            raise SchemaFetchError(**{**error.details, "service": name, "problem": problem}) from None
        return replace(found, scope="private") if self.servers[name].grants else found

    async def _keep_trying(self, name: str, identity: Identity) -> None:
        await self._link(name, identity).keep_trying()

    def _link(self, name: str, identity: Identity) -> Link:
        """The way to a server as this identity; those that nobody used for a while are closed."""
        server = self.servers[name]
        try:
            filled = server.filled(identity.secrets)
        except KeyError as error:
            problem = f"no value is known of {error.args[0]}"
            raise UpstreamUnavailable(service=name, problem=problem) from None
        owner = ("", "") if server.type == "stdio" else (identity.organization, identity.user)
        key = (name, *owner, _digest(filled))
        if key not in self._links:
            self._make_room()
            turns = self._turns.setdefault(name, asyncio.Semaphore(server.concurrency))
            self._links[key] = Link(name, partial(Connection, name, server, filled, self._sockets()), turns)
        return self._links[key]

    def _make_room(self) -> None:
        """Close the connections that are idle for long, and the longest idle one where there are too many."""
        idle = [key for key, link in self._links.items() if not link.is_busy]
        idle.sort(key=lambda key: self._links[key].used)
        late = time.monotonic() - IDLE_SECONDS
        for place, key in enumerate(idle):
            too_many = len(self._links) >= MOST_LINKS and place == 0
            if too_many or (self._links[key].used < late and self.servers[key[0]].type != "stdio"):
                self._closing.add(task := asyncio.create_task(self._links.pop(key).close()))
                task.add_done_callback(self._closing.discard)

    def _sockets(self) -> Pool:
        """The TCP connections, made at first use; with them begins what has to end with the process."""
        if self._pool is None:
            for library in _LOUD:
                logging.getLogger(library).setLevel(logging.CRITICAL)
            atexit.register(self.close)
            self._pool = Pool()
        return self._pool

    async def _close(self) -> None:
        links, self._links = list(self._links.values()), {}
        await asyncio.gather(*(link.close() for link in links), *self._closing)
        if self._pool is not None:
            await self._pool.close()
        self._pool, self._turns = None, {}


async def _call(client: Client, tool: str, arguments: dict[str, Any]) -> mcp_types.CallToolResult:
    """The answer to `tools/call`, as the server gives it.

    The SDK's own method would first list the tools, to check the result; only a server that wants arguments in headers
    makes that necessary.
    """
    params = mcp_types.CallToolRequestParams(name=tool, arguments=arguments)
    request = mcp_types.CallToolRequest(params=params)
    try:
        answer = await client.session.send_request(request, _ANSWER)
    except MCPError as error:
        if error.error.code != HEADER_MISMATCH:
            raise
        await listing.read(client)
        answer = await client.session.send_request(request, _ANSWER)
    if isinstance(answer, mcp_types.InputRequiredResult):
        raise MCPError(code=INVALID_REQUEST, message="it asks a person for input, which cannot be passed on")
    return answer


def _digest(filled: Mapping[str, str]) -> str:
    return hashlib.sha256(json.dumps(sorted(filled.items())).encode()).hexdigest()


@cache
def upstreams() -> Upstreams:
    """This sandbox's connections; nothing is started before they are first used."""
    return Upstreams()
