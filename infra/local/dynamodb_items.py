"""Requests to moto's DynamoDB about items, without its front.

For each request moto passes Flask, walks through the parameters by botocore's model of DynamoDB, and through the answer
again: two thirds of the CPU of a request. Items are DynamoDB's JSON already, but for bytes. For an update it also
parses what it has checked before, and writes the item as it was, which nobody asks for.
"""

import base64
import json
import uuid
import zlib
from functools import cache
from typing import Any

from botocore import xform_name
from moto.core.exceptions import ServiceException
from moto.core.utils import get_service_model
from moto.dynamodb.responses import DynamoHandler
from werkzeug.exceptions import HTTPException

from infra.local.names import ACCOUNT, REGION
from infra.local.server import App, LoopbackRequest, LoopbackResponse

CONTENT_TYPE = "application/x-amz-json-1.0"
# moto names its methods as boto3 does.
_ITEM_OPERATIONS = ("GetItem", "PutItem", "UpdateItem", "DeleteItem", "BatchGetItem", "BatchWriteItem")
METHODS = {name: xform_name(name) for name in (*_ITEM_OPERATIONS, "Query", "TransactWriteItems")}
# The parameters of an update that `_update` knows; `_Expressions` are what moto has to check of them once.
UPDATE_MEMBERS = {
    *("TableName", "Key", "UpdateExpression", "ConditionExpression", "ReturnValues"),
    *("ExpressionAttributeNames", "ExpressionAttributeValues"),
}
MAX_KNOWN_UPDATES = 1_000

type _Expressions = tuple[Any, ...]


class ItemRequests:
    """Answers requests about items; `front` answers all others, and words the errors."""

    def __init__(self, front: App) -> None:
        self._front = front
        self._checked: set[_Expressions] = set()

    def __call__(self, request: LoopbackRequest) -> LoopbackResponse:
        """Answer a request; one that moto refuses has changed nothing, so it can be sent to the front again."""
        operation = request.headers.get("x-amz-target", "").rpartition(".")[2]
        if operation not in METHODS:
            return self._front(request)
        handler = DynamoHandler()
        handler.region, handler.current_account = REGION, ACCOUNT
        try:
            handler.body = json.loads(request.body, object_hook=_with_bytes)
            result = self._update(handler) if operation == "UpdateItem" else _result(handler, operation)
        except (ServiceException, HTTPException, ValueError):
            return self._front(request)
        known = {name: value for name, value in result.items() if value is not None and name in _members(operation)}
        body = json.dumps(known, default=_text).encode()
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


def _with_bytes(value: dict[str, Any]) -> dict[str, Any]:
    """Return an object of a request as moto holds it: typed binary values are bytes."""
    if isinstance(value.get("B"), str):
        return {"B": base64.b64decode(value["B"])}
    if isinstance(value.get("BS"), list):
        return {"BS": [base64.b64decode(one) for one in value["BS"]]}
    return value


def _text(value: bytes) -> str:
    """Return bytes as JSON has them."""
    return base64.b64encode(value).decode()
