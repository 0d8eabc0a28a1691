"""Clients of AWS's stores, made once per sandbox; a store that is down is one typed error."""

import logging
import re
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from typing import Any

from mcpist.errors import StoreUnavailable
from mcpist.settings import settings

type Item = dict[str, Any]

CONNECT_TIMEOUT_SECONDS = 1
READ_TIMEOUT_SECONDS = 3
MAX_ATTEMPTS = 3
MAX_BACKOFF_SECONDS = 1  # botocore's, after a first attempt
MAX_BATCH_WRITE_ITEMS = 25
# What DynamoDB has no capacity for comes back from a batch as unprocessed: it is asked for again after these pauses.
RETRY_DELAYS_SECONDS = (0.0, 0.05, 0.1, 0.2, 0.4, 0.8)

# A transaction that is cancelled for these has met another one.
_CONFLICT_CODES = {"ConditionalCheckFailed", "TransactionConflict"}
_TRANSIENT_CODES = {
    "500",
    "503",
    "InternalError",
    "InternalServerError",
    "KMSInternalException",
    "ProvisionedThroughputExceededException",
    "RequestLimitExceeded",
    "RequestTimeout",
    "ServiceUnavailable",
    "SlowDown",
    "ThrottlingException",
}


@cache
def session() -> Any:
    """The sandbox's AWS session: botocore's, since importing boto3 costs as much CPU again and adds nothing here."""
    import botocore.session

    from mcpist.aws.botocore_loader import ServiceModelLoader

    # At DEBUG these print requests, and requests carry what is nobody else's business.
    for library in ("botocore", "urllib3"):
        logging.getLogger(library).setLevel(logging.WARNING)
    made = botocore.session.get_session()
    made.register_component("data_loader", ServiceModelLoader())
    return made


@cache
def client(
    service: str,
    *,
    connect_seconds: float | None = None,
    read_seconds: float | None = None,
    attempts: int | None = None,
) -> Any:
    """A low-level client with short timeouts and few attempts: shorter and fewer where `store_seconds` is set.

    It neither checks parameters, which AWS does, too, nor writes its name anew for each request: a third of its work.
    """
    from botocore.config import Config

    connect, read, tries = _timeouts_and_attempts(settings().store_seconds)
    return session().create_client(
        service,
        config=Config(
            connect_timeout=connect_seconds or connect,
            read_timeout=read_seconds or read,
            retries={"mode": "standard", "total_max_attempts": attempts or tries},
            parameter_validation=False,
            user_agent=session().user_agent(),
        ),
    )


def _timeouts_and_attempts(seconds: float) -> tuple[float, float, int]:
    """The seconds of connecting and of reading, and the attempts, after which a silent store is an error in time."""
    if not seconds:
        return CONNECT_TIMEOUT_SECONDS, READ_TIMEOUT_SECONDS, MAX_ATTEMPTS
    read = (seconds - MAX_BACKOFF_SECONDS) / 2
    return read / 2, read, 2


@contextmanager
def store_errors(store: str) -> Iterator[None]:
    """Turn a store's outage into StoreUnavailable; a refusal stays what it is."""
    from botocore.exceptions import BotoCoreError, ClientError

    try:
        yield
    except ClientError as error:
        if error.response["Error"]["Code"] in _TRANSIENT_CODES:
            raise StoreUnavailable(store=store) from error
        raise
    except BotoCoreError as error:
        raise StoreUnavailable(store=store) from error


def is_aws_error(error: Exception, code: str = "ConditionalCheckFailedException") -> bool:
    """Whether AWS answered with this error code."""
    response: dict[str, Any] = getattr(error, "response", {})
    return bool(response.get("Error", {}).get("Code") == code)


