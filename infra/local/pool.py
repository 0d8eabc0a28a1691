"""A function's sandboxes: up to a maximum, started on demand, with one invocation each and a queue."""

import threading
import time
from collections import deque
from contextlib import suppress

from infra.local.invocation import (
    AccountLimit,
    Invocation,
    InvocationResult,
    Sandbox,
    SandboxFactory,
    Throttled,
    failure,
)
from infra.local.template import Function

# 6 MiB and 100 bytes: the number in AWS's own error message.
MAX_PAYLOAD_BYTES = 6_291_556


class Pool:
    """Invokes one function."""

    def __init__(
        self,
        function: Function,
        factory: SandboxFactory,
        *,
        max_sandboxes: int,
        max_queued: int,
        account: AccountLimit | None = None,
    ) -> None:
        self.function = function
        self._factory = factory
        self._max_sandboxes = max_sandboxes
        self._max_queued = max_queued
        self._account = account
        self._lock = threading.RLock()
        self._live: dict[str, Sandbox] = {}
        self._retired: dict[str, Sandbox] = {}  # those of an earlier version, which end after their invocations
        self._idle: list[Sandbox] = []
        self._pending: deque[Invocation] = deque()
        self._closed = False

    @property
    def sandboxes(self) -> tuple[Sandbox, ...]:
        """The running sandboxes."""
        with self._lock:
            return tuple(self._live.values())

    def invoke(
        self, event: bytes, arn: str, *, timeout_seconds: float | None = None, queued: bool = False
    ) -> InvocationResult:
        """Run one event and return its result.

        With `queued` the queue has no maximum. Raise `Throttled`, or `TimeoutError` after `timeout_seconds`, while
        the invocation continues without its caller.
        """
        until = None if timeout_seconds is None else time.monotonic() + timeout_seconds
        invocation = Invocation(event, arn)
        if self._account and not queued:
            self._account.admit(invocation)
        try:
            self._submit(invocation, queued=queued)
        except Throttled:
            invocation.outcome.cancel()  # so that the account no longer counts it
            raise
        try:
            return self._wait(invocation, until)
        except TimeoutError:
            # The function's own timeout counts on when its caller no longer waits.
            threading.Thread(target=self._wait, args=(invocation, None), daemon=True).start()
            raise

    def next(self, sandbox: Sandbox) -> Invocation | None:
        """Wait for a sandbox's next invocation; None tells the sandbox to end."""
        with self._lock:
            sandbox.ready = True
            if sandbox.id not in self._live or self._closed:
                return None
            if self._pending:
                self._assign(sandbox, self._pending.popleft())
            else:
                self._idle.append(sandbox)
        return sandbox.mailbox.get()

    def complete(self, sandbox: Sandbox, request_id: str, outcome: InvocationResult) -> bool:
        """Store a sandbox's result; return False if it no longer has this invocation."""
        with self._lock:
            invocation = sandbox.current
            if invocation is None or invocation.id != request_id:
                return False
            sandbox.current = None
            if len(outcome.payload) > MAX_PAYLOAD_BYTES:
                limit = f"Response payload size exceeded maximum allowed payload size ({MAX_PAYLOAD_BYTES} bytes)."
                outcome = failure("Function.ResponseSizeTooLarge", limit, request_id)
            invocation.outcome.set_result(outcome)
            return True

    def replace(self, function: Function, factory: SandboxFactory) -> None:
        """Run the next invocations on a new version; those under way end on the sandboxes that they have."""
        self.stop_idle()
        with self._lock:
            self.function, self._factory = function, factory
            self._retired |= self._live
            self._live = {}
            self._grow()

    def stop_idle(self) -> None:
        """End the idle sandboxes, so that the next invocation starts cold."""
        with self._lock:
            # One that still starts is left where an event waits for it: that one would wait for another start.
            idle = [one for one in self._live.values() if one.current is None and (one.ready or not self._pending)]
            for sandbox in idle:
                del self._live[sandbox.id]
            self._idle.clear()
        for sandbox in idle:
            self._factory.kill(sandbox)

    def ended(self, sandbox: Sandbox, reason: str) -> None:
        """Handle the end of a sandbox's process: fail its invocation, and start another sandbox if there is work."""
        with self._lock:
            sandbox.exited.set()
            self._retired.pop(sandbox.id, None)
            counted = self._live.pop(sandbox.id, None) is not None
            if sandbox in self._idle:
                self._idle.remove(sandbox)
            sandbox.mailbox.put(None)
            lost, sandbox.current = sandbox.current, None
            if lost is None and counted and not sandbox.ready and self._pending:
                lost = self._pending.popleft()
            if lost is not None:
                error = sandbox.init_error or failure("Runtime.ExitError", reason, lost.id)
                lost.outcome.set_result(error)
                lost.assigned.set()
            self._grow()

    def close(self) -> None:
        """Accept no more events and end all that wait."""
        with self._lock:
            self._closed = True
            self._fail_pending("the embedded AWS has stopped")
            for sandbox in self._live.values():
                sandbox.mailbox.put(None)

    def _submit(self, invocation: Invocation, *, queued: bool) -> None:
        with self._lock:
            if self._closed:
                raise Throttled("ReservedFunctionConcurrentInvocationLimitExceeded")
            if self._idle:
                self._assign(self._idle.pop(), invocation)
                return
            full = (
                len(self._live) >= self._max_sandboxes
                and len(self._pending) - self._available_soon() >= self._max_queued
            )
            if full and not queued:
                raise Throttled("ReservedFunctionConcurrentInvocationLimitExceeded")
            self._pending.append(invocation)
            self._grow()

    def _available_soon(self) -> int:
        """Return how many sandboxes will soon fetch an event: those that start or have just responded."""
        return sum(one.current is None for one in self._live.values()) - len(self._idle)

    def _grow(self) -> None:
        while (
            not self._closed and len(self._pending) > self._available_soon() and len(self._live) < self._max_sandboxes
        ):
            try:
                sandbox = self._factory.fork()
            except OSError:
                self._fail_pending("the zygote of the function ended")
                return
            self._live[sandbox.id] = sandbox

    def _fail_pending(self, reason: str) -> None:
        while self._pending:
            invocation = self._pending.popleft()
            invocation.outcome.set_result(failure("Runtime.ExitError", reason, invocation.id))
            invocation.assigned.set()

    def _assign(self, sandbox: Sandbox, invocation: Invocation) -> None:
        sandbox.current = invocation
        invocation.deadline_ms = int((time.time() + self.function.timeout_seconds) * 1000)
        invocation.assigned.set()
        sandbox.mailbox.put(invocation)

    def _wait(self, invocation: Invocation, until: float | None) -> InvocationResult:
        """Wait for the result, and enforce the function's timeout; raise `TimeoutError` if `until` comes first."""
        if not invocation.assigned.wait(None if until is None else max(0.0, until - time.monotonic())):
            raise TimeoutError
        left = max(0.0, invocation.deadline_ms / 1000 - time.time())
        if until is not None and until - time.monotonic() < left:
            return invocation.outcome.result(max(0.0, until - time.monotonic()))
        with suppress(TimeoutError):
            return invocation.outcome.result(left)
        self._time_out(invocation)
        return invocation.outcome.result()

    def _time_out(self, invocation: Invocation) -> None:
        seconds = self.function.timeout_seconds
        with self._lock:
            running = (*self._live.values(), *self._retired.values())
            sandbox = next((one for one in running if one.current is invocation), None)
            if sandbox is None:
                return
            sandbox.current = None
            invocation.outcome.set_result(
                failure("Sandbox.Timedout", f"Task timed out after {seconds}.00 seconds", invocation.id)
            )
        self._factory.kill(sandbox)
