"""Schemas: from a signature to a model, a JSON Schema, and one line."""

import inspect
import json
from collections.abc import Callable, Collection, Iterable, Mapping
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

from pydantic import BaseModel, ConfigDict, Field, create_model
from pydantic.fields import FieldInfo

from mcpist.files.content import CONTENT_FORMAT
from mcpist.tools.declare.argument_types import LEGENDS

MAX_SHOWN_FIELDS = 5  # of an object in a signature, with their types
MAX_NAMED_FIELDS = 16  # by their names alone; of a larger object the full schema tells


def parameters_of(function: Callable[..., Any]) -> list[inspect.Parameter]:
    """Return a function's parameters with their types; `**options: Unpack[Options]` gives one for each key."""
    signature = inspect.signature(function, eval_str=True)
    return [each for parameter in signature.parameters.values() for each in _unpacked(parameter)]


def model_of(parameters: Iterable[inspect.Parameter], name: str) -> type[BaseModel]:
    """Return the model of arguments; a plain string in `Annotated` is the parameter's description.

    A field is named after its place and has the parameter's name as alias, since a model knows some names already
    (`schema`, `copy`). A number is taken where a text is wanted, since many ids look like one.
    """
    fields: dict[str, Any] = {}
    for place, parameter in enumerate(parameters):
        default = ... if parameter.default is parameter.empty else parameter.default
        fields[f"field_{place}"] = Annotated[_described(parameter.annotation), Field(alias=parameter.name)], default
    return create_model(
        name, __config__=ConfigDict(extra="forbid", coerce_numbers_to_str=True, validate_default=True), **fields
    )


def values_of(arguments: BaseModel) -> dict[str, Any]:
    """Return checked arguments, with defaults, under their own names."""
    return {str(field.alias): getattr(arguments, name) for name, field in type(arguments).model_fields.items()}


def schema_of(model: type[BaseModel]) -> dict[str, Any]:
    """Return the model's JSON Schema, without titles and null alternatives: an optional argument is not nullable."""
    schema = model.model_json_schema()
    slim: dict[str, Any] = without_null(_inlined(schema, schema.pop("$defs", {})))
    slim.pop("description", None)
    return slim


def _inlined(schema: Any, definitions: Mapping[str, Any]) -> Any:
    """Return a schema with the definitions in the places that refer to them; none of ours refers to itself."""
    if isinstance(schema, list):
        return [_inlined(item, definitions) for item in schema]
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema:
        definition = definitions[schema["$ref"].removeprefix("#/$defs/")]
        own = {name: value for name, value in schema.items() if name != "$ref"}
        return _inlined({name: value for name, value in definition.items() if name != "description"} | own, definitions)
    return {name: _inlined(value, definitions) for name, value in schema.items()}


def parameter_lines(schema: Mapping[str, Any], *, leave_out: Collection[str] = ()) -> list[str]:
    """Return `owner`, `number: integer`, `state?: open|closed = open`, `since?: moment`; plain strings have no type."""
    properties, required = schema.get("properties", {}), _required(schema)
    return [_parameter(name, spec, name in required) for name, spec in properties.items() if name not in leave_out]


def example_of(spec: Mapping[str, Any]) -> Any:
    """Return a value for a parameter: the end of its description after `e.g.`, else the first in its schema.

    A list is written with commas, an object as JSON.
    """
    _, marked, text = spec.get("description", "").rpartition("e.g. ")
    kinds = {option.get("type", "object") for option in spec.get("anyOf", [spec])}
    if marked:
        return _read(text, kinds)
    if "enum" in spec:
        return spec["enum"][0]
    if kinds == {"array"}:
        return [example_of(spec["items"])]
    if "default" in spec or "const" in spec:
        return spec.get("default", spec.get("const"))
    if kinds == {"boolean"}:
        return True
    if kinds <= {"integer", "number"}:
        return spec.get("minimum", 1)
    raise ValueError(f"no example can be made of {json.dumps(dict(spec))}: end the description with e.g. and a value")


