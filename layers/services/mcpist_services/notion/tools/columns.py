"""Changes of a database and of its properties, which lose no value."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Annotated, Any

from mcpist.errors import InvalidRequest
from mcpist.render.shows import DONE, shows
from mcpist.tools.declare.call import Call, Calls, changes, given, path
from mcpist.tools.declare.undo import Undo, restores
from mcpist_services.notion import properties as values
from mcpist_services.notion.module import DataSourceId, Title, notion, row, source_path
from mcpist_services.notion.properties import new_property
from mcpist_services.notion.rich_text import Json
from mcpist_services.notion.tools.databases import Columns, Database
from mcpist_services.notion.undoing import columns_of, former_columns

CHANGED = shows("id", "title", "properties", "url")

NewNames = Annotated[dict[str, Title], 'By present name, e.g. {"Due": "Deadline"}']


_CHOICES = {"select", "multi_select"}


@notion.writes(
    CHANGED,
    "update-a-data-source",
    idempotent=True,
    uses=({"title": "Tasks"}, {"properties": {"Stage": ["Review"], "Price": "number"}, "rename": {"Due": "Deadline"}}),
    undo=Undo(calls=former_columns, read="get_data_source", state=columns_of),
)
def update_data_source(
    data_source_id: DataSourceId,
    title: Annotated[Title | None, "e.g. Tasks"] = None,
    properties: Annotated[
        Columns | None,
        "As in create_database: new properties, and options to add to those that one has, "
        'e.g. {"Stage": ["Review"], "Price": "number"}',
    ] = None,
    rename: NewNames | None = None,
) -> Calls:
    """Change a data source: its title, new properties, more options, other names. No value is lost."""
    changes(title=title, properties=properties, rename=rename)
    named = given(title=values.words(title) if title else None)
    return _update_columns(Call("PATCH", source_path(data_source_id), json=named), properties or {}, rename or {})


@notion.destroys(
    DONE, "update-a-data-source", idempotent=True, irreversible="Notion restores a deleted property only by hand"
)
def delete_property(
    data_source_id: DataSourceId, name: Annotated[Title, "As get_data_source shows it, e.g. Price"]
) -> Calls:
    """Delete a property of a data source, with the values of all its rows."""
    yield Call("PATCH", source_path(data_source_id), json={"properties": {name: None}})
    return {"done": True}


def _shown_as(name: str) -> Callable[[Any], Any]:
    """Return a function that takes a text of a database from its JSON, also from an answer."""
    return lambda database: (database.get("row") or database)[name]


@notion.writes(
    shows("id", "title", "description", "url"),
    "update-database",
    idempotent=True,
    uses=({"title": "Tasks"},),
    undo=restores(
        "get_database",
        title=_shown_as("title"),
        description=_shown_as("description"),
        is_inline="is_inline",
        is_locked="is_locked",
    ),
)
def update_database(
    database_id: Database,
    title: Annotated[Title | None, "e.g. Tasks"] = None,
    description: Annotated[str | None, "e.g. What we have promised"] = None,
    is_inline: Annotated[bool | None, "Shown as a table in its page, not as a page of its own"] = None,
    is_locked: Annotated[bool | None, "Whether people must unlock it before they edit it"] = None,
    restore: Annotated[bool, "Restore it from the trash"] = False,
) -> Calls:
    """Change a database, or restore it from the trash. For its properties use update_data_source."""
    texts = {"title": title and values.words(title), "description": description and values.words(description)}
    body = changes(**texts, is_inline=is_inline, is_locked=is_locked, in_trash=False if restore else None)
    return _shown(Call("PATCH", path("/v1/databases/{database_id}", database_id=database_id), json=body))


def _update_columns(call: Call, properties: dict[str, Any], rename: dict[str, str]) -> Calls:
    known = (yield Call("GET", call.path)).json["properties"]
    columns = schema_changes(known, properties, rename)
    source = (yield replace(call, json=call.json | given(properties=columns or None))).json
    return source | {**row(source)["row"], "properties": values.outline(source["properties"])}


def _shown(call: Call) -> Calls:
    database = (yield call).json
    return database | row(database)["row"]


def schema_changes(known: Mapping[str, Json], given: Mapping[str, Any], names: Mapping[str, str]) -> Json:
    """Return new properties, more options of known ones, and new names, in Notion's format."""
    changed = {name: _change(name, known.get(name), each) for name, each in given.items()}
    for name, new in names.items():
        if name not in known:
            raise InvalidRequest(
                field="rename", problem=f'there is no property "{name}"; there are: {", ".join(known)}'
            )
        changed[name] = changed.get(name, {}) | {"name": new}
    return changed


def _change(name: str, present: Json | None, given: Any) -> Json:
    if present is None:
        return new_property(name, given)
    if isinstance(given, dict):
        return given
    kind = present["type"]
    if not isinstance(given, list) or kind not in _CHOICES:
        problem = (
            f'"{name}" is a {kind} already, and another type could lose values: rename it, or add another property'
        )
        raise InvalidRequest(field="properties", problem=problem)
    # Notion removes the options that a change leaves out.
    options = [{"id": option["id"], "name": option["name"]} for option in present[kind]["options"]]
    added = [{"name": option} for option in given if option not in [each["name"] for each in options]]
    return {kind: {"options": [*options, *added]}}
