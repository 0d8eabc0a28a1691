"""Notion: pages with properties and a text, blocks, databases and their data sources; a trash."""

from typing import Any

from tests.services.descriptions.contract import DescribedCall
from tests.services.world import Rules, World

WHEN = "2026-01-31T09:00:00.000Z"
TIMES = {"created_time": WHEN, "last_edited_time": WHEN, "in_trash": False}
PAGE_PARENT = {"type": "page_id", "page_id": "b55c9c91-384d-452b-81db-d1ef79372b75"}
PROPERTIES: dict[str, Any] = {
    "Name": {"id": "title", "type": "title", "title": [{"type": "text", "text": {"content": "Roadmap"}}]},
    "Status": {"id": "s", "type": "status", "status": {"id": "1", "name": "Open", "color": "red"}},
    "Due": {"id": "d", "type": "date", "date": {"start": "2026-01-31"}},
}
SCHEMA: dict[str, Any] = {
    "Name": {"id": "title", "type": "title", "title": {}},
    "Stage": {"id": "a", "type": "select", "select": {"options": [{"id": "1", "name": "To do"}]}},
    "Due": {"id": "b", "type": "date", "date": {}},
}
TITLE = [{"type": "text", "text": {"content": "Tasks"}}]


def _read(value: Any) -> Any:
    """Return what is written as it is read: a text with its plain text and its style, a file with its address."""
    match value:
        case {"text": {"content": str(text)}, **others}:
            plain = {
                "bold": False,
                "italic": False,
                "strikethrough": False,
                "code": False,
                "underline": False,
                "color": "default",
            }
            style = plain | others.get("annotations", {})
            return {"type": "text", "plain_text": text, "text": value["text"], "annotations": style, "href": None}
        case {"type": "file_upload", **others}:
            rest = {name: each for name, each in others.items() if name != "file_upload"}
            return rest | {"type": "file", "file": {"url": "https://files.example.com/notes.txt"}}
        case dict():
            return {name: _read(each) for name, each in value.items()}
        case list():
            return [_read(each) for each in value]
        case _:
            return value


def _written(properties: Any) -> dict[str, Any]:
    """Return properties as a page has them; an option by its id is the one of the example."""
    names = {"title": "Name"}
    found = {}
    for name, value in properties.items():
        kind = next(word for word in value if word not in {"id", "type"})
        held = PROPERTIES["Status"]["status"] if value[kind] == {"id": "1"} else value[kind]
        found[names.get(name, name)] = {"type": kind, kind: _read(held)}
    return found


def _page(world: World, call: DescribedCall, place: str) -> Any:
    page = world.item(place)
    fields = dict(call.json)
    if "properties" in fields:
        fields["properties"] = {**page["properties"], **_written(fields["properties"])}
    return world.change(place, fields)


def _new_page(world: World, call: DescribedCall, place: str) -> Any:
    fields = {"parent": call.json["parent"], "properties": _written(call.json["properties"]), "object": "page"}
    return world.create(place, {**TIMES, **fields})


def _move(world: World, call: DescribedCall, place: str) -> Any:
    return world.change(place.removesuffix("/move"), {"parent": call.json["parent"]})


def _markdown(world: World, call: DescribedCall, place: str) -> Any:
    page = world.item(place)
    if call.method == "get":
        return page
    edit = call.json[call.json["type"]]
    text = edit.get("new_str", page["markdown"])
    for one in edit.get("content_updates", ()):
        text = text.replace(one["old_str"], one["new_str"])
    return world.change(place, {"markdown": text})


def _children(world: World, call: DescribedCall, place: str) -> Any:
    blocks = "/v1/blocks"
    parent = call.params["block_id"]
    if call.method == "get":
        found = [one for one in world.within(blocks) if one.get("parent") == parent and not one["in_trash"]]
        return {"object": "list", "results": found, "next_cursor": None, "has_more": False}
    made = []
    for block in call.json["children"]:
        kind = block["type"] if "type" in block else next(iter(block))
        made.append(
            world.create(blocks, {**TIMES, "object": "block", "type": kind, kind: _read(block[kind]), "parent": parent})
        )
    return {"object": "list", "results": made, "next_cursor": None, "has_more": False}


