"""Negotiation by the headers of a request: encodings, only what has changed, HEAD, and the form of an error.

Responses also say how many requests the caller has left. Sources: RFC 9110 (conditional requests, HEAD), RFC 9457
(problem details), and https://datatracker.ietf.org/doc/draft-ietf-httpapi-ratelimit-headers/
"""

import base64
import hashlib
import json
from contextlib import suppress

from mcpist.http.request import HttpRequest, HttpResponse, compress
from mcpist.people.quota import request_quota
from rest_api.exchange import RestExchange, find_current

PROBLEM_TYPE = "application/problem+json"
TEXT_TYPES = ("application/json", "application/x-ndjson", "text/")
TAG_CHARACTERS = 22


def negotiated(exchange: RestExchange, response: HttpResponse) -> HttpResponse:
    """Return a response as its request wants it: compressed, or without the body that the client has already."""
    request, headers = exchange.request, {**response["headers"], **_rate_limit(exchange)}
    body = response.get("body") or ""
    if not headers.get("content-type", "").startswith(TEXT_TYPES) or response.get("isBase64Encoded"):
        return {**response, "headers": headers}
    if response["statusCode"] == 200 and request.method == "GET":
        digest = hashlib.sha256(body.encode()).digest()
        headers.setdefault("etag", f'"{base64.urlsafe_b64encode(digest).decode()[:TAG_CHARACTERS]}"')
        headers.setdefault("cache-control", "private, no-cache")
        if matches(request.headers.get("if-none-match", ""), headers["etag"]):
            kept = {name: value for name, value in headers.items() if name != "content-type"}
            return {"statusCode": 304, "headers": kept | {"vary": "accept-encoding"}, "body": ""}
    content, encoding = compress(request.headers, body.encode())
    headers |= {"vary": "accept-encoding", **encoding}
    if not encoding:
        return {**response, "headers": headers}
    if headers.get("etag", "").startswith('"'):  # equal for a client, but not byte for byte
        headers["etag"] = f"W/{headers['etag']}"
    return {**response, "headers": headers, "body": base64.b64encode(content).decode(), "isBase64Encoded": True}


def negotiated_error(request: HttpRequest, response: HttpResponse) -> HttpResponse:
    """Return an error as problem details where the request accepts them."""
    exchange = find_current(request)
    headers = {**response["headers"], **(_rate_limit(exchange) if exchange else {})}
    if exchange is None and _is_head(request):
        return without_body({**response, "headers": headers})
    if PROBLEM_TYPE not in request.headers.get("accept", ""):
        return {**response, "headers": headers}
    content = json.loads(response["body"])
    problem = {
        "type": f"{request.public_url}/v1/docs#{content['code']}",
        "title": content["code"].replace("_", " ").capitalize(),
        "status": response["statusCode"],
        "detail": content["error"],
    }
    more = {name: value for name, value in content.items() if name not in {"success", "error"}}
    body = json.dumps(problem | more, ensure_ascii=False)
    return {**response, "headers": headers | {"content-type": PROBLEM_TYPE, "vary": "accept"}, "body": body}


def without_body(response: HttpResponse) -> HttpResponse:
    """Return the response to a HEAD request: the headers of the GET."""
    return {**response, "body": "", "isBase64Encoded": False}


def _is_head(request: HttpRequest) -> bool:
    """Whether a request is a HEAD; a malformed event is none."""
    with suppress(KeyError):
        return request.method == "HEAD"
    return False


def _rate_limit(exchange: RestExchange) -> dict[str, str]:
    """Return the headers of the caller's limit of requests in a minute, if it was counted."""
    left = request_quota.left(exchange.caller) if "caller" in vars(exchange) else None
    if left is None:
        return {}
    return {
        "ratelimit-policy": f'"minute";q={left.limit};w=60',
        "ratelimit": f'"minute";r={left.remaining};t={left.seconds}',
    }


def matches(stated: str, etag: str) -> bool:
    """Whether `If-None-Match` names an entity tag, by the weak comparison; `*` names any."""
    tags = {tag.strip().removeprefix("W/") for tag in stated.split(",")}
    return not tags.isdisjoint({"*", etag.removeprefix("W/")})
