import json
import time
from collections.abc import Iterator
from typing import Any

import pytest

from mcpist.errors import (
    InvalidRequest,
    McpistError,
    RateLimitExceeded,
    Timeout,
    ToolExecutionError,
    UpstreamUnavailable,
)
from mcpist.tools import send as sending
from mcpist.tools.call import Answer, Call
from mcpist.tools.module import Module
from mcpist.tools.send import Unauthorized, send
from tests.core.loopback import Reply, Service, said, serving

ITEM = Call("GET", "/items/1")
TOKEN = "t0ken"


@pytest.fixture(scope="module")
def service() -> Iterator[Service]:
    with serving() as service:
        yield service
    sending.http().close()
    sending.http.cache_clear()


@pytest.fixture
def module(service: Service) -> Module:
    return Module("shop", "A shop.", api_version="1", host=service.url, headers={"x-version": "7"})


def failure(module: Module, call: Call = ITEM, token: str | None = TOKEN, **given: Any) -> McpistError:
    with pytest.raises(McpistError) as failed:
        send(module, call, token, **given)
    assert "t0ken" not in str(failed.value.as_dict())
    return failed.value


def test_a_call_is_sent_as_it_was_described(service: Service, module: Module) -> None:
    service.says(said({"id": 1}, 201, link="<x>"))
    query = {"q": "a b/ü", "page": 2, "new": True, "state": ["open", "closed"]}
    answer = send(module, Call("POST", "/a%2Fb", query, {"ü": None}, {"x-own": "1"}), "t0ken")
    assert (answer.status, answer.json, answer.headers["link"]) == (201, {"id": 1}, "<x>")
    (asked,) = service.received
    assert (asked.method, asked.path) == ("POST", "/a%2Fb?q=a+b%2F%C3%BC&page=2&new=true&state=open&state=closed")
    assert json.loads(asked.body) == {"ü": None}
    expected = {"authorization": "Bearer t0ken", "x-version": "7", "x-own": "1", "user-agent": "mcpist"}
    assert expected.items() <= asked.headers.items()


def test_without_a_token_there_is_no_authorization(service: Service, module: Module) -> None:
    service.says(said([]))
    assert send(module, ITEM, None).json == []
    assert "authorization" not in service.received[0].headers


def test_no_module_and_no_tool_can_replace_the_token(service: Service, module: Module) -> None:
    service.says(said({}))
    send(module, Call("GET", "/", headers={"Authorization": "Bearer other"}), "t0ken")
    assert service.received[0].headers["authorization"] == "Bearer t0ken"


@pytest.mark.parametrize("status", [200, 202, 204])
def test_an_empty_answer_is_nothing(service: Service, module: Module, status: int) -> None:
    service.says(Reply(b"", status))
    assert send(module, ITEM, None) == Answer(status, send(module, ITEM, None).headers, None)


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        (b"<html>Sign in</html>", "it answered text/html that is no JSON"),
        (b'{"id": 1', "it answered text/html that is no JSON"),
        (b"\xff\xfe\xff", "it answered text/html that is no JSON"),
        (b"[" * 100_000, "it answered text/html that is no JSON"),
    ],
)
def test_what_is_no_json_is_an_outage(service: Service, module: Module, body: bytes, problem: str) -> None:
    service.says(Reply(body, headers={"content-type": "text/html"}))
    error = failure(module)
    assert isinstance(error, UpstreamUnavailable)
    assert error.details["problem"] == problem


def test_half_a_character_becomes_a_question_mark(service: Service, module: Module) -> None:
    service.says(Reply(rb'{"cut": "ab\ud83d", "whole": "\ud83d\ude00"}'))
    assert send(module, ITEM, None).json == {"cut": "ab?", "whole": "😀"}


def test_an_answer_that_ends_too_early_is_an_outage(service: Service, module: Module) -> None:
    service.says(Reply(b'{"id": 1}', headers={"connection": "close"}, length=100))
    assert isinstance(failure(module), UpstreamUnavailable)


def test_an_answer_over_ten_megabytes_is_not_read_to_its_end(service: Service, module: Module) -> None:
    service.says(Reply(b'"' + b"x" * 10_000_000 + b'"'))
    error = failure(module)
    assert isinstance(error, ToolExecutionError)
    assert "larger than 10000000 bytes" in error.text().message


def test_a_refused_token_is_a_signal_and_no_error_yet(service: Service, module: Module) -> None:
    service.says(said({"message": "Bad credentials"}, 401))
    with pytest.raises(Unauthorized):
        send(module, ITEM, "t0ken")
    assert isinstance(failure(module, token=None), ToolExecutionError)


