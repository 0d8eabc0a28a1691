"""GraphQL over HTTP: the request of a fixed document, and the errors that an answer of status 200 holds.

Reference: https://graphql.github.io/graphql-over-http/draft/
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from mcpist.errors import McpistError
from mcpist.tools.declare.call import Call, Calls, ServiceResponse
from mcpist.tools.declare.dialect import RateLimited, Refusal, Refusals, TokenRefused, Unavailable

MAX_SHOWN_ERRORS = 3
_KINDS: dict[str, type[Refusal]] = {
    **dict.fromkeys(("RATELIMITED", "RATE_LIMITED", "THROTTLED", "TOO_MANY_REQUESTS"), RateLimited),
    **dict.fromkeys(("UNAUTHENTICATED", "AUTHENTICATION_ERROR", "UNAUTHORIZED"), TokenRefused),
    **dict.fromkeys(("INTERNAL_SERVER_ERROR", "SERVICE_UNAVAILABLE"), Unavailable),
}


def with_document(call: Call, document: str) -> Call:
    """Return a Call with a document, whose variables are the Call's fields."""
    return replace(call, json={"query": document, "variables": call.json or {}})


def each_with_document(calls: Calls, document: str) -> Calls:
    """Send the Calls of a list's pages with a document."""
    try:
        call = next(calls)
        while True:
            try:
                response = yield with_document(call, document)
            except McpistError as error:
                call = calls.throw(error)
            else:
                call = calls.send(response)
    except StopIteration as end:
        return end.value


def _read_refusal(response: ServiceResponse) -> Refusal | None:
    """Return the refusal in a response without data; what came in part is an answer."""
    body = response.json
    if not isinstance(body, dict):
        return None
    data = body.get("data")
    has_data = isinstance(data, dict) and any(value is not None for value in data.values())
    errors = list(_errors(body.get("errors"))) if not has_data else [*_user_errors(data)]
    if not errors:
        return None
    problem = "; ".join(
        str(error.get("message") or "an error without a message") for error in errors[:MAX_SHOWN_ERRORS]
    )
    return next((kind for error in errors if (kind := _kind(error))), Refusal)(problem=problem)


def _kind(error: dict[str, Any]) -> type[Refusal] | None:
    stated = error.get("extensions")
    names = [error.get("type"), *((stated.get("code"), stated.get("type")) if isinstance(stated, dict) else ())]
    return next((_KINDS[name] for one in names if (name := str(one).upper().replace(" ", "_")) in _KINDS), None)


def _user_errors(data: Any) -> Iterator[dict[str, Any]]:
    """Yield the errors that a mutation's own answer lists, as those of a form."""
    for payload in data.values():
        if isinstance(payload, dict):
            yield from _errors(payload.get("userErrors") or payload.get("errors"))


def _errors(stated: Any) -> Iterator[dict[str, Any]]:
    yield from (one for one in (stated if isinstance(stated, list) else ()) if isinstance(one, dict))


GRAPHQL = Refusals(_read_refusal)
