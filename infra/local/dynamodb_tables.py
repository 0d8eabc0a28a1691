"""moto's tables and answers of DynamoDB, without work on the whole table, or on botocore's model, for one request.

moto sorts all items of a table for each query, and copies the whole table for each item of a transaction: with 100,000
rows in the audit a page of the console takes minutes. All our tables have a sort key. An update copies its item twice,
and again at each level of each value that it returns: a third of its CPU for the header of a batch.

For an answer moto walks through each item by botocore's model and looks for each member of each value under a dozen
names: two thirds of the CPU of a request. Items are DynamoDB's JSON already, but for bytes.
"""

import base64
import copy
from collections.abc import Mapping, MutableMapping, Sequence
from types import SimpleNamespace
from typing import Any

import moto.dynamodb.models
import moto.dynamodb.responses
from botocore.model import MapShape
from moto.core.serialize import SERVICE_SPECIFIC_SERIALIZERS, JSONSerializer
from moto.dynamodb.models.dynamo_type import DynamoType, Item, LimitedSizeDict
from moto.dynamodb.models.table import Table

INDEX_NAME = 6
"""The place of the index's name among the arguments of a query after the partition's key."""

_models: Any = moto.dynamodb.models
_responses: Any = moto.dynamodb.responses
_query: Any = Table.query
_transact: Any = _models.DynamoDBBackend.transact_write_items


def install() -> None:
    """Let moto use them, in this process."""
    Table.query = query  # type: ignore[assignment, method-assign]
    _models.DynamoDBBackend.transact_write_items = transact_write_items
    # Copies of an item for a stream, of a table for a rollback, and of an item of which only a description is used.
    _models.copy = _responses.copy = SimpleNamespace(deepcopy=lambda value: value)
    DynamoType.to_regular_json = to_json  # type: ignore[assignment, method-assign]
    SERVICE_SPECIFIC_SERIALIZERS["dynamodb"] = {"json": DynamoDbSerializer}


def query(table: Any, hash_key: Any, *arguments: Any, hash_key_conditions: Any = (), **options: Any) -> Any:
    """Answer a query as moto does, from the items of its partition alone."""
    view = copy.copy(table)
    if index := arguments[INDEX_NAME]:
        found = [item for item in _items(table) if _has(item, hash_key_conditions)]
        schema: Any = next((one.schema for one in table.all_indexes() if one.name == index), [])
        names = [*(key["AttributeName"] for key in schema), *table.table_key_attrs]
    else:
        found, names = list(table.items.get(hash_key, {}).values()), table.table_key_attrs
    found.sort(key=lambda item: [_plain(item.attrs[name]) for name in names if name in item.attrs])
    # moto compares values of its own class, which takes seconds.
    view.sorted_items = lambda _hash_names, _range_names, items: items
    view.all_items = lambda: found
    return _query(view, hash_key, *arguments, hash_key_conditions=hash_key_conditions, **options)


def transact_write_items(backend: Any, transact_items: Sequence[Mapping[str, Any]]) -> None:
    """Write all items or none; of what is written a copy is kept meanwhile, and of nothing else."""
    before = [_find(backend, operation) for one in transact_items for operation in one.values()]
    try:
        _transact(backend, transact_items)
    except Exception:
        for table, keys, item in before:
            _put_back(table, keys, item)
        raise


def to_json(typed: Any) -> dict[str, Any]:
    """Return a value as DynamoDB's JSON, with bytes, which shares no list and no map with it."""
    value = typed.value
    if isinstance(value, dict):
        value = {name: to_json(inner) if isinstance(inner, DynamoType) else inner for name, inner in value.items()}
    elif isinstance(value, list):
        value = [to_json(inner) if isinstance(inner, DynamoType) else inner for inner in value]
    elif typed.is_binary() and isinstance(value, str):
        value = base64.b64decode(value)
    return {typed.type: value}


def load_item(table: Any, attributes: dict[str, Any]) -> None:
    """Store an item that moto has checked before; its own way to store one takes six times as long."""
    hash_key, *rest = (DynamoType(attributes[name]) for name in table.table_key_attrs)
    item = Item(hash_key, rest[0] if rest else None, {})
    typed = {name: DynamoType(_binary_sets(value)) for name, value in attributes.items()}
    item.attrs = LimitedSizeDict.__new__(LimitedSizeDict)
    dict.update(item.attrs, typed)
    if rest:
        table.items[hash_key][rest[0]] = item
    else:
        table.items[hash_key] = item


def _find(backend: Any, operation: Mapping[str, Any]) -> tuple[Any, tuple[Any, Any], Any]:
    """Return the table of an operation, the keys of its item, and the item as it is now."""
    table = backend.get_table(operation["TableName"])
    keys = backend.get_keys_value(table, operation.get("Key") or operation["Item"])
    return table, keys, copy.deepcopy(table.get_item(*keys))


def _put_back(table: Any, keys: tuple[Any, Any], item: Any) -> None:
    partition, sort_key = keys
    if item is None:
        table.items[partition].pop(sort_key, None)
    else:
        table.items[partition][sort_key] = item


def _items(table: Any) -> list[Any]:
    return [item for partition in table.items.values() for item in partition.values()]


def _has(item: Any, conditions: Sequence[tuple[str, Any]]) -> bool:
    for name, expected in conditions:
        value = item.attrs.get(name)
        if value is None or value.value != expected.value or value.type != expected.type:
            return False
    return True


def _plain(value: Any) -> Any:
    return value.value if value.type == "S" else value.cast_value


def _binary_sets(typed: dict[str, Any]) -> dict[str, Any]:
    """Return a value as moto holds it: the members of binary sets are bytes, and only they."""
    ((kind, value),) = typed.items()
    match kind:
        case "BS":
            return {kind: [base64.b64decode(one) for one in value]}
        case "M":
            return {kind: {name: _binary_sets(inner) for name, inner in value.items()}}
        case "L":
            return {kind: [_binary_sets(inner) for inner in value]}
    return typed


class DynamoDbSerializer(JSONSerializer):
    """The serializer of DynamoDB's protocol."""

    def _serialize_type_map(self, serialized: MutableMapping[str, Any], value: Any, shape: MapShape, key: str) -> None:
        if getattr(shape.value, "name", "") != "AttributeValue":
            super()._serialize_type_map(serialized, value, shape, key)
        else:
            self._default_serialize(serialized, {name: json_of(typed) for name, typed in value.items()}, shape, key)


def json_of(typed: dict[str, Any]) -> dict[str, Any]:
    """One attribute value, `{type: value}`, as DynamoDB's JSON."""
    ((kind, value),) = typed.items()
    match kind:
        case "B":
            return {kind: _base64_of(value)}
        case "BS":
            return {kind: [_base64_of(one) for one in value]}
        case "M":
            return {kind: {name: json_of(inner) for name, inner in value.items()}}
        case "L":
            return {kind: [json_of(inner) for inner in value]}
        case _:
            return {kind: value}


def _base64_of(value: bytes | str) -> str:
    return base64.b64encode(value.encode() if isinstance(value, str) else value).decode()
