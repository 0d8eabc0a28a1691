"""Pages, their properties and data sources as they were, as Notion takes them again."""

from collections.abc import Iterable
from typing import Any

from mcpist.errors import NotUndoable
from mcpist.tools.declare.undo import ToolCall, ToolChange, Undo, undone_by
from mcpist_services.notion.rich_text import Json

_BY_ID = {"people", "relation", "multi_select"}
_PLAIN = {"number", "checkbox", "url", "email", "phone_number", "date", "files"}


def property_again(name: str, held: Json, tool: str) -> Json:
    """Return the value of a page's property as Notion takes it; NotUndoable for one that it computes."""
    kind = held["type"]
    value: Any = held.get(kind)
    if kind in {"title", "rich_text"}:
        return {kind: [_text(part) for part in value]}
    if kind in {"select", "status"}:
        return {kind: value and {"id": value["id"]}}
    if kind in _BY_ID:
        return {kind: [{"id": each["id"]} for each in value]}
    if kind not in _PLAIN:
        raise NotUndoable(tool=tool, problem=f"the property {name} was computed")
    return {kind: value}


def _text(part: Json) -> Json:
    """Return a part of a rich text without what Notion derives from it."""
    return {name: part[name] for name in ("type", part["type"], "annotations") if name in part}


def page_fields(page: Any, change: ToolChange) -> dict[str, Any]:
    """Return the fields of a page that an update changes: properties by name, icon, lock, trash."""
    given = change.arguments
    names = set(given["properties"] or ())
    fields: dict[str, Any] = {
        name: held.get(held["type"])
        for name, held in page["properties"].items()
        if name in names or held.get("id") in names or (given["title"] and held["type"] == "title")
    }
    fields |= {"icon": page.get("icon")} if given["icon"] else {}
    fields |= {"is_locked": page.get("is_locked")} if given["is_locked"] is not None else {}
    return fields | ({"in_trash": page.get("in_trash")} if given["restore"] else {})


def former_page(change: ToolChange) -> Iterable[ToolCall]:
    """Return the update that gives a page its values back; one that was in the trash goes there again."""
    page, given = change.before, change.arguments
    place = {"page_id": given["page_id"]}
    if given["restore"] and page.get("in_trash"):
        return [ToolCall("trash_page", place)]
    icon = page.get("icon") or {}
    if given["icon"] and icon.get("type") != "emoji":
        raise NotUndoable(tool=change.tool, problem="its icon was none, or no emoji")
    held, names = page["properties"], page_fields(page, change)
    again = {name: property_again(name, held[name], change.tool) for name in names if name in held}
    fields: dict[str, Any] = {"properties": again or None, "icon": given["icon"] and icon["emoji"]}
    fields |= {"is_locked": page.get("is_locked")} if given["is_locked"] is not None else {}
    return [ToolCall("update_page", place | {name: value for name, value in fields.items() if value is not None})]


def former_text(change: ToolChange) -> Iterable[ToolCall]:
    """Return the replacement of a page's text by the one that it had."""
    page = change.before
    if page.get("truncated") or page.get("unknown_block_ids") or not page["markdown"]:
        raise NotUndoable(tool=change.tool, problem="its text was empty, or was not read to its end")
    whole = {"page_id": change.arguments["page_id"], "replace_with": page["markdown"]}
    return [ToolCall("update_page_content", whole)]


def former_parent(change: ToolChange) -> Iterable[ToolCall]:
    """Return the move of a page back to where it was."""
    parent = change.before["parent"]
    names = {"page_id": "parent_page_id", "data_source_id": "data_source_id"}
    if parent["type"] not in names:
        raise NotUndoable(tool=change.tool, problem="it was in no page and no data source")
    place = {"page_id": change.arguments["page_id"], names[parent["type"]]: parent[parent["type"]]}
    return [ToolCall("move_page", place)]


def former_columns(change: ToolChange) -> Iterable[ToolCall]:
    """Return the calls that give a data source its title and its properties back; new ones are deleted."""
    given, known = change.arguments, change.before["properties"]
    renamed, properties = given["rename"] or {}, given["properties"] or {}
    schemas = {renamed.get(name, name): _schema(known[name]) for name in properties if name in known}
    fields = {
        "title": given["title"] and change.before["row"]["title"],
        "properties": schemas,
        "rename": {new: old for old, new in renamed.items()},
    }
    place = {"data_source_id": given["data_source_id"]}
    update = [ToolCall("update_data_source", place | {name: value for name, value in fields.items() if value})]
    new = [name for name in properties if name not in known]
    deleted = [ToolCall("delete_property", place | {"name": renamed.get(name, name)}) for name in new]
    return (update if any(fields.values()) else []) + deleted


def _schema(held: Json) -> Json:
    kind = held["type"]
    return {kind: held[kind]}


def columns_of(source: Any, change: ToolChange) -> dict[str, Any]:
    """Return the title and the outline of the properties that an update changes, also of its answer."""
    given, own = change.arguments, source.get("row") or source
    renamed = given["rename"] or {}
    names = {renamed.get(name, name) for name in given["properties"] or {}} | set(renamed.values())
    outline = {name: own["properties"].get(name) for name in sorted(names)}
    return outline | ({"title": own["title"]} if given["title"] else {})


def appended(blocks: Any, change: ToolChange) -> dict[str, Any]:
    """Return for each block that a change has appended whether it is as it was created; Notion counts in minutes."""
    found = {block["id"]: block["created_time"] == block["last_edited_time"] for block in blocks["results"]}
    return {id_: found.get(id_) for id_ in change.answer["ids"]}


def _appended_alone(change: ToolChange) -> dict[str, Any]:
    return dict.fromkeys(change.answer["ids"], True)


def _deleted(change: ToolChange) -> Iterable[ToolCall]:
    return [ToolCall("delete_block", {"block_id": id_}) for id_ in change.answer["ids"]]


APPENDED = Undo(
    calls=_deleted,
    read="list_blocks",
    target=lambda change: {"block_id": change.arguments["block_id"], "limit": 500},
    state=appended,
    after=_appended_alone,
    creates=True,
)
RESTORED_BLOCK = undone_by("update_block(block_id, restore=true)", read="get_block")
