"""The sandbox's connections to upstream MCP servers, for synchronous code."""

import asyncio
import atexit
import hashlib
import json
import logging
import time
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from functools import cache, partial
from typing import Any

from pydantic import BaseModel

from mcpist.aws.attributes import unpack
from mcpist.errors import Timeout, UpstreamUnavailable
from mcpist.programs import client
from mcpist.programs.messages import ServerDeclaration, ServerRequest
from mcpist_services.upstream import requests
from mcpist_services.upstream.configuration import UpstreamServer, configuration
from mcpist_services.upstream.connection import BackgroundLoop, Request, UpstreamConnection
from mcpist_services.upstream.http import open_http
from mcpist_services.upstream.link import Link
from mcpist_services.upstream.listing import Listing, listing_from_json
from mcpist_services.upstream.network import ConnectionPool
from mcpist_services.upstream.registered import label, server_of
from mcpist_services.upstream.requests import Ask, ItemRequest

MAX_LINKS = 100
MAX_IDLE_SECONDS = 300.0
CLOSE_TIMEOUT_SECONDS = 6.0

# They log responses and addresses, which hold secrets and other people's texts.
_NOISY_LOGGERS = ("client", "httpcore2", "httpx2", "mcp.client")

logger = logging.getLogger(__name__)

type LinkKey = tuple[str, str, str, str]


@dataclass(frozen=True, slots=True)
class Identity:
    """On whose behalf an upstream is called: two identities share no session.

    `secrets` are the resolved values of the server's references, by the reference: `{"grant:github": "gho_..."}`.
    """

    organization: str = ""
    user: str = ""
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)
    versions: Mapping[str, int] = field(default_factory=dict)
    """Per service: the version of its grant among the secrets."""


SHARED = Identity()