class Table:
    """A DynamoDB table with the keys `pk` and `sk`, whose items are plain Python values."""

    def __init__(self, name: str, label: str) -> None:
        self.name = name
        self.label = label

    def get(self, pk: str, sk: str) -> Item | None:
        """One item, read consistently."""
        with store_errors(self.label):
            answer = self._client.get_item(
                TableName=self.name, Key=_serialize_item({"pk": pk, "sk": sk}), ConsistentRead=True
            )
        return _deserialize_item(answer["Item"]) if "Item" in answer else None

    def get_many(self, keys: list[tuple[str, str]]) -> list[Item]:
        """Up to 100 items, read consistently; missing ones are left out."""
        if not keys:
            return []
        request: Any = {
            self.name: {"Keys": [_serialize_item({"pk": pk, "sk": sk}) for pk, sk in keys], "ConsistentRead": True}
        }
        items: list[Item] = []
        with store_errors(self.label):
            for pause in RETRY_DELAYS_SECONDS:
                time.sleep(pause)
                answer = self._client.batch_get_item(RequestItems=request)
                items += map(_deserialize_item, answer["Responses"].get(self.name, []))
                request = answer.get("UnprocessedKeys", {})
                if not request:
                    return items
        raise StoreUnavailable(store=self.label)

    def query(self, pk: str, prefix: str = "") -> list[Item]:
        """All items under a partition key whose sort key begins with the prefix, read consistently."""
        condition = "pk = :pk AND begins_with(sk, :prefix)" if prefix else "pk = :pk"
        values = {":pk": pk, ":prefix": prefix} if prefix else {":pk": pk}
        items: list[Item] = []
        start: dict[str, Any] = {}
        with store_errors(self.label):
            while True:
                page = self._client.query(
                    TableName=self.name,
                    KeyConditionExpression=condition,
                    ExpressionAttributeValues=_serialize_item(values),
                    ConsistentRead=True,
                    **start,
                )
                items += map(_deserialize_item, page["Items"])
                if "LastEvaluatedKey" not in page:
                    return items
                start = {"ExclusiveStartKey": page["LastEvaluatedKey"]}

    def query_descending(
        self,
        key: str,
        value: str,
        between: tuple[str, str],
        index: str = "",
        filters: Mapping[str, str] | None = None,
        *,
        page: int = 100,
    ) -> Iterator[Item]:
        """Items under one key whose sort keys lie between two, the highest first, a page a request; by an index, too.

        `only` are values of other attributes that they must have.
        """
        conditions = " AND ".join(f"#{name} = :{name}" for name in filters or {})
        values = {f":{name}": wanted for name, wanted in (filters or {}).items()}
        request: dict[str, Any] = {
            "TableName": self.name,
            "KeyConditionExpression": f"{key} = :key AND sk BETWEEN :low AND :high",
            "ScanIndexForward": False,
            "Limit": page,
            "ExpressionAttributeValues": _serialize_item(
                {":key": value, ":low": between[0], ":high": between[1], **values}
            ),
            **({"IndexName": index} if index else {}),
            **({"FilterExpression": conditions} if filters else {}),
            **({"ExpressionAttributeNames": {f"#{name}": name for name in filters}} if filters else {}),
        }
        while True:
            with store_errors(self.label):
                answer = self._client.query(**request)
            yield from map(_deserialize_item, answer["Items"])
            if "LastEvaluatedKey" not in answer:
                return
            request["ExclusiveStartKey"] = answer["LastEvaluatedKey"]

    def scan(self, prefix: str) -> Iterator[Item]:
        """All items whose partition keys begin with the prefix, read consistently, a page a request."""
        request: dict[str, Any] = {
            "TableName": self.name,
            "FilterExpression": "begins_with(pk, :prefix)",
            "ExpressionAttributeValues": _serialize_item({":prefix": prefix}),
            "ConsistentRead": True,
        }
        while True:
            with store_errors(self.label):
                answer = self._client.scan(**request)
            yield from map(_deserialize_item, answer["Items"])
            if "LastEvaluatedKey" not in answer:
                return
            request["ExclusiveStartKey"] = answer["LastEvaluatedKey"]

    def put(self, item: Item, *, condition: str = "", values: Mapping[str, Any] | None = None) -> None:
        """Write one item; a condition that fails raises botocore's ClientError (see `is_aws_error`)."""
        with store_errors(self.label):
            self._client.put_item(
                TableName=self.name, Item=_serialize_item(item), **_condition_arguments(condition, values)
            )

    def put_many(self, items: list[Item]) -> None:
        """Write items, 25 a request."""
        for start in range(0, len(items), MAX_BATCH_WRITE_ITEMS):
            chunk = items[start : start + MAX_BATCH_WRITE_ITEMS]
            self._write({self.name: [{"PutRequest": {"Item": _serialize_item(item)}} for item in chunk]})

    def _write(self, request: dict[str, Any]) -> None:
        with store_errors(self.label):
            for pause in RETRY_DELAYS_SECONDS:
                time.sleep(pause)
                request = self._client.batch_write_item(RequestItems=request).get("UnprocessedItems", {})
                if not request:
                    return
        raise StoreUnavailable(store=self.label)

    def update(
        self,
        pk: str,
        sk: str,
        expression: str,
        *,
        values: Mapping[str, Any],
        condition: str = "",
    ) -> Item:
        """Change one item and return it as it is afterwards; a failed condition raises ClientError.

        Names stand with a `#` in the expressions, so that none can be one of DynamoDB's reserved words.
        """
        with store_errors(self.label):
            answer = self._client.update_item(
                TableName=self.name,
                Key=_serialize_item({"pk": pk, "sk": sk}),
                UpdateExpression=expression,
                ReturnValues="ALL_NEW",
                **_condition_arguments(condition, values, f"{expression} {condition}"),
            )
        return _deserialize_item(answer["Attributes"])

    def delete(self, pk: str, sk: str, *, condition: str = "", values: Mapping[str, Any] | None = None) -> bool:
        """Remove one item; whether it was there. A condition that fails raises ClientError (see `is_aws_error`)."""
        with store_errors(self.label):
            answer = self._client.delete_item(
                TableName=self.name,
                Key=_serialize_item({"pk": pk, "sk": sk}),
                ReturnValues="ALL_OLD",
                **_condition_arguments(condition, values),
            )
        return "Attributes" in answer

    def transact(
        self,
        puts: list[Item],
        deletes: list[tuple[str, str]],
        *,
        guard: Item,
        condition: str,
        values: Mapping[str, Any],
    ) -> bool:
        """Write up to 99 items, and `guard` on its condition: all or nothing; whether the condition held."""
        from botocore.exceptions import ClientError

        writes: list[dict[str, Any]] = [
            {"Put": {"Item": _serialize_item(guard), **_condition_arguments(condition, values)}}
        ]
        writes += [{"Put": {"Item": _serialize_item(item)}} for item in puts]
        writes += [{"Delete": {"Key": _serialize_item({"pk": pk, "sk": sk})}} for pk, sk in deletes]
        for write in writes:
            next(iter(write.values()))["TableName"] = self.name
        try:
            with store_errors(self.label):
                self._client.transact_write_items(TransactItems=writes)
        except ClientError as error:
            reasons = {reason.get("Code") for reason in error.response.get("CancellationReasons", [])}
            if not reasons & _CONFLICT_CODES:
                raise
            return False
        return True

    @property
    def _client(self) -> Any:
        return client("dynamodb")


