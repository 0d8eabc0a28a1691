"""moto's answers of DynamoDB, with items written as JSON directly.

moto walks through each item by botocore's model of DynamoDB and looks for each member of each value under a dozen
names: two thirds of the CPU that a request to its DynamoDB takes. Items are DynamoDB's JSON already, but for bytes.
"""

import base64
from collections.abc import MutableMapping
from typing import Any

from botocore.model import MapShape
from moto.core.serialize import SERVICE_SPECIFIC_SERIALIZERS, JSONSerializer


class DynamoDbSerializer(JSONSerializer):
    """The serializer of DynamoDB's protocol."""

    def _serialize_type_map(self, serialized: MutableMapping[str, Any], value: Any, shape: MapShape, key: str) -> None:
        if getattr(shape.value, "name", "") != "AttributeValue":
            super()._serialize_type_map(serialized, value, shape, key)
        else:
            self._default_serialize(serialized, {name: json_of(typed) for name, typed in value.items()}, shape, key)


def install() -> None:
    """Let moto use the serializer, in this process."""
    SERVICE_SPECIFIC_SERIALIZERS["dynamodb"] = {"json": DynamoDbSerializer}


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
