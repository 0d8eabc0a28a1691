"""A Task's Invoke request has the responses and the errors of boto3's client."""

import json
from concurrent.futures import ThreadPoolExecutor
from math import inf
from threading import Event, Semaphore

import pytest
from botocore.exceptions import ClientError

from infra.local.fair_queue import FairQueue
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


def test_an_organization_with_many_steps_has_few_sent_at_once_and_no_other_waits_for_it() -> None:
    started, end = {"greedy": Semaphore(0), "modest": Semaphore(0)}, Event()

    def serve(request: LoopbackRequest) -> LoopbackResponse:
        started[json.loads(request.body)["batch"].partition("#")[0]].release()
        end.wait(60)
        return LoopbackResponse(200, (), b"{}")

    client = TaskClient(serve, FairQueue(at_once=8, max_waiting=inf, spacing_seconds=0))

    def invoke(organization: str) -> None:
        client.invoke(FunctionName=ARN, Payload=json.dumps({"batch": f"{organization}#b_1"}).encode())

    with ThreadPoolExecutor(31) as pool:
        steps = [pool.submit(invoke, "greedy") for _ in range(30)]
        assert all(started["greedy"].acquire(timeout=10) for _ in range(8))
        steps.append(pool.submit(invoke, "modest"))
        assert started["modest"].acquire(timeout=10)
        assert not started["greedy"].acquire(blocking=False)
        end.set()
        assert [step.result(10) for step in steps] == [None] * 31
