"""Portions: blocks to append, in as many requests as Notion's limits ask for.

Reference: https://developers.notion.com/reference/patch-block-children and .../reference/request-limits
"""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from mcpist_services.notion.blocks import inside
from mcpist_services.notion.rich_text import Json

MOST_IN_A_LIST = 100
MOST_IN_A_REQUEST = 1000
MOST_BYTES = 450_000  # Notion takes 500 kB
MOST_LEVELS = 2  # below the blocks that are appended


@dataclass(frozen=True, slots=True)
class Portion:
    """Blocks of one request, and by their place the portions that go inside them once they are there."""

    blocks: list[Json]
    later: dict[int, list["Portion"]] = field(default_factory=dict)

    @property
    def requests(self) -> int:
        """How many requests it takes."""
        return 1 + sum(portion.requests for portions in self.later.values() for portion in portions)


def portions(blocks: Iterable[Json]) -> list[Portion]:
    """Blocks with their children, however many and however deep, as portions that Notion takes."""
    done: list[Portion] = []
    count = size = 0
    for block in blocks:
        sent, rest = _divided(block)
        here, heavy = _count(sent), _bytes(sent)
        full = not done or len(done[-1].blocks) == MOST_IN_A_LIST
        if full or count + here > MOST_IN_A_REQUEST or size + heavy > MOST_BYTES:
            done.append(Portion([]))
            count = size = 0
        count, size = count + here, size + heavy
        done[-1].blocks.append(sent)
        if rest:
            done[-1].later[len(done[-1].blocks) - 1] = portions(rest)
    return done


def _divided(block: Json) -> tuple[Json, list[Json]]:
    """What may be sent of a block at once, and the children that must follow."""
    if _fits(block):
        return block, []
    kind, children = block["type"], inside(block)
    # A table cannot be without rows.
    kept = children[:MOST_IN_A_LIST] if kind == "table" else []
    own = {name: value for name, value in block[kind].items() if name != "children"}
    return {"type": kind, kind: own | ({"children": kept} if kept else {})}, children[len(kept) :]


def _fits(block: Json) -> bool:
    return (
        _levels(block) <= MOST_LEVELS
        and all(len(inside(each)) <= MOST_IN_A_LIST for each in _all(block))
        and _count(block) <= MOST_IN_A_REQUEST
        and (not inside(block) or _bytes(block) <= MOST_BYTES)
    )


def _all(block: Json) -> Iterator[Json]:
    yield block
    for child in inside(block):
        yield from _all(child)


def _levels(block: Json) -> int:
    return max((1 + _levels(child) for child in inside(block)), default=0)


def _count(block: Json) -> int:
    return sum(1 for _ in _all(block))


def _bytes(block: Json) -> int:
    return len(json.dumps(block, ensure_ascii=False).encode())
