"""Reading the partitions of the audit table downwards, one of which has many more rows than the others."""

from datetime import UTC, datetime, timedelta

import pytest

from mcpist.audit.record import audit_table, partition_of, partitions_of, timestamp
from mcpist.audit.search import MAX_PAGE_REQUESTS, DownwardReader, Filters, RowSource, find

FIRST, LAST = "2026-11-23T00:00", "2026-11-23T12:59"
PARTITIONS = partitions_of("acme")
ROWS = {
    PARTITIONS[0]: [f"2026-11-23T{hour:02}:{minute:02}" for hour in (9, 12) for minute in range(4)],
    PARTITIONS[1]: ["2026-11-23T08:00", "2026-11-23T12:01:30"],
    PARTITIONS[2]: [FIRST, "2026-11-23T11:00"],
}
"""The sort keys of each partition; the last partition has none."""
LARGE_ROW_BYTES = 300_000
"""Four such rows are more than DynamoDB returns at once."""


@pytest.mark.usefixtures("aws")
@pytest.mark.parametrize(("limit", "row_bytes"), [(1, 0), (3, 0), (500, 0), (500, LARGE_ROW_BYTES)])
def test_each_round_goes_on_downwards_and_leaves_no_row_out(limit: int, row_bytes: int) -> None:
    expected = sorted((sk for sks in ROWS.values() for sk in sks), reverse=True)
    for partition, sks in ROWS.items():
        for sk in sks:
            audit_table().put({"pk": partition, "sk": sk, "text": "x" * row_bytes})
    reader = DownwardReader(audit_table(), RowSource("pk", PARTITIONS, {}), FIRST, LAST, limit)
    found: list[str] = []
    while (reached := reader.reached) > FIRST:
        found += [row["sk"] for row in reader.read()]
        assert reader.reached < reached
        assert found == [sk for sk in expected if sk >= reader.reached]
    assert found == expected


def test_a_page_of_a_search_reads_a_bounded_number_of_rows_and_goes_on(aws: list[str]) -> None:
    now = datetime.now(UTC)
    for number in range(60):  # of which a request of 1 MB reads three
        sk = f"{timestamp(now - timedelta(minutes=number))}#{number:08x}"
        audit_table().put({"pk": partition_of("acme", sk), "sk": sk, "account": "x" * LARGE_ROW_BYTES})
    times = {"since": now - timedelta(days=1), "until": now + timedelta(minutes=1)}
    aws.clear()
    page = find("acme", **times, filters=Filters(text="nothing"))
    assert page.rows == []
    assert page.cursor
    assert len(aws) <= MAX_PAGE_REQUESTS
