"""Invoke by every name that Lambda knows, and its refusals."""

import json
from pathlib import Path
from typing import Any

import pytest

from infra.local.invocation import InvocationResult, Throttled
from infra.local.lambda_api import LambdaApi, is_invoke
from infra.local.template import Function
from tests.infra.local.web import request

FUNCTION = Function("F", "mcpist-F", "m.h", Path(), (), 3, 128, {}, "live", False, "Text")
ARN = FUNCTION.arn


class FakePool:
    """Tells the ARN under which it was invoked."""

    function = FUNCTION

    def invoke(self, event: bytes, arn: str, **_: Any) -> InvocationResult:
        if event == b'"busy"':
            raise Throttled
        return InvocationResult(json.dumps(arn).encode(), "Unhandled" if event == b'"fail"' else None)


def invoke(function: str, body: bytes = b"{}", kind: str = "RequestResponse") -> tuple[int, dict[str, str], Any]:
    pools: Any = {"F": FakePool()}
    target = f"/2015-03-31/functions/{function.replace('?', '/invocations?', 1)}"
    sent = request(
        "POST", target if "?" in target else f"{target}/invocations", body=body, headers={"X-Amz-Invocation-Type": kind}
    )
    assert is_invoke(sent)
    answer = LambdaApi(pools).invoke(sent)
    return answer.status, dict(answer.headers), json.loads(answer.body) if answer.body else None


@pytest.mark.parametrize(
    ("function", "arn"),
    [
        ("mcpist-F", ARN),
        ("mcpist-F%3Alive", f"{ARN}:live"),
        ("mcpist-F:live", f"{ARN}:live"),
        ("mcpist-F?Qualifier=live", f"{ARN}:live"),
        ("mcpist-F?Qualifier=%24LATEST", f"{ARN}:$LATEST"),
        ("123456789012:function:mcpist-F", ARN),
        (f"{ARN}:live".replace(":", "%3A"), f"{ARN}:live"),
        (ARN, ARN),
    ],
)
def test_a_function_has_many_names(function: str, arn: str) -> None:
    status, headers, result = invoke(function)
    assert (status, result) == (200, arn)
    assert headers["x-amzn-RequestId"]
    assert "X-Amz-Function-Error" not in headers


@pytest.mark.parametrize("function", ["other", "mcpist-F:other", "a/b".replace("/", "%2F")])
def test_an_unknown_function_or_qualifier_is_404(function: str) -> None:
    status, headers, _ = invoke(function)
    assert (status, headers["x-amzn-ErrorType"]) == (404, "ResourceNotFoundException")


def test_a_function_error_is_200_with_a_header() -> None:
    status, headers, _ = invoke("mcpist-F", b'"fail"')
    assert (status, headers["X-Amz-Function-Error"]) == (200, "Unhandled")


def test_a_full_queue_is_429() -> None:
    status, headers, _ = invoke("mcpist-F", b'"busy"')
    assert (status, headers["x-amzn-ErrorType"]) == (429, "TooManyRequestsException")


def test_an_event_is_202_and_a_dry_run_204() -> None:
    assert invoke("mcpist-F", kind="Event")[0] == 202
    assert invoke("mcpist-F", kind="DryRun")[0] == 204


def test_a_payload_must_be_json_of_at_most_six_megabytes() -> None:
    assert invoke("mcpist-F", b"{")[1]["x-amzn-ErrorType"] == "InvalidRequestContentException"
    assert invoke("mcpist-F", b'"' + b"x" * 6_291_456 + b'"')[0] == 413
