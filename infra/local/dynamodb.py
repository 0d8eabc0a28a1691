"""moto's DynamoDB without work on the whole table, or on botocore's model, for one request.

For each request moto passes Flask, walks through the parameters by botocore's model of DynamoDB, and through the answer
again: two thirds of the CPU of a request. Items are DynamoDB's JSON already, but for bytes. For an update it also
parses what it has checked before, and writes the item as it was, which nobody asks for.

moto sorts all items of a table for each query, and copies the whole table for each item of a transaction: with 100,000
rows in the audit a page of the console takes minutes. Here each table and index is kept in its order from its first
query on. All our tables have a sort key. An update copies its item twice, and again at each level of each value that it
returns: a third of its CPU for the header of a batch.

moto checks the condition of a write and then writes, so two threads could both find that an item does not exist. Here
one operation of DynamoDB runs at a time, as each write of DynamoDB is one step.
"""

import base64
import copy
import json
import threading
import uuid
import zlib
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import cache
from operator import itemgetter
from types import SimpleNamespace
from typing import Any
from weakref import WeakKeyDictionary

import moto.dynamodb.models
import moto.dynamodb.models.table
import moto.dynamodb.responses
from botocore import xform_name
from moto.core.exceptions import ServiceException
from moto.core.utils import get_service_model
from moto.dynamodb.models.dynamo_type import DynamoType, Item, LimitedSizeDict
from moto.dynamodb.models.table import Table
from moto.dynamodb.responses import DynamoHandler
from werkzeug.exceptions import HTTPException

from infra.local.names import ACCOUNT, REGION
from infra.local.server import App, LoopbackRequest, LoopbackResponse

CONTENT_TYPE = "application/x-amz-json-1.0"
_OPERATIONS = (
    *("GetItem", "PutItem", "UpdateItem", "DeleteItem", "BatchGetItem", "BatchWriteItem"),
    *("Query", "Scan", "TransactGetItems", "TransactWriteItems"),
)
METHODS = {name: xform_name(name) for name in _OPERATIONS}  # moto names its methods as boto3 does
# The parameters of an update that `_update` knows; `_Expressions` are what moto has to check of them once.
UPDATE_MEMBERS = {
    *("TableName", "Key", "UpdateExpression", "ConditionExpression", "ReturnValues"),
    *("ExpressionAttributeNames", "ExpressionAttributeValues"),
}
MAX_KNOWN_UPDATES = 1_000
INDEX_NAME = 6  # the place of the index's name among the arguments of a query after the partition's key

type _Expressions = tuple[Any, ...]
type _Place = tuple[Any, tuple[Any, ...]]
"""The partition's key of an item in an order, and its sort key there."""
type _Order = dict[Any, list[tuple[tuple[Any, ...], Item]]]
"""By their partition's key, the items of a table or of an index with their sort keys, in that order."""

_models: Any = moto.dynamodb.models
_responses: Any = moto.dynamodb.responses
_query: Any = Table.query
_put_item: Any = Table.put_item
_delete_item: Any = Table.delete_item
_size: Any = Item.size
_update_item: Any = _models.DynamoDBBackend.update_item
_orders: WeakKeyDictionary[Table, dict[str, _Order]] = WeakKeyDictionary()
"""The orders of each table by the names of its indexes; that of the table itself is named ``."""
_transact: Any = _models.DynamoDBBackend.transact_write_items


# -- Requests -------------------------------------------------------------------------------------------


