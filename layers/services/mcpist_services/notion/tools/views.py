"""The views of databases."""

from typing import Annotated, Literal

from mcpist.errors import InvalidRequest
from mcpist.render.shows import shows
from mcpist.tools.declare.call import Call, Calls, given, path_template
from mcpist_services.notion.module import PAGE, DataSourceId, Title, ViewId, notion, source_path
from mcpist_services.notion.tools.databases import Database, Filter, Sorts

_view_path = path_template("/v1/views/{view_id}")
MAX_VIEWS = 25
VIEW = shows("id", "name", "type", "data_source_id", "filter", "sorts", "url")

View = Annotated[ViewId, "The id that list_views shows, e.g. a3f1b2c4-5678-4def-abcd-1234567890ab"]
Layout = Literal["table", "board", "list", "calendar", "timeline", "gallery"]


@notion.reads(VIEW, "list-views")
def list_views(database_id: Database) -> Calls:
    """List the views of a database, at most 25: their layout, their filter and their order."""
    found = (yield Call("GET", "/v1/views", {"database_id": database_id, "page_size": MAX_VIEWS})).json
    views = []
    for view in found["results"]:
        views += [(yield Call("GET", _view_path(view["id"]))).json]
    return views


@notion.lists(shows(*PAGE, rows="results"), "post-database-query")
def query_view(view_id: View) -> Calls:
    """List the rows that a view shows, in its order."""
    view = (yield Call("GET", _view_path(view_id))).json
    if not view.get("data_source_id"):
        raise InvalidRequest(field="view_id", problem=f"a view of the type {view['type']} has no rows")
    body = given(filter=view.get("filter"), sorts=view.get("sorts"))
    return Call("POST", source_path(view["data_source_id"], "/query"), json=body)


@notion.writes(VIEW, "create-view", irreversible="no tool deletes a view")
def create_view(
    data_source_id: DataSourceId,
    name: Annotated[Title, "e.g. My tasks"],
    type: Layout = "table",  # noqa: A002
    filter: Filter | None = None,  # noqa: A002
    sorts: Sorts | None = None,
) -> Calls:
    """Add a view to a database."""
    database = (yield Call("GET", source_path(data_source_id))).json["parent"]["database_id"]
    body = {"database_id": database, "data_source_id": data_source_id, "name": name, "type": type}
    return Call("POST", "/v1/views", json=body | given(filter=filter, sorts=sorts))
