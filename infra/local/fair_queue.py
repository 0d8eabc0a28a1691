"""Turns of clients: one with very many requests at once waits for itself, and nobody else for it."""

import threading
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from math import inf

MAX_AT_ONCE = 5  # requests of a client that are served at the same time
MAX_AT_ONCE_OF_ORGANIZATION = 8  # half of the sandboxes of a function, and less beside other organizations
MAX_WAITING_REQUESTS = 100  # requests of a client that wait, each in a thread; more are refused
SPACING_SECONDS = 0.1  # between the starts of two requests of a client of which others wait
MAX_KNOWN_SENDERS = 10_000
UNKNOWN = b""


class TooLate(Exception):
    """A request's turn did not come in time, or too many others of its client wait."""


@dataclass(slots=True)
class _Client:
    """A client with requests that are served or wait."""

    running: int = 0
    waiting: deque[threading.Condition] = field(default_factory=deque)
    """The requests that wait, in the order in which they start; only the first is ever woken."""
    next_start: float = 0.0
    """On the clock: when the next request that waits may start."""


@dataclass(slots=True)
class FairQueue:
    """The clients of one API, or the organizations whose steps run."""

    clock: Callable[[], float] = time.monotonic
    at_once: float = MAX_AT_ONCE
    shared: float = inf
    """How many requests of all clients are served at the same time, in equal parts, but one of each."""
    max_waiting: float = MAX_WAITING_REQUESTS
    spacing_seconds: float = SPACING_SECONDS
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _clients: dict[bytes, _Client] = field(default_factory=dict)

    @contextmanager
    def turn(self, key: bytes, seconds: float) -> Iterator[None]:
        """Wait for a client's turn and hold it until the context ends; TooLate after some seconds."""
        with self._lock:
            client = self._clients.setdefault(key, _Client())
            try:
                self._start(client, self.clock() + seconds)
            finally:
                self._forget(key, client)
        try:
            yield
        finally:
            with self._lock:
                client.running -= 1
                _wake_first(client)
                self._forget(key, client)

    def _has_place(self, client: _Client) -> bool:
        return client.running < min(self.at_once, max(self.shared / len(self._clients), 1))

    def _start(self, client: _Client, until: float) -> None:
        if self._has_place(client) and not client.waiting:
            client.running += 1
            return
        if len(client.waiting) >= self.max_waiting:
            raise TooLate
        mine = threading.Condition(self._lock)
        client.waiting.append(mine)
        try:
            while not (is_first := client.waiting[0] is mine and self._has_place(client)) or (
                client.next_start > self.clock()
            ):
                now = self.clock()
                if now >= until:
                    raise TooLate
                mine.wait(max(min(client.next_start if is_first else until, until) - now, 0))
            client.running += 1
            client.next_start = self.clock() + self.spacing_seconds
        finally:
            client.waiting.remove(mine)
            _wake_first(client)

    def _forget(self, key: bytes, client: _Client) -> None:
        if not client.running and not client.waiting:
            self._clients.pop(key, None)
            for other in self._clients.values():  # whose parts have grown
                _wake_first(other)


def _wake_first(client: _Client) -> None:
    if client.waiting:
        client.waiting[0].notify()


class ApiTurns:
    """Turns of the senders that a function has accepted, and of their organizations: few of one run at once.

    A sender is a bearer token, or a source of events. All requests of others are those of one client. A sender waits
    for its own turn before it waits for that of its organization, so that no person's requests fill the place of a
    colleague's.
    """

    def __init__(self, organization_of: Callable[[str], str]) -> None:
        self.senders, self.organizations = (
            FairQueue(),
            FairQueue(at_once=MAX_AT_ONCE_OF_ORGANIZATION, shared=MAX_AT_ONCE_OF_ORGANIZATION),
        )
        self._organization_of = organization_of
        self._known: OrderedDict[bytes, bytes] = OrderedDict()
        self._lock = threading.Lock()

    @contextmanager
    def turn(self, sender: str, seconds: float) -> Iterator[None]:
        """Hold the turn of a sender until the context ends; TooLate after some seconds."""
        until = time.monotonic() + seconds
        client, organization = self.client(sender)
        with self.senders.turn(client, seconds), self.organizations.turn(organization, until - time.monotonic()):
            yield

    def client(self, sender: str) -> tuple[bytes, bytes]:
        """Return the keys of a sender and of its organization."""
        digest = sha256(sender.encode()).digest()
        organization = self._known.get(digest)
        return (UNKNOWN, UNKNOWN) if organization is None else (digest, organization)

    def note(self, sender: str, status: int) -> None:
        """Remember a sender to whom a function has once said yes: others may pretend to be anybody."""
        digest = sha256(sender.encode()).digest()
        if sender and status < 400 and digest not in self._known:
            organization = self._organization_of(sender).encode()
            with self._lock:
                self._known[digest] = organization
                if len(self._known) > MAX_KNOWN_SENDERS:
                    self._known.popitem(last=False)
