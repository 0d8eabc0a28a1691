"""Databases, their data sources and rows."""

from typing import Annotated, Any, Literal, TypedDict

from pydantic import with_config

from mcpist.render.shows import shows
from mcpist.tools.declare.argument_types import times_in_query
from mcpist.tools.declare.call import Call, Calls, given, path
from mcpist.tools.declare.undo import undone_by
from mcpist_services.notion import properties as values
from mcpist_services.notion.module import (
    PAGE,
    PAGE_EXAMPLE,
    PLAIN_PAGES,
    DatabaseId,
    DataSourceId,
    PageId,
    Title,
    notion,
    parent_of,
    row,
    source_path,
)

DATABASE = shows("id", "row.title as title", "row.description as description", "data_sources", "url", "in_trash")
DATA_SOURCE = shows(
    "id",
    "row.title as title",
    "row.description as description",
    "parent.database_id as database_id",
    "url",
    "row.properties as properties",
)

TEMPLATES = shows("id", "name", "is_default", rows="templates")

Database = Annotated[DatabaseId, "The 32 digits in a database's address, e.g. 248104cd-477e-80fd-b757-e945d38000bd"]
Json = dict[str, Any]
Direction = Literal["ascending", "descending"]

_Groups = TypedDict("_Groups", {"and": list[Json], "or": list[Json]}, total=False)


@with_config(extra="allow")
class QueryFilter(_Groups, total=False):
    """A property with a condition under its type; rarer types, and times that are no property, are accepted too."""

    property: str
    title: Json
    rich_text: Json
    number: Json
    checkbox: Json
    select: Json
    multi_select: Json
    status: Json
    date: Json
    people: Json
    relation: Json


@with_config(extra="forbid")
class PropertySort(TypedDict):
    """An order by a property."""

    property: str
    direction: Direction


@with_config(extra="forbid")
class TimestampSort(TypedDict):
    """An order by a time of the rows themselves."""

    timestamp: Literal["created_time", "last_edited_time"]
    direction: Direction


Filter = Annotated[
    QueryFilter,
    times_in_query(),
    "Notion's filter: a property and a condition under its type, several in and or or; a date may be now+7d, "
    'e.g. {"property": "Status", "status": {"equals": "In progress"}}',
]
Sorts = Annotated[
    list[PropertySort | TimestampSort],
    'The first counts most, e.g. [{"property": "Due", "direction": "ascending"}]',
]
Columns = Annotated[
    dict[str, Any],
    "By name: a type (rich_text, number, date, people, ...), a list of options, or an object in Notion's format, "
    'e.g. {"Task": "title", "Stage": ["To do", "Done"], "Due": "date", "Price": {"number": {"format": "euro"}}}',
]


@notion.reads(DATABASE, "retrieve-database")
def get_database(database_id: Database) -> Calls:
    """Read a database: its title, and the data sources that hold its rows."""
    database = (yield Call("GET", path("/v1/databases/{database_id}", database_id=database_id))).json
    return database | row(database)


@notion.reads(DATA_SOURCE, "retrieve-a-data-source")
def get_data_source(data_source_id: DataSourceId) -> Calls:
    """Read the properties of a data source's rows: each with its name, type and options."""
    source = (yield Call("GET", source_path(data_source_id))).json
    return source | {"row": {**row(source)["row"], "properties": values.outline(source["properties"])}}


@notion.lists(shows(*PAGE, rows="results"), "post-database-query")
def query_data_source(
    data_source_id: DataSourceId,
    filter: Filter | None = None,  # noqa: A002
    sorts: Sorts | None = None,
) -> Call:
    """List a data source's rows with their properties, filtered and sorted."""
    return Call("POST", source_path(data_source_id, "/query"), json=given(filter=filter, sorts=sorts))


@notion.lists(TEMPLATES, "list-data-source-templates", paging=PLAIN_PAGES)
def list_templates(
    data_source_id: DataSourceId, name: Annotated[str | None, "Words of the name, e.g. Bug"] = None
) -> Call:
    """List the templates of a data source's rows, for create_page."""
    return Call("GET", source_path(data_source_id, "/templates"), given(name=name))


@notion.writes(
    shows("id", "data_sources[*].id as data_source_ids", "url"),
    "create-database",
    undo=undone_by(
        "trash_database(database_id=answer.id)",
        read="get_database",
        creates=True,
        fields={"edited": "last_edited_time"},
    ),
)
def create_database(
    parent_page_id: Annotated[PageId, f"The page to put it in, e.g. {PAGE_EXAMPLE}"],
    title: Annotated[Title, "e.g. Tasks"],
    properties: Columns | None = None,
    description: Annotated[str | None, "e.g. What we have promised"] = None,
    is_inline: Annotated[bool, "Shown as a table in the page, not as a page of its own"] = False,
) -> Call:
    """Create a database with one data source in a page."""
    body = given(
        parent=parent_of(parent_page_id=parent_page_id),
        title=values.words(title),
        description=values.words(description) if description else None,
        is_inline=is_inline or None,
        initial_data_source={"properties": values.schema(properties or {})},
    )
    return Call("POST", "/v1/databases", json=body)


@notion.destroys(
    shows("id", "url", "in_trash"),
    "update-database",
    idempotent=True,
    undo=undone_by("update_database(database_id, restore=true)", read="get_database", fields="in_trash"),
)
def trash_database(database_id: Database) -> Call:
    """Move a database with its rows to the trash. update_database can restore it."""
    return Call("PATCH", path("/v1/databases/{database_id}", database_id=database_id), json={"in_trash": True})
