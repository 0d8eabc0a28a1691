"""File references in the place of a tool's arguments: their contents are loaded late, when the tool runs."""

from collections.abc import Collection, Mapping
from typing import Any

from mcpist.caller import Caller
from mcpist.errors import FileTooLarge, InvalidRequest
from mcpist.files import access
from mcpist.files.access import is_reference
from mcpist.files.values import JSON, YAML, parse

FILE_FORMAT = "file-reference"
"""The `format` of a parameter that takes a reference itself."""
MAX_ARGUMENT_BYTES = 10_000_000


def reference_names(schema: Mapping[str, Any], arguments: Mapping[str, Any]) -> frozenset[str]:
    """Return the arguments that are file references in the place of something else."""
    properties = schema.get("properties", {})
    return frozenset(
        name for name, value in arguments.items() if is_reference(value) and not _takes_files(properties.get(name, {}))
    )


def load_arguments(caller: Caller, schema: Mapping[str, Any], arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return arguments with the contents of files in the place of their references."""
    names = reference_names(schema, arguments)
    properties = schema.get("properties", {})
    return {
        name: _load(caller, value, properties.get(name, {}), name) if name in names else value
        for name, value in arguments.items()
    }


def _load(caller: Caller, reference: Any, schema: Mapping[str, Any], name: str) -> Any:
    """Return a file's content as a parameter takes it: a text, or the value of JSON, JSON Lines or YAML."""
    field = f"params.{name}"
    size = access.find(caller, reference, field).size_bytes
    if size > MAX_ARGUMENT_BYTES:
        raise FileTooLarge(path=reference["path"], size_bytes=size, limit_bytes=MAX_ARGUMENT_BYTES)
    file, text = access.load_text(caller, reference, field)
    kinds = _kinds(schema)
    is_value = bool(kinds) and "string" not in kinds
    if not is_value and (kinds or file.content_type not in {JSON, YAML}):
        return text
    try:
        return parse(text, file.content_type)
    except ValueError as error:
        raise InvalidRequest(field=field, problem=f"the file: {error}") from None


def _takes_files(schema: Mapping[str, Any]) -> bool:
    return schema.get("format") == FILE_FORMAT


def _kinds(schema: Mapping[str, Any]) -> Collection[str]:
    """Return the JSON types that a parameter takes; none where its schema does not say."""
    options = [schema, *schema.get("anyOf", ()), *schema.get("oneOf", ())]
    named = [option.get("type", ()) for option in options if isinstance(option, Mapping)]
    return {kind for one in named for kind in ([one] if isinstance(one, str) else one)}
