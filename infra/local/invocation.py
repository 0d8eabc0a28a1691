"""One event for a function, the sandbox that takes it, and the limit of all that run at once."""

import json
import threading
import uuid
from concurrent.futures import Future
from dataclasses import dataclass, field
from queue import SimpleQueue
from typing import Protocol


@dataclass(frozen=True, slots=True)
class InvocationResult:
    """The result of an invocation; `error` is `Unhandled` if the function failed."""

    payload: bytes
    error: str | None = None


class Throttled(Exception):
    """No sandbox may run the event; its text is Lambda's `Reason`."""


@dataclass(slots=True)
class Invocation:
    """One event, its sandbox's deadline and its result."""

    event: bytes
    arn: str
    id: str = field(default_factory=lambda: str(uuid.uuid4()))
    deadline_ms: int = 0
    assigned: threading.Event = field(default_factory=threading.Event)
    outcome: Future[InvocationResult] = field(default_factory=Future)


@dataclass(slots=True)
class Sandbox:
    """One process that serves one invocation at a time; `id` also names it in recorded requests."""

    id: str
    pid: int | None = None
    ready: bool = False
    init_error: InvocationResult | None = None
    current: Invocation | None = None
    mailbox: SimpleQueue[Invocation | None] = field(default_factory=SimpleQueue)
    exited: threading.Event = field(default_factory=threading.Event)


class SandboxFactory(Protocol):
    """Starts and ends sandboxes."""

    def fork(self) -> Sandbox:
        """Start a sandbox."""
        ...

    def kill(self, sandbox: Sandbox) -> None:
        """End a sandbox at once."""
        ...


def failure(kind: str, message: str, request_id: str) -> InvocationResult:
    """Return a function error in Lambda's format."""
    body = {"errorType": kind, "errorMessage": f"RequestId: {request_id} Error: {message}"}
    return InvocationResult(json.dumps(body).encode(), "Unhandled")


class AccountLimit:
    """The concurrent executions of all functions of an account."""

    def __init__(self, concurrency: int) -> None:
        self._concurrency = concurrency
        self._running: list[Invocation] = []
        self._lock = threading.Lock()

    def admit(self, invocation: Invocation) -> None:
        """Count an invocation until it is done; raise `Throttled` if there are too many already."""
        with self._lock:
            self._running = [one for one in self._running if not one.outcome.done()]
            if len(self._running) >= self._concurrency:
                raise Throttled("ConcurrentInvocationLimitExceeded")
            self._running.append(invocation)
