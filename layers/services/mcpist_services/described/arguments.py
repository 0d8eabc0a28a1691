"""Arguments: the parameters and the body of an operation as the arguments of a tool."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from mcpist.files.content import CONTENT_FORMAT
from mcpist.tools.declare.tool import PAGING_PARAMETERS
from mcpist_services.definitions import is_forbidden_header
from mcpist_services.described.answers import JSON_TYPE
from mcpist_services.described.description import Operation
from mcpist_services.described.overlay import FORM_TYPE, MULTIPART_TYPE, OverlayParameter, Style
from mcpist_services.described.schemas import Schemas, description_of
from mcpist_services.described.wording import listed

_CREDENTIALS = listed("access_token api_key apikey auth_token client_secret oauth_token")
_FILE: dict[str, Any] = {"type": "string", "format": CONTENT_FORMAT}
_STYLES: Mapping[str, Style] = {"spaceDelimited": "space", "pipeDelimited": "pipe", "deepObject": "deep"}


class NotImportable(Exception):  # a signal within the import, not an error of ours
    """An operation that no tool can call; its text says why."""


@dataclass(slots=True)
class Arguments:
    """The arguments of one tool."""

    parameters: dict[str, OverlayParameter] = field(default_factory=dict)
    headers: dict[str, str] = field(default_factory=dict)
    """Headers that always have the same value."""
    content_type: str = ""
    pageable: dict[str, Any] = field(default_factory=dict)
    """The schemas of what may say where a page begins, by the vendor's names."""


def propose_arguments(operation: Operation, schemas: Schemas) -> Arguments:
    """Return the arguments of an operation; NotImportable where a tool cannot send its request."""
    found = Arguments()
    described = [*_described(operation, schemas, found), *_body(operation, schemas, found)]
    wanted = [_plain_name(one.wire) for one in described]
    for one, name in zip(described, wanted, strict=True):
        unique = name if wanted.count(name) == 1 and name not in found.parameters else f"{one.place}_{name}"
        while unique in found.parameters:
            unique = f"{unique}_"
        found.parameters[unique] = one if unique != one.wire else one.model_copy(update={"wire": ""})
    return found


def leave_paging(
    parameters: Mapping[str, OverlayParameter], position: tuple[str, ...], size: str
) -> dict[str, OverlayParameter]:
    """Return a list's arguments without those of its paging; what is named like ours gets its place before it."""
    gone = {*position, size}
    kept = {name: one for name, one in parameters.items() if (one.wire or name) not in gone or one.place == "path"}
    return {
        (f"{one.place}_{name}" if name in PAGING_PARAMETERS else name): (
            one.model_copy(update={"wire": one.wire or name}) if name in PAGING_PARAMETERS else one
        )
        for name, one in kept.items()
    }


def _described(operation: Operation, schemas: Schemas, found: Arguments) -> Iterator[OverlayParameter]:
    for stated in operation.parameters:
        name, place, required = stated["name"], stated.get("in"), bool(stated.get("required"))
        if place == "cookie" or (place == "header" and is_forbidden_header(name)):
            if required and name.lower() not in {"accept", "content-type", "authorization"}:
                raise NotImportable(f"it needs the {place} {name}, which no tool can set")
            continue
        if place == "query" and not required and name.lower() in _CREDENTIALS:
            continue  # the token broker's task: no model is to hold one
        if place not in {"path", "query", "header"}:
            raise NotImportable(f"its parameter {name} is in {place}, which OpenAPI does not know")
        schema, style = _schema_of(stated)
        spec = schemas.convert(schema) | description_of(stated)
        options = spec.get("enum") or ([spec["const"]] if "const" in spec else [])
        if place == "header" and required and len(options) == 1:
            found.headers[name] = str(options[0])  # a model has nothing to choose
            continue
        if place == "query" and not required:
            found.pageable[name] = schema
        yield OverlayParameter(place=place, wire=name, required=required or place == "path", style=style, spec=spec)


def _schema_of(stated: Mapping[str, Any]) -> tuple[Any, Style]:
    content = stated.get("content")
    if isinstance(content, dict) and content:
        media = next(iter(content.values()))
        return (media.get("schema") if isinstance(media, dict) else {}), "json"
    place, style = stated.get("in"), stated.get("style") or ("form" if stated.get("in") == "query" else "simple")
    if style in {"label", "matrix"}:
        raise NotImportable(f"its parameter {stated['name']} is written in the style {style}")
    if place == "path" and (stated.get("x-multi-segment") or stated.get("allowReserved")):
        return stated.get("schema"), "segments"
    if style in _STYLES:
        return stated.get("schema"), _STYLES[style]
    explodes = stated.get("explode", style == "form")
    return stated.get("schema"), "" if explodes or place != "query" else "comma"


def _body(operation: Operation, schemas: Schemas, found: Arguments) -> Iterator[OverlayParameter]:
    content = operation.body.get("content")
    if not isinstance(content, dict) or not content or operation.method in {"GET", "HEAD"}:
        return
    kind = next((kind for kind in content if JSON_TYPE.match(kind)), None)
    kind = kind or next((kind for kind in (FORM_TYPE, MULTIPART_TYPE) if kind in content), next(iter(content)))
    media = content[kind] if isinstance(content[kind], dict) else {}
    plain_kind = kind.partition(";")[0].strip()
    found.content_type = "" if plain_kind in {"application/json", "*/*"} else plain_kind
    required = bool(operation.body.get("required"))
    if not JSON_TYPE.match(kind) and kind not in {FORM_TYPE, MULTIPART_TYPE}:
        found.content_type = "" if "*" in plain_kind else plain_kind
        spec = _FILE | {"description": f"A text or a file, sent as {plain_kind}"}
        yield OverlayParameter(place="whole", wire="body", required=required, spec=spec)
        return
    flat = schemas.object_of(media.get("schema"))
    if flat is None:
        if kind in {FORM_TYPE, MULTIPART_TYPE}:
            raise NotImportable("its form is no object")
        spec = schemas.convert(media.get("schema"))
        yield OverlayParameter(place="whole", wire="body", required=required, spec=spec)
        return
    properties, required_names = flat
    for name, schema in properties.items():
        stated = schemas.description.object(schema)
        file_spec = _file_spec(stated, schemas)
        if file_spec and kind != MULTIPART_TYPE:
            raise NotImportable(f"its field {name} is a file")
        if operation.method == "POST" and not file_spec:
            found.pageable[name] = schema
        spec = file_spec | description_of(stated) if file_spec else schemas.convert(schema)
        yield OverlayParameter(place="body", wire=name, required=name in required_names, spec=spec)


def _file_spec(schema: Mapping[str, Any], schemas: Schemas) -> dict[str, Any]:
    """Return the schema of a field that is a file, or a list of files; an empty one for any other."""
    if schema.get("type") == "array":
        return {"type": "array", "items": _FILE} if _is_file(schemas.description.object(schema.get("items"))) else {}
    return _FILE if _is_file(schema) else {}


def _is_file(schema: Mapping[str, Any]) -> bool:
    media_type = str(schema.get("contentMediaType") or "")
    is_binary = schema.get("format") == "binary" or schema.get("type") == "file"
    return is_binary or (bool(media_type) and not JSON_TYPE.match(media_type))


def _plain_name(name: str) -> str:
    """Return a vendor's name as an argument's: `if-match` is `if_match`, `filter[state]` is `filter_state`."""
    plain = re.sub(r"[^A-Za-z0-9_]+", "_", name).strip("_") or "value"
    return plain if not plain[0].isdigit() else f"n{plain}"
