"""Copies of pages."""

from typing import Annotated, Any

from mcpist.errors import InvalidRequest
from mcpist.render.shows import shows
from mcpist.tools.declare.call import Call, Calls, path
from mcpist_services.confluence.module import PageId, SpaceKey, Title, confluence, page_path, send_with_markdown


@confluence.writes(
    shows("id", "title", "status", "url"),
    "copyPage",
    scopes=("read:page:confluence", "write:confluence-content"),
    uses=({}, {"parent_id": "65552"}, {"space_key": "OPS", "with_files": False, "with_labels": False}),
)
def copy_page(
    page_id: PageId,
    title: Annotated[Title, "Of the copy, not yet in its space, e.g. Release plan 2027"],
    parent_id: Annotated[PageId | None, "The page to put it under; the original's if left out, e.g. 65552"] = None,
    space_key: Annotated[SpaceKey | None, "Instead: at the top of this space, e.g. OPS"] = None,
    with_files: Annotated[bool, "Copy its files, too"] = True,
    with_labels: Annotated[bool, "Copy its labels, too"] = True,
) -> Calls:
    """Copy a page, for instance a template; its comments and the pages below it are not copied."""
    if parent_id and space_key:
        raise InvalidRequest(field="parent_id or space_key", problem="give one of them, or neither")
    body = {"pageTitle": title, "copyAttachments": with_files, "copyLabels": with_labels}
    destination = {"type": "space" if space_key else "parent_page", "value": space_key or parent_id}
    return _copy(page_id, body, destination)


def _copy(page_id: str, body: dict[str, Any], destination: dict[str, str | None]) -> Calls:
    """Copy a page, if no destination is given to the place where it is."""
    if destination["value"] is None:
        destination["value"] = (yield Call("GET", page_path(page_id))).json.get("parentId")
    if destination["value"] is None:
        raise InvalidRequest(field="parent_id", problem="the page is under no other: say where to put the copy")
    place = path("/wiki/rest/api/content/{page_id}/copy", page_id=page_id)
    return (yield from send_with_markdown(Call("POST", place, json=body | {"destination": destination})))
