"""The sessions of one sandbox with stdio MCP servers, each of one organization, one declaration and its values.

A session lives while its sandbox lives; another sandbox that gets a request starts its own.
"""

import asyncio
import hashlib
import os
import shutil
import tempfile
import time
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from functools import cache, partial
from pathlib import Path
from typing import Any

from mcpist.aws.attributes import pack
from mcpist.errors import AnswerTooLarge, Timeout
from mcpist.programs.messages import ServerDeclaration, ServerRequest
from mcpist.settings import settings
from mcpist_services.upstream import requests
from mcpist_services.upstream.connection import BackgroundLoop, UpstreamConnection
from mcpist_services.upstream.faults import Faults
from mcpist_services.upstream.link import Link
from mcpist_services.upstream.listing import listing_to_json
from program_runner.child import Surroundings, child
from program_runner.confinement.kernel import forbid_inspection
from program_runner.npx_cache import NpxCache, uses_npx
from program_runner.process import has_namespaces

MAX_SESSIONS = 20
MAX_PACKED_BYTES = 4_000_000  # base64 makes a third more of it, and Lambda's responses have 6 MB
CLOSE_SECONDS = 8.0
NPX_FOLDER = ".npx"  # of a HOME

type SessionKey = tuple[str, str]


class Sessions:
    """The sessions of this sandbox, by organization and declaration.

    A server of an organization has its HOME in a folder below `homes`; without it, in that of this process. Its working
    directory is `folder`, else its HOME.
    """

    def __init__(self, homes: Path | None, folder: str = "", *, namespaces: bool = True) -> None:
        self._homes = homes
        self._folder = folder
        self._namespaces = namespaces
        self._background = BackgroundLoop()
        self._links: dict[SessionKey, Link] = {}
        self._caches: dict[SessionKey, NpxCache] = {}

    def ask(self, request: ServerRequest) -> bytes:
        """Send one request, and return its answer packed; raises what `upstream.connections.Upstreams` names."""
        started = time.monotonic()
        deadline = started + request.seconds
        try:
            answer = self._background.run(self._answer(request, deadline), deadline)
        except TimeoutError:
            error = Timeout(service=request.server.name, seconds=round(time.monotonic() - started, 1))
            raise error.with_details(may_have_happened=True) from None
        packed = pack(answer)
        if len(packed) > MAX_PACKED_BYTES:
            raise AnswerTooLarge(service=request.server.name, limit_bytes=MAX_PACKED_BYTES)
        return packed

    def end_all_but(self, organization: str | None) -> None:
        """End the sessions of other organizations, and remove what their servers kept; None ends all."""
        others = [key for key in self._links if key[0] != organization]
        if others:
            self._background.run(self._end(others), time.monotonic() + CLOSE_SECONDS)
        for home in self._homes.iterdir() if self._homes and self._homes.is_dir() else ():
            if organization is None or home != self._home(organization):
                shutil.rmtree(home, ignore_errors=True)

    def close(self) -> None:
        """End all sessions."""
        if self._background.started:
            self._background.run(self._end(list(self._links)), time.monotonic() + CLOSE_SECONDS)
            self._background.stop()

    async def _answer(self, request: ServerRequest, deadline: float) -> Any:
        key = (request.organization, hashlib.sha256(request.server.model_dump_json().encode()).hexdigest())
        link, server = await self._link(key, request), request.server
        if request.method == "list":
            listed = await requests.list_tools(link, server.name, deadline=deadline, private=False)
            answer = listing_to_json(listed)
        else:
            sent = requests.for_client(request.method, request.name, request.parameters)
            result = await link.send(sent, deadline=deadline, reads=request.reads)
            answer = result.model_dump(mode="json", by_alias=True, exclude_none=True)
        if cache := self._caches.get(key):
            cache.keep()
        return answer

    async def _link(self, key: SessionKey, request: ServerRequest) -> Link:
        declaration = request.server
        if key not in self._links:
            await self._end(self._idle_beyond_the_most())
            if self._homes is not None and uses_npx(declaration):
                self._caches[key] = NpxCache(self._home(request.organization) / NPX_FOLDER, declaration)
            start = partial(self._start, request.organization, declaration, self._caches.get(key))
            make = partial(UpstreamConnection, declaration.name, declaration, declaration.environment.values(), start)
            self._links[key] = Link(declaration.name, make, asyncio.Semaphore(declaration.concurrency))
        return self._links[key]

    async def _start(
        self, organization: str, server: ServerDeclaration, cache: NpxCache | None, faults: Faults, _: AsyncExitStack
    ) -> AbstractAsyncContextManager[Any]:
        forbid_inspection()
        home = self._home(organization)
        if self._homes is not None:
            home.mkdir(mode=0o700, parents=True, exist_ok=True)
        if cache is not None:
            server = server.model_copy(update={"environment": server.environment | cache.prepare()})
        surroundings = Surroundings(self._folder or str(home), str(home), self._namespaces)
        return child(server, surroundings, faults)

    def _home(self, organization: str) -> Path:
        """Return the HOME of an organization's servers, in whose name nothing leads elsewhere."""
        if self._homes is None:
            return Path.home()
        return self._homes / hashlib.sha256(organization.encode()).hexdigest()[:32]

    def _idle_beyond_the_most(self) -> list[SessionKey]:
        idle = [key for key, link in self._links.items() if not link.is_busy]
        return sorted(idle, key=lambda key: self._links[key].last_used)[: max(0, len(self._links) + 1 - MAX_SESSIONS)]

    async def _end(self, keys: list[SessionKey]) -> None:
        for key in keys:
            self._caches.pop(key, None)
        await asyncio.gather(*(self._links.pop(key).close() for key in keys))


@cache
def sessions() -> Sessions:
    """Return the sessions of this sandbox; nothing starts before they are first used."""
    return Sessions(_homes_of_this_machine(), settings().servers_folder)


def _homes_of_this_machine() -> Path:
    """Return a folder of our user that other sandboxes share, since packages are cached in it, or else an own one."""
    shared = Path(tempfile.gettempdir()) / f"mcpist-servers-{os.getuid()}"
    if has_namespaces():
        shared.mkdir(mode=0o700, exist_ok=True)
        if not shared.is_symlink() and shared.stat().st_uid == os.getuid():
            return shared
    return Path(tempfile.mkdtemp(prefix="mcpist-servers-"))
