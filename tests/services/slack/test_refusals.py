"""Slack's refusals, each as the error that it becomes."""

import time
from collections.abc import Iterator

import pytest

from mcpist.errors import RateLimitExceeded, ScopeMissing, ToolExecutionError, UpstreamUnavailable
from mcpist.running.accounts import Account
from mcpist.running.broker import Credential
from mcpist.running.send import Unauthorized, cooldowns, send_call
from mcpist.tools.declare.call import Call
from mcpist.tools.declare.dialect import TokenRefused
from mcpist.tools.declare.module import Module
from mcpist_services.slack.module import slack
from tests.core.loopback import Service, close_connections, json_response, serving
from tests.core.refused import ServiceResponse, refused

AIKO = Credential("xoxp-canary", account_id="T1:U1", account_name="aiko", owner="user#aiko", expires_at=None)


def said(code: str, **more: object) -> dict[str, object]:
    return {"ok": False, "error": code, **more}


@pytest.mark.parametrize("code", ["invalid_auth", "not_authed", "token_revoked", "token_expired", "account_inactive"])
def test_a_token_that_ended_is_resolved_afresh_and_then_asks_to_reconnect(code: str) -> None:
    assert isinstance(slack.refusals.read(ServiceResponse(200, {}, said(code))), TokenRefused)


def test_a_missing_scope_is_named() -> None:
    error = refused(200, said("missing_scope", needed="search:read", provided="chat:write"), slack.refusals).error
    assert type(error) is ScopeMissing
    assert error.details["scope"] == "search:read"


@pytest.mark.parametrize("status", [200, 429])
def test_a_limit_has_its_seconds_and_is_the_method_s_own(status: int) -> None:
    failed = refused(status, said("ratelimited"), slack.refusals, retry_after="30")
    assert isinstance(failed.error, RateLimitExceeded)
    assert (failed.wait, failed.path_only, failed.safe_to_retry) == (30, True, True)


@pytest.mark.parametrize("code", ["internal_error", "fatal_error", "service_unavailable", "request_timeout"])
def test_an_outage_may_have_happened(code: str) -> None:
    failed = refused(200, said(code), slack.refusals)
    assert isinstance(failed.error, UpstreamUnavailable)
    assert not failed.safe_to_retry


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("not_in_channel", "join_channel"),
        ("channel_not_found", "list_channels"),
        ("user_not_found", "list_users"),
        ("already_reacted", "nothing was left to do"),
        ("cant_update_message", "only its author"),
        ("time_in_past", "passed"),
        ("is_archived", "archived"),
    ],
)
def test_a_refusal_says_what_to_do(code: str, words: str) -> None:
    error = refused(200, said(code), slack.refusals).error
    assert isinstance(error, ToolExecutionError)
    assert error.details["problem"].startswith(f"{code}: ")
    assert words in error.details["problem"]


def test_an_unknown_refusal_is_its_code_with_what_slack_says_about_the_arguments() -> None:
    content = said("invalid_arguments", response_metadata={"messages": ["[ERROR] missing required field: channel"]})
    assert "missing required field: channel" in refused(200, content, slack.refusals).error.details["problem"]
    assert refused(200, said("some_new_code"), slack.refusals).error.details["problem"] == "some_new_code"


@pytest.mark.parametrize("content", [None, [], "no", {}, {"ok": True}, {"ok": True, "response_metadata": None}])
def test_no_other_answer_is_a_refusal(content: object) -> None:
    assert slack.refusals.read(ServiceResponse(200, {}, content)) is None


@pytest.fixture
def service() -> Iterator[Service]:
    with serving() as service:
        yield service
    close_connections()
    cooldowns.clear()


def test_a_method_that_is_limited_leaves_the_others_alone(service: Service) -> None:
    module = Module("slack", "Slack.", api_version="1", host=service.url, refusals=slack.refusals)
    account = Account("acme", module, AIKO)
    limited, other = Call("GET", "/users.list"), Call("GET", "/users.info")
    service.reply_with(json_response(said("ratelimited"), 429, retry_after="60"), json_response({"ok": True}))
    for _ in range(2):
        with pytest.raises(RateLimitExceeded):
            send_call(account, limited, deadline=time.monotonic() + 5)
    assert send_call(account, other, deadline=time.monotonic() + 5).json == {"ok": True}
    assert [received.path for received in service.received] == ["/users.list", "/users.info"]


def test_a_revoked_token_is_a_signal_to_resolve_afresh(service: Service) -> None:
    module = Module("slack", "Slack.", api_version="1", host=service.url, refusals=slack.refusals)
    service.reply_with(json_response(said("token_revoked")))
    with pytest.raises(Unauthorized, match="token_revoked"):
        send_call(Account("acme", module, AIKO), Call("GET", "/auth.test"), deadline=time.monotonic() + 5)
