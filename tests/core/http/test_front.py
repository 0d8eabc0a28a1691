"""The rows about requests that a limit refused: one for each user, limit and minute."""

from dataclasses import replace

import pytest

from mcpist.errors import InvalidRequest, McpistError, TooManyInFlight, UserLimitReached
from mcpist.http.front import RefusedRequests
from tests.audit_items import audit_items
from tests.clock import Clock
from tests.core.sample import EVERYTHING, caller

UMA = caller(EVERYTHING)
LIMIT = UserLimitReached(limit=1, retry_after=5)

pytestmark = pytest.mark.usefixtures("aws")


def refuse(refused: RefusedRequests, error: McpistError = LIMIT, user: str = "uma") -> None:
    with pytest.raises(type(error)), refused.audited(replace(UMA, user=user), "r1"):
        raise error


def rows() -> list[tuple[str, str, str]]:
    items = audit_items("acme")
    return sorted((item["user"], item["tool"], item["outcome"]) for item in items)


def test_a_thousand_refusals_of_a_minute_leave_one_row_for_each_user_and_limit() -> None:
    refused = RefusedRequests(Clock())
    for _ in range(1_000):
        refuse(refused)
    refuse(refused, TooManyInFlight(limit=1, retry_after=1))
    refuse(refused, user="ada")
    assert rows() == [
        ("ada", "limits.requests", "RATE_LIMIT_EXCEEDED"),
        ("uma", "limits.in_flight", "RATE_LIMIT_EXCEEDED"),
        ("uma", "limits.requests", "RATE_LIMIT_EXCEEDED"),
    ]


def test_the_next_minute_has_a_row_of_its_own() -> None:
    clock = Clock()
    refused = RefusedRequests(clock)
    refuse(refused)
    clock.advance(61)
    refuse(refused)
    assert len(rows()) == 2


def test_other_errors_and_requests_that_are_served_leave_none() -> None:
    refused = RefusedRequests(Clock())
    refuse(refused, InvalidRequest(field="x", problem="y"))
    with refused.audited(UMA, "r1"):
        pass
    assert rows() == []
