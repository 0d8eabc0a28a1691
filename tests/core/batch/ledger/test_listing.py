"""The list of batches: the newest first, by pages, with the requests of a page counted."""

import time
from dataclasses import replace

import pytest

from mcpist.batch.ledger import ledger
from mcpist.batch.ledger.ledger import list_recent
from mcpist.batch.ledger.records import Header
from mcpist.caller import Subject
from mcpist.errors import InvalidRequest

NOW = time.time()
HEADER = Header(
    organization="acme",
    batch="b_0000000000000000",
    user="uma",
    subject=Subject("https://issuer.example", "uma"),
    roles=("members",),
    warrant="",
    ids=("find",),
    needs=(frozenset(),),
    started_at=NOW,
    closes_at=NOW + 60,
    expires_at=NOW + 1_000,
)


def write(number: int, **fields: object) -> str:
    """Write a batch that began so many seconds after the first, and return its id."""
    head = replace(HEADER, batch=f"b_{number:016x}", started_at=NOW + number, **fields)
    ledger.write(head, [])
    return head.batch


def ids(user: str | None = None, **arguments: object) -> list[str]:
    return [head.batch for head in list_recent("acme", user, **arguments)[0]]  # type: ignore[arg-type]


@pytest.mark.usefixtures("aws")
def test_a_user_has_its_own_batches_and_the_organization_all() -> None:
    first, second, third = write(1), write(2, user="vic"), write(3)
    write(4, organization="other")
    assert ids("uma") == [third, first]
    assert ids("vic") == [second]
    assert ids() == [third, second, first]


@pytest.mark.usefixtures("aws")
def test_pages_follow_each_other_without_gap_and_repetition() -> None:
    written = [write(number) for number in range(7)]
    found, cursor = [], ""
    for _ in range(3):
        heads, cursor = list_recent("acme", "uma", cursor, limit=3)
        found += [head.batch for head in heads]
    assert found == written[::-1]
    assert not cursor


def test_a_page_costs_two_requests_however_many_batches_there_are(aws: list[str]) -> None:
    for number in range(60):
        write(number)
    aws.clear()
    assert len(ids("uma", limit=20)) == 20
    assert aws == ["Query", "BatchGetItem"]


@pytest.mark.usefixtures("aws")
def test_a_batch_that_has_expired_is_not_listed() -> None:
    write(1, expires_at=NOW - 1)
    kept = write(2)
    assert ids("uma") == [kept]


@pytest.mark.usefixtures("aws")
@pytest.mark.parametrize("cursor", ["x", "0000000000000#b_", "1" * 13 + "#b_" + "0" * 16 + "\n"])
def test_a_cursor_of_no_page_is_refused(cursor: str) -> None:
    with pytest.raises(InvalidRequest):
        list_recent("acme", "uma", cursor)
