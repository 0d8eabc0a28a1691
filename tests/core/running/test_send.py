import json
import logging
import socket
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from email.parser import BytesParser
from email.policy import HTTP
from email.utils import format_datetime
from threading import Thread
from typing import Any

import pytest

from mcpist.errors import (
    DayLimitReached,
    InvalidRequest,
    McpistError,
    RateLimitExceeded,
    ReconnectRequired,
    ScopeMissing,
    Timeout,
    ToolExecutionError,
    UpstreamUnavailable,
)
from mcpist.files.content import FileContent
from mcpist.running import send as sending
from mcpist.running.accounts import Account
from mcpist.running.broker import Credential
from mcpist.running.options import RunOptions
from mcpist.running.send import Unauthorized, cooldowns, send_call
from mcpist.settings import settings
from mcpist.spending import spending
from mcpist.telemetry import invocation
from mcpist.telemetry.log_lines import LineLogger
from mcpist.tools.declare.call import Call, FilePart, ServiceResponse
from mcpist.tools.declare.dialect import RateLimited, Refusals
from mcpist.tools.declare.module import Module
from tests.core.loopback import Reply, Service, close_connections, json_response, serving

ITEM = Call("GET", "/items/1")
NEW = Call("POST", "/items", json={"name": "a"})
UMA = Credential("t0ken", account_id="site/7?", account_name="uma", owner="user#uma", expires_at=None)
PATIENT = RunOptions(retry=3, retry_delay=0)
HASTY = RunOptions.model_construct(timeout=0.1, retry=1, retry_delay=0)
OUTAGE = Reply(b"", 502)


@pytest.fixture(scope="module")
def service() -> Iterator[Service]:
    with serving() as service:
        yield service
    close_connections()


@pytest.fixture
def account(service: Service) -> Iterator[Account]:
    module = Module("shop", "A shop.", api_version="1", host=service.url, headers={"X-Version": "7"})
    yield Account("acme", module, UMA)
    cooldowns.clear()


def ask(account: Account, call: Call = ITEM, *, seconds: float = 5, **given: Any) -> ServiceResponse:
    return send_call(account, call, deadline=time.monotonic() + seconds, **given)


def test_a_service_can_continue_the_trace_of_the_request(service: Service, account: Account) -> None:
    service.received.clear()
    ask(account)
    with invocation.begin("door", LineLogger(), "r-1", f"00-{'a' * 32}-{'b' * 16}-01"):
        ours = invocation.traceparent()
        ask(account)
    assert [one.headers.get("traceparent") for one in service.received] == [None, ours]


def failure(account: Account, call: Call = ITEM, **given: Any) -> McpistError:
    with pytest.raises(McpistError) as failed:
        ask(account, call, **given)
    assert "t0ken" not in json.dumps(failed.value.as_dict())
    return failed.value


# -- what is sent -------------------------------------------------------------------------------------


def test_a_call_is_sent_as_it_was_described(service: Service, account: Account) -> None:
    service.reply_with(json_response({"id": 1}, 201, link="<x>"))
    query = {"q": "a b/ü", "page": 2, "new": True, "state": ["open", "closed"]}
    answer = ask(account, Call("POST", "/a%2Fb", query, {"ü": None}, {"x-own": "1"}))
    assert (answer.status, answer.json, answer.headers["link"]) == (201, {"id": 1}, "<x>")
    (asked,) = service.received
    assert (asked.method, asked.path) == ("POST", "/a%2Fb?q=a+b%2F%C3%BC&page=2&new=true&state=open&state=closed")
    assert json.loads(asked.body) == {"ü": None}
    expected = {"authorization": "Bearer t0ken", "x-version": "7", "x-own": "1", "user-agent": "mcpist"}
    assert expected.items() <= asked.headers.items()


