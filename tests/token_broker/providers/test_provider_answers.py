"""What each kind of a token endpoint's answer means: only the provider's own words kill a grant."""

import gzip
import json
import logging
import socket
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest
from pydantic import SecretStr

from mcpist.errors import McpistError, NotConfigured, RateLimitExceeded, Timeout, UpstreamUnavailable
from mcpist.oauth.provider import Tokens
from tests.core.loopback import Reply, json_response
from tests.faults import for_each
from tests.token_broker.provider_fakes import CANARY, NEW, OUR_APP, REFRESH, FakeProvider
from token_broker.providers import oauth
from token_broker.providers.oauth import GrantRejected, TokenResponse


def test_a_pair_is_taken_as_it_comes(fake: FakeProvider) -> None:
    fake.reply_with(json_response({**NEW, "refresh_token": "next", "expires_in": 3600, "scope": "repo,read:user"}))
    redeemed = fake.refresh()
    assert redeemed.tokens == Tokens(SecretStr(NEW["access_token"]), SecretStr("next"))
    assert (redeemed.lives, redeemed.scopes) == (3600, ("repo", "read:user"))
    assert redeemed.expires_at is not None
    assert CANARY not in repr(redeemed)


def test_a_response_without_refresh_token_and_lifetime_keeps_the_old_token_and_has_no_end(fake: FakeProvider) -> None:
    fake.reply_with(json_response(NEW))
    assert fake.refresh() == TokenResponse(Tokens(SecretStr(NEW["access_token"]), REFRESH), None, None, None)
    assert fake.redeem().tokens.refresh_token is None


def test_no_more_scopes_are_kept_than_can_be_stored(fake_of: Callable[[str], FakeProvider]) -> None:
    fake = fake_of("github")
    for scope in (" ".join(f"scope-{number}" for number in range(70_000)), " ".join(["s" * 1_500] * 500)):
        fake.reply_with(json_response({**NEW, "refresh_token": "next", "scope": scope}))
        redeemed = fake.refresh()
        assert redeemed.tokens.refresh_token == SecretStr("next")
        assert len(redeemed.scopes or ()) == oauth.MAX_SCOPES
        assert len("".join(redeemed.scopes or ())) < 50_000


@pytest.mark.parametrize(
    ("said_lives", "lives"),
    [
        ("28800", 28800),
        (3599.0, 3599),
        (0, None),
        (-1, None),
        ("soon", None),
        (None, None),
        (True, None),
        (float("inf"), None),
    ],
)
def test_a_strange_lifetime_loses_no_token(
    said_lives: Any, lives: int | None, fake_of: Callable[[str], FakeProvider]
) -> None:
    fake = fake_of("github")
    fake.reply_with(json_response({**NEW, "refresh_token": "next", "expires_in": said_lives, "scope": 7}))
    redeemed = fake.refresh()
    assert (redeemed.lives, redeemed.tokens.refresh_token) == (lives, SecretStr("next"))


DEAD = {
    "notion": {"invalid_grant"},
    "github": {"bad_refresh_token"},
    "atlassian": {"invalid_grant", "unauthorized_client"},
    "supabase": {"invalid_grant"},
    "google": {"invalid_grant"},
    "microsoft": {"invalid_grant", "interaction_required"},
    "slack": {"invalid_grant", "invalid_refresh_token", "token_expired", "token_revoked"},
    "vault": {"invalid_grant"},
}
OWN_CODE_ERRORS = {"github": {"bad_verification_code"}, "slack": {"code_already_used", "invalid_code"}}


@pytest.mark.parametrize("name", DEAD)
def test_the_dead_codes_are_the_provider_s_own(name: str, fake_of: Callable[[str], FakeProvider]) -> None:
    assert fake_of(name).provider.permanent_errors == DEAD[name]


@pytest.mark.parametrize("status", [200, 400, 401, 403])
def test_a_dead_code_kills_the_grant_whatever_the_status_below_500(fake: FakeProvider, status: int) -> None:
    for code in fake.provider.permanent_errors:
        fake.reply_with(json_response({"error": code, "error_description": CANARY}, status))
        with pytest.raises(GrantRejected) as raised:
            fake.refresh()
        assert raised.value.code == code
        assert CANARY not in str(raised.value)


