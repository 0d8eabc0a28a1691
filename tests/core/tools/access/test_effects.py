"""Calls that a change of permissions would have refused."""

import itertools
from datetime import UTC, datetime, timedelta

import pytest

from mcpist.audit import record as audit
from mcpist.audit.record import SHARDS
from mcpist.audit.uses import count_uses
from mcpist.tools.access.counted_calls import MAX_COUNT_SECONDS, count_calls
from mcpist.tools.access.effects import changes, lost_tools

PAGE_ROWS = 100


def use(user: str, tool: str, *, outcome: str = "succeeded", days_ago: int = 0) -> None:
    """Put the row of a use."""
    moment = datetime.now(UTC) - timedelta(days=days_ago, minutes=1)
    row = audit.new_row(
        organization="acme",
        user=user,
        roles=[],
        event="use",
        service=tool.partition(".")[0],
        account="",
        tool=tool,
        outcome=outcome,
        request="r1",
    )
    audit.audit_table().put(audit.keyed(row, "acme", f"{audit.timestamp(moment)}#{row['sk'].partition('#')[2]}"))


def counted(lost: dict[str, set[str]]) -> list[tuple[str, str, int]]:
    found = count_calls("acme", lost)
    assert found["complete"]
    return [(row["user"], row["tool"], row["calls"]) for row in found["calls"]]


@pytest.mark.parametrize("others", [(), ("ada", "eve")], ids=["by user", "by module"])
def test_successful_calls_of_lost_tools_are_counted_by_user_and_tool(aws: list[str], others: tuple[str, ...]) -> None:
    for user in ("uma", "uma", "ada"):
        use(user, "shop.get_item")
    use("uma", "shop.list_items")
    use("uma", "shop.get_item", outcome="started")
    use("uma", "shop.get_item", outcome="AUTHORIZATION_ERROR")
    use("uma", "shop.get_item", days_ago=36)
    use("uma", "shop.get_item", days_ago=27)
    aws.clear()
    lost = {"uma": {"shop.get_item"}} | {other: {"shop.get_item"} for other in others}
    assert counted(lost) == [("uma", "shop.get_item", 3), *([("ada", "shop.get_item", 1)] if others else [])]
    assert aws == ["Query"] * (1 + (SHARDS if others else 1))


def test_what_the_janitor_has_counted_is_not_searched(aws: list[str]) -> None:
    now = datetime.now(UTC)
    for days_ago in (0, 1):
        use("uma", "shop.get_item", days_ago=days_ago)
    use("ada", "shop.list_items", days_ago=1)
    count_uses("acme", now + timedelta(minutes=9, seconds=30))
    aws.clear()
    lost = {user: {"shop.get_item", "b.c.d"} for user in ("uma", "ada", "eve")}
    assert counted(lost) == [("uma", "shop.get_item", 2)]
    assert len(aws) <= 1 + 3 * SHARDS


@pytest.mark.usefixtures("aws")
@pytest.mark.parametrize("others", [(), ("ada", "eve")], ids=["by user", "by module"])
def test_a_preview_counts_until_its_time_is_over_and_says_so(others: tuple[str, ...]) -> None:
    for _ in range(2 * PAGE_ROWS):
        use("uma", "shop.get_item")
    looks = itertools.count()
    lost = {user: {"shop.get_item"} for user in ("uma", *others)}
    # The deadline is read off the first look, and each page looks once more.
    found = count_calls("acme", lost, clock=lambda: next(looks) * MAX_COUNT_SECONDS / 1.5)
    assert [(row["user"], row["calls"]) for row in found["calls"]] == [("uma", PAGE_ROWS)]
    assert not found["complete"]


@pytest.mark.usefixtures("aws")
def test_a_preview_counts_for_each_user_before_it_counts_more_for_the_first() -> None:
    for user in ("ada", "uma"):
        for _ in range(PAGE_ROWS + 1):
            use(user, "shop.get_item")
    looks, lost = itertools.count(), {user: {"shop.a", "shop.get_item", "b.c.d"} for user in ("ada", "uma")}
    found = count_calls("acme", lost, clock=lambda: next(looks) * MAX_COUNT_SECONDS / 2.5)
    assert [(row["user"], row["calls"]) for row in found["calls"]] == [("ada", PAGE_ROWS), ("uma", PAGE_ROWS)]


def test_only_users_lose_tools_that_vanish_for_them() -> None:
    effects = [
        {"users": ["uma"], "roles": ["members"], "appear": [], "vanish": ["shop.get_item"]},
        {"users": ["ada"], "roles": [], "appear": ["shop.get_key"], "vanish": []},
        {"users": [], "roles": ["empty"], "appear": [], "vanish": ["shop.list_items"]},
    ]
    assert lost_tools(effects) == {"uma": {"shop.get_item"}}


def test_changes_are_named_at_the_outermost_keys_that_differ() -> None:
    before = {"name": "Acme", "roles": {"members": {"allow": ["a.*"], "deny": []}, "old": {"allow": []}}, "users": {}}
    after = {"name": "Acme", "roles": {"members": {"allow": ["b.*"], "deny": []}, "new": {"allow": []}}, "users": {}}
    assert list(changes(before, after)) == [
        {"path": "roles.members.allow", "before": ["a.*"], "after": ["b.*"]},
        {"path": "roles.old", "before": {"allow": []}, "after": None},
        {"path": "roles.new", "before": None, "after": {"allow": []}},
    ]


def test_what_stays_the_same_is_no_change() -> None:
    assert (
        list(
            changes(
                {"name": "Acme", "users": {"uma": {"roles": []}}}, {"name": "Acme", "users": {"uma": {"roles": []}}}
            )
        )
        == []
    )