def test_what_is_sent_counts_for_the_organizations_day_also_without_an_answer(
    aws: list[str], service: Service, account: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DAY_MEGABYTES", "1")
    settings.cache_clear()
    service.replies = [Reply(status=500)]
    with pytest.raises(UpstreamUnavailable):
        ask(account, replace(NEW, json={"name": "a" * 999_990}))
    aws.clear()
    with pytest.raises(DayLimitReached):
        spending.check("acme", "bytes")
    spending.check("other", "bytes")


def test_without_a_credential_there_is_no_authorization(service: Service, account: Account) -> None:
    service.reply_with(json_response([]))
    assert ask(replace(account, credential=None)).json == []
    assert "authorization" not in service.received[0].headers


def test_no_module_and_no_tool_can_replace_the_token(service: Service, account: Account) -> None:
    service.reply_with(json_response({}))
    ask(account, Call("GET", "/", headers={"Authorization": "Bearer other"}))
    assert service.received[0].headers["authorization"] == "Bearer t0ken"


def test_a_call_may_say_more_precisely_what_its_module_says_of_all(service: Service, account: Account) -> None:
    service.reply_with(json_response({}))
    ask(account, Call("GET", "/", headers={"X-VERSION": "8"}))
    assert service.received[0].headers["x-version"] == "8"


def test_a_host_with_a_base_path_is_completed_by_the_accounts_escaped_id(service: Service, account: Account) -> None:
    account.module.host = f"{service.url}/ex/jira/{{account}}"
    service.reply_with(json_response({}))
    ask(account, Call("GET", "/rest/api/3/myself"))
    assert service.received[0].path == "/ex/jira/site%2F7%3F/rest/api/3/myself"
    for nobody in (None, replace(UMA, account_id="")):
        assert isinstance(failure(replace(account, credential=nobody)), ReconnectRequired)
    assert len(service.received) == 1


def test_another_origin_of_the_service_gets_the_calls_own_headers_and_never_the_token(account: Account) -> None:
    with serving() as other:
        account.module.origins = r"http://127\.0\.0\.1:[0-9]+"
        call = Call("GET", "/rows", headers={"apikey": "service key", "authorization": "Bearer service"})
        ask(account, replace(call, origin=other.url))
        headers = other.received[0].headers
        assert (headers["apikey"], headers["authorization"]) == ("service key", "Bearer service")
        assert "t0ken" not in str(headers)
        assert "x-version" not in headers
        other.reply_with(json_response({"message": "JWT expired"}, 401))
        assert isinstance(failure(account, replace(call, origin=other.url)), ToolExecutionError)


@pytest.mark.parametrize("pattern", ["", r"https://[a-z]+\.supabase\.co"])
def test_an_origin_that_the_module_does_not_allow_gets_nothing(account: Account, pattern: str) -> None:
    account.module.origins = pattern
    for origin in ("https://evil.example", "https://abc.supabase.co.evil.example", "http://abc.supabase.co"):
        with pytest.raises(ValueError, match="has no origin"):
            ask(account, replace(ITEM, origin=origin))


def test_a_cookie_of_one_caller_is_not_sent_with_the_next(service: Service, account: Account) -> None:
    service.reply_with(json_response({}, set_cookie="session=uma; Path=/"), json_response({}))
    ask(account)
    ask(replace(account, credential=replace(UMA, token="other")))
    assert "cookie" not in service.received[1].headers


@pytest.mark.parametrize(
    "call",
    [
        Call("GET", "/x", {"q": "\ud800"}),
        Call("POST", "/x", json={"q": "\ud800"}),
        Call("POST", "/x", json=float("nan")),
        Call("GET", "/x", {"q": "x" * 70_000}),
        Call("GET", "/x", headers={"apikey": "鍵t0ken"}),
        Call("GET", "/x", headers={"apikey": "t0ken\n"}),
    ],
)
def test_what_can_be_no_request_is_the_callers_to_correct(account: Account, call: Call) -> None:
    assert isinstance(failure(account, call), InvalidRequest)


def test_neither_a_call_nor_a_credential_shows_its_secrets() -> None:
    call = replace(ITEM, headers={"apikey": "t0ken"})
    assert "t0ken" not in f"{call!r} {UMA!r}"


# -- what is answered ---------------------------------------------------------------------------------


@pytest.mark.parametrize("status", [201, 202, 204])
def test_an_empty_answer_is_nothing(service: Service, account: Account, status: int) -> None:
    service.reply_with(Reply(b"", status))
    answer = ask(account)
    assert (answer.status, answer.json) == (status, None)
    service.reply_with(Reply(b"", 200))
    assert ask(account, NEW).json is None


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        (b"<html>Sign in</html>", "it answered text/html that is no JSON"),
        (b'{"id": 1', "it answered text/html that is no JSON"),
        (b"\xff\xfe\xff", "it answered text/html that is no JSON"),
        (b"[" * 100_000, "it answered text/html that is no JSON"),
        (b"", "its answer is empty"),
    ],
)
def test_what_is_no_json_is_an_outage(service: Service, account: Account, body: bytes, problem: str) -> None:
    service.reply_with(Reply(body, headers={"content-type": "text/html"}))
    error = failure(account)
    assert isinstance(error, UpstreamUnavailable)
    assert error.details["problem"] == problem


