"""What a header says of its batch."""

from dataclasses import replace

import pytest

from mcpist.batch.ledger.records import MIN_STEP_SECONDS, Header
from mcpist.caller import Subject

#   0 -> 1 -> 3 -> 4    2 -> 3
NEEDS = [(), (0,), (), (1, 2), (3,)]
HEAD = Header(
    organization="acme",
    batch="b_1",
    user="uma",
    subject=Subject("", "uma"),
    roles=(),
    warrant="",
    ids=tuple(f"s{step}" for step in range(len(NEEDS))),
    needs=tuple(map(frozenset, NEEDS)),
    started_at=0,
    closes_at=300,
    expires_at=86_400,
)


@pytest.mark.parametrize(
    ("settled", "hops"), [((), 4), ((2,), 4), ((0,), 3), ((0, 1), 3), ((0, 1, 2), 2), ((0, 1, 2, 3), 1), (range(5), 0)]
)
def test_what_is_open_takes_at_least_the_hops_of_its_longest_path(settled: tuple[int, ...], hops: int) -> None:
    head = replace(HEAD, seq={step: place for place, step in enumerate(settled)})
    assert head.min_open_seconds == pytest.approx(hops * MIN_STEP_SECONDS)
