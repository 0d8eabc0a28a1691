"""Addresses in the place of ids: which part is whose, what is filled, what is refused."""

from typing import Annotated

import pytest
from pydantic import Field, TypeAdapter, ValidationError

from mcpist.errors import InvalidRequest
from mcpist.tools.declare.pasted import PastedArguments, address_of, address_reader, from_url

SHOP = r"https://(?P<site>[\w.]+)/"
ADDRESSES = address_reader(rf"{SHOP}(?P<shelf>\w+)", rf"{SHOP}\w+/(?P<item_id__part_id>[\w%]+)")
Shelf = Annotated[str, Field(pattern=r"^\w+$"), from_url(ADDRESSES, "shelf")]
Item = Annotated[str, from_url(ADDRESSES, "item_id__part_id", r"(?P<shelf>\w+)#(?P<item_id__part_id>\w+)")]
ITEMS = {"shelf": from_url(ADDRESSES, "shelf"), "item_id": from_url(ADDRESSES, "item_id__part_id", fills=("shelf",))}
URL = "https://shop.example.com/books/7"


def arguments(*required: str) -> PastedArguments:
    return PastedArguments(ITEMS, ("shelf", "item_id", "note"), required)


def test_a_value_is_a_part_of_an_address_or_of_a_short_form_or_itself() -> None:
    read = TypeAdapter(Item).validate_python
    assert [read(text) for text in (URL, f" {URL} ", "books#7", "7")] == ["7"] * 4
    assert read("https://shop.example.com/books/a%20b") == "a b"
    assert TypeAdapter(Shelf).validate_python(URL) == "books"


def test_an_address_without_the_part_is_refused_in_plain_words() -> None:
    with pytest.raises(ValidationError, match="it is not the address of such a thing"):
        TypeAdapter(Item).validate_python("https://shop.example.com/books")


def test_the_address_of_a_type_is_found_inside_unions_and_lists() -> None:
    assert address_of(Annotated[Item | None, "A thing"]) == address_of(list[Item]) == address_of(Item) is not None
    assert address_of(list[str] | None) is None


@pytest.mark.parametrize("required", [(), ("shelf",)], ids=["named in fills", "required"])
def test_an_argument_that_is_left_out_is_filled(required: tuple[str, ...]) -> None:
    assert arguments(*required).read({"item_id": URL}) == ({"item_id": URL, "shelf": "books"}, [])


@pytest.mark.parametrize("shelf", ["books", "BOOKS", " books", URL, "https://other.example.com/books"])
def test_the_same_in_another_form_is_no_difference(shelf: str) -> None:
    assert arguments().read({"item_id": URL, "shelf": shelf})[1] == []


@pytest.mark.parametrize("shelf", ["toys", "https://shop.example.com/toys"])
def test_a_part_that_differs_from_an_argument_is_a_problem_of_the_address(shelf: str) -> None:
    (problem,) = arguments().read({"item_id": URL, "shelf": shelf})[1]
    assert problem.field == "item_id"
    assert "another shelf" in problem.problem


def test_each_address_of_a_list_is_compared() -> None:
    found = arguments().read({"item_id": [URL, "https://shop.example.com/toys/8"], "shelf": "books"})[1]
    assert [problem.field for problem in found] == ["item_id"]


def test_an_address_is_at_the_site_of_the_account_where_that_has_one() -> None:
    arguments().check_site({"item_id": URL}, "https://SHOP.example.com/x")
    arguments().check_site({"item_id": URL}, "")
    with pytest.raises(InvalidRequest, match="at another site"):
        arguments().check_site({"item_id": URL}, "https://other.example.com")
