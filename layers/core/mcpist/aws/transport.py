"""The way to DynamoDB of this process."""

from collections.abc import Callable, Mapping
from typing import Any

from mcpist.aws.clients import client, store_errors
from mcpist.memory import cached
from mcpist.shortcuts import shortcut

_dynamodb = shortcut("mcpist.aws.dynamodb")


type Transport = Callable[[str, str, Mapping[str, Any]], Any]
"""Sends a store one request, an operation with its parameters, and the same again where that may help.

StoreUnavailable if DynamoDB is down, and an AwsError if it refuses the request.
"""


def send(store: str, operation: str, parameters: Mapping[str, Any]) -> Any:
    """Send a request to DynamoDB, e.g. `GetItem`, for a store that errors call `store`."""
    return transport()(store, operation, parameters)


@cached
def transport() -> Transport:
    """Return the way to DynamoDB of this process."""
    return (_dynamodb and _dynamodb.own_transport()) or send_by_botocore


def send_by_botocore(store: str, operation: str, parameters: Mapping[str, Any]) -> Any:
    """Send a request by botocore's client."""
    from botocore import xform_name

    with store_errors(store):
        return getattr(client("dynamodb"), xform_name(operation))(**parameters)