class ItemRequests:
    """Answers requests about items, one at a time; `front` answers all others, and words the errors."""

    def __init__(self, front: App) -> None:
        self.turn = threading.RLock()
        self._front = front
        self._checked: set[_Expressions] = set()

    def __call__(self, request: LoopbackRequest) -> LoopbackResponse:
        """Answer a request; one that moto refuses has changed nothing, so it can be sent to the front again."""
        operation = request.headers.get("x-amz-target", "").rpartition(".")[2]
        if operation not in METHODS:
            return self._front(request)
        with self.turn:
            return self._answer(request, operation)

    def _answer(self, request: LoopbackRequest, operation: str) -> LoopbackResponse:
        handler = DynamoHandler()
        handler.region, handler.current_account = REGION, ACCOUNT
        try:
            handler.body = json.loads(request.body, object_hook=with_bytes)
            result = self._update(handler) if operation == "UpdateItem" else _result(handler, operation)
        except (ServiceException, HTTPException, ValueError):
            return self._front(request)
        known = {name: value for name, value in result.items() if value is not None and name in _members(operation)}
        body = json.dumps(known, default=base64_text).encode()
        headers = (
            ("content-type", CONTENT_TYPE),
            ("x-amzn-requestid", uuid.uuid4().hex.upper()),
            ("x-amz-crc32", str(zlib.crc32(body))),
        )
        return LoopbackResponse(200, headers, body)

    def _update(self, handler: DynamoHandler) -> Any:
        """Update an item; where moto has checked the same expressions before, without the check."""
        body = handler.body
        expressions = _expressions(body)
        if expressions not in self._checked:
            result = _result(handler, "UpdateItem")
            if UPDATE_MEMBERS.issuperset(body) and body.get("ReturnValues", "NONE") in {"NONE", "ALL_NEW"}:
                if len(self._checked) >= MAX_KNOWN_UPDATES:
                    self._checked.clear()
                self._checked.add(expressions)
            return result
        item = handler.dynamodb_backend.update_item(
            body["TableName"],
            body["Key"],
            update_expression=body["UpdateExpression"].strip(),
            expression_attribute_names=body.get("ExpressionAttributeNames", {}),
            expression_attribute_values=body.get("ExpressionAttributeValues", {}),
            condition_expression=body.get("ConditionExpression"),
        )
        answer = item.to_json() if body.get("ReturnValues") == "ALL_NEW" else {}
        return answer | {"ConsumedCapacity": {"TableName": body["TableName"], "CapacityUnits": 0.5}}  # as moto says


def _result(handler: DynamoHandler, operation: str) -> Any:
    return getattr(handler, METHODS[operation])().result


def _expressions(body: dict[str, Any]) -> _Expressions:
    """Return an update without the values that its expressions name and those of its key."""
    named = (body.get("ExpressionAttributeNames", {}), body.get("ExpressionAttributeValues", {}))
    return (
        *(body.get(name) for name in ("TableName", "UpdateExpression", "ConditionExpression", "ReturnValues")),
        *map(tuple, (body["Key"], *named)),
        UPDATE_MEMBERS.issuperset(body),
    )


@cache
def _members(operation: str) -> frozenset[str]:
    """Return the members of an operation's answer; moto's methods return some that it does not have."""
    return frozenset(get_service_model("dynamodb").operation_model(operation).output_shape.members)


def with_bytes(value: dict[str, Any]) -> dict[str, Any]:
    """Return an object of a request as moto holds it: typed binary values are bytes."""
    if isinstance(value.get("B"), str):
        return {"B": base64.b64decode(value["B"])}
    if isinstance(value.get("BS"), list):
        return {"BS": [base64.b64decode(one) for one in value["BS"]]}
    return value


def base64_text(value: bytes) -> str:
    """Return bytes as JSON has them."""
    return base64.b64encode(value).decode()


# -- Tables ---------------------------------------------------------------------------------------------


def install() -> None:
    """Let moto use them, in this process."""
    Table.query = query  # type: ignore[assignment, method-assign]
    Table.put_item = put_item  # type: ignore[assignment, method-assign]
    Table.delete_item = delete_item  # type: ignore[assignment, method-assign]
    _models.DynamoDBBackend.update_item = update_item
    Item.size = size  # type: ignore[assignment, method-assign]
    _models.DynamoDBBackend.transact_write_items = transact_write_items
    # Copies of an item for a stream, of a table for a rollback, and of items of which only a description is used.
    _models.copy = _responses.copy = _models.table.copy = SimpleNamespace(copy=copy.copy, deepcopy=deep_copy)
    DynamoType.to_regular_json = to_json  # type: ignore[assignment, method-assign]


def deep_copy[T](value: T) -> T:
    """Copy the items of a whole table, which another one begins with; return anything else as it is."""
    return copy.deepcopy(value) if isinstance(value, defaultdict) else value


def query(table: Any, hash_key: Any, *arguments: Any, hash_key_conditions: Any = (), **options: Any) -> Any:
    """Answer a query as moto does, from those items of its partition alone that it can read."""
    view, index = copy.copy(table), arguments[INDEX_NAME] or ""
    key = hash_key_conditions[0][1] if index and hash_key_conditions else hash_key
    rows = _ordered(table, index).get(_plain(key), [])
    comparison, values, limit, start, is_forward = arguments[:5]
    first, end = 0, len(rows)
    if comparison == "BETWEEN":
        low, high = map(_plain, values)
        first = bisect_left(rows, low, key=lambda row: row[0][0])
        end = bisect_right(rows, high, key=lambda row: row[0][0])
    if limit and not start:  # with one more, so that moto knows that there is one
        first, end = (first, min(end, first + limit + 1)) if is_forward else (max(first, end - limit - 1), end)
    found = [item for _, item in rows[first:end]]
    # moto compares values of its own class, which takes seconds.
    view.sorted_items = lambda _hash_names, _range_names, items: items
    view.all_items = lambda: found
    return _query(view, hash_key, *arguments, hash_key_conditions=hash_key_conditions, **options)


