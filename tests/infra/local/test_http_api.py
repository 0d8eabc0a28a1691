"""Events and answers as API Gateway makes them."""

import base64
import json
from typing import Any

import pytest

from infra.local.fair_queue import ApiTurns
from infra.local.http_api import HttpApi, to_event, to_response
from infra.local.invocation import InvocationResult, Throttled
from infra.local.template import Route
from tests.infra.local.web import request

ROUTE = Route("ANY", "/mcp/{organization}", "Endpoint")


class FakePool:
    """Answers with the event that it got, or raises."""

    class Function:
        invoked_arn = "arn:aws:lambda:us-east-1:123456789012:function:endpoint:live"

    function = Function()

    def __init__(self, trouble: Exception | None = None) -> None:
        self.trouble = trouble

    def invoke(self, content: bytes, arn: str, *, timeout_seconds: float) -> InvocationResult:
        assert arn.endswith(":live")
        assert timeout_seconds == 30
        if self.trouble:
            raise self.trouble
        return InvocationResult(content)


def api(*routes: Route, trouble: Exception | None = None) -> HttpApi:
    pools: Any = {route.function: FakePool(trouble) for route in routes}
    return HttpApi(routes, pools, domain="127.0.0.1")


def test_an_event_has_the_fields_of_payload_format_2() -> None:
    sent = request(
        "POST",
        "/mcp/acme%20inc?a=1&b=%20&a=2",
        body=b'{"x": 1}',
        headers={"Content-Type": "application/json", "Cookie": "s=1; t=2", "User-Agent": "curl/8"},
    )
    made = to_event(sent, ROUTE, {"organization": "acme inc"}, "127.0.0.1", "id-1")
    context = made.pop("requestContext")
    headers = made.pop("headers")
    assert made == {
        "version": "2.0",
        "routeKey": "ANY /mcp/{organization}",
        "rawPath": "/mcp/acme inc",
        "rawQueryString": "a=1&b=%20&a=2",
        "cookies": ["s=1", "t=2"],
        "queryStringParameters": {"a": "1,2", "b": " "},
        "pathParameters": {"organization": "acme inc"},
        "body": '{"x": 1}',
        "isBase64Encoded": False,
    }
    assert headers["content-type"] == "application/json"
    assert headers["x-forwarded-for"] == "127.0.0.1"
    assert "cookie" not in headers
    assert context["http"] == {
        "method": "POST",
        "path": "/mcp/acme inc",
        "protocol": "HTTP/1.1",
        "sourceIp": "127.0.0.1",
        "userAgent": "curl/8",
    }
    assert (context["domainName"], context["stage"], context["requestId"]) == ("127.0.0.1", "$default", "id-1")


@pytest.mark.parametrize(
    ("content_type", "encoded"),
    [
        ("application/json; charset=utf-8", False),
        ("text/plain", False),
        ("application/x-www-form-urlencoded", True),
        ("application/octet-stream", True),
        (None, True),
    ],
)
def test_only_text_arrives_as_text(content_type: str | None, encoded: bool) -> None:
    headers = {"Content-Type": content_type} if content_type else {}
    made = to_event(request("POST", "/", body=b"a=1", headers=headers), ROUTE, {}, "d", "id")
    assert made["isBase64Encoded"] is encoded
    assert made["body"] == (base64.b64encode(b"a=1").decode() if encoded else "a=1")


def test_a_request_without_body_has_no_body() -> None:
    made = to_event(request("GET", "/"), ROUTE, {}, "d", "id")
    assert "body" not in made
    assert made["isBase64Encoded"] is False


@pytest.mark.parametrize(
    ("method", "path", "key"),
    [
        ("GET", "/mcp", "GET /mcp"),
        ("POST", "/mcp", "ANY /mcp"),
        ("POST", "/mcp/acme", "ANY /mcp/{organization}"),
        ("GET", "/mcp/acme/x/y", "ANY /mcp/{proxy+}"),
        ("GET", "/other", "$default"),
        ("GET", "/mcp/a%0Ab/c%0Ad", "ANY /mcp/{proxy+}"),
    ],
)
def test_the_most_specific_route_wins(method: str, path: str, key: str) -> None:
    paths = ["/mcp/{proxy+}", "$default", "/mcp/{organization}", "/mcp"]
    routes = [Route("ANY", one, "F") for one in paths] + [Route("GET", "/mcp", "F")]
    assert json.loads(api(*routes).handle(request(method, path)).body)["routeKey"] == key


