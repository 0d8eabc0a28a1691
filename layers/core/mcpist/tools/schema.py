"""Schemas: from a signature to a model, a JSON Schema, and one line."""

import inspect
import json
from collections.abc import Callable, Mapping
from typing import Annotated, Any, get_args, get_origin

from pydantic import BaseModel, ConfigDict, Field, create_model


def model_of(function: Callable[..., Any], name: str) -> type[BaseModel]:
    """The model of a function's arguments; a plain string in `Annotated` is the parameter's description.

    A field is named after its place and has the parameter's name as alias, since a model knows some names already
    (`schema`, `copy`).
    """
    parameters = inspect.signature(function, eval_str=True).parameters.values()
    fields: dict[str, Any] = {f"field_{place}": _field(parameter) for place, parameter in enumerate(parameters)}
    return create_model(name, __config__=ConfigDict(extra="forbid"), **fields)


def schema_of(model: type[BaseModel]) -> dict[str, Any]:
    """The model's JSON Schema, without titles and null alternatives: an optional argument is left out, not null."""
    slim: dict[str, Any] = _slim(model.model_json_schema())
    slim.pop("description", None)
    return slim


def one_line(schema: Mapping[str, Any]) -> str:
    """`owner, repo, number: integer, state?: open|closed = open`; plain strings stand without a type."""
    required = schema.get("required", [])
    return ", ".join(_parameter(name, spec, name in required) for name, spec in schema.get("properties", {}).items())


def _field(parameter: inspect.Parameter) -> tuple[Any, Any]:
    default = ... if parameter.default is inspect.Parameter.empty else parameter.default
    annotation = parameter.annotation
    kind, *notes = get_args(annotation) if get_origin(annotation) is Annotated else (annotation,)
    fields = [Field(description=note) if isinstance(note, str) else note for note in notes]
    return Annotated[kind, *fields, Field(alias=parameter.name)], default


def _slim(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_slim(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    slim = {
        key: {name: _slim(spec) for name, spec in value.items()} if key == "properties" else _slim(value)
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
    if "default" not in spec:
        return text
    default = spec["default"]
    return f"{text} = {default if isinstance(default, str) and default else json.dumps(default)}"


def _kind(spec: Mapping[str, Any]) -> str:
    if "enum" in spec:
        return "|".join(map(str, spec["enum"]))
    if "const" in spec:
        return str(spec["const"])
    if "anyOf" in spec:
        return "|".join(_kind(option) for option in spec["anyOf"])
    if spec.get("type") == "array":
        return f"[{_kind(spec.get('items', {}))}]"
    return "object" if "$ref" in spec else str(spec.get("type", "any"))