def size(item: Any) -> int:
    """Return the bytes of an item, which a query asks twice of each, and which only an update changes."""
    if "known_size" not in item.__dict__:
        item.known_size = _size(item)
    return int(item.known_size)


def put_item(table: Any, item_attrs: dict[str, Any], *arguments: Any, **options: Any) -> Any:
    """Store an item as moto does, and in the orders of its table."""
    before = table.get_item(*(DynamoType(item_attrs[name]) for name in table.table_key_attrs if name in item_attrs))
    item = _put_item(table, item_attrs, *arguments, **options)
    _replace(table, before, item)
    return item


def delete_item(table: Any, hash_key: Any, range_key: Any) -> Any:
    """Remove an item as moto does, and from the orders of its table."""
    item = _delete_item(table, hash_key, range_key)
    _replace(table, item, None)
    return item


def update_item(backend: Any, table_name: str, key: dict[str, Any], *arguments: Any, **options: Any) -> Any:
    """Change an item as moto does, which may give it another place in an index."""
    table = backend.get_table(table_name)
    before = table.get_item(*backend.get_keys_value(table, key))
    places = {index: _place(table, index, before) for index in _orders.get(table, {}) if index}
    item = _update_item(backend, table_name, key, *arguments, **options)
    item.__dict__.pop("known_size", None)
    for index, place in places.items():
        _move(_orders[table][index], place, _place(table, index, item), item)
    return item


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
    typed = {name: DynamoType(value) for name, value in attributes.items()}
    # Each assignment to moto's own dict measures the whole item again.
    item.attrs = LimitedSizeDict.__new__(LimitedSizeDict)
    dict.update(item.attrs, typed)
    if rest:
        _replace(table, table.items[hash_key].get(rest[0]), item)
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
    _orders.pop(table, None)
    if item is None:
        table.items[partition].pop(sort_key, None)
    else:
        table.items[partition][sort_key] = item


def _items(table: Any) -> list[Any]:
    return [item for partition in table.items.values() for item in partition.values()]


def _ordered(table: Any, index: str) -> _Order:
    """Return the order of a table or of one of its indexes; the first query makes it."""
    orders = _orders.setdefault(table, {})
    if index not in orders:
        made: _Order = defaultdict(list)
        for item in _items(table):
            if place := _place(table, index, item):
                made[place[0]].append((place[1], item))
        for rows in made.values():
            rows.sort(key=itemgetter(0))
        orders[index] = made
    return orders[index]


def _replace(table: Any, before: Item | None, after: Item | None) -> None:
    """Put an item into the orders of its table, in the place of the one that had its key."""
    for index, order in _orders.get(table, {}).items():
        _move(order, _place(table, index, before), _place(table, index, after), after)


def _move(order: _Order, before: _Place | None, after: _Place | None, item: Item | None) -> None:
    """Put an item into an order, and out of its place before."""
    if before:
        del order[before[0]][bisect_left(order[before[0]], before[1], key=itemgetter(0))]
    if after and item:
        rows = order[after[0]]
        at = bisect_left(rows, after[1], key=itemgetter(0))
        is_there = rows[at : at + 1] and rows[at][0] == after[1]  # moto has put a new item before it changes it
        rows[at : at + bool(is_there)] = [(after[1], item)]


def _place(table: Any, index: str, item: Item | None) -> _Place | None:
    """Return the partition's key and the sort key of an item; None where an index does not have it."""
    if item is None:
        return None
    names = list(table.table_key_attrs)
    if index:
        schema: Any = next((one.schema for one in table.all_indexes() if one.name == index), [])
        names = [*(key["AttributeName"] for key in schema), *names]
    if not all(name in item.attrs for name in names):
        return None
    partition, *rest = (_plain(item.attrs[name]) for name in names)
    return partition, tuple(rest)


def _plain(value: Any) -> Any:
    return value.value if value.type == "S" else value.cast_value
