"""A DynamoDB table whose items are plain Python values."""

import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import batched
from typing import Any
from uuid import uuid4

from mcpist.aws.attributes import Item, TypedItem, deserialize, serialize
from mcpist.aws.clients import ConditionFailed
from mcpist.aws.transport import send
from mcpist.errors import StoreUnavailable
from mcpist.settings import settings

MAX_BATCH_READ_ITEMS, MAX_BATCH_WRITE_ITEMS, MAX_TRANSACTION_ITEMS = 100, 25, 100
MAX_PARTITION_KEY_BYTES, MAX_SORT_KEY_BYTES = 2048, 1024
# The condition of a write that must not replace another item.
IS_NEW = "attribute_not_exists(pk)"
# DynamoDB returns what it has no capacity for as unprocessed; it is requested again after these delays.
RETRY_DELAYS_SECONDS = (0.0, 0.05, 0.1, 0.2, 0.4, 0.8)

type IsWanted = Callable[[TypedItem], bool]


@dataclass(frozen=True, slots=True)
class ItemChange:
    """The attributes that one item gets if a condition holds."""

    pk: str
    sk: str
    attributes: Item
    condition: str
    values: Mapping[str, Any]
    """Those of the condition."""


class Table:
    """A DynamoDB table with the keys `pk` and `sk`, whose items are plain Python values."""

    def __init__(self, name: str, label: str) -> None:
        self.name = name
        self.label = label

    def get(self, pk: str, sk: str) -> Item | None:
        """Read one item consistently; what DynamoDB refuses as a key is none's."""
        if not sk or max(len(pk.encode()) - MAX_PARTITION_KEY_BYTES, len(sk.encode()) - MAX_SORT_KEY_BYTES) > 0:
            return None
        response = self._send("GetItem", Key=serialize({"pk": pk, "sk": sk}), ConsistentRead=True)
        return deserialize(response["Item"]) if "Item" in response else None

    def get_many(self, keys: list[tuple[str, str]]) -> list[Item]:
        """Read items consistently, 100 in each request; missing ones are left out."""
        found: list[Item] = []
        for chunk in batched(keys, MAX_BATCH_READ_ITEMS, strict=False):
            wanted = [serialize({"pk": pk, "sk": sk}) for pk, sk in chunk]
            request = {self.name: {"Keys": wanted, "ConsistentRead": True}}
            for response in self._send_until_processed("BatchGetItem", request, "UnprocessedKeys"):
                found += map(deserialize, response["Responses"].get(self.name, []))
        return found

    def query(self, pk: str, prefix: str = "") -> list[Item]:
        """Read all items of a partition whose sort keys begin with the prefix, consistently."""
        return list(self.iterate(pk, prefix))

    def iterate(self, pk: str, prefix: str = "") -> Iterator[Item]:
        """Iterate over the same items in the order of their sort keys, one request a page."""
        condition = "pk = :pk AND begins_with(sk, :prefix)" if prefix else "pk = :pk"
        values = {":pk": pk, ":prefix": prefix} if prefix else {":pk": pk}
        request = {"KeyConditionExpression": condition, "ExpressionAttributeValues": serialize(values)}
        return self._pages("Query", **request, ConsistentRead=True)

    def query_page(
        self,
        key: str,
        value: str,
        between: tuple[str, str],
        *,
        index: str = "",
        sort: str = "sk",
        filters: Mapping[str, str] | None = None,
        limit: int = 0,
        descending: bool = False,
        consistent: bool = False,
        is_wanted: IsWanted | None = None,
    ) -> tuple[list[Item], str]:
        """Read items of one key between two sort keys by one request.

        Return the items and the sort key at which the request ended before the last one; empty if it did not. `key` is
        the partition key of the table or of `index`, `sort` the sort key; `filters` are values that other attributes
        must have; `limit` is the number of items that are read, whatever the filters and `is_wanted` leave of them.
        """
        if between[0] > between[1]:  # which DynamoDB refuses
            return [], ""
        filters = filters or {}
        values = {f":{name}": expected for name, expected in filters.items()}
        request = _filled(
            KeyConditionExpression=f"{key} = :key AND {sort} BETWEEN :low AND :high",
            ExpressionAttributeValues=serialize({":key": value, ":low": between[0], ":high": between[1], **values}),
            Limit=limit,
            IndexName=index,
            FilterExpression=" AND ".join(f"#{name} = :{name}" for name in filters),
            ExpressionAttributeNames={f"#{name}": name for name in filters},
        )
        response = self._send("Query", ScanIndexForward=not descending, ConsistentRead=consistent, **request)
        # It may name an end although nothing follows: the next request is then empty.
        end = deserialize(response.get("LastEvaluatedKey", {})).get("sk", "")
        return [deserialize(item) for item in response["Items"] if is_wanted is None or is_wanted(item)], end

    def scan(self, prefix: str = "") -> Iterator[Item]:
        """Read all items, or those whose partition keys begin with the prefix, consistently, one request a page."""
        condition = "begins_with(pk, :prefix)" if prefix else ""
        values = serialize({":prefix": prefix} if prefix else {})
        request = _filled(FilterExpression=condition, ExpressionAttributeValues=values)
        return self._pages("Scan", ConsistentRead=True, **request)

    def _pages(self, operation: str, **request: Any) -> Iterator[Item]:
        """Iterate over the items of all pages; a page is requested when it is needed."""
        while True:
            response = self._send(operation, **request)
            yield from map(deserialize, response["Items"])
            if "LastEvaluatedKey" not in response:
                return
            request["ExclusiveStartKey"] = response["LastEvaluatedKey"]

    def put(self, item: Item, *, condition: str = "", values: Mapping[str, Any] | None = None) -> None:
        """Write one item; ConditionFailed if the condition does not hold."""
        self._send("PutItem", Item=serialize(item), **_condition_arguments(condition, values))

    def put_many(self, items: list[Item]) -> None:
        """Write items, 25 in each request."""
        self._write_many([{"PutRequest": {"Item": serialize(item)}} for item in items])

    def delete_many(self, items: list[Item]) -> None:
        """Remove items, 25 in each request."""
        self._write_many([{"DeleteRequest": {"Key": serialize({"pk": one["pk"], "sk": one["sk"]})}} for one in items])

    def _write_many(self, writes: list[dict[str, Any]]) -> None:
        for chunk in batched(writes, MAX_BATCH_WRITE_ITEMS, strict=False):
            self._send_until_processed("BatchWriteItem", {self.name: list(chunk)}, "UnprocessedItems")

    def _send_until_processed(self, operation: str, request: Any, unprocessed: str) -> list[Any]:
        """Send a request for some items, again for those that DynamoDB had no capacity for; return the responses."""
        responses = []
        for pause in RETRY_DELAYS_SECONDS:
            time.sleep(pause)
            responses.append(send(self.label, operation, {"RequestItems": request}))
            request = responses[-1].get(unprocessed)
            if not request:
                return responses
        raise StoreUnavailable(store=self.label)

    def update(self, pk: str, sk: str, expression: str, *, values: Mapping[str, Any], condition: str = "") -> Item:
        """Change one item and return its new state; ConditionFailed if the condition does not hold.

        Attribute names are written with a `#` in the expressions, since a bare one may be a reserved word of DynamoDB.
        """
        response = self._send(
            "UpdateItem",
            Key=serialize({"pk": pk, "sk": sk}),
            UpdateExpression=expression,
            ReturnValues="ALL_NEW",
            **_condition_arguments(condition, values, f"{expression} {condition}"),
        )
        return deserialize(response["Attributes"])

    def set(
        self,
        pk: str,
        sk: str,
        change: Item,
        *,
        remove: Iterable[str] = (),
        condition: str = "",
        values: Mapping[str, Any] | None = None,
    ) -> Item:
        """Set some attributes of one item, remove others, and return its new state; `values` are the condition's."""
        expression, changed = _set_expression(change)
        removed = ", ".join(f"#{name}" for name in remove)
        expression += f" REMOVE {removed}" if removed else ""
        return self.update(pk, sk, expression, values={**changed, **(values or {})}, condition=condition)

    def set_once(self, pk: str, sk: str, change: Item, *, writer: str = "writer", **options: Any) -> Item:
        """Set attributes as `set` does, on a condition that then holds no more; `writer` is set to an id of this write.

        A condition that failed on our own id means success: the request was sent again after a lost response.
        """
        own = uuid4().hex
        try:
            return self.set(pk, sk, {**change, writer: own}, **options)
        except ConditionFailed:
            item = self.get(pk, sk)
            if item is None or item.get(writer) != own:
                raise
            return item

    def delete(self, pk: str, sk: str, *, condition: str = "", values: Mapping[str, Any] | None = None) -> bool:
        """Remove one item and return whether it existed; ConditionFailed if the condition does not hold."""
        response = self._send(
            "DeleteItem",
            Key=serialize({"pk": pk, "sk": sk}),
            ReturnValues="ALL_OLD",
            **_condition_arguments(condition, values),
        )
        return "Attributes" in response

    def transact(
        self,
        puts: list[Item],
        deletes: list[tuple[str, str]],
        *,
        guard: Item,
        condition: str,
        values: Mapping[str, Any],
        new_items: Mapping[str, Sequence[Item]] | None = None,
    ) -> bool:
        """Write up to 99 items, and `guard` if its condition holds: all or nothing. Return whether it held.

        `new_items` are those of other tables, by their names, which no item with these keys may precede.
        """
        writes: list[dict[str, Any]] = [{"Put": {"Item": serialize(guard), **_condition_arguments(condition, values)}}]
        writes += [{"Put": {"Item": serialize(item)}} for item in puts]
        writes += [{"Delete": {"Key": serialize({"pk": pk, "sk": sk})}} for pk, sk in deletes]
        for write in writes:
            next(iter(write.values()))["TableName"] = self.name
        return holds(self._write_all, writes, new_items or {})

    def set_all(self, changes: Iterable[ItemChange], new_items: Mapping[str, Sequence[Item]]) -> None:
        """Make up to 100 changes and new items of other tables, by their names: all, or none and ConditionFailed."""
        writes: list[dict[str, Any]] = []
        for one in changes:
            expression, changed = _set_expression(one.attributes)
            arguments = _condition_arguments(one.condition, changed | dict(one.values), f"{expression} {one.condition}")
            key = serialize({"pk": one.pk, "sk": one.sk})
            writes.append({"Update": {"TableName": self.name, "Key": key, "UpdateExpression": expression, **arguments}})
        self._write_all(writes, new_items)

    def _write_all(self, writes: list[dict[str, Any]], new_items: Mapping[str, Sequence[Item]]) -> None:
        writes += [
            {"Put": {"TableName": table, "Item": serialize(item), **_condition_arguments(IS_NEW, None)}}
            for table, items in new_items.items()
            for item in items
        ]
        # The token makes a request that is sent again, since its answer was lost, succeed as the first one did.
        token = uuid4().hex
        send(self.label, "TransactWriteItems", {"TransactItems": writes, "ClientRequestToken": token})

    def _send(self, operation: str, **parameters: Any) -> Any:
        return send(self.label, operation, {"TableName": self.name, **parameters})


