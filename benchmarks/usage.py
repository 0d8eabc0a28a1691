"""AWS's bill for a request: DynamoDB's units by size, and one request of each other service.

Sources: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/read-write-operations.html,
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/CapacityUnitCalculations.html
"""

import base64
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from benchmarks.prices import MissingPrice, Usage, total
from tests.traffic import AwsRequest

READ_BYTES, WRITE_BYTES = 4096, 1024

# Requests of other services, by their operation.
PRICED = {
    ("lambda", "Invoke"): "lambda_request",
    ("kms", "Decrypt"): "kms_request",
    ("kms", "GenerateDataKey"): "kms_request",
}
# Machines and parameters of the standard tier are free; an execution is billed, and its start is not.
FREE = {
    ("states", "CreateStateMachine"),
    ("states", "StartExecution"),
    ("ssm", "GetParameter"),
    ("ssm", "GetParameters"),
}
S3_METHODS = {"GET": "s3_get", "HEAD": "s3_get", "PUT": "s3_put", "POST": "s3_put"}

type Item = Mapping[str, Any]


@dataclass(frozen=True)
class Tables:
    """The tables' items, and the number of indexes with a copy of each, by the tables' names."""

    items: Mapping[str, list[Item]]
    indexes: Mapping[str, int]

    def at(self, table: str, key: Item) -> int:
        """Return the size of the item at a key, or 0."""
        return next((size(item) for item in self.items[table] if key.items() <= item.items()), 0)

    def of(self, table: str, partition: Any, prefix: str) -> int:
        """Return the size of all items of a partition whose sort key begins with a prefix."""
        found = (item for item in self.items[table] if item["pk"] == partition and item["sk"]["S"].startswith(prefix))
        return sum(map(size, found))


def billed(request: AwsRequest, tables: Tables) -> Usage:
    """Return a request's usage; MissingPrice for an operation without a price.

    Sizes are those of the items afterwards.
    """
    kind = (request.service, request.operation)
    if request.service == "dynamodb":
        return _of_table(request.operation, request.body, tables)
    if request.service == "s3":
        return _of_bucket(request.operation)
    if kind in FREE:
        return {}
    if kind not in PRICED:
        raise MissingPrice(f"no price for {request.service} {request.operation} of {request.caller}")
    return {PRICED[kind]: 1}


def size(item: Item) -> int:
    """Return the bytes that DynamoDB counts for an item."""
    return sum(len(name.encode()) + _size(value) for name, value in item.items())


def _of_table(operation: str, body: Any, tables: Tables) -> Usage:
    match operation:
        case "PutItem":
            return _writes(body["TableName"], [size(body["Item"])], tables)
        case "UpdateItem":
            return _writes(body["TableName"], [tables.at(body["TableName"], body["Key"])], tables)
        case "BatchWriteItem":
            ((table, requests),) = body["RequestItems"].items()
            return _writes(table, [size(one["PutRequest"]["Item"]) for one in requests], tables)
        case "TransactWriteItems":
            return total(_of_transaction(one, tables) for one in body["TransactItems"])
        case "GetItem":
            return _reads([tables.at(body["TableName"], body["Key"])], body)
        case "BatchGetItem":
            ((table, asked),) = body["RequestItems"].items()
            return _reads([tables.at(table, key) for key in asked["Keys"]], asked)
        case "Query" if ":pk" in (values := body["ExpressionAttributeValues"]):
            prefix = values.get(":prefix", {"S": ""})["S"]
            return _reads([tables.of(body["TableName"], values[":pk"], prefix)], body)
    raise MissingPrice(f"no price for dynamodb {operation} {body.get('TableName', '')} {body.get('IndexName', '')}")


def _of_transaction(write: Item, tables: Tables) -> Usage:
    """Return the usage of one write of a transaction, which takes each unit twice."""
    ((kind, one),) = write.items()
    if kind not in {"Put", "Update"}:
        raise MissingPrice(f"no price for a transaction's {kind}")
    bytes_ = size(one["Item"]) if kind == "Put" else tables.at(one["TableName"], one["Key"])
    return {key: 2 * amount for key, amount in _writes(one["TableName"], [bytes_], tables).items()}


def _writes(table: str, sizes: Iterable[int], tables: Tables) -> Usage:
    """Return the write units: one for each started kilobyte, in the table and in each index."""
    copies = 1 + tables.indexes[table]
    return {"dynamodb_write": copies * sum(max(1, math.ceil(one / WRITE_BYTES)) for one in sizes)}


def _reads(sizes: Iterable[int], asked: Item) -> Usage:
    """Return the read units: one for each four started kilobytes, or half of it without consistency."""
    weight = 1 if asked.get("ConsistentRead") else 0.5
    return {"dynamodb_read": weight * sum(max(1, math.ceil(one / READ_BYTES)) for one in sizes)}


def _of_bucket(operation: str) -> Usage:
    """Return the usage of S3 by method and path: the bucket's path is a listing, and deletions are free."""
    method, _, path = operation.partition(" ")
    if method == "DELETE":
        return {}
    if method not in S3_METHODS:
        raise MissingPrice(f"no price for s3 {method}")
    is_list = method == "GET" and "/" not in path.strip("/")
    return {"s3_put" if is_list else S3_METHODS[method]: 1}


def _size(value: Any) -> int:
    """Return the bytes of one typed value; a number takes about half a byte for each digit."""
    ((kind, inner),) = value.items()
    match kind:
        case "S":
            return len(inner.encode())
        case "N":
            return math.ceil(len(inner.strip("-").replace(".", "")) / 2) + 1
        case "B":
            return len(inner if isinstance(inner, bytes) else base64.b64decode(inner))
        case "BOOL" | "NULL":
            return 1
        case "M":
            return 3 + sum(len(name.encode()) + _size(one) + 1 for name, one in inner.items())
        case "L":
            return 3 + sum(_size(one) + 1 for one in inner)
        case "SS" | "NS" | "BS":
            return sum(_size({kind[0]: one}) for one in inner)
    raise MissingPrice(f"no size for a value of type {kind}")
