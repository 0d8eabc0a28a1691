"""Reading what is inside blocks, and the parts of long pages."""

from functools import partial
from typing import Any

import pytest

from mcpist.errors import RateLimitExceeded, ToolExecutionError
from mcpist.tools.declare.call import Call, PartialList
from mcpist_services.notion.tools import notion
from tests.services.answers.notion import NEXT, PAGE_ID, block, listed, text
from tests.services.conversation import converse, work_of

IDS = [block("divider", n)["id"] for n in range(200)]


work = partial(work_of, notion)


def item(number: int, words: str, *, inside: bool = False) -> dict[str, Any]:
    return block("bulleted_list_item", number, inside=inside, rich_text=[text(words)])


def test_nested_blocks_are_read_level_by_level() -> None:
    sent, said = converse(
        work("list_blocks", block_id=PAGE_ID),
        listed(item(1, "a", inside=True), item(2, "b", inside=True)),
        listed(item(3, "a1", inside=True)),
        listed(item(4, "b1")),
        listed(item(5, "a1x")),
    )
    assert [call.path.split("/")[3] for call in sent] == [PAGE_ID, IDS[1], IDS[2], IDS[3]]
    assert said["markdown"] == "- a\n  - a1\n    - a1x\n- b\n  - b1"


def test_each_block_shows_its_id_on_request() -> None:
    _, said = converse(work("list_blocks", block_id=PAGE_ID, ids=True), listed(item(1, "a"), item(2, "b")))
    assert (
        said["markdown"]
        == f"<!-- not carried: block {IDS[1]} -->\n\n- a\n\n<!-- not carried: block {IDS[2]} -->\n\n- b"
    )


def test_a_page_inside_a_page_is_not_opened() -> None:
    sent, said = converse(
        work("list_blocks", block_id=PAGE_ID), listed(block("child_page", 1, inside=True, title="Minutes"))
    )
    assert len(sent) == 1
    assert said["markdown"].startswith("[Minutes](https://www.notion.so/c02fc1d3db8b45c5a222000000000001)")


def test_first_level_pages_are_followed_up_to_the_limit() -> None:
    sent, said = converse(
        work("list_blocks", block_id=PAGE_ID, limit=150),
        listed(*(item(n, "a") for n in range(100)), following=NEXT),
        listed(*(item(n, "b") for n in range(50)), following=IDS[9]),
    )
    assert [call.query for call in sent] == [{"page_size": 100}, {"page_size": 50, "start_cursor": NEXT}]
    assert isinstance(said, PartialList)
    assert f"cursor={IDS[9]}" in said.more
    assert len(said.json["results"]) == 150


def test_blocks_beyond_the_limit_are_named() -> None:
    first = listed(*(item(n, "a", inside=True) for n in range(32)))
    _, said = converse(work("list_blocks", block_id=PAGE_ID), first, *[listed(item(99, "b"))] * 30)
    assert isinstance(said, PartialList)
    assert f"not read inside: {IDS[30]}, {IDS[31]}" in said.more
    assert f"- a\n\n  <!-- not carried: what is inside {IDS[31]} -->" in said.json["markdown"]


def test_blocks_read_before_a_failure_are_kept() -> None:
    late = RateLimitExceeded(service="notion", retry_after=1)
    _, said = converse(work("list_blocks", block_id=PAGE_ID), listed(item(1, "a", inside=True)), late)
    assert isinstance(said, PartialList)
    assert said.json["markdown"].startswith("- a\n")
    with pytest.raises(RateLimitExceeded):
        converse(work("list_blocks", block_id=PAGE_ID), late)


def content(markdown: str, *unknown: str) -> dict[str, Any]:
    return {
        "object": "page_markdown",
        "id": PAGE_ID,
        "markdown": markdown,
        "truncated": bool(unknown),
        "unknown_block_ids": list(unknown),
    }


def unknown(number: int) -> str:
    return f'<unknown url="https://www.notion.so/x#{IDS[number].replace("-", "")}" alt="toggle"/>'


def test_a_complete_page_is_its_markdown() -> None:
    sent, said = converse(work("get_page_content", page_id=PAGE_ID), content("# Plan"))
    assert sent == [Call("GET", f"/v1/pages/{PAGE_ID}/markdown")]
    assert said["markdown"] == "# Plan"
    assert not said["truncated"]


def test_a_page_is_read_by_so_many_blocks_at_a_time() -> None:
    sent, said = converse(work("get_page_content", page_id=PAGE_ID, page_size=1), listed(item(1, "a"), following=NEXT))
    assert sent == [Call("GET", f"/v1/blocks/{PAGE_ID}/children", {"page_size": 1})]
    assert isinstance(said, PartialList)
    assert said.json["markdown"] == "- a"
    assert f"cursor={NEXT}" in said.more
    sent, said = converse(work("get_page_content", page_id=PAGE_ID, cursor=NEXT), listed(item(2, "b")))
    assert sent == [Call("GET", f"/v1/blocks/{PAGE_ID}/children", {"page_size": 100, "start_cursor": NEXT})]
    assert said["markdown"] == "- b"


def test_a_page_that_notion_cut_says_so() -> None:
    _, said = converse(work("get_page_content", page_id=PAGE_ID), content(f"# Plan\n{unknown(1)}", IDS[1]))
    assert isinstance(said, PartialList)
    assert "left out parts of the page (1," in said.more
    assert "fetch_all" in said.more
    assert said.json["unknown_block_ids"] == [IDS[1]]


def test_content_that_notion_left_out_is_inserted_in_its_place() -> None:
    sent, said = converse(
        work("get_page_content", page_id=PAGE_ID, fetch_all=True, include_transcript=True),
        content(f"# Plan\n- a\n\t{unknown(1)}\nend", IDS[1]),
        content(f"b\n{unknown(2)}\nc", IDS[2]),
        content("d"),
    )
    assert [call.path.split("/")[3] for call in sent] == [PAGE_ID, IDS[1], IDS[2]]
    assert all(call.query == {"include_transcript": True} for call in sent)
    assert said["markdown"] == "# Plan\n- a\n\tb\n\td\n\tc\nend"
    assert (said["truncated"], said["unknown_block_ids"]) == (False, [])


def test_a_part_without_a_marker_is_added_at_the_end() -> None:
    _, said = converse(work("get_page_content", page_id=PAGE_ID, fetch_all=True), content("a", IDS[1]), content("b"))
    assert said["markdown"] == "a\n\nb"


def test_content_that_is_not_shared_stays_marked() -> None:
    refused = ToolExecutionError(service="notion", http_status=404, problem="not shared")
    _, said = converse(
        work("get_page_content", page_id=PAGE_ID, fetch_all=True),
        content(f"{unknown(1)}\n{unknown(2)}", IDS[1], IDS[2]),
        refused,
        content("here"),
    )
    assert isinstance(said, PartialList)
    assert said.json["markdown"] == f"{unknown(1)}\nhere"
    assert said.json["unknown_block_ids"] == [IDS[1]]


def test_a_timeout_of_a_part_ends_the_reading() -> None:
    _, said = converse(
        work("get_page_content", page_id=PAGE_ID, fetch_all=True),
        content(f"{unknown(1)}\n{unknown(2)}", IDS[1], IDS[2]),
        RateLimitExceeded(service="notion", retry_after=1),
    )
    assert isinstance(said, PartialList)
    assert said.json["unknown_block_ids"] == IDS[1:3]
