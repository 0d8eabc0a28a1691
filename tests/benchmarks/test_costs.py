from benchmarks.costs import Case, cost_table, usage_table
from benchmarks.meter import Stopwatch
from benchmarks.prices import Usage
from tests.traffic import AwsRequest


def case(name: str, *, parts: int = 1) -> Case:
    def nothing() -> int:
        return 0

    return Case(name, nothing, nothing, parts=parts)


def test_calls_are_priced_by_the_million_and_steps_by_the_thousand() -> None:
    call: Usage = {"http_api_request": 1, "dynamodb_write": 3}
    step: Usage = {"dynamodb_write": 10}
    text = cost_table({case("warm"): call, case("batch", parts=30): step})
    assert text.splitlines() == [
        "| dollars of | 1,000,000 calls (warm) | 1,000 steps (batch) |",
        "| --- | --- | --- |",
        "| API Gateway, HTTP API | 1.00 |  |",
        "| DynamoDB, writes | 1.88 | 0.00625 |",
        "| **together** | **2.88** | **0.00625** |",
    ]


def test_each_usage_has_its_unit() -> None:
    assert usage_table({case("warm"): {"kms_request": 1, "lambda_gb_second": 0.3456, "logs_byte": 1_190}}).splitlines()[
        2:
    ] == [
        "| Lambda, time: GB-second, x86 | 0.346 |",
        "| KMS: request | 1 |",
        "| CloudWatch Logs: byte taken in | 1,190 |",
    ]


def test_an_invocation_is_timed_for_the_function_that_it_went_to() -> None:
    stopwatch = Stopwatch()
    outer = AwsRequest("client", None, "lambda", "Invoke")
    inner = AwsRequest("sandbox-1", "McpEndpointFunction", "lambda", "Invoke")
    other = AwsRequest("sandbox-1", "McpEndpointFunction", "dynamodb", "PutItem")
    for request in (outer, other, inner):
        stopwatch(request, "before")
    for request in (inner, other, outer):
        stopwatch(request, "after")
    (first, within), (second, whole) = stopwatch.took
    assert (first, second) == ("TokenBrokerFunction", "McpEndpointFunction")
    assert 0 <= within <= whole
