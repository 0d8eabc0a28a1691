"""A shop. It sells what tests need.

This line is not shown.
"""

from typing import Annotated, Literal

from pydantic import Field

from mcpist.render.shows import shows
from mcpist.tools.declare.call import Call, given, path
from mcpist.tools.declare.module import Module

shop = Module("shop", __doc__, api_version="1", host="https://shop.example.com")


@shop.reads(shows("id", "name", "price.amount as price", rows="results"))
def list_items(
    query: Annotated[str | None, "Words in the name"] = None, limit: Annotated[int, Field(ge=1, le=500)] = 50
) -> Call:
    """List the items on sale."""
    return Call("GET", "/items", given(query=query, limit=limit))


@shop.reads(shows("id", "name"))
def get_item(item_id: str) -> Call:
    """Read one item."""
    return Call("GET", path("/items/{item_id}", item_id=item_id))


@shop.reads(shows("value"), reveals=True)
def get_key() -> Call:
    """Read the key of the till."""
    return Call("GET", "/key")


@shop.writes(shows("id"))
def create_item(
    name: str, price: float, size: Literal["big", "small"] = "small", tags: list[str] | None = None, new: bool = True
) -> Call:
    """Put an item on sale."""
    return Call("POST", "/items", json=given(name=name, price=price, size=size, tags=tags, new=new))


@shop.destroys(shows("id"))
def delete_item(item_id: str) -> Call:
    """Remove an item."""
    return Call("DELETE", path("/items/{item_id}", item_id=item_id))
