"""A server as one identity reaches it, over one connection after another, with pauses while it cannot be reached."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from math import ceil
from random import SystemRandom

from mcpist.errors import Timeout, UpstreamUnavailable
from mcpist.running.refusals import Failure
from mcpist_services.upstream.connection import Request, UpstreamConnection

MIN_DELAY_SECONDS = 0.5
GROWTH_FACTOR = 2.0
MAX_DELAY_SECONDS = 30.0

# Sandboxes of one snapshot would share a seed.
_random = SystemRandom()


class Link:
    """Connect at the first request, reconnect after a failure, and pause while the server cannot be reached.

    `make` makes a connection that is not open yet; `semaphore` bounds the requests of all identities together.
    """

    def __init__(self, service: str, make: Callable[[str], UpstreamConnection], semaphore: asyncio.Semaphore) -> None:
        self.last_used = time.monotonic()
        self._service = service
        self._make = make
        self._semaphore = semaphore
        self._mode = "auto"
        self._backoff = Backoff()
        self._last_problem = ""
        self._connection: UpstreamConnection | None = None
        self._retired: set[UpstreamConnection] = set()
        self._opening: asyncio.Task[Failure | None] | None = None

    async def send[T](self, request: Request[T], *, deadline: float, reads: bool) -> T:
        """Return the server's response, or raise the typed error.

        A request is sent a second time if the server surely did not receive it; one that `reads` also if its connection
        broke before the response. An error says whether the request may have been performed.
        """
        self.last_used = time.monotonic()
        async with _slot(self._semaphore, self._service, deadline):
            answer = await self._attempt(request, deadline)
            broke = isinstance(answer, Failure) and isinstance(answer.error, UpstreamUnavailable)
            if isinstance(answer, Failure) and broke and answer.wait is None and (answer.safe_to_retry or reads):
                answer = await self._attempt(request, deadline)
        if not isinstance(answer, Failure):
            return answer
        if answer.error.retryable and not (reads or answer.safe_to_retry):
            answer.error.details["may_have_happened"] = True
        raise answer.error

    async def connect(self, deadline: float) -> UpstreamConnection | Failure:
        """Return the open connection, after connecting if there is none."""
        current = self._connection
        if self._opening is None and current is not None and await current.is_usable():
            return current
        if self._opening is None:
            if delay := self._backoff.remaining_seconds():
                problem = f"{self._last_problem or 'it could not be reached'}; it is tried again in a moment"
                error = UpstreamUnavailable(service=self._service, problem=problem, retry_after=ceil(delay))
                return Failure(error, safe_to_retry=True, wait=delay)
            self._opening = asyncio.create_task(self._open())
        opening, started = self._opening, time.monotonic()
        await asyncio.wait({opening}, timeout=max(0.0, deadline - started))
        if not opening.done():
            return _timeout_failure(self._service, started)
        failed = opening.result()
        if failed is not None:
            # A copy, so that each waiting request may add details to its own.
            return replace(failed, error=type(failed.error)(**failed.error.details))
        assert self._connection is not None
        return self._connection

    async def keep_trying(self) -> None:
        """Connect, with a longer pause after each failure."""
        while isinstance(await self.connect(time.monotonic() + 3600), Failure):
            await asyncio.sleep(self._backoff.remaining_seconds())

    @property
    def is_busy(self) -> bool:
        """Whether it is connecting, or a request waits for its response."""
        return self._opening is not None or (self._connection is not None and self._connection.is_busy)

    async def close(self) -> None:
        """Close the connection, and what is left of earlier ones."""
        if self._opening is not None:
            self._opening.cancel()
            await asyncio.wait({self._opening})
        current = {self._connection} if self._connection else set()
        await asyncio.gather(*(connection.close() for connection in current | self._retired))

    async def _attempt[T](self, request: Request[T], deadline: float) -> T | Failure:
        connection = await self.connect(deadline)
        if isinstance(connection, Failure):
            return connection
        return await connection.send(request, deadline)

    async def _open(self) -> Failure | None:
        try:
            if self._connection is not None:
                self._connection.retire()
                self._retired = {one for one in self._retired if not one.is_closed} | {self._connection}
                self._connection = None
            connection = self._make(self._mode)
            failed = await connection.open()
            if failed is not None:
                self._mode = "auto"
                if failed.error.retryable:  # a server that refuses a token is reachable
                    self._backoff.failed()
                self._last_problem = str(failed.error.details.get("problem", "it did not answer in time"))
                return replace(failed, safe_to_retry=True, wait=self._backoff.remaining_seconds())
            self._connection, self._mode = connection, connection.protocol_mode
            self._backoff.succeeded()
            return None
        finally:
            self._opening = None


@asynccontextmanager
async def _slot(semaphore: asyncio.Semaphore, service: str, deadline: float) -> AsyncIterator[None]:
    """Wait for a slot of a server that takes a bounded number of requests at once."""
    started = time.monotonic()
    try:
        async with asyncio.timeout_at(deadline):
            await semaphore.acquire()
    except TimeoutError:
        raise _timeout_failure(service, started).error from None
    try:
        yield
    finally:
        semaphore.release()


def _timeout_failure(service: str, started: float) -> Failure:
    seconds = round(time.monotonic() - started, 1)
    return Failure(Timeout(service=service, seconds=seconds), safe_to_retry=True)


class Backoff:
    """Pauses that double with each failure up to a maximum, with jitter between sandboxes."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._failures = 0
        self._retry_at = 0.0

    def failed(self) -> None:
        """Count a failed attempt."""
        delay = min(MAX_DELAY_SECONDS, MIN_DELAY_SECONDS * GROWTH_FACTOR**self._failures)
        self._failures += 1
        self._retry_at = self._clock() + delay * _random.uniform(0.5, 1)

    def succeeded(self) -> None:
        """Reset after a successful attempt."""
        self._failures = 0
        self._retry_at = 0.0

    def remaining_seconds(self) -> float:
        """Return the seconds until the next attempt may be made."""
        return max(0.0, self._retry_at - self._clock())