def test_half_a_character_becomes_a_question_mark(service: Service, account: Account) -> None:
    service.reply_with(Reply(rb'{"cut": "ab\ud83d", "whole": "\ud83d\ude00"}'))
    assert ask(account).json == {"cut": "ab?", "whole": "😀"}


def test_an_answer_that_ends_too_early_is_an_outage(service: Service, account: Account) -> None:
    service.reply_with(Reply(b'{"id": 1}', headers={"connection": "close"}, length=100))
    assert isinstance(failure(account), UpstreamUnavailable)


def test_an_answer_over_ten_megabytes_is_not_read_to_its_end(service: Service, account: Account) -> None:
    service.reply_with(Reply(b'"' + b"x" * 10_000_000 + b'"'))
    error = failure(account, reads=True, options=PATIENT)
    assert isinstance(error, ToolExecutionError)
    assert "larger than 10000000 bytes" in error.text().message
    assert len(service.received) == 1
    assert "may_have_happened" not in error.details
    assert failure(account, NEW).details["may_have_happened"] is True


def test_a_refused_token_is_a_signal_and_no_error_yet(service: Service, account: Account) -> None:
    service.reply_with(json_response({"message": "Bad credentials"}, 401))
    with pytest.raises(Unauthorized, match="Bad credentials"):
        ask(account)
    assert isinstance(failure(replace(account, credential=None)), ToolExecutionError)


def test_a_token_without_the_needed_scope_is_no_refused_token(service: Service, account: Account) -> None:
    service.reply_with(json_response({}, 401, www_authenticate='Bearer error="insufficient_scope"'))
    error = failure(account)
    assert isinstance(error, ScopeMissing)
    assert error.details["url"].endswith("/connect/shop")


@pytest.mark.parametrize(
    ("reply", "kind", "retryable"),
    [
        (json_response({"message": "no"}, 403), ToolExecutionError, False),
        (json_response({"message": "no"}, 404), ToolExecutionError, False),
        (json_response({"message": "no"}, 409), ToolExecutionError, False),
        (json_response({"message": "no"}, 422), ToolExecutionError, False),
        (json_response({"message": "no"}, 429), RateLimitExceeded, True),
        (json_response({"message": "no"}, 429, retry_after="7"), RateLimitExceeded, True),
        (json_response({"message": "no"}, 500), UpstreamUnavailable, True),
        (json_response({"message": "no", "code": "service_overload"}, 529), UpstreamUnavailable, True),
        (Reply(b"<html>", 500), UpstreamUnavailable, True),
        (Reply(b"<html>", 404), ToolExecutionError, False),
        (Reply(b"", 503), UpstreamUnavailable, True),
    ],
)
def test_a_refusal_is_a_typed_error_that_says_whether_a_retry_helps(
    service: Service, account: Account, reply: Reply, kind: type[McpistError], retryable: bool
) -> None:
    service.reply_with(reply)
    error = failure(account, reads=True)
    assert type(error) is kind
    assert error.as_dict()["details"].get("retryable", False) is retryable
    assert b"no" not in reply.body or "no" in error.details["problem"]


def test_a_service_that_repeats_the_token_does_not_show_it(service: Service, account: Account) -> None:
    service.reply_with(json_response({"message": "bad header: Bearer t0ken", "errors": ["t0ken"]}, 400))
    assert failure(account).text().message == "shop answered 400: bad header: ..."
    service.reply_with(json_response({"message": "no key s3cret"}, 500))
    assert "s3cret" not in str(failure(account, replace(ITEM, headers={"apikey": "s3cret"})))


