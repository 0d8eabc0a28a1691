"""Conversion between the properties of Notion's pages and readable values.

Reference: https://developers.notion.com/reference/page-property-values

A date with an end is `start/end`. People and related pages are written by their ids, and related pages also read so.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from mcpist.errors import InvalidRequest
from mcpist_services.notion.rich_text import Json, pieces, plain, text_object

_SCALAR_TYPES = {"number", "url", "email", "phone_number", "checkbox"}
# Types that need no settings.
_BARE_TYPES = ["title", "rich_text", "number", "select", "multi_select", "status", "date", "people", "files"]
_BARE_TYPES += ["checkbox", "url", "email", "phone_number", "created_time", "created_by", "last_edited_time"]
_BARE_TYPES += ["last_edited_by", "unique_id"]
_LIST_TYPES = {"title", "rich_text", "multi_select", "people", "files", "relation"}


# -- from Notion --------------------------------------------------------------------------------------


def row(page: Json) -> Json:
    """Return a page's title and its other properties that have a value."""
    known = page.get("properties", {})
    title = next((plain(each["title"]) for each in known.values() if each["type"] == "title"), "")
    values = {name: value(each) for name, each in known.items() if each["type"] != "title"}
    return {"title": title, "properties": {name: each for name, each in values.items() if each not in (None, "", [])}}


def value(each: Json) -> Any:
    """Return a property's value: text, a number, true or false, or a list of these; None if it has none."""
    kind = each["type"]
    read = _READERS.get(kind)
    own = each.get(kind)
    readable = own if read is None or own is None else read(own)
    return [*readable, "..."] if each.get("has_more") and isinstance(readable, list) else readable


def full_property(answers: Sequence[Json]) -> Json:
    """Return a property's `type` and `value` from all the pages of Notion's answer."""
    first = answers[0]
    if first["object"] != "list":
        return {"type": first["type"], "value": value(first)}
    kind = first["property_item"]["type"]
    items = [item for answer in answers for item in answer["results"]]
    if kind != "rollup":
        return {"type": kind, "value": value({"type": kind, kind: [item[kind] for item in items]})}
    rolled = answers[-1]["property_item"]["rollup"]
    one = rolled["type"] in {"number", "date"}
    return {"type": kind, "value": value(rolled) if one else [_item(item) for item in items]}


def outline(schema: Mapping[str, Json]) -> dict[str, str]:
    """Return each property of a data source with its type and its options."""
    return {name: _describe_type(each) for name, each in schema.items()}


def _item(item: Json) -> Any:
    """Return the value of one item of a list of properties, in which a list property has one element per item."""
    kind = item["type"]
    return value(item | {kind: [item[kind]]}) if kind in _LIST_TYPES - {"multi_select", "files"} else value(item)


def _date(own: Json) -> str:
    text = f"{own['start']}/{own['end']}" if own.get("end") else own["start"]
    return f"{text} {own['time_zone']}" if own.get("time_zone") else str(text)


def _name(own: Json) -> str:
    return str(own.get("name") or own["id"])


def _names(own: Iterable[Json]) -> list[str]:
    return [_name(each) for each in own]


def _rollup(own: Json) -> Any:
    result = own.get(own["type"])
    return [value(each) for each in result] if own["type"] == "array" and result is not None else value(own)


def _unique_id(own: Json) -> str:
    return "-".join(str(part) for part in (own.get("prefix"), own.get("number")) if part is not None)


def _place(own: Json) -> str:
    return str(own.get("name") or own.get("address") or f"{own['lat']}, {own['lon']}")


_READERS: Mapping[str, Callable[[Any], Any]] = {
    "title": plain,
    "rich_text": plain,
    "select": _name,
    "status": _name,
    "multi_select": _names,
    "people": _names,
    "created_by": _name,
    "last_edited_by": _name,
    "date": _date,
    "files": _names,
    "relation": lambda own: [each["id"] for each in own],
    "formula": value,
    "rollup": _rollup,
    "unique_id": _unique_id,
    "verification": lambda own: own["state"],
    "place": _place,
    # A button has no value; the other two are markers for a value that is missing.
    "button": lambda _: None,
    "unsupported": lambda _: None,
    "incomplete": lambda _: None,
}


