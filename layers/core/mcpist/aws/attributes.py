"""Items of a table: frozen dataclasses as plain values, and those as the typed attributes that DynamoDB takes.

    field                                    attribute
    -----                                    ---------
    text, number, bool, bytes, Literal       the value
    JSON: Any, dict[str, Any], list[Any]     compressed JSON text
    tuple, list, frozenset                   a list; that of a frozenset is sorted
    Mapping                                  a map; its keys become text
    dataclass                                a map without defaults, or with INLINE its attributes beside the others
    None                                     no attribute

A missing attribute is read as the field's default, else as None where the type allows it. So a new field has a
default: items that were written before it can still be read. Maps are always written as a whole, so they leave out what
equals its default.
"""

import json
import types
import zlib
from base64 import b64decode
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, fields, is_dataclass
from functools import cache, partial
from typing import TYPE_CHECKING, Annotated, Any, TypeAliasType, Union, get_args, get_origin, get_type_hints

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

type Item = dict[str, Any]
type TypedItem = Mapping[str, Mapping[str, Any]]
"""An item with the types of its values, as DynamoDB sends it."""
type Convert = Callable[[Any], Any]


@dataclass(frozen=True, slots=True)
class Attribute:
    """Annotate a field that is not stored under its own name: `Annotated[int, Attribute("access_expires_at")]`."""

    name: str = ""
    inline: bool = False


INLINE = Attribute(inline=True)
"""Annotate a field whose dataclass has no attribute of its own: its fields are stored beside the others."""


def encode(value: "DataclassInstance", *, omit_defaults: bool = False) -> Item:
    """Return the attributes of a dataclass."""
    item: Item = {}
    for stored in _stored_fields(type(value)):
        attribute = getattr(value, stored.name)
        if attribute is not None and not (omit_defaults and attribute == stored.default):
            item |= stored.encode(attribute) if stored.inline else {stored.attribute: stored.encode(attribute)}
    return item


def decode[T: DataclassInstance](kind: type[T], item: Mapping[str, Any], **known: Any) -> T:
    """Return the dataclass of an item; `known` are fields whose values the item does not decide."""
    values = dict(known)
    for stored in _stored_fields(kind):
        if stored.name in known:
            continue
        if stored.inline:
            values[stored.name] = stored.decode(item)
        elif stored.attribute in item:
            values[stored.name] = stored.decode(item[stored.attribute])
        elif stored.default is MISSING:
            if not stored.optional:
                raise KeyError(stored.attribute)
            values[stored.name] = None
    return kind(**values)


def json_bytes(value: Any) -> bytes:
    """Return a value as compact JSON text; what is no Unicode in a text becomes a question mark."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode(errors="replace")


def pack(value: Any) -> bytes:
    """Return a value as compressed JSON."""
    return zlib.compress(json_bytes(value))


def unpack(packed: bytes) -> Any:
    """Return the value of compressed JSON."""
    return json.loads(zlib.decompress(packed))


@dataclass(frozen=True, slots=True)
class _StoredField:
    """A field, and how it is stored."""

    name: str
    attribute: str
    inline: bool
    optional: bool
    default: Any
    encode: Convert
    decode: Convert


@cache
def _stored_fields(kind: "type[DataclassInstance]") -> tuple[_StoredField, ...]:
    hints = get_type_hints(kind, include_extras=True)
    return tuple(_stored_field(field, hints[field.name]) for field in fields(kind))


def _stored_field(field: Field[Any], hint: Any) -> _StoredField:
    markers = hint.__metadata__ if get_origin(hint) is Annotated else ()
    marker = next((marker for marker in markers if isinstance(marker, Attribute)), Attribute())
    to_item, from_item = _converters(hint)
    return _StoredField(
        name=field.name,
        attribute=marker.name or field.name,
        inline=marker.inline,
        optional=types.NoneType in get_args(_strip(hint, keep_none=True)),
        default=field.default if field.default_factory is MISSING else field.default_factory(),
        encode=encode if marker.inline else to_item,
        decode=from_item,
    )


def _converters(hint: Any) -> tuple[Convert, Convert]:
    """Return the functions that encode and decode values of a type."""
    hint = _strip(hint)
    origin, arguments = get_origin(hint), get_args(hint)
    if _is_json(hint):
        return pack, unpack
    if isinstance(hint, type) and is_dataclass(hint):
        return partial(encode, omit_defaults=True), partial(decode, hint)
    if hasattr(hint, "model_validate"):
        return lambda value: value.model_dump(exclude_defaults=True), hint.model_validate
    if origin in {tuple, list, frozenset}:
        to_item, from_item = _converters(arguments[0])
        order: Callable[[Any], Any] = sorted if origin is frozenset else list
        return lambda values: [to_item(value) for value in order(values)], lambda values: origin(map(from_item, values))
    if origin in {Mapping, dict}:
        # The keys of a map are texts in DynamoDB.
        key = int if _strip(arguments[0]) is int else str
        to_item, from_item = _converters(arguments[1])
        return (
            lambda values: {str(name): to_item(value) for name, value in values.items()},
            lambda values: {key(name): from_item(value) for name, value in values.items()},
        )
    return _unchanged, _unchanged


def _strip(hint: Any, *, keep_none: bool = False) -> Any:
    """Return a type without its alias, its annotations and, unless it is to be kept, the None that it also allows."""
    if isinstance(hint, TypeAliasType):
        return _strip(hint.__value__, keep_none=keep_none)
    if get_origin(hint) is Annotated:
        return _strip(get_args(hint)[0], keep_none=keep_none)
    if get_origin(hint) in {Union, types.UnionType} and not keep_none:
        others = [option for option in get_args(hint) if option is not types.NoneType]
        return _strip(others[0]) if len(others) == 1 else hint
    return hint


def _is_json(hint: Any) -> bool:
    """Whether no type says what is in a value, or in a list or an object of such values."""
    hint = _strip(hint)
    if get_origin(hint) in {list, dict, Mapping, Sequence}:
        return _is_json(get_args(hint)[-1])
    return hint is Any


def _unchanged(value: Any) -> Any:
    return value


def serialize(item: Mapping[str, Any]) -> dict[str, Any]:
    """Return an item as DynamoDB's typed attributes."""
    return {name: _serialize_value(value) for name, value in item.items()}


def deserialize(item: Mapping[str, Any]) -> Item:
    """Return the plain values of DynamoDB's typed attributes."""
    return {name: _deserialize_value(value) for name, value in item.items()}


def _serialize_value(value: Any) -> dict[str, Any]:
    """Return `{type: value}`."""
    match value:
        case str():  # most attributes are texts
            return {"S": value}
        case None:
            return {"NULL": True}
        case bool():
            return {"BOOL": value}
        case int() | float():
            return {"N": repr(value)}
        case bytes():
            return {"B": value}
        case Mapping():
            return {"M": serialize(value)}
        case list() | tuple():
            return {"L": [_serialize_value(inner) for inner in value]}
        case _:
            raise TypeError(f"{type(value).__name__} cannot be stored in a table")


def _deserialize_value(typed: Mapping[str, Any]) -> Any:
    """Return the value of `{type: value}`."""
    ((kind, value),) = typed.items()
    match kind:
        case "NULL":
            return None
        case "N":
            return int(value) if value.lstrip("-").isdecimal() else float(value)
        case "B":
            return value if isinstance(value, bytes) else b64decode(value)  # botocore has decoded it already
        case "M":
            return deserialize(value)
        case "L":
            return [_deserialize_value(inner) for inner in value]
        case _:
            return value
