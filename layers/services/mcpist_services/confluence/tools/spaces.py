"""Spaces: which there are, and one of them."""

from typing import Annotated, Literal

from mcpist.render.shows import shows
from mcpist.tools.declare.call import Call, Calls, given, path
from mcpist_services.confluence.module import (
    SpaceId,
    SpaceKey,
    confluence,
    send_with_markdown,
)

SPACES = ("read:space:confluence",)


SpaceType = Annotated[
    Literal["global", "collaboration", "knowledge_base", "personal", "system", "onboarding", "xflow_sample_space"],
    "All if left out",
]
SPACE = ("id", "key", "name", "type", "status", "homepageId as homepage_id", "createdAt as created")


SPACE_DETAILS = shows(*SPACE, "description.plain.value as description", "url")


@confluence.lists(shows(*SPACE, "page_url as url", rows="results"), "getSpaces", scopes=SPACES)
def list_spaces(
    keys: Annotated[list[SpaceKey] | None, "Only these, by their keys, e.g. ENG, OPS"] = None,
    type: SpaceType | None = None,  # noqa: A002
    status: Annotated[Literal["current", "archived"] | None, "Both if left out"] = None,
    sort: Literal["id", "-id", "key", "-key", "name", "-name"] | None = None,
) -> Call:
    """List the spaces that you can see, with the ids that other tools take."""
    return Call("GET", "/wiki/api/v2/spaces", given(keys=keys, type=type, status=status, sort=sort))


@confluence.reads(SPACE_DETAILS, "getSpaceById", scopes=SPACES)
def get_space(space_id: SpaceId) -> Calls:
    """Read one space: its name, its home page, its description."""
    place = path("/wiki/api/v2/spaces/{space_id}", space_id=space_id)
    return send_with_markdown(Call("GET", place, {"description-format": "plain"}))
