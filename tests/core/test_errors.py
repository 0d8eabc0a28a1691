import json
import re
from typing import Any

import pytest

from mcpist import errors
from mcpist.error_base import ErrorText, error_texts
from mcpist.errors import McpistError, concrete_errors, from_message, to_message
from tests.faults import for_each

# Values for the details of texts, where any text would not do.
DETAILS: dict[str, Any] = {
    "account": "uma",
    "allowed": "GET",
    "batch": "b1",
    "confirmation": "b_1",
    "by": "b_2",
    "cycle": "a -> b -> a",
    "elements": 101,
    "exit_code": 2,
    "expired_at": "2026-11-22T00:00:00+00:00",
    "field": "params.title",
    "first_line": 1,
    "format": 3,
    "header": "Idempotency-Key",
    "http_status": 422,
    "id": "a",
    "kind": "object",
    "known": "a, b",
    "row": "20261122T210509123456.0a1b2c3d",
    "limit": 100,
    "media_type": "text/plain",
    "method": "GET",
    "limit_bytes": 10,
    "module": "shop",
    "name": "shop.get_item",
    "organization": "acme",
    "origin": "https://app.example.com",
    "parameter": "/mcpist/acme/upstreams/shop/key",
    "path": "files/acme/1",
    "problem": "it is wrong",
    "program": "rg",
    "range": "bytes=9-",
    "reference": "a.b",
    "request_id": "r1",
    "resource": "processes",
    "retry_after": 30,
    "scope": "repo",
    "seconds": 20,
    "secret": "shop/key",
    "service": "shop",
    "services": "github, notion",
    "signal": "SIGSEGV",
    "size_bytes": 11,
    "step": "c",
    "steps": 101,
    "store": "ledger",
    "target": "a.md",
    "tool": "get_item",
    "url": "https://mcp.example.com/connect/shop",
    "used": 950,
    "users": "ada, uma",
    "what": "token",
}
# What programs rely on: these codes keep their HTTP status.
STATUSES = {
    "VALIDATION_ERROR": 400,
    "AUTHENTICATION_ERROR": 401,
    "AUTHORIZATION_ERROR": 403,
    "TOOL_DISABLED": 403,
    "MODULE_NOT_FOUND": 404,
    "TOOL_NOT_FOUND": 404,
    "FILE_NOT_FOUND": 404,
    "BATCH_NOT_FOUND": 404,
    "NOT_FOUND": 404,
    "CONNECTION_NOT_FOUND": 404,
    "RANGE_NOT_SATISFIABLE": 416,
    "METHOD_NOT_ALLOWED": 405,
    "UNSUPPORTED_MEDIA_TYPE": 415,
    "USER_NOT_FOUND": 404,
    "INVITATION_NOT_FOUND": 404,
    "ROLE_NOT_FOUND": 404,
    "AUDIT_ROW_NOT_FOUND": 404,
    "TIMEOUT": 408,
    "CONNECTION_REQUIRED": 409,
    "RECONNECT_REQUIRED": 409,
    "SCOPE_MISSING": 409,
    "CONFLICT": 409,
    "PRECONDITION_FAILED": 412,
    "ORIGIN_NOT_ALLOWED": 403,
    "PAYLOAD_TOO_LARGE": 413,
    "CONFIRMATION_REQUIRED": 428,
    "RATE_LIMIT_EXCEEDED": 429,
    "TOOL_EXECUTION_ERROR": 500,
    "INTEGRITY_ERROR": 500,
    "INTERNAL_ERROR": 500,
    "UPSTREAM_UNAVAILABLE": 503,
    "SCHEMA_FETCH_ERROR": 503,
    "STORE_UNAVAILABLE": 503,
    "NOT_CONFIGURED": 503,
}
LEAVES = list(concrete_errors())


def details_of(kind: type[McpistError]) -> set[str]:
    """Return the names of the details that fill an error's text."""
    return details_in("".join(kind.template("en")))


def details_in(text: str) -> set[str]:
    """Return the names of the details that fill a text."""
    return set(re.findall(r"(?<!{){(\w+)}", text))


def made(kind: type[McpistError]) -> McpistError:
    """Return an error of a class."""
    return kind(**(dict.fromkeys(details_of(kind), "it") | DETAILS))


def classes(root: type[McpistError] = McpistError) -> dict[str, str]:
    """Return the name of every class with its parent's name."""
    found: dict[str, str] = {}
    for child in root.__subclasses__():
        found |= {child.__name__: root.__name__} | classes(child)
    return found


