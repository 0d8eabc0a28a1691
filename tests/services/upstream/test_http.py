"""Servers over HTTP, and the faults that only they have."""

import logging
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Event
from typing import Any

import pytest

from mcpist.errors import (
    AnswerTooLarge,
    RateLimitExceeded,
    SchemaFetchError,
    Timeout,
    ToolExecutionError,
    UpstreamUnavailable,
)
from mcpist_services.upstream.configuration import UpstreamServer
from mcpist_services.upstream.connections import SHARED, Identity
from mcpist_services.upstream.network import TCP_KEEPALIVE_SECONDS, ConnectionPool
from mcpist_services.upstream.requests import call_tool
from tests.upstreams.connected import call, connected_to, deadline_in, public_url
from tests.upstreams.fake_upstream import ECHO, FakeUpstream, RawResponse, event, json_reply

pytestmark = pytest.mark.usefixtures("embedded")


def test_a_server_answers_without_being_asked_for_its_tools_first(fake: FakeUpstream) -> None:
    with connected_to(one=fake.server()) as upstreams:
        assert call(upstreams, "echo") == "echo"
        assert call(upstreams, "echo") == "echo"
    asked = [method for method, _ in fake.received]
    assert asked == ["server/discover", "initialize", "notifications/initialized", "tools/call", "tools/call"]


def test_headers_carry_the_caller_s_own_token_and_two_callers_share_no_session(fake: FakeUpstream) -> None:
    fake.session = "one"
    server = fake.server(headers={"Authorization": "grant:github", "X-Team": "blue"})

    def token(_: Any) -> dict[str, Any]:
        return {"content": [{"type": "text", "text": fake.received[-1][1]["authorization"]}]}

    fake.says["tools/call"] = token
    with connected_to(one=server) as upstreams:
        ada = Identity("acme", "ada", {"grant:github": "token-of-ada"})
        uma = Identity("acme", "uma", {"grant:github": "token-of-uma"})
        assert call(upstreams, "echo", identity=ada) == "Bearer token-of-ada"
        assert call(upstreams, "echo", identity=uma) == "Bearer token-of-uma"
        assert call(upstreams, "echo", identity=ada) == "Bearer token-of-ada"
    assert fake.count("initialize") == 2
    assert {headers["x-team"] for method, headers in fake.received if method == "tools/call"} == {"blue"}
    assert "token" not in repr(ada)


def test_a_missing_secret_is_told_before_anything_is_sent(fake: FakeUpstream) -> None:
    server = fake.server(headers={"Authorization": "grant:github"})
    with (
        connected_to(one=server) as upstreams,
        pytest.raises(UpstreamUnavailable, match="no value is known of grant:github"),
    ):
        call(upstreams, "echo")
    assert fake.received == []


@pytest.mark.parametrize("target", ["http://169.254.169.254/latest/meta-data/", "http://example.com/mcp"])
@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_a_redirect_to_another_origin_is_not_followed(fake: FakeUpstream, target: str, status: int) -> None:
    fake.says["tools/call"] = RawResponse(status=status, headers={"location": target})
    with connected_to(one=fake.server()) as upstreams, pytest.raises(UpstreamUnavailable, match="redirects") as raised:
        call(upstreams, "echo")
    assert "may_have_happened" not in raised.value.details
    assert "169.254" not in str(raised.value)