def test_a_vendors_deliveries_have_the_turns_of_their_source() -> None:
    turns = ApiTurns(lambda sender: sender)
    pools: Any = {"F": FakePool()}
    made = HttpApi([Route("ANY", "/hooks/{source}", "F")], pools, domain="127.0.0.1", turns=turns)
    assert made.handle(request("POST", "/hooks/acme.s1")).status == 200
    assert turns.client("acme.s1") != turns.client("acme.s2")


@pytest.mark.parametrize("host", ["rebound.example", "127.0.0.1.rebound.example:3000", ""])
def test_a_foreign_host_is_403(host: str) -> None:
    made = api(ROUTE).handle(request("GET", "/mcp/a", headers={"Host": host}))
    assert (made.status, json.loads(made.body)) == (403, {"message": "Forbidden"})


def test_no_route_is_404() -> None:
    made = api(ROUTE).handle(request("GET", "/"))
    assert (made.status, json.loads(made.body)) == (404, {"message": "Not Found"})


def test_a_body_over_ten_megabytes_and_an_event_over_six_are_413() -> None:
    headers = {"Content-Type": "text/plain"}
    assert api(ROUTE).handle(request("POST", "/mcp/a", body=b"x" * 10_485_761, headers=headers)).status == 413
    assert api(ROUTE).handle(request("POST", "/mcp/a", body=b"x" * 6_291_456, headers=headers)).status == 413
    assert api(ROUTE).handle(request("POST", "/mcp/a", body=b"x" * 6_000_000, headers=headers)).status == 200


@pytest.mark.parametrize("trouble", [Throttled(), TimeoutError()])
def test_a_busy_or_slow_function_is_503(trouble: Exception) -> None:
    made = api(ROUTE, trouble=trouble).handle(request("GET", "/mcp/a"))
    assert (made.status, json.loads(made.body)) == (503, {"message": "Service Unavailable"})


def answered(result: Any) -> tuple[int, dict[str, str], bytes]:
    made = to_response(InvocationResult(json.dumps(result).encode()), "id")
    return made.status, dict(made.headers), made.body


def test_headers_are_lowered_and_www_authenticate_is_renamed() -> None:
    status, headers, body = answered({"statusCode": 401, "headers": {"WWW-Authenticate": "Bearer x", "X-N": 1}})
    assert (status, body) == (401, b"")
    assert headers["x-amzn-remapped-www-authenticate"] == "Bearer x"
    assert "www-authenticate" not in headers
    assert headers["x-n"] == "1"
    assert headers["content-type"] == "text/plain;charset=UTF-8"


def test_cookies_become_set_cookie_and_base64_becomes_bytes() -> None:
    result = {"statusCode": "200", "cookies": ["a=1", "b=2"], "body": "/w==", "isBase64Encoded": True}
    made = to_response(InvocationResult(json.dumps(result).encode()), "id")
    assert made.body == b"\xff"
    assert [value for name, value in made.headers if name == "set-cookie"] == ["a=1", "b=2"]


def test_a_result_without_status_is_the_json_body() -> None:
    status, headers, body = answered({"a": 1})
    assert (status, headers["content-type"], json.loads(body)) == (200, "application/json", {"a": 1})


@pytest.mark.parametrize("result", [{"statusCode": "x"}, {"statusCode": 200, "body": {}}])
def test_a_malformed_result_is_500(result: dict[str, Any]) -> None:
    status, _, body = answered(result)
    assert (status, json.loads(body)) == (500, {"message": "Internal Server Error"})


def test_a_function_error_is_500_without_its_message() -> None:
    made = to_response(InvocationResult(b'{"errorMessage": "secret"}', "Unhandled"), "id")
    assert (made.status, json.loads(made.body)) == (500, {"message": "Internal Server Error"})
