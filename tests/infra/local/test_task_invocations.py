"""A Task's Invoke request has the responses and the errors of boto3's client."""

import json

import pytest
from botocore.exceptions import ClientError

from infra.local.server import LoopbackRequest, LoopbackResponse
from infra.local.step_functions import TaskClient

ARN = "arn:aws:lambda:eu-west-1:123456789012:function:step-runner:live"


def test_the_request_is_one_that_the_invoke_api_understands() -> None:
    seen: list[LoopbackRequest] = []

    def serve(request: LoopbackRequest) -> LoopbackResponse:
        seen.append(request)
        return LoopbackResponse(200, (("X-Amz-Executed-Version", "1"),), b'{"go": {}}')

    answer = TaskClient(serve).invoke(FunctionName=ARN, Payload=b'{"batch": "b"}', Qualifier="live")
    (request,) = seen
    assert (request.method, request.path, request.query, request.body) == (
        "POST",
        f"/2015-03-31/functions/{ARN.replace(':', '%3A')}/invocations",
        "Qualifier=live",
        b'{"batch": "b"}',
    )
    assert (answer["StatusCode"], answer["ExecutedVersion"], json.load(answer["Payload"])) == (200, "1", {"go": {}})
    assert "FunctionError" not in answer


def test_the_error_of_a_function_is_named() -> None:
    response = LoopbackResponse(200, (("X-Amz-Function-Error", "Unhandled"),), b'{"errorType": "StepBusy"}')
    answer = TaskClient(lambda _: response).invoke(FunctionName=ARN)
    assert answer["FunctionError"] == "Unhandled"


def test_a_refusal_is_a_client_error_with_its_code() -> None:
    headers = (("x-amzn-ErrorType", "TooManyRequestsException"), ("x-amzn-RequestId", "r1"))
    with pytest.raises(ClientError) as refused:
        TaskClient(lambda _: LoopbackResponse(429, headers, b'{"message": "Rate Exceeded."}')).invoke(FunctionName=ARN)
    assert refused.value.response["Error"]["Code"] == "TooManyRequestsException"
    assert refused.value.response["ResponseMetadata"]["HTTPStatusCode"] == 429