def test_a_server_on_loopback_is_refused_by_an_endpoint_that_is_not(
    fake: FakeUpstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    with (
        public_url(monkeypatch, "https://mcp.example.com"),
        connected_to(one=fake.server()) as upstreams,
        pytest.raises(UpstreamUnavailable, match="private or reserved"),
    ):
        call(upstreams, "echo")
    assert fake.received == []


def test_the_metadata_service_is_refused_even_by_the_embedded_stack() -> None:
    server = UpstreamServer(description="Credentials", type="http", url="http://169.254.169.254/mcp")
    with connected_to(one=server) as upstreams, pytest.raises(UpstreamUnavailable, match="private or reserved"):
        call(upstreams, "echo")


def test_no_proxy_stands_between(fake: FakeUpstream, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:9")
    monkeypatch.delenv("NO_PROXY", raising=False)
    with connected_to(one=fake.server()) as upstreams:
        assert call(upstreams, "echo") == "echo"


@pytest.mark.parametrize("streamed", [False, True])
def test_an_answer_over_the_limit_is_refused_and_the_connection_goes_on(fake: FakeUpstream, streamed: bool) -> None:
    large = {"content": [{"type": "text", "text": "x" * 20_000_000}]}
    fake.says["tools/call"] = large
    if streamed:
        fake.says["tools/call"] = lambda message: event({"jsonrpc": "2.0", "id": message["id"], "result": large})
    with connected_to(one=fake.server()) as upstreams:
        with pytest.raises(AnswerTooLarge):
            call(upstreams, "echo")
        fake.says["tools/call"] = ECHO
        assert call(upstreams, "echo") == "echo"
    assert fake.count("initialize") == 1


def test_what_is_compressed_unasked_is_not_unpacked(fake: FakeUpstream) -> None:
    with connected_to(one=fake.server()) as upstreams:
        call(upstreams, "echo")
        fake.says["tools/call"] = RawResponse(
            b"\x1f\x8b", headers={"content-type": "application/json", "content-encoding": "gzip"}
        )
        with pytest.raises(UpstreamUnavailable, match="encoding"):
            call(upstreams, "echo")
    assert {headers["accept-encoding"] for _, headers in fake.received if headers} == {"identity"}


@pytest.mark.parametrize(
    "raw",
    [
        RawResponse(b"<html>sesame</html>", headers={"content-type": "text/html"}),
        RawResponse(b"{sesame"),
        RawResponse(b'{"jsonrpc": "2.0", "result": "sesame"}'),
        RawResponse(b"[]"),
        RawResponse(b""),
        RawResponse(b'{"jsonrpc": "2.0", "id": 1, "result": ' + b"[" * 100_000 + b"]" * 100_000 + b"}"),
        RawResponse(b"data: sesame\n\n", headers={"content-type": "text/event-stream"}),
    ],
)
def test_garbage_is_told_without_its_text(
    fake: FakeUpstream, raw: RawResponse, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    with connected_to(one=fake.server()) as upstreams:
        call(upstreams, "echo")
        fake.says["tools/call"] = raw
        with pytest.raises(UpstreamUnavailable) as raised:
            call(upstreams, "echo")
        assert "sesame" not in str(raised.value)
        fake.says["tools/call"] = ECHO
        assert call(upstreams, "echo") == "echo"
    assert "sesame" not in caplog.text


def test_a_result_of_another_shape_is_told(fake: FakeUpstream) -> None:
    fake.says["tools/call"] = {"content": "sesame"}
    with connected_to(one=fake.server()) as upstreams, pytest.raises(UpstreamUnavailable, match="no MCP"):
        call(upstreams, "echo")


def test_a_request_that_breaks_leaves_those_beside_it_alone(fake: FakeUpstream) -> None:
    broken = Event()

    def answer(message: dict[str, Any]) -> Any:
        if message["params"]["name"] == "slow":
            assert broken.wait(10)
            return ECHO
        return RawResponse(b"{", truncated=True)

    fake.says["tools/call"] = answer
    with connected_to(one=fake.server()) as upstreams, ThreadPoolExecutor() as pool:
        slow = pool.submit(call, upstreams, "slow")
        with pytest.raises(UpstreamUnavailable) as raised:
            call(upstreams, "cut")
        assert raised.value.details["may_have_happened"]
        broken.set()
        assert slow.result() == "echo"
    assert fake.count("initialize") == 1


def test_a_read_whose_connection_breaks_is_sent_again(fake: FakeUpstream) -> None:
    answers: Iterator[Any] = iter([RawResponse(b"{", truncated=True), ECHO])
    fake.says["tools/call"] = lambda _: next(answers)
    with connected_to(one=fake.server()) as upstreams:
        assert call(upstreams, "echo", reads=True) == "echo"


def test_a_forgotten_session_is_renewed_within_the_call(fake: FakeUpstream) -> None:
    fake.session = "first"

    def answer(_: dict[str, Any]) -> Any:
        if fake.received[-1][1]["mcp-session-id"] == "first":
            fake.session = "second"
            return json_reply({"jsonrpc": "2.0", "error": {"code": -32000, "message": "No valid session ID"}}, 400)
        return ECHO

    fake.says["tools/call"] = answer
    with connected_to(one=fake.server()) as upstreams:
        assert call(upstreams, "echo") == "echo"
        assert call(upstreams, "echo") == "echo"
    assert fake.count("initialize") == 2
    assert fake.count("server/discover") == 1  # that it knows no newer era is remembered


@pytest.mark.parametrize(
    ("status", "kind", "code"),
    [(401, ToolExecutionError, 401), (403, ToolExecutionError, 403), (404, ToolExecutionError, 404)],
)
def test_a_refusal_keeps_its_status(fake: FakeUpstream, status: int, kind: type[Exception], code: int) -> None:
    fake.says["tools/call"] = json_reply({"error": "denied", "error_description": "not you"}, status)
    with connected_to(one=fake.server()) as upstreams, pytest.raises(kind) as raised:
        call(upstreams, "echo")
    assert raised.value.details["http_status"] == code  # type: ignore[attr-defined]


def test_a_token_that_is_refused_at_the_handshake_is_told_as_such(fake: FakeUpstream) -> None:
    for method in ("server/discover", "initialize"):
        fake.says[method] = json_reply({"error": "invalid_token"}, 401)
    with connected_to(one=fake.server()) as upstreams:
        for _ in range(2):
            with pytest.raises(ToolExecutionError) as raised:
                call(upstreams, "echo")
            assert raised.value.details["http_status"] == 401


def test_a_limit_of_the_rate_is_told_with_its_wait(fake: FakeUpstream) -> None:
    fake.says["tools/call"] = RawResponse(b"{}", 429, {"retry-after": "7", "content-type": "application/json"})
    with connected_to(one=fake.server()) as upstreams, pytest.raises(RateLimitExceeded) as raised:
        call(upstreams, "echo")
    assert raised.value.details["retry_after"] == 7


def test_an_error_of_the_server_repeats_no_secret(fake: FakeUpstream) -> None:
    fake.says["tools/call"] = {"code": -32602, "message": "your token sesame-street is bad"}
    server = fake.server(headers={"Authorization": "grant:github"})
    identity = Identity("acme", "ada", {"grant:github": "sesame-street"})
    with connected_to(one=server) as upstreams, pytest.raises(ToolExecutionError) as raised:
        call(upstreams, "echo", identity=identity)
    assert raised.value.details["problem"] == "your token ... is bad"


def test_a_result_that_says_it_is_an_error_is_a_result(fake: FakeUpstream) -> None:
    fake.says["tools/call"] = {**ECHO, "isError": True}
    with connected_to(one=fake.server()) as upstreams:
        assert upstreams.send("one", SHARED, call_tool("echo", {}), deadline=deadline_in()).is_error


def test_a_server_that_hangs_is_waited_for_as_long_as_its_limit(fake: FakeUpstream) -> None:
    fake.says["tools/call"] = RawResponse(waits=True)
    with connected_to(one=fake.server(timeout_seconds=0.3)) as upstreams:
        begun = time.monotonic()
        with pytest.raises(Timeout) as raised:
            call(upstreams, "echo")
        assert time.monotonic() - begun < 20
        assert raised.value.details["may_have_happened"]
        fake.says["tools/call"] = ECHO
        assert call(upstreams, "echo") == "echo"


def test_a_list_that_does_not_come_is_a_schema_that_cannot_be_fetched(fake: FakeUpstream) -> None:
    fake.says["tools/list"] = {"code": -32603, "message": "out of order"}
    with connected_to(one=fake.server()) as upstreams, pytest.raises(SchemaFetchError, match="out of order"):
        upstreams.list_tools("one", deadline=deadline_in())


def test_a_list_that_leads_in_a_circle_is_read_once(fake: FakeUpstream) -> None:
    fake.says["tools/list"] = {"tools": [{"name": "again", "inputSchema": {"type": "object"}}], "nextCursor": "more"}
    with connected_to(one=fake.server()) as upstreams:
        assert len(upstreams.list_tools("one", deadline=deadline_in()).tools) == 2


def test_a_modern_server_says_how_long_its_list_holds(fake: FakeUpstream) -> None:
    fake.says["server/discover"] = {
        "supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}, "resultType": "complete",
        "ttlMs": 0, "cacheScope": "public",
    }  # fmt: skip
    fake.says["tools/list"] = {
        "tools": [{"name": "echo", "inputSchema": {"type": "object"}}],
        "resultType": "complete", "ttlMs": 90_000, "cacheScope": "public",
    }  # fmt: skip
    with connected_to(one=fake.server()) as upstreams:
        listing = upstreams.list_tools("one", deadline=deadline_in())
    assert (listing.ttl_seconds, listing.scope) == (90, "public")
    assert fake.count("initialize") == 0


def test_the_list_of_a_server_with_grants_is_private(fake: FakeUpstream) -> None:
    server = fake.server(headers={"Authorization": "grant:github"})
    identity = Identity("acme", "ada", {"grant:github": "token"})
    with connected_to(one=server) as upstreams:
        assert upstreams.list_tools("one", identity, deadline=deadline_in()).scope == "private"


def test_no_standing_stream_is_opened(fake: FakeUpstream) -> None:
    fake.session = "one"
    with connected_to(one=fake.server()) as upstreams:
        call(upstreams, "echo")
        call(upstreams, "echo")
    assert fake.count("GET") == 0
    assert fake.count("DELETE") == 1


def test_sockets_that_idled_while_the_sandbox_was_frozen_are_not_used(
    fake: FakeUpstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    with connected_to(one=fake.server()) as upstreams:
        call(upstreams, "echo")
        pool = upstreams._pool
        assert isinstance(pool, ConnectionPool)
        before = set(pool.connections)
        now = time.time()
        monkeypatch.setattr(time, "time", lambda: now + TCP_KEEPALIVE_SECONDS + 1)
        call(upstreams, "echo")
        assert not before & set(pool.connections)
