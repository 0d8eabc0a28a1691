"""People."""

from typing import Annotated

from pydantic import Field

from mcpist.render.shows import shows
from mcpist.tools.declare.call import Call, given
from mcpist_services.github.module import Direction, github


@github.lists(shows("login", "name", "email", "type", "html_url as url", rows="items"), "search/users")
def search_users(
    q: Annotated[str, Field(min_length=1), 'GitHub\'s search syntax, e.g. fullname:"Mona Lisa" type:user'],
    order: Direction = "desc",
) -> Call:
    """Search the people and organizations of GitHub by name, login, e-mail address or place."""
    return Call("GET", "/search/users", given(q=q, order=order))