def deep(levels: int = 100_000) -> Reply:
    return Reply(b"[" * levels + b"]" * levels)


HTML = {"content-type": "text/html"}
# Every one of them changes nothing that is stored.
HARMLESS: dict[str, tuple[Reply, type[McpistError]]] = {
    "an answer that was compressed twice": (
        Reply(gzip.compress(gzip.compress(b" " * 50_000_000)), headers={"content-encoding": "gzip, gzip"}),
        UpstreamUnavailable,
    ),
    "our client is refused": (json_response({"error": "invalid_client"}, 401), NotConfigured),
    "our client is refused with 400": (json_response({"error": "invalid_client"}, 400), NotConfigured),
    "our client is refused without words": (Reply(b"", 401), NotConfigured),
    "a code that nobody knows": (json_response({"error": "temporarily_unavailable"}, 400), UpstreamUnavailable),
    "a code that nobody knows, with 200": (json_response({"error": "slow_down", **NEW}), UpstreamUnavailable),
    "an error that is no code": (json_response({"error": {"code": CANARY}}, 400), UpstreamUnavailable),
    "an error that is what we sent": (json_response({"error": REFRESH.get_secret_value()}, 400), UpstreamUnavailable),
    "an error that is what we sent, with 200": (
        json_response({"error": REFRESH.get_secret_value()}),
        UpstreamUnavailable,
    ),
    "an error of many words": (json_response({"error": f"sorry: {CANARY}"}, 400), UpstreamUnavailable),
    "a page of a firewall": (Reply(b"<html>Forbidden</html>", 403, HTML), UpstreamUnavailable),
    "a page instead of tokens": (Reply(b"<html>Welcome</html>", 200, HTML), UpstreamUnavailable),
    "a limit": (json_response({"error": "rate_limited"}, 429, retry_after="7"), RateLimitExceeded),
    "a limit without words": (Reply(b"", 429), RateLimitExceeded),
    "a limit by 403": (json_response({}, 403, retry_after="7"), RateLimitExceeded),
    "a limit that says the grant is dead": (json_response({"error": "invalid_grant"}, 429), RateLimitExceeded),
    "out of order": (Reply(b"", 500), UpstreamUnavailable),
    "out of order, saying the grant is dead": (json_response({"error": "invalid_grant"}, 500), UpstreamUnavailable),
    "out of order, saying the token is bad": (json_response({"error": "bad_refresh_token"}, 503), UpstreamUnavailable),
    "out of order, blaming us": (json_response({"error": "invalid_client"}, 502), UpstreamUnavailable),
    "overloaded": (json_response({"code": "service_overload"}, 529), UpstreamUnavailable),
    "no fields": (json_response({}), UpstreamUnavailable),
    "no object": (json_response([NEW]), UpstreamUnavailable),
    "null": (json_response(None), UpstreamUnavailable),
    "an empty token": (json_response({"access_token": ""}), UpstreamUnavailable),
    "a token that is a number": (json_response({"access_token": 7}), UpstreamUnavailable),
    "a token that splits a header": (json_response({"access_token": f"a\r\nx: {CANARY}"}), UpstreamUnavailable),
    "an endless token": (json_response({"access_token": "a" * 20_000}), UpstreamUnavailable),
    "tokens with a status of failure": (json_response(NEW, 404), UpstreamUnavailable),
    "garbage": (Reply(b"\xff\x00\xfe{"), UpstreamUnavailable),
    "a cut answer": (Reply(b'{"access_token": "a'), UpstreamUnavailable),
    "nothing": (Reply(b""), UpstreamUnavailable),
    "a well": (deep(), UpstreamUnavailable),
    "a flood": (json_response({**NEW, "more": "x" * 2_000_000}), UpstreamUnavailable),
    "a broken connection": (Reply(b"{}", length=1000), UpstreamUnavailable),
    "a redirect": (Reply(b"", 307, {"location": "/elsewhere"}), UpstreamUnavailable),
}


@pytest.mark.parametrize("code", ["incorrect_client_credentials", "application_suspended", "redirect_uri_mismatch"])
def test_github_s_errors_about_our_app_reject_no_grant(fake_of: Callable[[str], FakeProvider], code: str) -> None:
    fake = fake_of("github")
    fake.reply_with(json_response({"error": code}))
    with pytest.raises(NotConfigured, match=code):
        fake.refresh()