@pytest.mark.parametrize(
    ("status", "body", "message"),
    [
        (403, {"message": "Forbidden"}, "shop answered 403: Forbidden"),
        (404, {"error": "no such item"}, "shop answered 404: no such item"),
        (
            422,
            {"message": "Validation Failed", "errors": [{"field": "title", "code": "missing"}]},
            'shop answered 422: Validation Failed; [{"field": "title", "code": "missing"}]',
        ),
        (
            400,
            {"errorMessages": [], "errors": {"summary": "必須です"}},
            'shop answered 400: {"summary": "必須です"}',
        ),
        (400, {"error": {"code": 400, "message": "Bad time"}}, "shop answered 400: Bad time"),
        (400, {"error": "invalid_scope", "error_description": "No."}, "shop answered 400: No.; invalid_scope"),
        (400, {"code": 7}, 'shop answered 400: {"code": 7}'),
        (400, ["a"], 'shop answered 400: ["a"]'),
        (400, "plain", "shop answered 400: plain"),
        (409, {"message": "m" * 900}, "shop answered 409: " + "m" * 500),
    ],
)
def test_a_refusal_has_the_services_own_words(
    service: Service, module: Module, status: int, body: Any, message: str
) -> None:
    service.says(said(body, status))
    error = failure(module)
    assert isinstance(error, ToolExecutionError)
    assert error.text().message == message
    assert error.details["http_status"] == status


def test_a_refusal_without_words_says_so(service: Service, module: Module) -> None:
    service.says(Reply(b"<html>", 404))
    assert failure(module).text().message == "shop answered 404: no readable message"


@pytest.mark.parametrize(
    ("reply", "seconds"),
    [
        (said({}, 429, retry_after="7"), 7),
        (said({}, 429), 30),
        (said({}, 429, retry_after="soon"), 30),
        (said({}, 429, retry_after="-1"), 30),
        (said({}, 429, retry_after="9" * 5000), 30),
        (said({}, 403, retry_after="60"), 60),
        (said({}, 403, x_ratelimit_remaining="0"), 30),
        (said({"error": {"errors": [{"reason": "userRateLimitExceeded"}]}}, 403), 30),
    ],
)
def test_a_rate_limit_says_when_to_try_again(service: Service, module: Module, reply: Reply, seconds: int) -> None:
    service.says(reply)
    error = failure(module)
    assert isinstance(error, RateLimitExceeded)
    assert error.details["retry_after"] == seconds


def test_githubs_moment_of_the_reset_counts(service: Service, module: Module) -> None:
    service.says(said({}, 403, x_ratelimit_remaining="0", x_ratelimit_reset=str(int(time.time()) + 100)))
    assert 98 <= failure(module).details["retry_after"] <= 100


@pytest.mark.parametrize("status", [500, 502, 503, 529])
def test_a_service_out_of_order_is_unavailable(service: Service, module: Module, status: int) -> None:
    service.says(Reply(b"<html>", status))
    error = failure(module)
    assert isinstance(error, UpstreamUnavailable)
    assert error.retryable


@pytest.mark.parametrize("reply", [Reply(b"", length=10, waits=True), Reply(b'{"id"', length=10, waits=True)])
def test_a_service_that_does_not_answer_in_time_is_a_timeout(service: Service, module: Module, reply: Reply) -> None:
    service.says(reply)
    error = failure(module, seconds=0.2)
    assert isinstance(error, Timeout)
    assert error.text().message == "shop did not answer within 0.2 s."


def test_a_service_that_nobody_hears_is_unavailable() -> None:
    with serving() as gone:
        pass
    error = failure(Module("shop", "A shop.", api_version="1", host=gone.url))
    assert isinstance(error, UpstreamUnavailable)


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_a_redirect_is_not_followed_so_no_other_host_gets_the_token(
    service: Service, module: Module, status: int
) -> None:
    with serving() as other:
        service.says(Reply(b"", status, {"location": f"{other.url}/steal"}))
        assert isinstance(failure(module), ToolExecutionError)
        assert other.received == []


def test_a_cookie_of_one_caller_is_not_sent_with_the_next(service: Service, module: Module) -> None:
    service.says(said({}, set_cookie="session=uma; Path=/"), said({}))
    send(module, ITEM, "t0ken")
    send(module, ITEM, "other")
    assert "cookie" not in service.received[1].headers


@pytest.mark.parametrize(
    "call",
    [
        Call("GET", "/x", {"q": "\ud800"}),
        Call("POST", "/x", json={"q": "\ud800"}),
        Call("POST", "/x", json=float("nan")),
        Call("GET", "/x", {"q": "x" * 70_000}),
    ],
)
def test_what_can_be_no_request_is_the_callers_to_correct(module: Module, call: Call) -> None:
    assert isinstance(failure(module, call), InvalidRequest)
