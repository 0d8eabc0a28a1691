"""The pool's decisions, with fake sandboxes."""

import json
import threading
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from infra.local.invocation import AccountLimit, Invocation, InvocationResult, Sandbox, Throttled
from infra.local.pool import MAX_PAYLOAD_BYTES, Pool
from infra.local.template import Function

ARN = "arn:aws:lambda:us-east-1:123456789012:function:f"


class FakeSandboxFactory:
    """Fake sandboxes, which a test controls."""

    def __init__(self, name: str = "f") -> None:
        self.name = name
        self.born: list[Sandbox] = []
        self.pool: Pool | None = None
        self.dead = False

    def fork(self) -> Sandbox:
        if self.dead:
            raise BrokenPipeError
        self.born.append(Sandbox(f"{self.name}-{len(self.born) + 1}"))
        return self.born[-1]

    def kill(self, sandbox: Sandbox) -> None:
        assert self.pool is not None
        self.pool.ended(sandbox, "signal: killed")


@contextmanager
def pool(
    *, max_sandboxes: int = 2, max_queued: int = 1, timeout: int = 5, account: AccountLimit | None = None
) -> Iterator[tuple[Pool, FakeSandboxFactory, "Caller"]]:
    function = Function("F", "f", "m.h", Path(), (), timeout, 128, {}, None, False, "Text")
    factory = FakeSandboxFactory()
    made = Pool(function, factory, max_sandboxes=max_sandboxes, max_queued=max_queued, account=account)
    factory.pool = made
    with ThreadPoolExecutor(8) as threads:
        yield made, factory, Caller(made, threads)
        made.close()


class Caller:
    """Invokes in threads, and knows when each has been submitted."""

    def __init__(self, pool: Pool, threads: ThreadPoolExecutor) -> None:
        self._pool, self._threads = pool, threads

    def __call__(self, event: bytes = b"{}", **named: Any) -> Future[InvocationResult]:
        submitted = threading.Event()
        original = self._pool._submit

        def submit(invocation: Invocation, *, queued: bool) -> Invocation:
            try:
                return original(invocation, queued=queued)
            finally:
                submitted.set()

        self._pool._submit = submit  # type: ignore[method-assign]
        future = self._threads.submit(self._pool.invoke, event, ARN, **named)
        submitted.wait(5)
        self._pool._submit = original  # type: ignore[method-assign]
        return future


def take(made: Pool, sandbox: Sandbox) -> Invocation:
    invocation = made.next(sandbox)
    assert invocation is not None
    return invocation


def finish(made: Pool, sandbox: Sandbox, payload: bytes = b"1") -> None:
    assert sandbox.current is not None
    assert made.complete(sandbox, sandbox.current.id, InvocationResult(payload))


def error(outcome: InvocationResult) -> tuple[str | None, str]:
    return outcome.error, json.loads(outcome.payload)["errorType"]


def test_a_warm_sandbox_is_used_again() -> None:
    with pool() as (made, factory, call):
        first = call(b"1")
        take(made, factory.born[0])
        finish(made, factory.born[0], b"one")
        assert first.result(5).payload == b"one"
        waiting = threading.Thread(target=made.next, args=(factory.born[0],))
        waiting.start()
        while not made._idle:
            threading.Event().wait(0.001)
        second = call(b"2")
        waiting.join(5)
        finish(made, factory.born[0], b"two")
        assert second.result(5).payload == b"two"
        assert len(factory.born) == 1


def test_it_grows_to_its_bound_then_queues_then_throttles() -> None:
    with pool(max_sandboxes=2, max_queued=1) as (made, factory, call):
        futures = [call() for _ in range(3)]
        for sandbox in list(factory.born):
            take(made, sandbox)
        assert len(factory.born) == 2
        with pytest.raises(Throttled):
            made.invoke(b"{}", ARN)
        for sandbox in list(factory.born):
            finish(made, sandbox)
        take(made, factory.born[0])
        finish(made, factory.born[0])
        assert [future.result(5).error for future in futures] == [None] * 3