def _read(text: str, kinds: Collection[str]) -> Any:
    if kinds == {"string"}:
        return text
    try:
        return json.loads(text)
    except ValueError:
        return text.split(", ") if "array" in kinds else text


def _unpacked(parameter: inspect.Parameter) -> list[inspect.Parameter]:
    """Return the parameter, or one for each key of the TypedDict that it unpacks, with its Field's default or None."""
    if parameter.kind is not inspect.Parameter.VAR_KEYWORD:
        return [parameter]
    (options,) = get_args(parameter.annotation)
    unpacked = []
    for name, annotation in get_type_hints(options, include_extras=True).items():
        notes = [note for note in getattr(annotation, "__metadata__", ()) if isinstance(note, FieldInfo)]
        default = next((note.default for note in notes if not note.is_required()), None)
        unpacked.append(
            parameter.replace(name=name, kind=parameter.KEYWORD_ONLY, default=default, annotation=annotation)
        )
    return unpacked


def _described(annotation: Any) -> Any:
    """Return a type in which plain strings in `Annotated`, also inside unions and lists, are descriptions."""
    kind = get_origin(annotation)
    if kind is Annotated:
        inner, *notes = get_args(annotation)
        fields = [Field(description=note) if isinstance(note, str) else note for note in notes]
        return Annotated[_described(inner), *fields]
    if kind in {Union, UnionType}:
        return Union[tuple(map(_described, get_args(annotation)))]  # noqa: UP007
    return list[_described(get_args(annotation)[0])] if kind is list else annotation  # type: ignore[misc]


def without_null(schema: Any) -> Any:
    """Return a schema without titles and null alternatives."""
    if isinstance(schema, list):
        return [without_null(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    slim = {
        key: {name: without_null(spec) for name, spec in value.items()} if key == "properties" else without_null(value)
        for key, value in schema.items()
        if not (key == "title" and isinstance(value, str)) and not (key == "default" and value is None)
    }
    options = [option for option in slim.pop("anyOf", []) if option != {"type": "null"}]
    if len(options) == 1:
        return {**options[0], **slim}
    return {"anyOf": options, **slim} if options else slim


def _parameter(name: str, spec: Mapping[str, Any], required: bool) -> str:
    kind = _kind(spec)
    text = name if required else f"{name}?"
    if kind != "string":
        text += f": {kind}"
    if not isinstance(spec, Mapping) or "default" not in spec:
        return text
    default = spec["default"]
    return f"{text} = {default if isinstance(default, str) and default else json.dumps(default)}"


def _required(schema: Mapping[str, Any]) -> list[str]:
    named = schema.get("required")
    return named if isinstance(named, list) else []


def _kind(spec: Any) -> str:
    """Return the type of a value; an upstream's schema may be a boolean at any depth."""
    if not isinstance(spec, Mapping):
        return "any"
    if "enum" in spec:
        return "|".join(map(str, spec["enum"]))
    if "const" in spec:
        return str(spec["const"])
    if "anyOf" in spec:
        return "|".join(_kind(option) for option in spec["anyOf"])
    if spec.get("type") == "array":
        return f"[{_kind(spec.get('items', {}))}]"
    if spec.get("format") in LEGENDS:
        return str(spec["format"])
    if spec.get("format") == CONTENT_FORMAT:
        return "text|file"
    fields = spec.get("properties")
    if isinstance(fields, Mapping) and 0 < len(fields) <= MAX_SHOWN_FIELDS:
        return f"{{{', '.join(parameter_lines(spec))}}}"
    if isinstance(fields, Mapping) and 0 < len(fields) <= MAX_NAMED_FIELDS:
        return f"{{{', '.join(name if name in _required(spec) else f'{name}?' for name in fields)}}}"
    kind = spec.get("type", "object" if "$ref" in spec else "any")
    return "|".join(one for one in kind if one != "null") if isinstance(kind, list) else str(kind)