def test_nothing_secret_is_logged(service: Service, account: Account, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    service.reply_with(json_response({"message": "t0ken"}, 500))
    failure(account, replace(ITEM, query={"q": "private"}), reads=True, options=PATIENT)
    assert "t0ken" not in caplog.text
    assert "private" not in caplog.text


# -- redirects ----------------------------------------------------------------------------------------


def moved(place: str, status: int = 301) -> Reply:
    return Reply(b"", status, {"location": place})


def test_a_read_follows_redirects_within_the_origin(service: Service, account: Account) -> None:
    service.reply_with(moved("/repositories/1"), moved(f"{service.url}/repositories/2", 307), json_response({"id": 2}))
    assert ask(account).json == {"id": 2}
    assert [asked.path for asked in service.received] == ["/items/1", "/repositories/1", "/repositories/2"]
    assert {asked.headers["authorization"] for asked in service.received} == {"Bearer t0ken"}


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_to_another_origin_is_not_followed_so_none_gets_the_token(
    service: Service, account: Account, status: int
) -> None:
    with serving() as other:
        service.reply_with(moved(f"{other.url}/steal?signature=s3cret", status))
        error = failure(account)
        assert isinstance(error, ToolExecutionError)
        assert "it redirects to 127.0.0.1" in error.text().message
        assert "s3cret" not in str(error.as_dict())
        assert other.received == []


LOGS = Call("GET", "/jobs/1/logs", {"x": "1"}, headers={"apikey": "k"}, download=True)


def test_a_download_follows_a_redirect_to_another_origin_without_any_header_of_ours(
    service: Service, account: Account
) -> None:
    with serving() as other:
        service.reply_with(moved("/elsewhere", 302), moved(f"{other.url}/blob?signature=s", 302))
        other.reply_with(Reply(b"log", headers={"content-type": "text/plain"}))
        with invocation.begin("door", LineLogger(), "r-1", f"00-{'a' * 32}-{'b' * 16}-01"):
            answer = ask(account, LOGS)
        assert answer.downloaded == FileContent(b"log", "text/plain", "/jobs/1/logs")
        assert [asked.headers["authorization"] for asked in service.received] == ["Bearer t0ken"] * 2
        (asked,) = other.received
        assert asked.path == "/blob?signature=s"
        assert set(asked.headers) == {"host", "accept", "accept-encoding", "user-agent"}


def test_what_refuses_a_download_elsewhere_refuses_no_token(service: Service, account: Account) -> None:
    with serving() as other:
        for status, place in ((401, "/blob"), (302, f"{service.url}/again")):
            service.reply_with(moved(f"{other.url}/blob", 302))
            other.reply_with(Reply(b"", status, {"location": place}))
            error = failure(account, LOGS)
            assert isinstance(error, UpstreamUnavailable)
            assert f"answers {status}" in error.text().message
            assert len(service.received) == 1


def test_a_download_has_a_limit_of_its_own(service: Service, account: Account, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sending, "MAX_CONTENT_BYTES", 20_000_000)
    service.reply_with(Reply(b" " * 11_000_000))
    downloaded = ask(account, LOGS).downloaded
    assert downloaded
    assert len(downloaded.content) == 11_000_000
    service.reply_with(Reply(b" " * 20_000_001))
    assert "larger than 20000000 bytes" in failure(account, LOGS).text().message


def test_a_refused_download_is_an_error_as_any_other(service: Service, account: Account) -> None:
    service.reply_with(json_response({"message": "Gone"}, 410))
    assert "Gone" in failure(account, LOGS).text().message


def test_parts_are_sent_with_their_names_and_types(service: Service, account: Account) -> None:
    service.reply_with(json_response({"id": 1}))
    parts = {"comment": "ü", "file": FilePart('a"日本.png', FileContent(b"\x89PNG\xff", "image/png"))}
    ask(account, Call("POST", "/attachments", multipart=parts))
    (asked,) = service.received
    kind = asked.headers["content-type"]
    message = BytesParser(policy=HTTP).parsebytes(f"content-type: {kind}\r\n\r\n".encode() + asked.body)
    comment, file = message.iter_parts()
    assert comment.get_payload(decode=True) == "ü".encode()
    assert (file.get_content_type(), file.get_payload(decode=True)) == ("image/png", b"\x89PNG\xff")
    assert 'name="file"; filename="a%22日本.png"'.encode() in asked.body


def test_an_own_origin_gets_the_token_where_the_module_names_it(account: Account) -> None:
    with serving() as other:
        account.module.origins = r"http://127\.0\.0\.1:[0-9]+"
        account.module.token_origins = frozenset({other.url})
        ask(account, Call("GET", "/files/1", origin=other.url, download=True))
        assert other.received[0].headers["authorization"] == "Bearer t0ken"


def test_a_write_that_left_nothing_to_change_is_done(service: Service, account: Account) -> None:
    service.reply_with(Reply(b"", 304), Reply(b"", 304))
    assert ask(account, Call("DELETE", "/items/1")).json is None
    assert isinstance(failure(account), ToolExecutionError)  # nobody asked whether a read has changed


@pytest.mark.parametrize("call", [NEW, Call("DELETE", "/items/1")])
def test_a_write_is_not_sent_to_another_place(service: Service, account: Account, call: Call) -> None:
    service.reply_with(moved("/elsewhere", 307))
    failure(account, call)
    assert len(service.received) <= 1


@pytest.mark.parametrize("place", ["/items/1", "", "http://[broken", "//:x"])
def test_redirects_that_never_end_or_lead_nowhere_are_an_error(service: Service, account: Account, place: str) -> None:
    service.reply_with(moved(place, 302))
    failure(account)
    assert len(service.received) <= 4


# -- time ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("reply", [Reply(b"", length=10, waits=True), Reply(b'{"id"', length=10, waits=True)])
def test_a_service_that_does_not_answer_in_time_is_a_timeout(service: Service, account: Account, reply: Reply) -> None:
    service.reply_with(reply)
    error = failure(account, seconds=0.2)
    assert isinstance(error, Timeout)
    assert error.text().message == "shop did not answer within 0.2 s."


def test_without_time_nothing_is_sent(service: Service, account: Account) -> None:
    service.reply_with(json_response({}))
    assert isinstance(failure(account, seconds=-1), Timeout)
    assert service.received == []


# -- sending again ------------------------------------------------------------------------------------


def test_by_default_nothing_is_sent_again(service: Service, account: Account) -> None:
    service.reply_with(Reply(b"", 503, {"retry-after": "0"}), json_response({}))
    failure(account, reads=True)
    assert len(service.received) == 1


@pytest.mark.parametrize(
    "reply",
    [
        json_response({}, 429, retry_after="0"),
        Reply(b"", 503, {"retry-after": "0"}),
        Reply(b"", 529, {"retry-after": "0"}),
        json_response({}, 403, x_ratelimit_remaining="0", x_ratelimit_reset="1700000000"),
        json_response({}, 429, ratelimit_reset="0"),
    ],
)
@pytest.mark.parametrize("reads", [True, False])
def test_what_a_service_put_off_is_sent_again_when_it_says_even_if_it_writes(
    service: Service, account: Account, reply: Reply, reads: bool
) -> None:
    service.reply_with(reply, reply, json_response({"id": 1}))
    assert ask(account, NEW, reads=reads, options=RunOptions(retry=3, retry_delay=10)).json == {"id": 1}
    assert len(service.received) == 3


@pytest.mark.parametrize(
    "reply",
    [
        OUTAGE,
        Reply(b"", 500, {"retry-after": "0"}),
        json_response({"message": "no"}, 500),
        Reply(b"", 503),
        json_response({}, 429),
        Reply(b'{"id": 1}', length=100),
        Reply(b"<html>"),
    ],
)
def test_what_may_have_happened_is_sent_again_only_by_a_read(service: Service, account: Account, reply: Reply) -> None:
    service.reply_with(reply, json_response({"id": 1}))
    assert ask(account, NEW, reads=True, options=PATIENT).json == {"id": 1}
    service.reply_with(reply, json_response({"id": 1}))
    error = failure(account, NEW, options=PATIENT)
    assert len(service.received) == 1
    assert error.details["may_have_happened"]
    assert "retryable" not in error.as_dict()["details"]


def test_a_read_that_times_out_is_sent_again(service: Service, account: Account) -> None:
    service.reply_with(Reply(b"", length=10, waits=True), json_response({"id": 1}))
    assert ask(account, reads=True, options=HASTY).json == {"id": 1}


def test_a_write_that_times_out_is_not_sent_again(service: Service, account: Account) -> None:
    service.reply_with(Reply(b"", length=10, waits=True), json_response({"id": 1}))
    error = failure(account, NEW, options=HASTY)
    assert isinstance(error, Timeout)
    assert error.details["may_have_happened"]
    assert len(service.received) == 1


@pytest.mark.parametrize("status", [400, 403, 404, 409, 422])
def test_a_refusal_is_never_sent_again(service: Service, account: Account, status: int) -> None:
    service.reply_with(json_response({}, status), json_response({}))
    failure(account, reads=True, options=PATIENT)
    assert len(service.received) == 1


def test_no_more_is_sent_than_the_caller_asked_for(service: Service, account: Account) -> None:
    service.reply_with(OUTAGE)
    failure(account, reads=True, options=RunOptions(retry=2, retry_delay=0))
    assert len(service.received) == 3


def test_a_write_that_could_not_connect_is_sent_again() -> None:
    door = socket.socket()
    door.settimeout(2)
    door.bind(("127.0.0.1", 0))  # bound but deaf: it refuses until it listens

    def wake() -> None:
        time.sleep(0.05)
        door.listen()
        with door.accept()[0] as line:
            line.recv(65_536)
            line.sendall(b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\nconnection: close\r\n\r\n" + b'{"id": 1}')

    thread = Thread(target=wake)
    thread.start()
    module = Module("shop", "A shop.", api_version="1", host=f"http://127.0.0.1:{door.getsockname()[1]}")
    account = Account("acme", module, None)
    assert ask(account, NEW, options=RunOptions(retry=3, retry_delay=0.1)).json == {"id": 1}
    thread.join()
    door.close()


def test_a_service_that_refuses_connections_is_unavailable_and_did_nothing() -> None:
    with serving() as gone:
        pass
    account = Account("acme", Module("shop", "A shop.", api_version="1", host=gone.url), None)
    error = failure(account, NEW)
    assert isinstance(error, UpstreamUnavailable)
    assert "may_have_happened" not in error.details


@pytest.mark.parametrize(
    ("reply", "options"),
    [
        (json_response({}, 429, retry_after="60"), PATIENT),
        (OUTAGE, RunOptions(retry=3, retry_delay=10)),
    ],
)
def test_no_retry_waits_longer_than_the_time_that_is_left(
    service: Service, account: Account, reply: Reply, options: RunOptions
) -> None:
    service.reply_with(reply)
    begun = time.monotonic()
    failure(account, reads=True, options=options)
    assert time.monotonic() - begun < 9  # the shorter delay is ten
    assert len(service.received) == 1


# -- limits -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "reply",
    [
        lambda _: json_response({}, 429, retry_after="60"),
        lambda soon: json_response({}, 429, retry_after=format_datetime(soon, usegmt=True)),
        lambda _: json_response({}, 403, retry_after="60"),
        lambda _: Reply(b"", 529, {"retry-after": "60"}),
        lambda _: Reply(b"", 503, {"retry-after": "60"}),
        lambda soon: json_response({}, 429, x_ratelimit_reset=soon.isoformat()),
        lambda soon: json_response({}, 403, x_ratelimit_remaining="0", x_ratelimit_reset=str(int(soon.timestamp()))),
    ],
)
def test_an_account_that_a_service_put_off_sends_nothing_until_then(
    service: Service, account: Account, reply: Callable[[datetime], Reply]
) -> None:
    service.reply_with(reply(datetime.now(UTC) + timedelta(seconds=60)), json_response({"id": 1}))
    failure(account)
    error = failure(account, NEW)
    assert isinstance(error, RateLimitExceeded)
    assert 55 <= error.details["retry_after"] <= 60
    assert len(service.received) == 1
    assert ask(replace(account, credential=replace(UMA, owner="user#ada"))).json == {"id": 1}
    assert ask(replace(account, organization="globex")).json == {"id": 1}


def test_a_limit_without_a_time_starts_no_cooldown(service: Service, account: Account) -> None:
    service.reply_with(json_response({}, 429), json_response({"id": 1}))
    assert failure(account).details["retry_after"] == 30
    assert ask(account).json == {"id": 1}


def test_a_limit_of_one_path_holds_that_path_alone(service: Service, account: Account) -> None:
    account.module.refusals = Refusals(lambda response: RateLimited(path_only=True) if response.status == 403 else None)
    service.reply_with(json_response({}, 403, retry_after="60"), json_response({"id": 1}))
    search = Call("GET", "/search/issues", {"q": "a"})
    failure(account, search)
    assert isinstance(failure(account, replace(search, query={"q": "b"})), RateLimitExceeded)
    assert ask(account).json == {"id": 1}
