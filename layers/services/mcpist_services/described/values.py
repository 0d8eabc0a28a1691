"""The values of arguments as a request has them, in the styles of OpenAPI."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from mcpist.errors import InvalidRequest
from mcpist_services.described.overlay import OverlayParameter, Style

_SEPARATORS: Mapping[Style, str] = {"comma": ",", "space": " ", "pipe": "|"}


def segment(name: str, value: Any, parameter: OverlayParameter) -> str | list[str]:
    """Return the part of a path that an argument is; InvalidRequest for an empty one."""
    if value is None:
        raise InvalidRequest(field=name, problem="it may not be empty")
    text = text_of(value, "comma")
    return text.strip("/").split("/") if parameter.style == "segments" else text


def query_of(name: str, parameter: OverlayParameter, arguments: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield the parameters of a query that an argument is."""
    value, wire, style = arguments.get(name), parameter.wire or name, parameter.style
    if value is None:
        return
    if isinstance(value, dict) and style in {"deep", "", "form"}:
        for key, one in value.items():
            name = f"{wire}[{key}]" if style == "deep" else key
            yield name, one if isinstance(one, list) else text_of(one, "comma")
    elif isinstance(value, list) and style in {"", "form", "deep"}:
        yield wire, [text_of(one, "comma") for one in value]
    else:
        yield wire, text_of(value, style)


def text_of(value: Any, style: Style) -> str:
    """Return a value as one text in a style, as an address or a header has it."""
    if isinstance(value, str) and style != "json":
        return value
    if style == "json" or isinstance(value, dict):
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    if isinstance(value, list):
        return _SEPARATORS.get(style, ",").join(text_of(one, "comma") for one in value)
    return json.dumps(value)


def form_value(value: Any) -> str | list[str]:
    """Return a field of a form."""
    if isinstance(value, list) and not any(isinstance(one, dict | list) for one in value):
        return [text_of(one, "comma") for one in value]
    return text_of(value, "json" if isinstance(value, list) else "comma")
