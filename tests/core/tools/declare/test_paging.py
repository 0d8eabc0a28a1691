"""Lists over pages, as every service's paging shares it."""

from collections.abc import Iterator
from typing import Any

import pytest

from mcpist.errors import InvalidRequest, McpistError, RateLimitExceeded, UpstreamUnavailable
from mcpist.render.shows import value_at
from mcpist.tools.declare import paging as paging_module
from mcpist.tools.declare.call import Call, Calls, PartialList, ServiceResponse
from mcpist.tools.declare.paging import PageRequest, Paging, by_field, by_link, by_offset, pages

TOKENS = Paging(size="max", max_size=100, position_parameters=("token",), next_page=by_field("next", "token"))
OFFSETS = Paging(
    size="max",
    max_size=100,
    position_parameters=("start",),
    next_page=by_offset("start", last=lambda body, end: end >= body["total"]),
)


def read(
    call: Call, paging: Paging, answers: Iterator[Any], rows: str = "items", **wish: Any
) -> tuple[list[Call], Any]:
    """All requests of a list that is answered like this, and what becomes of them."""
    calls = pages("shop", call, paging, rows, PageRequest(**wish))
    sent = [next(calls)]
    try:
        for answer in answers:
            step = (
                calls.throw(answer) if isinstance(answer, McpistError) else calls.send(ServiceResponse(200, {}, answer))
            )
            sent.append(step)
    except StopIteration as end:
        return sent, end.value
    raise AssertionError("the list asks for more")


def shop(count: int) -> Iterator[Any]:
    """Pages of a shop that always fill the page of 100 and know no end before `count`."""
    for start in range(0, count, 100):
        end = min(start + 100, count)
        yield {"items": list(range(start, end)), **({"next": f"t{end}"} if end < count else {})}


GET, POST = Call("GET", "/items", {"q": "x"}), Call("POST", "/search", json={"q": "x"})


def test_pages_become_one_list_in_the_shape_of_the_last() -> None:
    sent, found = read(GET, TOKENS, shop(250), limit=300)
    assert found == {"items": list(range(250))}
    assert [call.query for call in sent] == [
        {"q": "x", "max": 100},
        {"q": "x", "max": 100, "token": "t100"},
        {"q": "x", "max": 100, "token": "t200"},
    ]


def test_a_post_takes_its_place_in_the_body() -> None:
    sent, _ = read(POST, TOKENS, shop(150), limit=200)
    assert [call.json for call in sent] == [{"q": "x", "max": 100}, {"q": "x", "max": 100, "token": "t100"}]
    assert not sent[0].query


def test_pages_are_as_few_as_the_limit_needs_and_equally_long() -> None:
    assert next(pages("shop", GET, TOKENS, "items", PageRequest(limit=150))).query["max"] == 75
    assert next(pages("shop", GET, TOKENS, "items", PageRequest(limit=20))).query["max"] == 20
    assert next(pages("shop", GET, TOKENS, "items", PageRequest(limit=20, page_size=5))).query["max"] == 5
    assert next(pages("shop", GET, TOKENS, "items", PageRequest(fetch_all=True))).query["max"] == 100
    assert next(pages("shop", GET, TOKENS, "items", PageRequest(limit=500, page_size=400))).query["max"] == 100


def test_a_cut_list_says_how_to_go_on_and_can_be_gone_on_with() -> None:
    _, found = read(GET, TOKENS, shop(1000), limit=200)
    assert isinstance(found, PartialList)
    assert found.json["items"] == list(range(200))
    assert found.more == "Cut after 200 items (there are more): go on with cursor=token=t200."
    assert next(pages("shop", GET, TOKENS, "items", PageRequest(cursor="token=t200"))).query["token"] == "t200"


def test_a_list_cut_within_a_page_says_to_raise_the_limit() -> None:
    _, found = read(GET, TOKENS, shop(1000), limit=150)
    assert isinstance(found, PartialList)
    assert len(found.json["items"]) == 150
    assert "raise limit (at most 500) or set fetch_all" in found.more