def _condition_arguments(condition: str, values: Mapping[str, Any] | None, expressions: str = "") -> dict[str, Any]:
    """What goes with an expression: the condition, the values of `:value`, the names of `#name`."""
    names = {f"#{name}": name for name in re.findall(r"#(\w+)", expressions or condition)}
    return (
        ({"ConditionExpression": condition} if condition else {})
        | ({"ExpressionAttributeValues": _serialize_item(values)} if values else {})
        | ({"ExpressionAttributeNames": names} if names else {})
    )


def _serialize_item(item: Mapping[str, Any]) -> dict[str, Any]:
    return {name: _serialize(value) for name, value in item.items()}


def _deserialize_item(item: Mapping[str, Any]) -> Item:
    return {name: _deserialize(value) for name, value in item.items()}


def _serialize(value: Any) -> dict[str, Any]:
    """A value with the name of its DynamoDB type."""
    match value:
        case None:
            return {"NULL": True}
        case bool():
            return {"BOOL": value}
        case int() | float():
            return {"N": repr(value)}
        case str():
            return {"S": value}
        case bytes():
            return {"B": value}
        case Mapping():
            return {"M": _serialize_item(value)}
        case list() | tuple():
            return {"L": [_serialize(inner) for inner in value]}
        case _:
            raise TypeError(f"{type(value).__name__} cannot be kept in a table")


def _deserialize(typed: Mapping[str, Any]) -> Any:
    """The value of DynamoDB's `{type: value}`."""
    ((kind, value),) = typed.items()
    match kind:
        case "NULL":
            return None
        case "N":
            return int(value) if value.lstrip("-").isdecimal() else float(value)
        case "M":
            return _deserialize_item(value)
        case "L":
            return [_deserialize(inner) for inner in value]
        case _:
            return value
