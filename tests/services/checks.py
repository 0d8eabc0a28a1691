"""What must hold between a tool and the description of its vendor; a check raises where it does not."""

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import Any

from mcpist.errors import InvalidRequest
from mcpist.render.answer import compact, compact_json
from mcpist.render.shows import ANY_COLUMN, DONE, PAGE_URL, Column, path_keys
from mcpist.tools.declare.schema import example_of
from mcpist.tools.declare.tool import Tool
from tests.services.contracts import Vendor, path_exists, shown, uses
from tests.services.descriptions.contract import ContractError

NONSENSE = "no-such-value"
# A column's word, and the words of a vendor's field that mean the same; a text is made of what `markdown` names.
SAME_WORD: dict[str, set[str]] = {
    "author": {"login", "username", "resolved"},
    "body": {"markdown"},
    "branch": {"ref"},
    "comment": {"markdown"},
    "content": {"preview"},
    "created": {"time"},
    "description": {"markdown"},
    "due": {"duedate"},
    "joined": {"member"},
    "kind": {"object", "wellknown"},
    "left": {"unknown"},
    "line": {"total"},
    "link": {"linked"},
    "meet": {"hangout"},
    "name": {"user", "username"},
    "own": {"override"},
    "post": {"time"},
    "repeat": {"recurrence"},
    "replie": {"reply"},
    "repo": {"name"},
    "serie": {"recurring"},
    "star": {"stargazer"},
    "text": {"markdown"},
    "timezone": {"zone", "tz"},
    "type": {"issuetype", "filetype"},
    "updated": {"modified", "version"},
    "url": {"href", "permalink", "link"},
    "user": {"bot"},
    "workspace": {"team"},
}


def check_use(vendor: Vendor, tool: Tool, arguments: Mapping[str, Any]) -> None:
    """Demand that all requests of one use are allowed, and that the answer has the columns that are shown."""
    raw = vendor.perform(tool, dict(arguments))
    for item in shown(tool, raw):
        for column in tool.shows.columns:
            _check_column(vendor, tool, column, item)
    assert len(compact(raw, tool.shows)) <= len(compact_json(raw)), "what is shown is longer than its JSON"


def check_uses(vendor: Vendor, tool: Tool) -> None:
    """Demand what `check_use` does of all uses."""
    for _, arguments in uses(tool):
        check_use(vendor, tool, arguments)


def check_operation(vendor: Vendor, tool: Tool) -> None:
    """Demand that the declared operation is among those that are asked for."""
    vendor.forget()
    for _, arguments in uses(tool):
        vendor.perform(tool, arguments)
    assert tool.operation in vendor.operations, f"{tool.operation} is not among {vendor.operations}"


def check_values(vendor: Vendor, tool: Tool) -> None:
    """Demand that the vendor knows all values of each enumeration, also of those inside lists and objects."""
    for arguments in _with_values(tool, _known_values):
        with suppress(InvalidRequest):  # a value that needs another argument
            vendor.perform(tool, arguments)


def check_other_values(vendor: Vendor, tool: Tool) -> None:
    """Demand that the vendor refuses another value, since a description without the values could not refute any."""
    for arguments in _with_values(tool, _other_values):
        vendor.forget()
        try:
            vendor.perform_checked(tool, arguments)
        except (ContractError, KeyError):
            continue
        assert NONSENSE not in str(vendor.sent), f"{vendor.sent} is allowed"


def check_columns(_: Vendor, tool: Tool) -> None:
    """Demand that each column shows a field of its own, under a name that one of the field's words has."""
    paths = [path for column in tool.shows.columns for path in column.paths]
    assert len(set(paths)) == len(paths), f"two columns show the same: {paths}"
    for column in tool.shows.columns:
        for path in column.paths:
            meant = {synonym for word in words(column.name) for synonym in (word, *SAME_WORD.get(word, ()))}
            assert column.name == ANY_COLUMN or meant & words(path), f"{column.name} shows {path}"


CHECKS: tuple[Callable[[Vendor, Tool], None], ...] = (
    check_uses,
    check_operation,
    check_values,
    check_other_values,
    check_columns,
)


def words(name: str) -> set[str]:
    """Return the words of a name in lower case, without the plural's s: `startDate` has start and date."""
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", name).lower()
    return {word.removesuffix("s") for word in re.findall(r"[a-z0-9]+", spaced)}


def _check_column(vendor: Vendor, tool: Tool, column: Column, item: Any) -> None:
    for path in column.paths:
        known = (
            column.name in {ANY_COLUMN, *DONE.fields} or path == PAGE_URL or path_exists(item, list(path_keys(path)))
        )
        # Rows without a path of their own are the whole answer: an object, or a list.
        places = [f"{tool.shows.rows}[0].{path}"] if tool.shows.rows else [path, f"[0].{path}"]
        assert known or any(vendor.shows(tool.operation, place) for place in places), f"{path} is not in the answer"


type ValuesOf = Callable[[Mapping[str, Any]], Iterator[Any]]


def _with_values(tool: Tool, values_of: ValuesOf) -> Iterator[dict[str, Any]]:
    """Yield a use's checked arguments, with each value in the place of its parameter."""
    ways = [arguments for _, arguments in uses(tool)]
    for parameter, spec in tool.input_schema["properties"].items():
        base = next((way for way in ways if parameter in way), ways[0])
        for value in values_of(spec):
            yield tool.validate(base) | {parameter: value}


def _known_values(spec: Mapping[str, Any]) -> Iterator[Any]:
    """Yield values of a schema that together have every word of its enumerations."""
    yield from spec.get("enum", ())
    yield from _inside(spec, _known_values)
    if one_of := spec.get("items", {}).get("enum"):
        yield list(one_of)


def _other_values(spec: Mapping[str, Any]) -> Iterator[Any]:
    """Yield values of a schema that have a word which none of its enumerations has."""
    if "enum" in spec:
        yield NONSENSE
    yield from _inside(spec, _other_values)


def _inside(spec: Mapping[str, Any], values_of: ValuesOf) -> Iterator[Any]:
    for option in spec.get("anyOf", ()):
        yield from values_of(option)
    if "items" in spec:
        yield from ([value] for value in values_of(spec["items"]))
    fields = spec.get("properties", {})
    least = {name: _example(fields[name]) for name in spec.get("required", ())}
    for name, field in fields.items():
        yield from (least | {name: value} for value in values_of(field))


def _example(spec: Mapping[str, Any]) -> Any:
    try:
        return example_of(spec)
    except ValueError:
        return "text"
