"""The limits of requests per user and of runs per organization."""

import time
from collections import Counter
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import pytest

from infra.local.login import LocalLogin
from mcpist.caller import Caller, Subject
from mcpist.errors import RateLimitExceeded
from mcpist.people.in_flight import InFlight
from mcpist.people.quota import request_quota
from mcpist.spending import spending, spent_today
from tests.audit_items import audit_items
from tests.clock import Clock
from tests.mcp_endpoint.endpoint_client import EndpointClient
from tests.mcp_endpoint.ledger_driver import LedgerDriver

type Given = Callable[..., EndpointClient]

THREE = """\
{"id":"find","module":"rag","tool":"list_docs"}
{"id":"docs","module":"rag","tool":"get_doc","each":"${find.items}","params":{"path":"${each.path}"}}
{"id":"tags","module":"rag","tool":"list_tags"}"""


@pytest.fixture(autouse=True)
def minute(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let one minute last for the whole test."""
    monkeypatch.setattr(request_quota, "clock", Clock())


def over(door: EndpointClient, **changes: Any) -> tuple[int, dict[str, str], Any]:
    """Return the error of a request beyond a minute's limit of one."""
    assert door.ask("list_tools", **changes)[0] == 200
    return door.ask("list_tools", **changes)


@pytest.mark.parametrize("path", ["/mcp", "/mcp/categories"])
def test_a_caller_beyond_the_limit_is_told_when_to_retry(given: Given, path: str) -> None:
    status, headers, answer = over(given(USER_REQUESTS="1").at(path))
    assert (status, answer["error"]["code"]) == (429, "RATE_LIMIT_EXCEEDED")
    assert 1 <= int(headers["retry-after"]) <= 60
    assert answer["error"]["details"] == {"limit": 1, "retry_after": int(headers["retry-after"]), "retryable": True}
    assert "www-authenticate" not in headers


def test_a_request_beyond_the_limit_leaves_a_row(given: Given) -> None:
    over(given(USER_REQUESTS="1"))
    (row,) = audit_items("acme")
    assert (row["user"], row["tool"], row["outcome"]) == ("uma", "limits.requests", "RATE_LIMIT_EXCEEDED")


def test_the_limits_error_is_in_the_callers_language(given: Given) -> None:
    _, _, answer = over(given(USER_REQUESTS="1"), accept_language="ja")
    assert answer["error"]["message"].startswith("1 分間に")


def test_the_limit_of_one_user_does_not_affect_another(given: Given) -> None:
    door = given(USER_REQUESTS="1")
    over(door)
    assert door.of("ada").ask("list_tools")[0] == 200


def test_requests_without_a_valid_token_are_not_counted(given: Given, login: LocalLogin, aws: list[str]) -> None:
    door = given(USER_REQUESTS="1")
    for _ in range(2):
        for name in ("resource_metadata", "get", "no_token"):
            assert door.ask(name)[0] in {200, 404, 405, 401}
        assert door.ask("list_tools", token=login.mint("uma", expires_in=-120))[0] == 401
    assert door.ask("list_tools")[0] == 200
    assert "UpdateItem" not in aws


def test_a_cold_call_is_counted_later_and_warm_ones_once_a_share(given: Given, aws: list[str]) -> None:
    door = given(USER_REQUESTS="300")
    aws.clear()
    door.call("call", module="rag", tool="list_tags")
    assert "UpdateItem" not in aws
    aws.clear()
    for _ in range(30):
        door.call("call", module="rag", tool="list_tags")
    seen = Counter(aws)
    assert seen.pop("UpdateItem") == 5  # shares grow up to a tenth
    assert seen == {"PutItem": 30}


def test_calls_beyond_the_day_are_refused_and_lists_are_not(given: Given) -> None:
    door = given(DAY_CALLS="2")
    for _ in range(2):
        assert door.call("call", module="rag", tool="list_tags")[0] is False
    error = door.error("call", module="rag", tool="list_tags")
    assert error["code"] == "RATE_LIMIT_EXCEEDED"
    told = error["details"]
    assert (told["measure"], told["used"], told["limit"]) == ("calls", 2, 2)
    assert 1 <= told["retry_after"] <= 86_400
    assert door.ask("list_tools")[0] == 200
    begun(door)  # its steps have a limit of their own


def test_nothing_is_called_or_begun_beyond_the_bytes_of_the_day(given: Given) -> None:
    door = given(DAY_MEGABYTES="1")
    spending.add("acme", "bytes", 1_000_000)
    assert door.error("call", module="rag", tool="list_tags")["details"]["measure"] == "bytes"
    assert door.error("batch", commands=THREE)["details"]["measure"] == "bytes"


def test_answers_count_for_the_bytes_of_the_day(given: Given) -> None:
    door = given(DAY_MEGABYTES="1")
    spending.add("acme", "bytes", 999_950)
    assert door.call("call", module="rag", tool="list_tags")[0] is False
    assert door.error("call", module="rag", tool="list_tags")["details"]["used"] > 1_000_100


def test_the_limits_of_the_day_cost_warm_calls_no_request(given: Given, aws: list[str]) -> None:
    door = given(USER_REQUESTS="0", USER_CONCURRENCY="0", DAY_CALLS="100000", DAY_MEGABYTES="20000")
    door.call("call", module="rag", tool="list_tags")
    aws.clear()
    for _ in range(20):
        door.call("call", module="rag", tool="list_tags")
    assert aws == ["PutItem"] * 20


def taken(user: str) -> AbstractContextManager[None]:
    """A request of a user that another sandbox has in flight."""
    return InFlight().counted(Caller("acme", user, Subject("", user), "user", ()))


@pytest.mark.parametrize("path", ["/mcp", "/mcp/categories"])
def test_a_call_beside_too_many_others_is_told_when_to_retry(given: Given, path: str) -> None:
    door = given(USER_CONCURRENCY="1").at(path)
    with taken("uma"):
        status, headers, answer = door.ask("call")
        assert (status, headers["retry-after"], answer["error"]["code"]) == (429, "1", "RATE_LIMIT_EXCEEDED")
        assert answer["error"]["details"] == {"limit": 1, "retry_after": 1, "retryable": True}
        assert door.ask("list_tools")[0] == 200
        assert door.of("ada").ask("call")[0] != 429


def test_the_first_call_of_a_minute_counts_itself_in_flight_and_the_next_ones_do_not(
    given: Given, aws: list[str]
) -> None:
    door = given(USER_CONCURRENCY="2", ORGANIZATION_CONCURRENCY="4")
    door.call("call", module="rag", tool="list_tags")
    assert aws.count("UpdateItem") == 1
    aws.clear()
    for _ in range(5):
        door.call("call", module="rag", tool="list_tags")
    assert aws == ["PutItem"] * 5


@pytest.mark.parametrize("text", ["[]", "[1]", "{", "[" * 5_000, '{"method": ["tools/call"]}', '{"method": 1}'])
def test_a_body_that_is_no_request_is_left_to_the_protocol(given: Given, text: str) -> None:
    door = given(USER_CONCURRENCY="1")
    assert door.send(door.event("call") | {"body": text})[0] == 400


def begun(door: EndpointClient, **asked: Any) -> LedgerDriver:
    summary = door.call("batch", **(asked or {"commands": THREE}))[1][0]
    return LedgerDriver(summary.split()[1].rstrip(":"))


def test_a_batch_beyond_the_day_is_refused_before_anything_runs(given: Given, aws: list[str]) -> None:
    door = given(BATCH_STEPS="5")
    begun(door)
    aws.clear()
    error = door.error("batch", commands=THREE)
    assert error["code"] == "RATE_LIMIT_EXCEEDED"
    told = error["details"]
    assert (told["steps"], told["used"], told["limit"]) == (3, 3, 5)
    assert 1 <= told["retry_after"] <= 86_400
    assert "3 of the 5" in error["message"]
    assert not {"BatchWriteItem", "StartExecution", "CreateStateMachine"} & set(aws)
    begun(door, commands=THREE.splitlines()[0])


def test_a_user_with_too_many_batches_running_is_refused_until_one_has_settled(given: Given, aws: list[str]) -> None:
    door = given(USER_CONCURRENCY="1", BATCH_STEPS="100")
    driver = begun(door, commands=THREE.splitlines()[2])
    aws.clear()
    error = door.error("batch", commands=THREE)
    assert (error["code"], error["details"]["limit"]) == ("RATE_LIMIT_EXCEEDED", 1)
    assert not {"BatchWriteItem", "StartExecution", "CreateStateMachine"} & set(aws)
    driver.finish("tags", raw=[])
    begun(door)
    assert {one.measure: one.used for one in spent_today("acme", time.time())}["steps"] == 4


def test_a_plan_counts_nothing(given: Given, aws: list[str]) -> None:
    door = given(BATCH_STEPS="2")
    aws.clear()
    assert door.call("batch", commands=THREE, dry_run=True)[0] is False
    assert "UpdateItem" not in aws


def test_the_limit_costs_a_batch_one_request(given: Given, aws: list[str]) -> None:
    counts = []
    for limit in ("0", "100"):
        door = given(BATCH_STEPS=limit)
        begun(door)  # makes the machine
        aws.clear()
        begun(door)
        counts.append(Counter(operation for operation in aws if operation != "GetItem"))
    assert counts[1] - counts[0] == {"UpdateItem": 1}


def test_a_resumed_batch_counts_the_steps_and_known_elements_that_run_again(given: Given) -> None:
    door = given(BATCH_STEPS="11")
    driver = begun(door)
    driver.finish("find", raw=[{"path": "a.md"}])
    driver.finish("tags", raw=[])
    driver.finish_each("docs", [RateLimitExceeded(service="rag", retry_after=7)] * 4)
    old = driver.head.batch  # 3 steps and 4 elements
    assert door.error("batch", resume=old)["details"] | {"retry_after": 0} == {
        "steps": 5,
        "used": 7,
        "limit": 11,
        "retry_after": 0,
        "retryable": True,
    }
    begun(given(BATCH_STEPS="12"), resume=old)  # 1 step and 4 elements
