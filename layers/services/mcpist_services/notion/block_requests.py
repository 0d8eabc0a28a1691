"""Nested blocks, read and appended in as many requests as it takes: in chunks that respect the limits of each.

Reference: https://developers.notion.com/reference/patch-block-children and .../reference/request-limits
"""

import json
import re
from collections import deque
from collections.abc import Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from textwrap import indent

from mcpist.errors import InvalidRequest, McpistError, ToolExecutionError
from mcpist.markdown.tree import Block, Unsupported
from mcpist.markdown.writer import write
from mcpist.tools.declare.call import Call, Calls, PartialList, ServiceResponse, given, path
from mcpist_services.notion.block_reading import has_nested_blocks, tree_of
from mcpist_services.notion.blocks import inside
from mcpist_services.notion.rich_text import Json

# About three requests a second are allowed, and a tool has 20 seconds.
MAX_READ_REQUESTS = 30
MAX_WRITE_REQUESTS = 30

MAX_LIST_ITEMS = 100
MAX_REQUEST_BLOCKS = 1000
MAX_REQUEST_BYTES = 450_000  # Notion takes 500 kB
MAX_NESTING_LEVELS = 2  # below the blocks that are appended
type RequestGenerator[Result] = Generator[Call, ServiceResponse, Result]


@dataclass(frozen=True, slots=True)
class BlockChunk:
    """Blocks of one request, and by position the chunks to append inside them afterwards."""

    blocks: list[Json]
    nested: dict[int, list["BlockChunk"]] = field(default_factory=dict)

    @property
    def requests(self) -> int:
        """The number of requests that it takes."""
        return 1 + sum(chunk.requests for chunks in self.nested.values() for chunk in chunks)


def read_blocks(block_id: str, limit: int, cursor: str | None, *, ids: bool) -> Calls:
    """Read the blocks nested in a block, at all depths: as `markdown`, and as Notion's blocks in `results`."""
    first, following = yield from _children(block_id, limit, cursor)
    unread = yield from _read_descendants(first)
    marked: list[Block] = []
    for block in first:
        marked += [Unsupported(f"block {block['id']}"), *tree_of([block])]
    json = {"object": "list", "results": first, "markdown": write(tuple(marked) if ids else tree_of(first))}
    notes = [f"there are more blocks: go on with cursor={following}"] if following else []
    notes += [f"not read inside: {', '.join(unread)}: list these blocks themselves"] if unread else []
    return PartialList(json, f"Cut after {len(first)} blocks; {'; '.join(notes)}.") if notes else json


def append(block_id: str, chunks: Iterable[BlockChunk], position: Json | None) -> RequestGenerator[list[str]]:
    """Append chunks in their order, and return the ids of the new blocks.

    If Notion refuses one of them, those before it stay appended: the error says so.
    """
    appended: list[str] = []
    for chunk in chunks:
        body = given(children=chunk.blocks, position=position)
        call = Call("PATCH", path("/v1/blocks/{id}/children", id=block_id), json=body)
        try:
            new = [block["id"] for block in (yield call).json["results"]]
            appended += new
            for place, later in chunk.nested.items():
                yield from append(new[place], later, None)
        except McpistError as error:
            raise (error.with_details(appended=len(appended)) if appended else error) from None
        # Each further chunk goes behind the one before; without a position Notion appends at the end anyway.
        # Without this, each chunk would stand before the one that was appended first.
        position = position and {"type": "after_block", "after_block": {"id": new[-1]}}
    return appended


def check_size(chunks: Sequence[BlockChunk]) -> None:
    """Refuse, before the first request, an empty text and one that needs too many requests."""
    if not chunks:
        raise InvalidRequest(field="markdown", problem="there is nothing in it")
    if sum(chunk.requests for chunk in chunks) > MAX_WRITE_REQUESTS:
        problem = f"it takes more than {MAX_WRITE_REQUESTS} requests: append it in parts"
        raise InvalidRequest(field="markdown", problem=problem)


def read_page(page_id: str, query: Json, *, fetch_all: bool) -> Calls:
    """Read a page in Notion's Markdown; with `fetch_all` also the parts that Notion leaves out of long pages."""
    place = "/v1/pages/{id}/markdown"
    page: Json = (yield Call("GET", path(place, id=page_id), query)).json
    queue, unread = deque(page["unknown_block_ids"]), list[str]()
    left = MAX_READ_REQUESTS if fetch_all else 0
    while queue:
        part = queue.popleft()
        if not left:
            unread.append(part)
            continue
        left -= 1
        try:
            content = (yield Call("GET", path(place, id=part), query)).json
        except ToolExecutionError:  # not shared with this account
            unread.append(part)
        except McpistError:  # a timeout, or a limit, which the next request would meet, too
            unread.append(part)
            left = 0
        else:
            page["markdown"] = _replace_unknown(page["markdown"], part, content["markdown"])
            queue.extend(id_ for id_ in content["unknown_block_ids"] if id_ != part)
    page |= {"unknown_block_ids": unread, "truncated": bool(unread) or (page["truncated"] and not fetch_all)}
    if not page["truncated"]:
        return page
    hint = "they are not shared, or too many" if fetch_all else "fetch_all reads those that are shared"
    parts = len(unread) or "some"
    return PartialList(page, f"Notion left out parts of the page ({parts}, marked <unknown> in the text): {hint}.")


def _children(block_id: str, limit: int, cursor: str | None = None) -> RequestGenerator[tuple[list[Json], str | None]]:
    """Read a block's children, and return them with the cursor of the rest."""
    children: list[Json] = []
    while True:
        query = given(page_size=min(limit - len(children), MAX_LIST_ITEMS), start_cursor=cursor)
        answer = yield Call("GET", path("/v1/blocks/{id}/children", id=block_id), query)
        children += answer.json["results"]
        cursor = answer.json["next_cursor"] if answer.json["has_more"] else None
        if not cursor or len(children) >= limit:
            return children, cursor


def _read_descendants(blocks: Iterable[Json]) -> RequestGenerator[list[str]]:
    """Read nested blocks, level by level, into `children`; return the ids of blocks whose children are incomplete."""
    queue, unread, left = deque(filter(has_nested_blocks, blocks)), list[str](), MAX_READ_REQUESTS
    while queue:
        block = queue.popleft()
        if not left:
            unread.append(block["id"])
            continue
        left -= 1
        try:
            block["children"], more = yield from _children(block["id"], MAX_LIST_ITEMS)
        except McpistError:  # the blocks read so far are worth more than the error
            unread.append(block["id"])
            left = 0
        else:
            unread += [block["id"]] if more else []
            queue.extend(filter(has_nested_blocks, block["children"]))
    return unread


def _replace_unknown(text: str, part: str, content: str) -> str:
    """Insert a part where Notion marked its place, with the same indentation; at the end if it marked none."""
    marked = re.compile(rf"^([\t ]*)(.*?)<unknown\b[^<>]*{part.replace('-', '-?')}[^<>]*>", re.MULTILINE)

    def put(mark: re.Match[str]) -> str:
        return f"{mark[1]}{mark[2]}{indent(content, mark[1]).lstrip()}"

    filled, times = marked.subn(put, text, count=1)
    return filled if times else f"{text}\n\n{content}"


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
