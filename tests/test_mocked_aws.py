"""The answers of the mocked AWS are those of moto."""

import json

import pytest
from moto.core.serialize import JSONSerializer, XFormedAttributePicker
from moto.core.utils import get_service_model

from tests.mocked_aws import DynamoDbSerializer

ITEM = {
    "pk": {"S": "org#acme"},
    "count": {"N": "12.5"},
    "sealed": {"B": b"\x00\xff"},
    "parts": {"BS": [b"a", b"b"]},
    "tags": {"SS": ["x", "y"]},
    "none": {"NULL": True},
    "done": {"BOOL": False},
    "deep": {"M": {"list": {"L": [{"S": ""}, {"M": {}}, {"B": b"z"}]}, "empty": {"L": []}}},
}
RESULTS = {
    "GetItem": {"Item": ITEM, "ConsumedCapacity": {"TableName": "T", "CapacityUnits": 0.5}},
    "Query": {"Items": [ITEM, {}], "Count": 2, "ScannedCount": 2, "LastEvaluatedKey": {"pk": {"S": "a"}}},
    "BatchGetItem": {"Responses": {"T": [ITEM]}, "UnprocessedKeys": {"T": {"Keys": [{"pk": {"S": "b"}}]}}},
    "UpdateItem": {"Attributes": ITEM},
    "BatchWriteItem": {"UnprocessedItems": {"T": [{"PutRequest": {"Item": ITEM}}]}},
    "PutItem": {},
}


@pytest.mark.parametrize("operation", RESULTS)
def test_an_answer_is_the_one_that_moto_would_write(operation: str) -> None:
    model = get_service_model("dynamodb").operation_model(operation)
    ours, moto = (
        json.loads(serializer(model, value_picker=XFormedAttributePicker()).serialize(RESULTS[operation])["body"])
        for serializer in (DynamoDbSerializer, JSONSerializer)
    )
    assert ours == moto
