"""What holds for all servers: who shares what, how many at once, and what becomes of those that are down."""

import os
import socket
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from threading import Barrier, Lock
from typing import Any

import pytest

from mcpist.errors import Timeout, UpstreamUnavailable
from mcpist.telemetry import invocation
from mcpist.telemetry.log_lines import LineLogger
from mcpist_services.upstream import connections
from mcpist_services.upstream.configuration import UpstreamServer
from mcpist_services.upstream.connections import SHARED, Identity, Upstreams
from mcpist_services.upstream.link import MAX_DELAY_SECONDS, Backoff
from mcpist_services.upstream.requests import call_tool
from program_runner.sessions import Sessions
from tests.upstreams.connected import InProcessRunner, call, connected_to, deadline_in, faulty, text_of
from tests.upstreams.fake_upstream import ECHO, FakeUpstream, RawResponse, serving_fake

pytestmark = pytest.mark.usefixtures("embedded")
UMA, ADA = Identity("acme", "uma"), Identity("acme", "ada")


def wait_until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 30
    while not holds():
        assert time.monotonic() < deadline, "it does not come to hold"
        os.sched_yield()


def dead() -> UpstreamServer:
    """A server at a port where nobody listens."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    return UpstreamServer(description="Nobody", type="http", url=f"http://127.0.0.1:{port}/mcp")


def test_an_organizations_callers_share_a_child_process_and_no_other_organization_does() -> None:
    with connected_to(one=faulty()) as upstreams:
        acme = call(upstreams, "echo", identity=Identity("acme"))
        assert call(upstreams, "echo", identity=Identity("acme")) == acme
        assert call(upstreams, "echo", identity=Identity("globex")) != acme


def test_a_server_can_continue_the_trace_of_the_call(fake: FakeUpstream) -> None:
    asked: list[Any] = []

    def answer(message: Any) -> Any:
        asked.append(message)
        return ECHO

    fake.says["tools/call"] = answer
    with (
        connected_to(one=fake.server()) as upstreams,
        invocation.begin("door", LineLogger(), "r-1", f"00-{'a' * 32}-{'b' * 16}-01"),
    ):
        call(upstreams, "echo")
        ours = invocation.traceparent()
    assert [message["params"]["_meta"]["traceparent"] for message in asked] == [ours]


def test_callers_at_once_open_one_connection(fake: FakeUpstream) -> None:
    with connected_to(one=fake.server()) as upstreams, ThreadPoolExecutor(20) as pool:
        assert set(pool.map(lambda _: call(upstreams, "echo"), range(20))) == {"echo"}
    assert fake.count("initialize") == 1
    assert fake.count("tools/call") == 20


def test_no_more_requests_run_at_once_than_a_server_takes(fake: FakeUpstream) -> None:
    running, most, lock, pairs = 0, 0, Lock(), Barrier(2)

    def answer(_: Any) -> Any:
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        pairs.wait(20)
        with lock:
            running -= 1
        return ECHO

    fake.says["tools/call"] = answer
    with connected_to(one=fake.server(concurrency=2)) as upstreams, ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda number: call(upstreams, "echo", identity=(UMA, ADA)[number % 2]), range(8)))
    assert most == 2


def test_a_request_that_gets_no_turn_has_not_happened(fake: FakeUpstream) -> None:
    fake.says["tools/call"] = RawResponse(waits=True)
    with connected_to(one=fake.server(concurrency=1)) as upstreams, ThreadPoolExecutor() as pool:
        first = pool.submit(call, upstreams, "echo", seconds=2)
        wait_until(lambda: fake.count("tools/call") == 1)
        with pytest.raises(Timeout) as raised:
            call(upstreams, "echo", seconds=0.2)
        assert "may_have_happened" not in raised.value.details
        with pytest.raises(Timeout):
            first.result()
    assert fake.count("tools/call") == 1


def test_the_start_waits_for_nobody_and_a_dead_server_holds_up_no_other(fake: FakeUpstream) -> None:
    fake.says["initialize"] = RawResponse(waits=True)
    with connected_to(mute=faulty("mute"), dead=dead(), hanging=fake.server(), live=faulty()) as upstreams:
        begun = time.monotonic()
        upstreams.start()
        assert time.monotonic() - begun < 10
        assert (
            text_of(upstreams.send("live", UMA, call_tool("echo", {"message": "hi"}), deadline=deadline_in())) == "hi"
        )
        wait_until(lambda: fake.count("initialize") == 1)


def test_a_server_that_is_up_later_is_found_by_the_start(fake: FakeUpstream) -> None:
    about, fake.says["initialize"] = fake.says["initialize"], RawResponse(status=503)
    with connected_to(one=fake.server()) as upstreams:
        upstreams.start()
        wait_until(lambda: fake.count("initialize") >= 2)
        fake.says["initialize"] = about
        wait_until(lambda: fake.count("notifications/initialized") == 1)


def test_what_needs_a_user_is_not_started(fake: FakeUpstream) -> None:
    server = fake.server(headers={"Authorization": "grant:github"})
    with connected_to(one=server, two=faulty()) as upstreams:
        upstreams.start()
        upstreams.send("two", UMA, call_tool("echo", {}), deadline=deadline_in())
    assert fake.received == []


def test_a_dead_server_is_left_alone_for_a_moment() -> None:
    with connected_to(one=dead()) as upstreams:
        with pytest.raises(UpstreamUnavailable, match="no answer") as raised:
            call(upstreams, "echo")
        assert "may_have_happened" not in raised.value.details
        with pytest.raises(UpstreamUnavailable, match=r"no answer.*tried again") as raised:
            call(upstreams, "echo")
        assert raised.value.details["retry_after"] >= 1


def test_a_server_that_went_away_and_came_back_is_reached_again() -> None:
    with serving_fake() as fake:
        fake.says["tools/call"] = lambda message: fake.last(message["id"], ECHO)
        server = fake.server()
        with connected_to(one=server) as upstreams:
            call(upstreams, "echo")
            fake.stop()
            with pytest.raises(UpstreamUnavailable) as raised:
                call(upstreams, "echo")
            assert "may_have_happened" not in raised.value.details
            with serving_fake(fake.port):
                wait_until(lambda: answers(upstreams))


def answers(upstreams: Upstreams) -> bool:
    try:
        return call(upstreams, "echo") == "echo"
    except UpstreamUnavailable:
        return False


def test_pauses_double_up_to_a_ceiling_and_end_with_a_success() -> None:
    backoff = Backoff(lambda: 100.0)
    assert backoff.remaining_seconds() == 0
    pauses = []
    for _ in range(10):
        backoff.failed()
        pauses.append(backoff.remaining_seconds())
    for place, pause in enumerate(pauses):
        whole = min(MAX_DELAY_SECONDS, 0.5 * 2**place)
        assert whole / 2 <= pause <= whole
    backoff.succeeded()
    assert backoff.remaining_seconds() == 0


def test_connections_of_many_callers_are_bounded(fake: FakeUpstream, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "MAX_LINKS", 3)
    with connected_to(one=fake.server()) as upstreams:
        for number in range(6):
            call(upstreams, "echo", identity=Identity("acme", f"user {number}"))
        assert len(upstreams._links) == 3
        assert call(upstreams, "echo", identity=Identity("acme", "user 0")) == "echo"


def test_nothing_runs_before_the_first_use_nor_after_the_close() -> None:
    sessions = Sessions(None)
    upstreams = Upstreams({"one": faulty(), "two": dead()}, InProcessRunner(sessions))
    assert not sessions._background.started
    assert not upstreams._background.started
    for server in ("one", "two"):
        with suppress(UpstreamUnavailable):
            upstreams.send(server, SHARED, call_tool("echo", {}), deadline=deadline_in())
    assert sessions._background.started
    assert upstreams._background.started
    for opened in (upstreams, sessions, upstreams, sessions):
        opened.close()
    assert not sessions._background.started
    assert not upstreams._background.started
