import gzip
import json
import logging
import time
from collections.abc import Iterator
from itertools import count
from typing import Any

import pytest

from mcpist.bounded_http.client import ExchangeResponse, HttpClient, redirect_url
from mcpist.bounded_http.failures import ExchangeFailed, ExchangeTimeout, ResponseTooLarge, UnsendableRequest
from tests.core.loopback import Reply, Service, json_response, serving


@pytest.fixture
def service() -> Iterator[Service]:
    with serving() as service:
        yield service


@pytest.fixture
def client() -> Iterator[HttpClient]:
    client = HttpClient(max_bytes=1000, connect_seconds=5)
    yield client
    client.close()


def get(client: HttpClient, url: str, *, method: str = "GET", seconds: float = 5, **content: Any) -> ExchangeResponse:
    return client.exchange(method, url, deadline=time.monotonic() + seconds, **content)


def test_a_form_is_sent_as_one_and_headers_come_back_in_lower_case(service: Service, client: HttpClient) -> None:
    service.reply_with(json_response({"id": 1}, 201, X_Own="a"))
    response = get(client, f"{service.url}/token?a=1", method="POST", query={"b": None}, form={"code": "a b"})
    assert (response.status, json.loads(response.body), response.headers["x-own"]) == (201, {"id": 1}, "a")
    (request,) = service.received
    assert (request.path, request.body) == ("/token?a=1&b=", b"code=a+b")
    assert request.headers["content-type"] == "application/x-www-form-urlencoded"
    assert request.headers["host"] == service.url.removeprefix("http://")


def test_an_address_is_escaped_where_it_is_not_and_left_where_it_is(service: Service, client: HttpClient) -> None:
    get(client, f"{service.url}/ü b/%2F;v=1?q=é&r=%26")
    assert service.received[0].path == "/%C3%BC%20b/%2F;v=1?q=%C3%A9&r=%26"


@pytest.mark.parametrize(
    ("url", "content"),
    [
        ("http:///x", {}),
        ("http://[x", {}),
        ("http://a:x/", {}),
        ("http://a/" + "x" * 70_000, {}),
        ("http://a/", {"headers": {"apikey": "s3cret鍵"}}),
        ("http://127.0.0.1:9/\ud800", {}),
        ("http://a/", {"json": float("nan")}),
    ],
)
def test_what_http_cannot_express_is_not_sent(client: HttpClient, url: str, content: dict[str, Any]) -> None:
    with pytest.raises(UnsendableRequest) as error:
        get(client, url, **content)
    assert not error.value.sent
    assert "s3cret" not in str(error.value)


def test_neither_cookies_nor_proxies_nor_redirects_come_between(
    service: Service, client: HttpClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    service.reply_with(Reply(b"", 302, {"location": "/elsewhere", "set-cookie": "a=b"}), json_response({}))
    assert get(client, service.url).status == 302
    get(client, service.url)
    assert [request.path for request in service.received] == ["/", "/"]
    assert "cookie" not in service.received[1].headers


def test_nothing_of_an_exchange_is_logged(
    service: Service, client: HttpClient, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    get(client, f"{service.url}/private", headers={"authorization": "t0ken"})
    assert "private" not in caplog.text
    assert "t0ken" not in caplog.text


@pytest.mark.parametrize("compressed", [False, True])
def test_a_body_over_the_limit_is_not_read_to_its_end(service: Service, client: HttpClient, compressed: bool) -> None:
    def reply(size: int) -> Reply:
        body = b"x" * size
        return Reply(gzip.compress(body), headers={"content-encoding": "gzip"}) if compressed else Reply(body)

    service.reply_with(reply(1000))
    assert get(client, service.url).body == b"x" * 1000
    for size in (1001, 10_000_000):
        service.reply_with(reply(size))
        with pytest.raises(ResponseTooLarge):
            get(client, service.url)


def test_a_body_that_is_not_compressed_as_it_says_is_a_failure(service: Service, client: HttpClient) -> None:
    service.reply_with(Reply(b"plain", headers={"content-encoding": "gzip"}))
    with pytest.raises(ExchangeFailed) as error:
        get(client, service.url)
    assert error.value.sent


def test_every_wait_of_an_exchange_ends_at_its_deadline(service: Service) -> None:
    """Each look at the clock takes a second: the time is over whatever the exchange is at."""
    for seconds in range(1, 6):
        ticks = count(0.0, 1.0)
        client = HttpClient(max_bytes=1000, connect_seconds=60, clock=lambda ticks=ticks: next(ticks))  # type: ignore[misc]
        with pytest.raises(ExchangeTimeout) as error:
            client.exchange("POST", service.url, deadline=seconds, json="x")
        assert error.value.sent is (seconds > 2)
        client.close()
    ticks = count(0.0, 1.0)
    client = HttpClient(max_bytes=1000, connect_seconds=60, clock=lambda: next(ticks))
    assert client.exchange("POST", service.url, deadline=60, json="x").status == 200
    client.close()


def test_a_service_that_says_nothing_in_time_is_a_timeout(service: Service, client: HttpClient) -> None:
    service.reply_with(Reply(b"", length=10, waits=True))
    with pytest.raises(ExchangeTimeout) as error:
        get(client, service.url, seconds=0.1)
    assert error.value.sent


def test_where_nobody_listens_nothing_was_sent(client: HttpClient) -> None:
    with serving() as gone:
        pass
    for url in (gone.url, "ftp://127.0.0.1/", f"http://{'a' * 70}.invalid/"):
        with pytest.raises(ExchangeFailed) as error:
            get(client, url)
        assert not error.value.sent


@pytest.mark.parametrize(
    ("location", "target"),
    [
        ("/b", "https://a/b"),
        ("https://b/c?d", "https://b/c?d"),
        ("//b/c", "https://b/c"),
        ("", "https://a/x"),
        ("http://a/", None),
        ("ftp://a/", None),
        ("http://[broken", None),
        ("//:x", None),
        (None, None),
    ],
)
def test_a_redirect_leads_to_an_address_of_the_same_scheme_or_nowhere(location: str | None, target: str | None) -> None:
    headers = {} if location is None else {"location": location}
    assert redirect_url("https://a/x", ExchangeResponse(302, headers, b"")) == target
    assert redirect_url("https://a/x", ExchangeResponse(200, headers, b"")) is None


@pytest.mark.parametrize(
    ("accepted", "encoding"), [("gzip", "br"), ("gzip", "gzip, gzip"), ("gzip", "deflate"), ("identity", "gzip")]
)
def test_an_encoding_that_was_not_asked_for_is_refused(
    service: Service, client: HttpClient, accepted: str, encoding: str
) -> None:
    service.reply_with(Reply(gzip.compress(gzip.compress(b"{}")), headers={"content-encoding": encoding}))
    with pytest.raises(ExchangeFailed, match="encoding"):
        get(client, service.url, headers={"accept-encoding": accepted})