class Upstreams:
    """The connections of one sandbox; every `deadline` is on the monotonic clock.

    Nothing runs before the first request, so a sandbox may be copied from a snapshot until then. `ask` sends a request
    to a server that speaks over stdio.
    """

    def __init__(self, servers: Mapping[str, UpstreamServer] | None = None, ask: Ask = client.ask) -> None:
        self._servers = servers
        self._ask = ask
        self._background = BackgroundLoop()
        self._is_started = False
        self._links: dict[LinkKey, Link] = {}
        self._semaphores: dict[str, asyncio.Semaphore] = {}
        self._pool: ConnectionPool | None = None
        self._closing: set[asyncio.Task[None]] = set()

    def list_tools(self, server: str, identity: Identity = SHARED, *, deadline: float) -> Listing:
        """Return everything that a server offers.

        Raises `UpstreamUnavailable` or `Timeout` if it cannot be reached, and `SchemaFetchError` if it can but does not
        list its tools.
        """
        if self._server(server).type == "stdio":
            return listing_from_json(self._ask_runner(server, identity, deadline, method="list", reads=True))
        private = bool(self._server(server).grants)
        listed = partial(requests.list_tools, service=label(server), deadline=deadline, private=private)
        return self._run(self._on_link(server, identity, listed), server, deadline)

    def send[Result: BaseModel](
        self, server: str, identity: Identity, request: ItemRequest[Result], *, deadline: float
    ) -> Result:
        """Send a request; one that `reads` is sent again if its connection breaks.

        A tool's result with `is_error` is a result. Raises `ToolExecutionError` if the server refuses the request
        (`http_status` 401 if it refuses the token), `Timeout` and `UpstreamUnavailable`, with the detail
        `may_have_happened`, if it does not answer, and `AnswerTooLarge`.
        """
        if self._server(server).type == "stdio":
            fields = {"name": request.name, "parameters": dict(request.arguments), "reads": request.reads}
            answer = self._ask_runner(server, identity, deadline, method=request.method, **fields)
            return request.result.model_validate(answer)
        sent: Request[Result] = requests.for_client(request.method, request.name, request.arguments)
        return self._run(
            self._on_link(server, identity, lambda link: link.send(sent, deadline=deadline, reads=request.reads)),
            server,
            deadline,
        )

    def start(self) -> None:
        """Begin to connect to all servers by HTTP that need no secret; return at once. A second call does nothing.

        A server that cannot be reached is tried again with growing pauses.
        """
        if self._is_started:
            return
        self._is_started = True
        for name, server in self.servers.items():
            if server.type != "stdio" and not server.references:
                self._background.submit(self._on_link(name, SHARED, Link.keep_trying))

    def close(self) -> None:
        """End all connections."""
        if self._background.started:
            try:
                self._background.run(self._close(), time.monotonic() + CLOSE_TIMEOUT_SECONDS)
            except TimeoutError:
                logger.warning("upstreams did not close in time")
            self._background.stop()

    @property
    def servers(self) -> Mapping[str, UpstreamServer]:
        """The configured servers, by name."""
        return configuration().servers if self._servers is None else self._servers

    def _server(self, name: str) -> UpstreamServer:
        return server_of(name) if self._servers is None else self._servers[name]

    def _run[T](self, work: Coroutine[Any, Any, T], server: str, deadline: float) -> T:
        started = time.monotonic()
        try:
            return self._background.run(work, deadline)
        except TimeoutError:
            error = Timeout(service=label(server), seconds=round(time.monotonic() - started, 1))
            error.details["may_have_happened"] = True
            raise error from None

    async def _on_link[T](self, name: str, identity: Identity, use: Callable[[Link], Awaitable[T]]) -> T:
        return await use(self._link(name, identity))

    def _link(self, name: str, identity: Identity) -> Link:
        """Return the link to a server as this identity; links that were not used for a while are closed."""
        server = self._server(name)
        values = self._values(name, server, identity)
        # A secret that was rotated begins a session of its own; the key must not hold the secret itself.
        declared = [server.type, server.url, server.timeout_seconds, server.result_bytes, sorted(values.items())]
        digest = hashlib.sha256(json.dumps(declared).encode()).hexdigest()
        key = (name, identity.organization, identity.user, digest)
        if key not in self._links:
            self._evict_idle_links()
            semaphore = self._semaphores.setdefault(name, asyncio.Semaphore(server.concurrency))
            open_transport = partial(open_http, self._open_pool(), server, values)
            make = partial(UpstreamConnection, label(name), server, values.values(), open_transport)
            self._links[key] = Link(label(name), make, semaphore)
        return self._links[key]

    def _evict_idle_links(self) -> None:
        """Close links that have been idle for long, and the longest idle one if there are too many."""
        idle = [key for key, link in self._links.items() if not link.is_busy]
        idle.sort(key=lambda key: self._links[key].last_used)
        idle_since = time.monotonic() - MAX_IDLE_SECONDS
        for position, key in enumerate(idle):
            too_many = len(self._links) >= MAX_LINKS and position == 0
            if too_many or self._links[key].last_used < idle_since:
                self._closing.add(task := asyncio.create_task(self._links.pop(key).close()))
                task.add_done_callback(self._closing.discard)

    def _ask_runner(self, name: str, identity: Identity, deadline: float, /, **fields: Any) -> Any:
        """Have the program runner ask a server that speaks over stdio, and return the answer's JSON."""
        server = self._server(name)
        declaration = ServerDeclaration(
            name=label(name),
            command=server.command,
            arguments=server.args,
            environment=self._values(name, server, identity),
            timeout_seconds=server.timeout_seconds,
            result_bytes=server.result_bytes,
            concurrency=server.concurrency,
        )
        seconds = max(0.001, deadline - time.monotonic())
        request = ServerRequest(organization=identity.organization, server=declaration, seconds=seconds, **fields)
        return unpack(self._ask(request, deadline=deadline))

    def _values(self, name: str, server: UpstreamServer, identity: Identity) -> dict[str, str]:
        """Return the server's headers or variables, with this identity's secrets."""
        try:
            return server.resolve_values(identity.secrets)
        except KeyError as error:
            problem = f"no value is known of {error.args[0]}"
            raise UpstreamUnavailable(service=label(name), problem=problem) from None

    def _open_pool(self) -> ConnectionPool:
        """Return the pool of TCP connections, which the first use creates together with its cleanup."""
        if self._pool is None:
            for library in _NOISY_LOGGERS:
                logging.getLogger(library).setLevel(logging.CRITICAL)
            atexit.register(self.close)
            self._pool = ConnectionPool()
        return self._pool

    async def _close(self) -> None:
        links, self._links = list(self._links.values()), {}
        await asyncio.gather(*(link.close() for link in links), *self._closing)
        if self._pool is not None:
            await self._pool.close()
        self._pool, self._semaphores = None, {}


@cache
def upstreams() -> Upstreams:
    """Return this sandbox's connections; nothing starts before they are first used."""
    return Upstreams()
