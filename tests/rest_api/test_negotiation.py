"""What a request's headers ask of a response: HEAD, what has changed, compression, problem details, what is left."""

import gzip
from base64 import b64decode
from typing import Any

import pytest

from mcpist.http.request import MIN_COMPRESSED_BYTES
from mcpist.memory import forget_all
from mcpist.settings import settings
from rest_api import handler as door
from tests.lambda_context import Context
from tests.rest_api.rest_client import RestClient

PROBLEM = "application/problem+json"
APP, FOREIGN = "https://app.example.com", "https://other.example.com"


@pytest.fixture
def plain(rest: RestClient) -> RestClient:
    """An administrator's program that takes no encoding."""
    return rest.of("ada").with_headers(accept_encoding="identity")


def respond(client: RestClient, method: str, path: str) -> dict[str, Any]:
    """Return the response as API Gateway gets it."""
    response: dict[str, Any] = door.handler(client.event(method, path), Context())
    return response


@pytest.mark.parametrize("path", ["/v1/users", "/v1/tools", "/v1/modules", "/v1/audit", "/v1/organizations"])
def test_a_list_is_sent_again_only_when_it_has_changed(plain: RestClient, path: str) -> None:
    first = plain.get(path)
    assert first.headers["cache-control"] == "private, no-cache"
    for stated in (first.headers["etag"], f'"x", W/{first.headers["etag"]}', "*"):
        again = plain.with_headers(if_none_match=stated).get(path)
        assert (again.status, again.text, again.headers["etag"]) == (304, "", first.headers["etag"])
    assert plain.with_headers(if_none_match='"x"').get(path).status == 200


def test_a_changed_organization_has_another_tag(plain: RestClient) -> None:
    known = plain.with_headers(if_none_match=plain.get("/v1/roles").headers["etag"])
    assert known.get("/v1/roles").status == 304
    plain.post("/v1/roles", {"name": "new"})
    assert known.get("/v1/roles").status == 200


def test_a_preview_is_not_tagged_with_the_version_alone_since_a_release_changes_it_too(plain: RestClient) -> None:
    version = plain.get("/v1/roles").headers["etag"]
    assert plain.get("/v1/roles/members/preview").headers["etag"] != version


def test_a_head_request_has_the_headers_of_the_get_and_no_body(plain: RestClient) -> None:
    got, head = plain.get("/v1/users"), plain.send("HEAD", "/v1/users")
    assert (head.status, head.text, head.headers) == (200, "", got.headers)
    assert plain.send("HEAD", "/v1/users/nobody").status == 404
    refused = plain.send("HEAD", "/v1/grants/kill")
    assert (refused.status, refused.headers["allow"], refused.text) == (405, "POST", "")
    assert plain.send("PUT", "/v1/users").headers["allow"] == "GET, HEAD, POST"


@pytest.mark.parametrize(
    ("accepted", "is_compressed"),
    [("gzip", True), ("br, gzip;q=0.5", True), ("gzip;q=0", False), ("gzip; q=0.0, br", False), ("br", False)],
)
def test_a_long_answer_is_compressed_for_who_accepts_it(plain: RestClient, accepted: str, is_compressed: bool) -> None:
    identity = respond(plain, "GET", "/v1/tools")
    response = respond(plain.with_headers(accept_encoding=accepted), "GET", "/v1/tools")
    assert response["headers"]["vary"] == identity["headers"]["vary"] == "accept-encoding"
    if is_compressed:
        assert response["headers"]["content-encoding"] == "gzip"
        assert response["isBase64Encoded"]
        assert gzip.decompress(b64decode(response["body"])).decode() == identity["body"]
        # It is equal for a client, but not byte for byte.
        assert response["headers"]["etag"] == f"W/{identity['headers']['etag']}"
    else:
        assert (response["body"], "content-encoding" in response["headers"]) == (identity["body"], False)


def test_a_short_answer_is_not_compressed(plain: RestClient) -> None:
    response = respond(plain.with_headers(accept_encoding="gzip"), "GET", "/v1/invitations")
    assert len(response["body"]) < MIN_COMPRESSED_BYTES
    assert "content-encoding" not in response["headers"]


@pytest.mark.parametrize("wrong", ["limits", "dry_run", "Category"])
def test_an_unknown_parameter_is_refused_with_the_known_ones(plain: RestClient, wrong: str) -> None:
    answer = plain.get("/v1/modules", **{wrong: "x"})
    assert (answer.status, answer.json["details"]["field"]) == (400, wrong)
    assert "category, tag, enabled" in answer.json["error"]


@pytest.mark.parametrize("path", ["/v1/nothing", "/v1/roles/\xaeW"])
def test_an_unknown_path_is_not_found_whatever_its_parameters(plain: RestClient, path: str) -> None:
    answer = plain.get(path, dryRun="true")
    assert (answer.status, answer.json["code"]) == (404, "NOT_FOUND")


def test_an_error_has_problem_details_for_who_accepts_them(plain: RestClient) -> None:
    required, problem = (
        client.get("/v1/users/nobody") for client in (plain, plain.with_headers(accept=f"{PROBLEM}, */*"))
    )
    assert (required.headers["content-type"], required.json["success"]) == ("application/json", False)
    assert (problem.status, problem.headers["content-type"], problem.headers["vary"]) == (404, PROBLEM, "accept")
    expected = {
        "type": "https://mcp.example.com/v1/docs#USER_NOT_FOUND",
        "title": "User not found",
        "status": 404,
        "detail": required.json["error"],
    }
    same = {name: required.json[name] for name in ("code", "hint", "details", "request_id")}
    assert problem.json == expected | same
    assert 'id="USER_NOT_FOUND"' in plain.get("/v1/docs").text


def test_an_answer_says_how_many_requests_are_left(plain: RestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "ratelimit" not in plain.get("/v1/organizations").headers
    monkeypatch.setenv("USER_REQUESTS", "20")
    settings.cache_clear()
    forget_all()
    answers = [plain.get("/v1/roles/members") for _ in range(30)]
    assert {answer.headers["ratelimit-policy"] for answer in answers} == {'"minute";q=20;w=60'}
    left = [int(answer.headers["ratelimit"].split(";")[1].removeprefix("r=")) for answer in answers]
    assert left[0] == 19
    assert left == sorted(left, reverse=True)
    assert left[-1] == 0
    assert (answers[-1].status, answers[-1].headers["ratelimit"].split("t=")[1]) == (
        429,
        answers[-1].headers["retry-after"],
    )


def test_a_preflight_of_a_foreign_page_says_why_it_is_refused(
    rest: RestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ALLOWED_ORIGINS", APP)
    settings.cache_clear()
    asked = rest.of(None).with_headers(access_control_request_method="GET", origin=FOREIGN)
    refused = asked.send("OPTIONS", "/v1/users")
    assert (refused.status, refused.json["code"]) == (403, "ORIGIN_NOT_ALLOWED")
    assert FOREIGN in refused.json["error"]
    assert asked.with_headers(origin=APP).send("OPTIONS", "/v1/users").status == 204


def test_the_old_address_of_calls_says_that_it_is_deprecated(rest: RestClient) -> None:
    answer = rest.of(None).post("/tools/call", {"name": "x"})
    assert answer.headers["deprecation"].startswith("@")
    assert answer.headers["link"] == '<https://mcp.example.com/v1/tools/call>; rel="successor-version"'