def _describe_type(each: Json) -> str:
    kind: str = each["type"]
    own = each.get(kind) or {}
    if own.get("options"):
        return f"{kind}: {', '.join(option['name'] for option in own['options'])}"
    return f"relation to data source {own['data_source_id']}" if own.get("data_source_id") else kind


# -- to Notion ----------------------------------------------------------------------------------------


def is_raw(properties: Mapping[str, Any]) -> bool:
    """Whether all are in Notion's own format, so that their types need not be read."""
    return all(isinstance(each, dict) for each in properties.values())


def written(properties: Mapping[str, Any], schema: Mapping[str, Json]) -> Json:
    """Convert values by the types of a schema or of a page; an object is sent as it is."""
    kinds = {key: each["type"] for name, each in schema.items() for key in (name, each.get("id", name))}
    unknown = [name for name in properties if name not in kinds]
    if unknown:
        problem = f'there is no property "{unknown[0]}"; there are: {", ".join(schema)}'
        raise InvalidRequest(field="properties", problem=problem)
    return {
        name: each if isinstance(each, dict) else _to_notion(name, kinds[name], each)
        for name, each in properties.items()
    }


def schema(properties: Mapping[str, Any]) -> Json:
    """Return the properties of a new data source: each given as a type, a list of options, or in Notion's format."""
    columns = {name: new_property(name, each) for name, each in properties.items()}
    return columns if any("title" in each for each in columns.values()) else {"Name": {"title": {}}} | columns


def titled(title: str) -> Json:
    """Return a title as a property: `title` is its id in Notion, whatever its name is."""
    return {"title": {"title": words(title)}}


def words(text: str) -> list[Json]:
    """Convert plain text to rich text."""
    return [text_object(piece) for piece in pieces(text)]


def _to_notion(name: str, kind: str, given: Any) -> Json:
    if given is None:
        return {kind: [] if kind in _LIST_TYPES else None}
    if kind in _SCALAR_TYPES:
        return {kind: given}
    if kind not in _WRITERS:
        problem = f'"{name}" is a {kind}, which Notion computes, or accepts only as an object in its own format'
        raise InvalidRequest(field="properties", problem=problem)
    return {kind: _WRITERS[kind](given)}


def new_property(name: str, given: Any) -> Json:
    """Return a new property of a data source: given as a type, a list of options, or in Notion's format."""
    if isinstance(given, dict):
        return given
    if isinstance(given, list):
        return {"select": {"options": [{"name": option} for option in given]}}
    if given not in _BARE_TYPES:
        problem = f'"{name}": a type ({", ".join(_BARE_TYPES)}), a list of options, or an object as Notion writes it'
        raise InvalidRequest(field="properties", problem=problem)
    return {given: {}}


def _objects(given: Any, key: str) -> list[Json]:
    return [{key: each} for each in (given if isinstance(given, list) else [given])]


def _file(url: str) -> Json:
    return {"name": url.rpartition("/")[2][:100] or url[:100], "type": "external", "external": {"url": url}}


def _date_range(given: Any) -> Json:
    start, _, end = str(given).partition("/")
    return {"start": start} | ({"end": end} if end else {})


_WRITERS: Mapping[str, Callable[[Any], Any]] = {
    "title": lambda given: words(str(given)),
    "rich_text": lambda given: words(str(given)),
    "select": lambda given: {"name": given},
    "status": lambda given: {"name": given},
    "multi_select": lambda given: _objects(given, "name"),
    "people": lambda given: _objects(given, "id"),
    "relation": lambda given: _objects(given, "id"),
    "files": lambda given: [_file(url) for url in (given if isinstance(given, list) else [given])],
    "date": _date_range,
}
