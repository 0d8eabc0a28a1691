"""The partitions of the audit table: an organization's rows are spread over some of them, and read in order of time.

A partition of DynamoDB takes about 1,000 writes a second, so rows that are written at one moment must not share one.
No day is in a key: a search costs the same whether its days have rows or not.
"""

import heapq
import math
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from mcpist.aws.attributes import Item
from mcpist.aws.table import Table

SHARDS = 4  # with another number a row that is stored already would not be found by its id


def partition_of(name: str, sort_key: str) -> str:
    """Return the partition in which a row with this sort key is; `name` is the organization, or what an index is by."""
    return f"{name}#{zlib.crc32(sort_key.encode()) % SHARDS}"


def partitions_of(name: str) -> tuple[str, ...]:
    """Return all partitions of an organization's rows, or of what an index is by."""
    return tuple(f"{name}#{shard}" for shard in range(SHARDS))


def read_upwards(table: Table, name: str, since: str, until: str) -> Iterator[Item]:
    """Iterate over the rows from one sort key to before another, the oldest first, one request a page."""
    partitions = [_read_partition(table, partition, since, until) for partition in partitions_of(name)]
    return heapq.merge(*partitions, key=lambda row: str(row["sk"]))


def _read_partition(table: Table, partition: str, since: str, until: str) -> Iterator[Item]:
    start = since
    while start:
        rows, end = table.query_page("pk", partition, (start, until))
        yield from (row for row in rows if row["sk"] < until and (row["sk"] > start or start == since))
        start = end


@dataclass(frozen=True, slots=True)
class Source:
    """The partitions of the table, or of an index, in which all rows of a search are."""

    key: str
    """The attribute that is their key."""
    partitions: tuple[str, ...]
    filters: Mapping[str, str]
    """The values that other attributes must have."""
    index: str = ""

    def page_size(self, limit: int) -> int:
        """Return how many rows of each partition make a page of `limit` rows and one more, most likely at once."""
        share = limit / len(self.partitions)
        return math.ceil(share + 2 * math.sqrt(share) + 3) if len(self.partitions) > 1 else limit + 1


class DownwardReader:
    """Reads the partitions of a source from the newest row on.

    Each round asks the partitions that have been read the least far. A row is returned once every partition has been
    read down to it.
    """

    def __init__(self, table: Table, source: Source, first: str, last: str, limit: int = 0) -> None:
        self._table, self._source, self._first = table, source, first
        self.limit = limit
        """The number of new rows that a request reads; 0 for as many as DynamoDB answers at once."""
        self._reached = dict.fromkeys(source.partitions, last)
        self._waiting: list[Item] = []

    @property
    def reached(self) -> str:
        """The sort key down to which all rows have been returned; the search's first one at the end."""
        return max(self._reached.values())

    @property
    def round_requests(self) -> int:
        """The number of requests of the next round."""
        return sum(end == self.reached for end in self._reached.values())

    def read(self) -> list[Item]:
        """Read a round and return the next rows, the newest first; without a limit DynamoDB reads 1 MB a request."""
        place = self.reached
        for partition in [name for name, end in self._reached.items() if end == place]:
            rows, end = self._table.query_page(
                self._source.key,
                partition,
                (self._first, place),
                index=self._source.index,
                filters=self._source.filters,
                limit=self.limit and self.limit + 1,  # the range includes `place`, whose row was read before
                descending=True,
            )
            self._waiting += [row for row in rows if row["sk"] < place]
            self._reached[partition] = end or self._first
        ready = [row for row in self._waiting if row["sk"] >= self.reached]
        self._waiting = [row for row in self._waiting if row["sk"] < self.reached]
        return sorted(ready, key=lambda row: str(row["sk"]), reverse=True)