@for_each("case", HARMLESS.keys())
def test_no_other_answer_kills_a_grant(fake: FakeProvider, case: str, caplog: pytest.LogCaptureFixture) -> None:
    reply, raised = HARMLESS[case]
    fake.service.received.clear()
    caplog.clear()
    fake.reply_with(reply)
    with caplog.at_level(logging.DEBUG), pytest.raises(raised) as found:
        fake.refresh()
    assert isinstance(found.value, McpistError)
    assert found.value.details["service"] == fake.provider.name
    assert found.value.retryable is (raised is not NotConfigured)
    assert CANARY not in json.dumps(found.value.as_dict()) + caplog.text
    assert found.value.__suppress_context__ or found.value.__context__ is None
    assert len(fake.service.received) == 1


def test_a_rate_limit_names_its_seconds(fake_of: Callable[[str], FakeProvider]) -> None:
    fake = fake_of("notion")
    for reply, seconds in ((Reply(b"", 429, {"retry-after": "7"}), 7), (Reply(b"", 429), 30)):
        fake.reply_with(reply)
        with pytest.raises(RateLimitExceeded) as raised:
            fake.refresh()
        assert raised.value.details["retry_after"] == seconds


def test_an_answer_that_does_not_end_is_a_timeout(fake: FakeProvider) -> None:
    fake.reply_with(Reply(b"{", length=10, waits=True))
    with pytest.raises(Timeout) as raised:
        fake.refresh(seconds=0.2)
    assert raised.value.details == {"service": fake.provider.name, "seconds": 0.2}


DRIPS = {
    "a status": (b"HTTP/1.1 200", b" "),
    "headers": (b"HTTP/1.1 200 OK\r\nx: ", b"a"),
    "a body": (b"HTTP/1.1 200 OK\r\ncontent-length: 9999\r\n\r\n", b" "),
    "a body whose end is the connection's": (b'HTTP/1.1 200 OK\r\n\r\n{"access_token": "a"}', b" "),
}


@pytest.mark.parametrize("what", DRIPS)
def test_a_response_that_arrives_byte_by_byte_is_a_timeout(fake_of: Callable[[str], FakeProvider], what: str) -> None:
    """Each of its bytes comes in time."""
    first, drop = DRIPS[what]
    gone, has_begun = threading.Event(), threading.Event()

    def drip() -> None:
        connection, _ = listening.accept()
        has_begun.set()
        with connection, suppress(OSError):
            connection.recv(10_000)
            connection.sendall(first)
            for _ in range(1_200):
                if gone.wait(0.05):
                    return
                connection.sendall(drop)

    with socket.create_server(("127.0.0.1", 0)) as listening, ThreadPoolExecutor(1) as pool:
        dripping = pool.submit(drip)
        slow = replace(fake_of("google").provider, token_url=f"http://127.0.0.1:{listening.getsockname()[1]}/token")
        before, began = threading.active_count(), time.monotonic()
        # On a loaded machine the time may be over before there is a connection.
        for seconds in (0.3, 3, 30):
            if not has_begun.is_set():
                with pytest.raises(Timeout):
                    oauth.refresh(slow, OUR_APP, REFRESH, seconds=seconds)
        assert has_begun.is_set()
        assert time.monotonic() - began < 50  # all drops take sixty
        assert threading.active_count() <= before
        gone.set()
        dripping.result()


def test_an_address_without_a_server_is_an_outage(fake_of: Callable[[str], FakeProvider]) -> None:
    fake = fake_of("google")
    nobody = replace(fake.provider, token_url="http://127.0.0.1:1/token")
    with pytest.raises(UpstreamUnavailable, match="ConnectError"):
        oauth.refresh(nobody, OUR_APP, REFRESH, seconds=5)


def test_a_code_that_is_no_good_is_told_apart_from_our_fault(fake: FakeProvider) -> None:
    codes = {"invalid_grant"} | OWN_CODE_ERRORS.get(fake.provider.name, set())
    assert fake.provider.invalid_code_errors == codes
    for code in codes:
        fake.reply_with(json_response({"error": code}))
        with pytest.raises(GrantRejected, match=code):
            fake.redeem()
    fake.reply_with(json_response({"error": "unauthorized_client"}, 403))
    with pytest.raises(NotConfigured):
        fake.redeem()