def _set_expression(change: Item) -> tuple[str, dict[str, Any]]:
    """Return the expression that sets some attributes, and its values."""
    expression = "SET " + ", ".join(f"#{name} = :{name}" for name in change)
    return expression, {f":{name}": value for name, value in change.items()}


def _condition_arguments(condition: str, values: Mapping[str, Any] | None, expressions: str = "") -> dict[str, Any]:
    """Return the request's arguments for a condition, the values of `:value` and the names of `#name`."""
    names = {f"#{name}": name for name in re.findall(r"#(\w+)", expressions or condition)}
    values = serialize(values or {})
    return _filled(ConditionExpression=condition, ExpressionAttributeValues=values, ExpressionAttributeNames=names)


def _filled(**arguments: Any) -> dict[str, Any]:
    """Return the arguments that are not empty: DynamoDB refuses an empty one."""
    return {name: value for name, value in arguments.items() if value}


def holds[**Arguments](write: Callable[Arguments, object], *args: Arguments.args, **options: Arguments.kwargs) -> bool:
    """Make a write on a condition, and return whether the condition held: `holds(table.set, pk, sk, ...)`."""
    try:
        write(*args, **options)
    except ConditionFailed:
        return False
    return True


def ledger_table() -> Table:
    """Return the table of batches, and of all else that is kept for a while."""
    return Table(settings().ledger_table, "ledger")


def directory_table() -> Table:
    """Return the table of the organizations."""
    return Table(settings().directory_table, "directory")


def events_table() -> Table:
    """Return the table of events, of what brings them in, and of who asked for them."""
    return Table(settings().events_table, "events")
