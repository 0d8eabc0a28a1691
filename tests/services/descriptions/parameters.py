"""The parameters of a request: what is sent of one, and why it is wrong."""

import json
from collections.abc import Mapping
from typing import Any

from tests.services.descriptions.schemas import Schemas


def sent(
    schemas: Schemas,
    parameter: Mapping[str, Any],
    path: Mapping[str, str],
    query: Mapping[str, list[str]],
    headers: Mapping[str, str],
) -> tuple[list[Any] | None, set[str]]:
    """Return the values that a request gives a parameter, None for none, and its names in the query."""
    name = parameter["name"]
    match parameter["in"]:
        case "query":
            return _in_query(schemas, parameter, query)
        case "path":
            return ([path[name]] if name in path else None), set()
        case "header":
            return ([headers[name.lower()]] if name.lower() in headers else None), set()
    return None, set()


def error(schemas: Schemas, parameter: Mapping[str, Any], values: list[Any] | None) -> str:
    """Return why a parameter is wrong, empty if it is not; a value is read as a text and as the JSON that it spells."""
    if values is None:
        return "is missing" if parameter.get("required") else ""
    if len(values) > 1:
        return f"is given {len(values)} times and is no array"
    (value,) = values
    wrong = [schemas.errors(parameter.get("schema", {}), reading) for reading in (value, _as_json(value))]
    return "" if not all(wrong) else f"= {value!r}: {wrong[-1][0]}"


def _in_query(
    schemas: Schemas, parameter: Mapping[str, Any], query: Mapping[str, list[str]]
) -> tuple[list[Any] | None, set[str]]:
    name, is_array = parameter["name"], schemas.is_array(parameter.get("schema", {}))
    if parameter.get("style") == "deepObject":
        inner = {key: values[-1] for key, values in query.items() if key.startswith(f"{name}[")}
        found = {key[len(name) + 1 : -1]: value for key, value in inner.items()}
        return ([found] if found else None), {name, *inner}
    bracketed = f"{name}[]" if is_array else name
    given = query.get(name) or query.get(bracketed)
    if given is None or not is_array:
        return given, {name, bracketed}
    return [given if parameter.get("explode", True) else given[0].split(",")], {name, bracketed}


def _as_json(value: Any) -> Any:
    if isinstance(value, list):
        return [_scalar(one) for one in value]
    return {name: _scalar(one) for name, one in value.items()} if isinstance(value, dict) else _scalar(value)


def _scalar(text: str) -> Any:
    try:
        value = json.loads(text)
    except (ValueError, TypeError):
        return text
    return text if isinstance(value, dict | list) else value
