"""File references in the place of a tool's arguments: their contents are loaded late, when the tool runs."""

from collections.abc import Iterator, Mapping
from typing import Any

from mcpist.caller import Caller
from mcpist.errors import FileTooLarge, InvalidRequest
from mcpist.files import access, storage
from mcpist.files.access import is_reference
from mcpist.files.content import CONTENT_FORMAT, JSON, MAX_CONTENT_BYTES, YAML, FileContent, takes_contents
from mcpist.files.records import FileRecord
from mcpist.files.values import parse

FILE_FORMAT = "file-reference"
"""The `format` of a parameter that takes a reference itself."""
MAX_ARGUMENT_BYTES = 10_000_000


def reference_names(schema: Mapping[str, Any], arguments: Mapping[str, Any]) -> frozenset[str]:
    """Return the arguments that are file references in the place of something else, or contents with one of them."""
    properties = schema.get("properties", {})
    return frozenset(name for name, value in arguments.items() if _is_loaded(value, properties.get(name)))


def load_arguments(caller: Caller, schema: Mapping[str, Any], arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return arguments with the contents of files in the place of their references."""
    names = reference_names(schema, arguments)
    properties = schema.get("properties", {})
    return {
        name: _load(caller, value, properties.get(name, {}), name) if name in names else value
        for name, value in arguments.items()
    }


def named_files(schema: Mapping[str, Any], arguments: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield the addresses of files in arguments, with the names of their parameters; references to steps are none."""
    properties = schema.get("properties", {})
    for name, value in arguments.items():
        spec = properties.get(name, {})
        takes_files = takes_file(spec) or takes_file(spec.get("items", {}))
        for address in value if isinstance(value, list) else [value]:
            is_address = takes_files and isinstance(address, str) and "${" not in address
            if is_address or is_reference(address):
                yield name, address


def _is_loaded(value: Any, schema: Any) -> bool:
    if isinstance(value, list):
        return takes_contents(schema) and any(map(is_reference, value))
    return is_reference(value) and not takes_file(schema)


def _load(caller: Caller, reference: Any, schema: Mapping[str, Any], name: str) -> Any:
    """Return a file's content as a parameter takes it: its bytes, a text, or the value of JSON, JSON Lines or YAML."""
    field = f"params.{name}"
    if isinstance(reference, list):
        return [*_contents(caller, reference, field)]
    file = access.find(caller, reference, field)
    if schema.get("format") == CONTENT_FORMAT:
        return _content(file)
    text = access.text_of(file, field, max_bytes=MAX_ARGUMENT_BYTES)
    # The JSON types that the parameter takes; none where its schema does not say.
    options = [schema, *schema.get("anyOf", ()), *schema.get("oneOf", ())]
    named = [option.get("type", ()) for option in options if isinstance(option, Mapping)]
    kinds = {kind for one in named for kind in ([one] if isinstance(one, str) else one)}
    takes_texts, takes_values = not kinds or "string" in kinds, not kinds or not kinds.isdisjoint({"array", "object"})
    if takes_texts and not (takes_values and file.content_type in {JSON, YAML}):
        return text
    try:
        return parse(text, file.content_type)
    except ValueError as error:
        raise InvalidRequest(field=field, problem=f"the file: {error}") from None


def _contents(caller: Caller, values: list[Any], field: str) -> Iterator[Any]:
    """Yield the values of a list with the contents of its files, which together are no larger than one may be."""
    left = MAX_CONTENT_BYTES
    for value in values:
        if not is_reference(value):
            yield value
            continue
        file = access.find(caller, value, field)
        if file.size_bytes > left:
            raise FileTooLarge(path=file.key, size_bytes=file.size_bytes, limit_bytes=left)
        left -= file.size_bytes
        yield _content(file)


def _content(file: FileRecord) -> FileContent:
    content = storage.load(file.key, file.sha256, max_bytes=MAX_CONTENT_BYTES)
    return FileContent(content, file.content_type, file.name)


def takes_file(schema: Any) -> bool:
    """Whether a parameter, or an item of a list, takes a file by its reference."""
    return isinstance(schema, Mapping) and schema.get("format") == FILE_FORMAT