def test_a_new_version_serves_the_next_event_while_the_old_one_ends_its_own() -> None:
    with pool(max_sandboxes=1) as (made, factory, call):
        first = call(b"1")
        take(made, factory.born[0])
        successor = FakeSandboxFactory("g")
        made.replace(made.function, successor)
        second = call(b"2")
        take(made, successor.born[0])
        finish(made, successor.born[0], b"new")
        finish(made, factory.born[0], b"old")
        assert (first.result(5).payload, second.result(5).payload) == (b"old", b"new")
        assert made.next(factory.born[0]) is None


def test_an_account_runs_so_many_events_of_all_its_functions() -> None:
    limit = AccountLimit(1)
    with pool(account=limit) as (busy, factory, call), pool(account=limit) as (other, _, _):
        first = call()
        take(busy, factory.born[0])
        with pytest.raises(Throttled, match="ConcurrentInvocationLimitExceeded"):
            other.invoke(b"{}", ARN)
        finish(busy, factory.born[0])
        first.result(5)
        with pytest.raises(TimeoutError):
            other.invoke(b"{}", ARN, timeout_seconds=0)


def test_an_event_waits_in_a_full_queue() -> None:
    with pool(max_sandboxes=1, max_queued=0) as (made, factory, call):
        first, second = call(), call(queued=True)
        for future in (first, second):
            take(made, factory.born[0])
            finish(made, factory.born[0])
            assert future.result(5).error is None


def test_a_dead_sandbox_fails_its_invocation_and_is_replaced() -> None:
    with pool(max_sandboxes=1) as (made, factory, call):
        first, second = call(), call()
        take(made, factory.born[0])
        made.ended(factory.born[0], "Runtime exited with error: signal: killed")
        assert error(first.result(5)) == ("Unhandled", "Runtime.ExitError")
        take(made, factory.born[1])
        finish(made, factory.born[1])
        assert second.result(5).error is None


def test_a_sandbox_that_never_starts_fails_one_invocation() -> None:
    with pool(max_sandboxes=1) as (made, factory, call):
        first = call()
        factory.born[0].init_error = InvocationResult(b'{"errorType": "ValueError"}', "Unhandled")
        made.ended(factory.born[0], "exit status 65")
        assert error(first.result(5)) == ("Unhandled", "ValueError")
        assert len(factory.born) == 1


def test_a_timeout_kills_the_sandbox() -> None:
    with pool(timeout=0) as (made, factory, call):
        first = call()
        take(made, factory.born[0])
        outcome = first.result(5)
        assert error(outcome) == ("Unhandled", "Sandbox.Timedout")
        assert "Task timed out after 0.00 seconds" in json.loads(outcome.payload)["errorMessage"]
        assert factory.born[0].exited.wait(5)
        assert not made.complete(factory.born[0], "late", InvocationResult(b""))


def test_an_invocation_continues_after_its_callers_timeout() -> None:
    with pool() as (made, factory, call):
        first = call(timeout_seconds=0.01)
        invocation = take(made, factory.born[0])
        with pytest.raises(TimeoutError):
            first.result(5)
        finish(made, factory.born[0], b"late")
        assert invocation.outcome.result() == InvocationResult(b"late")


def test_a_response_over_six_megabytes_is_an_error() -> None:
    with pool() as (made, factory, call):
        first = call()
        take(made, factory.born[0])
        finish(made, factory.born[0], b"x" * (MAX_PAYLOAD_BYTES + 1))
        assert error(first.result(5)) == ("Unhandled", "Function.ResponseSizeTooLarge")


def test_closing_ends_all_that_wait() -> None:
    with pool(max_sandboxes=1) as (made, factory, call):
        call()
        take(made, factory.born[0])
        queued = call()
        made.close()
        assert error(queued.result(5)) == ("Unhandled", "Runtime.ExitError")
        with pytest.raises(Throttled):
            made.invoke(b"{}", ARN)
        made.ended(factory.born[0], "over")


def test_a_dead_zygote_fails_the_invocation() -> None:
    with pool() as (_, factory, call):
        factory.dead = True
        assert error(call().result(5)) == ("Unhandled", "Runtime.ExitError")
