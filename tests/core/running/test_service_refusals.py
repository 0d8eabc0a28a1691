"""A service that refuses in an HTTP 200: it is described by one function, without a line in core."""

import time
from collections.abc import Iterator
from dataclasses import replace

import pytest

from mcpist.errors import McpistError, RateLimitExceeded, ScopeMissing, ToolExecutionError, UpstreamUnavailable
from mcpist.running.accounts import Account
from mcpist.running.broker import Credential
from mcpist.running.options import DEFAULT_OPTIONS, RunOptions
from mcpist.running.send import Unauthorized, cooldowns, send_call
from mcpist.tools.declare.call import Call, ServiceResponse
from mcpist.tools.declare.dialect import MissingScope, RateLimited, Refusal, Refusals, TokenRefused, Unavailable
from mcpist.tools.declare.module import Module
from tests.core.loopback import Reply, Service, close_connections, json_response, serving

POST = Call("POST", "/chat.postMessage", json={"text": "hi"})
UMA = Credential("t0ken", account_id="T7", account_name="uma", owner="user#uma", expires_at=None)
PATIENT = RunOptions(retry=3, retry_delay=0)


def read_refusal(response: ServiceResponse) -> Refusal | None:
    """The refusals of the chat: `{"ok": false, "error": code}`."""
    if not isinstance(response.json, dict) or response.json.get("ok", True):
        return None
    match response.json.get("error"):
        case "ratelimited":
            return RateLimited()
        case "missing_scope":
            return MissingScope(scope=response.json.get("needed", ""), problem="the token lacks a scope")
        case "not_authed" | "token_revoked":
            return TokenRefused()
        case "service_unavailable":
            return Unavailable()
        case _:
            return Refusal()


@pytest.fixture
def service() -> Iterator[Service]:
    with serving() as service:
        yield service
    close_connections()
    cooldowns.clear()


@pytest.fixture
def chat(service: Service) -> Account:
    module = Module("chat", "A chat.", api_version="1", host=service.url, refusals=Refusals(read_refusal))
    return Account("acme", module, UMA)


def refuse(code: str, **headers: str) -> Reply:
    return json_response({"ok": False, "error": code, "needed": "chat:write"}, **headers)


def post(chat: Account, *, options: RunOptions = DEFAULT_OPTIONS, reads: bool = False) -> ServiceResponse:
    return send_call(chat, POST, deadline=time.monotonic() + 5, options=options, reads=reads)


def failure(chat: Account, *, options: RunOptions = DEFAULT_OPTIONS, reads: bool = False) -> McpistError:
    with pytest.raises(McpistError) as failed:
        post(chat, options=options, reads=reads)
    return failed.value


def test_a_200_that_is_no_refusal_is_a_success(service: Service, chat: Account) -> None:
    service.reply_with(json_response({"ok": True, "ts": "1"}))
    assert post(chat).json == {"ok": True, "ts": "1"}


def test_a_missing_scope_in_a_200_is_named_with_the_page_that_grants_it(service: Service, chat: Account) -> None:
    service.reply_with(refuse("missing_scope"))
    error = failure(chat)
    assert type(error) is ScopeMissing
    assert (error.details["scope"], error.details["problem"]) == ("chat:write", "the token lacks a scope")
    assert error.details["url"].endswith("/connect/chat")


@pytest.mark.parametrize("code", ["not_authed", "token_revoked"])
def test_a_refused_token_in_a_200_is_resolved_afresh(service: Service, chat: Account, code: str) -> None:
    service.reply_with(refuse(code))
    with pytest.raises(Unauthorized, match=code):
        post(chat)
    assert isinstance(failure(replace(chat, credential=None)), ToolExecutionError)


def test_a_limit_in_a_200_is_waited_for_and_holds_the_account(service: Service, chat: Account) -> None:
    service.reply_with(refuse("ratelimited", retry_after="0"), json_response({"ok": True}))
    assert post(chat, options=PATIENT).json == {"ok": True}
    service.reply_with(refuse("ratelimited", retry_after="60"), json_response({"ok": True}))
    for _ in range(2):
        error = failure(chat)
        assert isinstance(error, RateLimitExceeded)
        assert 55 <= error.details["retry_after"] <= 60
    assert len(service.received) == 1
    assert post(replace(chat, credential=replace(UMA, owner="user#ada"))).json == {"ok": True}


def test_an_outage_in_a_200_is_sent_again_only_by_a_read(service: Service, chat: Account) -> None:
    service.reply_with(refuse("service_unavailable"), json_response({"ok": True}))
    assert post(chat, options=PATIENT, reads=True).json == {"ok": True}
    service.reply_with(refuse("service_unavailable"), json_response({"ok": True}))
    error = failure(chat, options=PATIENT)
    assert isinstance(error, UpstreamUnavailable)
    assert error.details["may_have_happened"]
    assert len(service.received) == 1


def test_any_other_refusal_in_a_200_is_an_error_with_its_code(service: Service, chat: Account) -> None:
    service.reply_with(refuse("channel_not_found"))
    error = failure(chat, options=PATIENT, reads=True)
    assert isinstance(error, ToolExecutionError)
    assert error.details["problem"] == "channel_not_found"
    assert len(service.received) == 1