def test_fetch_all_reads_to_the_end() -> None:
    sent, found = read(GET, TOKENS, shop(1234), fetch_all=True)
    assert found == {"items": list(range(1234))}
    assert len(sent) == 13


def test_fetch_all_ends_at_its_ceiling_of_pages_and_says_so() -> None:
    _, found = read(GET, TOKENS, shop(100_000), fetch_all=True)
    assert isinstance(found, PartialList)
    assert len(found.json["items"]) == 100 * paging_module.MAX_PAGES
    assert "(the most that fetch_all reads): go on with cursor=token=t5000." in found.more


def test_fetch_all_ends_at_its_ceiling_of_bytes() -> None:
    fat = ({"items": ["x" * 1_000_000], "next": f"t{number}"} for number in range(100))
    sent, found = read(GET, TOKENS, fat, fetch_all=True)
    assert len(sent) == 5
    assert isinstance(found, PartialList)


def test_the_items_read_so_far_are_returned_when_a_later_page_fails() -> None:
    answers = iter([{"items": [1, 2], "next": "t2"}, RateLimitExceeded(service="shop", retry_after=9)])
    _, found = read(GET, TOKENS, answers, limit=300)
    assert found == PartialList(
        {"items": [1, 2], "next": "t2"},
        "Cut after 2 items (shop limits the rate of requests): go on with cursor=token=t2.",
    )


def test_a_first_page_that_fails_fails() -> None:
    with pytest.raises(RateLimitExceeded):
        read(GET, TOKENS, iter([RateLimitExceeded(service="shop", retry_after=9)]))


def test_offsets_count_what_was_read() -> None:
    sent, found = read(GET, OFFSETS, iter([{"items": [1, 2], "total": 3}, {"items": [3], "total": 3}]))
    assert [call.query.get("start") for call in sent] == [None, 2]
    assert found == {"items": [1, 2, 3], "total": 3}


def test_an_empty_page_ends_a_list_by_offsets() -> None:
    assert read(GET, OFFSETS, iter([{"items": [], "total": 3}]))[1] == {"items": [], "total": 3}


def test_of_a_link_only_the_place_is_taken() -> None:
    paging = Paging("max", 100, ("cursor",), by_link(lambda answer: value_at(answer.json, "link"), "cursor"))
    link = "https://evil.example/other?cursor=c2&q=all&max=9"
    sent, _ = read(GET, paging, iter([{"items": [1], "link": link}, {"items": [2]}]))
    assert sent[1] == Call("GET", "/items", {"q": "x", "max": 50, "cursor": "c2"})


@pytest.mark.parametrize("cursor", ["q=all", "token=t1&q=all", "nonsense", "token=", "&"])
def test_a_cursor_can_say_nothing_but_a_place(cursor: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        next(pages("shop", GET, TOKENS, "items", PageRequest(cursor=cursor)))
    assert refused.value.details["field"] == "cursor"


@pytest.mark.parametrize("body", [{"other": []}, {"items": {}}, [], None, "text", {"items": None}])
def test_an_answer_without_the_list_is_the_services_fault(body: Any) -> None:
    with pytest.raises(UpstreamUnavailable, match="another shape"):
        read(GET, TOKENS, iter([body]))


def test_a_service_that_gives_the_same_page_again_ends_the_list() -> None:
    again = {"items": [1], "next": "t1"}
    with pytest.raises(UpstreamUnavailable, match="same page again"):
        read(GET, TOKENS, iter([again, again]), limit=100)


def test_a_list_may_begin_with_other_requests() -> None:
    def first() -> Calls:
        found = yield Call("GET", "/names")
        return Call("GET", f"/{found.json}/items")

    calls = pages("shop", first(), TOKENS, "items", PageRequest())
    assert next(calls) == Call("GET", "/names")
    assert calls.send(ServiceResponse(200, {}, "7")) == Call("GET", "/7/items", {"max": 50})
    with pytest.raises(StopIteration) as end:
        calls.send(ServiceResponse(200, {}, {"items": [1]}))
    assert end.value.value == {"items": [1]}
