"""Requests to moto's DynamoDB about items, without its front.

For each request moto passes Flask, walks through the parameters by botocore's model of DynamoDB, and through the answer
again: two thirds of the CPU of a request. Items are DynamoDB's JSON already, but for bytes.
"""

import base64
import json
import uuid
import zlib
from functools import cache
from typing import Any

from moto.core.exceptions import ServiceException
from moto.core.utils import get_service_model
from moto.dynamodb.responses import DynamoHandler
from werkzeug.exceptions import HTTPException

from infra.local.names import ACCOUNT, REGION
from infra.local.server import App, Request, Response

CONTENT_TYPE = "application/x-amz-json-1.0"
METHODS = {
    "BatchGetItem": "batch_get_item",
    "BatchWriteItem": "batch_write_item",
    "DeleteItem": "delete_item",
    "GetItem": "get_item",
    "PutItem": "put_item",
    "Query": "query",
    "TransactWriteItems": "transact_write_items",
    "UpdateItem": "update_item",
}


class ItemRequests:
    """Answers requests about items; `front` answers all others, and words the errors."""

    def __init__(self, front: App) -> None:
        self._front = front

    def __call__(self, request: Request) -> Response:
        """Answer a request; one that moto refuses has changed nothing, so it can be sent to the front again."""
        operation = request.headers.get("x-amz-target", "").rpartition(".")[2]
        if operation not in METHODS:
            return self._front(request)
        handler = DynamoHandler()
        handler.region, handler.current_account = REGION, ACCOUNT
        try:
            handler.body = json.loads(request.body, object_hook=_with_bytes)
            result: Any = getattr(handler, METHODS[operation])().result
        except (ServiceException, HTTPException, ValueError):
            return self._front(request)
        known = {name: value for name, value in result.items() if value is not None and name in _members(operation)}
        body = json.dumps(known, default=_text).encode()
        headers = (
            ("content-type", CONTENT_TYPE),
            ("x-amzn-requestid", uuid.uuid4().hex.upper()),
            ("x-amz-crc32", str(zlib.crc32(body))),
        )
        return Response(200, headers, body)


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