def drawn() -> dict[str, str]:
    """Return the classes of the docstring's tree, with their parents."""
    parents, stack = {}, ["McpistError"]
    for indent, name in re.findall(r"^([│ ]*)[├└]── (\w+)", str(errors.__doc__), re.MULTILINE):
        stack = [*stack[: len(indent) // 4 + 1], name]
        parents[name] = stack[-2]
    return parents


def test_every_class_is_drawn_under_its_parent() -> None:
    assert drawn() == classes()


def test_the_drawn_codes_are_those_of_the_classes() -> None:
    found = re.findall(r"(\w+) +([A-Z_]{6,}) (\d{3})", str(errors.__doc__))
    kinds = {kind.__name__: kind for kind in LEAVES}
    assert {name: (code, int(status)) for name, code, status in found} == {
        name: (kinds[name].code, kinds[name].status) for name, _, _ in found
    }
    codes = {(code, int(status)) for _, code, status in found}
    assert codes == {(kind.code, kind.status) for kind in LEAVES}
    assert codes >= set(STATUSES.items())
    assert len(dict(codes)) == len(codes)


def test_every_class_with_a_text_has_it_in_both_languages() -> None:
    english, japanese = error_texts("en"), error_texts("ja")
    assert list(english) == list(japanese)
    assert set(english) <= {*classes(), "line_prefix"}


def test_a_text_has_the_same_details_in_both_languages() -> None:
    english, japanese = error_texts("en"), error_texts("ja")
    other = [name for name, text in english.items() if details_in(str(text)) != details_in(str(japanese[name]))]
    assert other == []


def test_an_error_without_a_text_says_where_to_add_one() -> None:
    with pytest.raises(LookupError, match=r"add \[McpistError\] with a message and a hint to error_texts/ja.toml"):
        McpistError.template("ja")


@for_each("kind", {kind.__name__: kind for kind in LEAVES})
def test_every_error_has_a_text_of_its_own_unless_it_only_groups_others(kind: type[McpistError]) -> None:
    place = "layers/core/mcpist/error_texts/en.toml and ja.toml"
    assert kind.__name__ in error_texts("en") or kind.__subclasses__(), f"add [{kind.__name__}] to {place}"


@for_each("kind", {kind.__name__: kind for kind in LEAVES})
def test_every_error_has_its_status_and_fills_both_languages(kind: type[McpistError]) -> None:
    error = made(kind)
    assert error.status == STATUSES.get(error.code, error.status)
    english, japanese = error.text("en"), error.text("ja")
    for text in (*english, *japanese):
        assert text.strip()
        assert "{" not in text.replace("${a.b}", "")
    assert str(error) == english.message
    assert re.search(r"[ぁ-んァ-ヶ一-龠]", japanese.hint)
    assert not re.search(r"[ぁ-んァ-ヶ一-龠]", "".join(english))


@for_each("kind", {kind.__name__: kind for kind in LEAVES})
def test_an_error_that_lacks_a_detail_of_its_text_cannot_be_made(kind: type[McpistError]) -> None:
    for name in details_of(kind):
        with pytest.raises(KeyError):
            kind(**{other: value for other, value in DETAILS.items() if other != name})


@for_each("kind", {kind.__name__: kind for kind in LEAVES})
def test_an_error_can_be_sent_from_one_function_to_another(kind: type[McpistError]) -> None:
    arrived = from_message(json.loads(json.dumps(to_message(made(kind)))))
    assert type(arrived) is kind
    assert arrived.as_dict("ja") == made(kind).as_dict("ja")


def test_an_error_of_a_line_names_the_line() -> None:
    error = errors.EmptyBatch(field="commands").with_details(line=3, id="a")
    assert error.text() == ErrorText(
        "Line 3: The batch has no steps.", "Send at least one line: id, module, tool, params."
    )
    assert error.text("ja").message == "3 行目: バッチにステップがありません。"
    assert error.details == {"field": "commands", "line": 3, "id": "a"}


def test_errors_in_the_details_are_shown_in_the_same_language() -> None:
    other = errors.TooManySteps(field="commands", steps=101, limit=100)
    shown = errors.EmptyBatch(field="commands").with_details(problems=[other]).as_dict("ja")
    assert shown["details"]["problems"] == [other.as_dict("ja")]


def test_only_errors_that_may_pass_are_retryable() -> None:
    assert {kind.code for kind in LEAVES if kind.retryable} == {
        "TIMEOUT",
        "RATE_LIMIT_EXCEEDED",
        "UPSTREAM_UNAVAILABLE",
        "SCHEMA_FETCH_ERROR",
        "STORE_UNAVAILABLE",
    }


def test_a_request_that_may_have_succeeded_is_not_retryable() -> None:
    error = errors.Timeout(service="shop", seconds=20)
    assert error.as_dict()["details"]["retryable"]
    error.details["may_have_happened"] = True
    assert "retryable" not in error.as_dict()["details"]