def _block(world: World, call: DescribedCall, place: str) -> Any:
    block = world.item(place)
    fields = {
        name: {**block.get(name, {}), **_read(value)} if isinstance(value, dict) else value
        for name, value in call.json.items()
    }
    return world.change(place, fields)


def _trash_block(world: World, call: DescribedCall, place: str) -> Any:
    return world.item(place) and world.change(place, {"in_trash": True})


def _source(world: World, call: DescribedCall, place: str) -> Any:
    source, fields = world.item(place), dict(call.json)
    if "title" in fields:
        fields["title"] = _plain(fields["title"])
    properties = dict(source["properties"])
    for name, change in fields.pop("properties", {}).items():
        if change is None:
            del properties[name]
            continue
        held = dict(properties.pop(name, {"id": name}))
        kind = next((word for word in change if word != "name"), held.get("type"))
        value = change.get(kind, held.get(kind))
        if kind == "select" and value.get("options"):
            known = {"1": "To do"}
            value = {
                "options": [
                    {"id": one.get("id", "new"), "name": one.get("name") or known[one["id"]]}
                    for one in value["options"]
                ]
            }
        properties[change.get("name", name)] = {**held, "type": kind, kind: value}
    return world.change(place, {**fields, "properties": properties})


def _plain(words: Any) -> list[Any]:
    return [_read(one) for one in words]


def _database(world: World, call: DescribedCall, place: str) -> Any:
    fields = dict(call.json)
    for name in ("title", "description"):
        if name in fields:
            fields[name] = _plain(fields[name])
    if call.method == "post":
        fields = {**TIMES, "object": "database", **fields, "data_sources": [{"id": "1", "name": "Tasks"}]}
        return world.create(place, fields)
    return world.change(place, fields)


def _fill(world: World, place: str) -> Any:
    kind, id_ = place.split("/")[2:4]
    known = {"object": kind.removesuffix("s"), "id": id_, **TIMES}
    if place.endswith("/markdown"):
        text = {"markdown": "Draft of all", "truncated": False, "unknown_block_ids": []}
        return {"object": "page_markdown", "id": id_, **text}
    match kind:
        case "pages":
            return known | {
                "properties": _read(PROPERTIES),
                "parent": PAGE_PARENT,
                "icon": {"type": "emoji", "emoji": "🚀"},
                "is_locked": False,
            }
        case "blocks":
            return known | {
                "type": "paragraph",
                "paragraph": {"rich_text": _plain(TITLE)},
                "parent": PAGE_PARENT,
                "has_children": False,
            }
        case "data_sources":
            return known | {
                "object": "data_source",
                "title": _plain(TITLE),
                "description": [],
                "properties": SCHEMA,
                "parent": {"database_id": id_},
            }
        case _:
            return known | {
                "title": _plain(TITLE),
                "description": _plain(TITLE),
                "is_inline": False,
                "is_locked": False,
                "data_sources": [],
            }


class Notion(Rules):
    """Its rules."""

    volatile = frozenset({"id", "created_time", "last_edited_time", "color", "plain_text", "annotations", "type"})
    answers = {
        "create-file-upload": lambda *_: NotImplemented,  # nobody sees it
        "post-page": _new_page,
        "patch-page": _page,
        "move-page": _move,
        "retrieve-page-markdown": _markdown,
        "update-page-markdown": _markdown,
        "get-block-children": _children,
        "patch-block-children": _children,
        "update-a-block": _block,
        "delete-a-block": _trash_block,
        "update-a-data-source": _source,
        "create-database": _database,
        "update-database": _database,
    }

    def new_id(self, world: World, collection: str) -> str:
        return f"00000000-0000-4000-8000-{len(world.made):012}"

    def seeded(self, world: World, place: str, item: Any) -> Any:
        return _fill(world, place)
