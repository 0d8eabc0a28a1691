"""Blocks to append, divided into chunks that respect the limits of a request.

Reference: https://developers.notion.com/reference/patch-block-children and .../reference/request-limits
"""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from mcpist_services.notion.blocks import inside
from mcpist_services.notion.rich_text import Json

MAX_LIST_ITEMS = 100
MAX_REQUEST_BLOCKS = 1000
MAX_REQUEST_BYTES = 450_000  # Notion takes 500 kB
MAX_NESTING_LEVELS = 2  # below the blocks that are appended


@dataclass(frozen=True, slots=True)
class BlockChunk:
    """Blocks of one request, and by position the chunks to append inside them afterwards."""

    blocks: list[Json]
    nested: dict[int, list["BlockChunk"]] = field(default_factory=dict)

    @property
    def requests(self) -> int:
        """The number of requests that it takes."""
        return 1 + sum(chunk.requests for chunks in self.nested.values() for chunk in chunks)


def chunks_of(blocks: Iterable[Json]) -> list[BlockChunk]:
    """Divide blocks with their children, of any number and depth, into chunks that Notion accepts."""
    done: list[BlockChunk] = []
    count = size = 0
    for block in blocks:
        sent, rest = _split_block(block)
        block_count, block_size = _count(sent), _bytes(sent)
        full = not done or len(done[-1].blocks) == MAX_LIST_ITEMS
        if full or count + block_count > MAX_REQUEST_BLOCKS or size + block_size > MAX_REQUEST_BYTES:
            done.append(BlockChunk([]))
            count = size = 0
        count, size = count + block_count, size + block_size
        done[-1].blocks.append(sent)
        if rest:
            done[-1].nested[len(done[-1].blocks) - 1] = chunks_of(rest)
    return done


def _split_block(block: Json) -> tuple[Json, list[Json]]:
    """Return the part of a block that can be sent at once, and the children that must follow."""
    if _fits(block):
        return block, []
    kind, children = block["type"], inside(block)
    # A table needs at least one row.
    first = children[:MAX_LIST_ITEMS] if kind == "table" else []
    own = {name: value for name, value in block[kind].items() if name != "children"}
    return {"type": kind, kind: own | ({"children": first} if first else {})}, children[len(first) :]


def _fits(block: Json) -> bool:
    return (
        _nesting_levels(block) <= MAX_NESTING_LEVELS
        and all(len(inside(each)) <= MAX_LIST_ITEMS for each in _with_descendants(block))
        and _count(block) <= MAX_REQUEST_BLOCKS
        and (not inside(block) or _bytes(block) <= MAX_REQUEST_BYTES)
    )


def _with_descendants(block: Json) -> Iterator[Json]:
    yield block
    for child in inside(block):
        yield from _with_descendants(child)


def _nesting_levels(block: Json) -> int:
    return max((1 + _nesting_levels(child) for child in inside(block)), default=0)


def _count(block: Json) -> int:
    return sum(1 for _ in _with_descendants(block))


def _bytes(block: Json) -> int:
    return len(json.dumps(block, ensure_ascii=False).encode())
