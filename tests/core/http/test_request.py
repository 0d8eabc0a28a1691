"""HTTP requests as API Gateway's events."""

import base64
import json

import pytest

from mcpist.errors import PayloadTooLarge
from mcpist.http.request import HttpRequest, json_response


def test_header_names_are_lower_case_and_values_are_stripped() -> None:
    assert HttpRequest({"headers": {"Accept-Language": " ja "}}).headers == {"accept-language": "ja"}


@pytest.mark.parametrize(("header", "expected"), [("ja-JP,en;q=0.5", "ja"), ("EN", "en"), ("fr, ja", "en"), ("", "en")])
def test_the_first_language_counts_if_it_is_supported(header: str, expected: str) -> None:
    assert HttpRequest({"headers": {"accept-language": header}}).locale() == expected


def test_a_request_without_a_supported_language_uses_the_default() -> None:
    assert HttpRequest({"headers": {"accept-language": "fr"}}).locale("ja") == "ja"
    assert HttpRequest({}).locale("ja") == "ja"


def test_cookies_are_read_by_their_names() -> None:
    assert HttpRequest({"cookies": ["a=1", "b=2=3"]}).cookies == {"a": "1", "b": "2=3"}


def test_a_body_is_decoded_and_bounded() -> None:
    encoded = {"body": base64.b64encode(b"four").decode(), "isBase64Encoded": True}
    assert HttpRequest(encoded).body(4) == b"four"
    assert HttpRequest({"body": "\u00e9"}).body(2) == b"\xc3\xa9"
    assert HttpRequest({}).body(0) == b""
    with pytest.raises(PayloadTooLarge):
        HttpRequest(encoded).body(3)


def test_a_json_response_keeps_its_headers() -> None:
    response = json_response(404, {"error": "é"}, {"allow": "GET"})
    assert response["headers"] == {"content-type": "application/json", "allow": "GET"}
    assert json.loads(response["body"]) == {"error": "é"}
