"""Blocks in requests that Notion takes."""

from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest
from hypothesis import given, settings

from mcpist.errors import InvalidRequest, RateLimitExceeded
from mcpist.markdown.normal_form import normalize
from mcpist.markdown.reader import read
from mcpist.markdown.tree import Blocks
from mcpist.tools.declare.call import Call, ServiceResponse
from mcpist_services.notion.block_requests import MAX_REQUEST_BYTES, BlockChunk, append, check_size, chunks_of
from mcpist_services.notion.blocks import blocks_of, inside
from mcpist_services.notion.rich_text import Json
from tests.core.markdown.trees import trees
from tests.services.answers.notion import PAGE_ID
from tests.services.contracts import Vendor, needs_descriptions
from tests.services.notion.test_blocks import found


class Page:
    """Notion's side: blocks by the id of what they are in, as the requests so far have made them."""

    def __init__(self) -> None:
        self.inside: dict[str, list[tuple[str, Json]]] = {PAGE_ID: []}
        self.made = 0

    def take(self, call: Call) -> ServiceResponse:
        parent = call.path.split("/")[3]
        assert len(call.json["children"]) <= 100
        new = [self._make(child, 0) for child in call.json["children"]]
        siblings, position = self.inside[parent], call.json.get("position")
        place = len(siblings)
        if position:
            behind = position.get("after_block", {}).get("id")
            place = 1 + [id_ for id_, _ in siblings].index(behind) if behind else 0
        siblings[place:place] = new
        return ServiceResponse(200, {}, {"results": [{"id": id_} for id_, _ in new]})

    def blocks(self, parent: str = PAGE_ID) -> list[Json]:
        """What was appended, put together again."""
        return [self._whole(id_, own) for id_, own in self.inside[parent]]

    def _make(self, block: Json, level: int) -> tuple[str, Json]:
        assert level <= 2
        assert len(inside(block)) <= 100
        self.made += 1
        id_ = f"block-{self.made}"
        self.inside[id_] = [self._make(child, level + 1) for child in inside(block)]
        return id_, {name: own for name, own in block[block["type"]].items() if name != "children"} | {
            "is": block["type"]
        }

    def _whole(self, id_: str, own: Json) -> Json:
        children = self.blocks(id_)
        fields = {name: value for name, value in own.items() if name != "is"}
        return {"type": own["is"], own["is"]: fields | ({"children": children} if children else {})}


def appended(made: list[Json], position: Json | None = None, page: Page | None = None) -> tuple[Page, list[Call]]:
    page, sent, answer = page or Page(), list[Call](), None
    calls = append(PAGE_ID, chunks_of(made), position)
    try:
        while True:
            sent.append(calls.send(answer) if answer else next(calls))
            answer = page.take(sent[-1])
    except StopIteration:
        return page, sent


def nested(levels: int) -> str:
    return "\n".join(f"{'  ' * level}- level {level}" for level in range(levels))


def test_a_request_has_at_most_a_hundred_blocks() -> None:
    made = blocks_of(read("\n\n".join(f"line {n}" for n in range(250))))
    page, sent = appended(made)
    assert [len(call.json["children"]) for call in sent] == [100, 100, 50]
    assert page.blocks() == made


def test_two_nested_levels_are_sent_with_a_block_and_deeper_ones_level_by_level() -> None:
    for levels, requests in {1: 1, 3: 1, 4: 2, 7: 5}.items():
        page, sent = appended(blocks_of(read(nested(levels))))
        assert page.blocks() == blocks_of(read(nested(levels)))
        assert len(sent) == requests, levels


def test_a_table_is_never_sent_without_rows() -> None:
    made = blocks_of(read("| a |\n|---|\n" + "| b |\n" * 250))
    page, sent = appended(made)
    assert [len(call.json["children"]) for call in sent] == [1, 100, 51]
    assert page.blocks() == made


def test_many_children_follow_their_block() -> None:
    made = blocks_of(read("- a\n" + "  - b\n" * 150))
    page, sent = appended(made)
    assert [len(call.json["children"]) for call in sent] == [1, 100, 50]
    assert page.blocks() == made


def test_a_request_stays_below_notions_size() -> None:
    made = blocks_of(read("\n\n".join("設" * 2000 for _ in range(150))))
    _, sent = appended(made)
    assert all(len(call.json["children"]) * 6000 < MAX_REQUEST_BYTES for call in sent)
    assert len(sent) == 3


@pytest.mark.parametrize("position", [{"type": "start"}, {"type": "after_block", "after_block": {"id": "old-1"}}])
def test_blocks_inserted_at_a_position_keep_their_order(position: Json) -> None:
    made = blocks_of(read("\n\n".join(f"line {n}" for n in range(250))))
    page = Page()
    page.inside[PAGE_ID] = [(id_, {"is": "divider"}) for id_ in ("old-1", "old-2")]
    page.inside |= {"old-1": [], "old-2": []}
    appended(made, position, page)
    first = 1 if "after_block" in position else 0
    assert page.blocks()[first : first + 250] == made
    assert len(page.blocks()) == 252


@given(trees)
@settings(deadline=None)
def test_every_tree_arrives_complete_in_requests_that_are_allowed(tree: Blocks) -> None:
    made = blocks_of(normalize(found(normalize(tree))))
    page, sent = appended(made)
    assert page.blocks() == made
    assert len(sent) == sum(portion.requests for portion in chunks_of(made))


@needs_descriptions
@given(trees)
@settings(deadline=None, max_examples=50)
def test_notions_description_allows_the_blocks_of_every_tree(tree: Blocks) -> None:
    for portion in _all(chunks_of(blocks_of(normalize(found(normalize(tree)))))):
        _vendor().send(Call("PATCH", f"/v1/blocks/{PAGE_ID}/children", json={"children": portion.blocks}))


@cache
def _vendor() -> Vendor:
    return Vendor("notion")


def _all(made: list[BlockChunk]) -> Iterator[BlockChunk]:
    for portion in made:
        yield portion
        for later in portion.nested.values():
            yield from _all(later)


def test_too_many_blocks_are_refused_before_any_request() -> None:
    with pytest.raises(InvalidRequest, match="30 requests"):
        check_size(chunks_of(blocks_of(read("\n\n".join(["line"] * 3001)))))
    with pytest.raises(InvalidRequest, match="nothing"):
        check_size([])


def failing(made: list[Json], after: int) -> RateLimitExceeded:
    """The error of a tool whose request after some others is refused."""
    calls: Any = append(PAGE_ID, chunks_of(made), None)
    page, call = Page(), next(calls)
    for _ in range(after):
        call = calls.send(page.take(call))
    with pytest.raises(RateLimitExceeded) as raised:
        calls.throw(RateLimitExceeded(service="notion", retry_after=1))
    return raised.value


def test_a_refused_first_request_may_be_retried() -> None:
    error = failing(blocks_of(read("a")), 0)
    assert error.as_dict()["details"]["retryable"]


@pytest.mark.parametrize("source", ["\n\n".join(["line"] * 101), nested(7)], ids=["wide", "deep"])
def test_the_error_of_a_later_request_says_how_much_was_appended(source: str) -> None:
    error = failing(blocks_of(read(source)), 1)
    assert error.details["appended"] in {1, 100}
