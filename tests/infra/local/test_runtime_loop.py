"""The small loop that replaces awslambdaric on platforms without a wheel."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from infra.local import runtime_loop
from infra.local.server import DropConnection, LoopbackRequest, LoopbackResponse, LoopbackServer, listen

HANDLER = """
def handler(event, context):
    if event == "fail":
        raise ValueError("no")
    return {"event": event, "id": context.aws_request_id, "left": context.get_remaining_time_in_millis() > 0}
"""
ENVIRONMENT = {
    "AWS_LAMBDA_FUNCTION_NAME": "f",
    "AWS_LAMBDA_FUNCTION_VERSION": "1",
    "AWS_LAMBDA_FUNCTION_MEMORY_SIZE": "128",
    "AWS_LAMBDA_LOG_GROUP_NAME": "g",
    "AWS_LAMBDA_LOG_STREAM_NAME": "s",
}


class FakeApi:
    """Provides events, keeps the results, then closes the connection."""

    def __init__(self, *events: object) -> None:
        self.events = list(events)
        self.answers: list[tuple[str, object]] = []

    def __call__(self, request: LoopbackRequest) -> LoopbackResponse:
        if request.method == "POST":
            self.answers.append((request.path, json.loads(request.body)))
            return LoopbackResponse(202)
        if not self.events:
            raise DropConnection
        headers = (
            ("Lambda-Runtime-Aws-Request-Id", "id-1"),
            ("Lambda-Runtime-Deadline-Ms", "9999999999999"),
            ("Lambda-Runtime-Invoked-Function-Arn", "arn"),
        )
        return LoopbackResponse(200, headers, json.dumps(self.events.pop(0)).encode())


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    (tmp_path / "loop_handler.py").write_text(HANDLER)
    monkeypatch.syspath_prepend(tmp_path)
    for name, value in ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    yield "loop_handler"
    sys.modules.pop("loop_handler", None)


def serve(api: FakeApi, handler: str) -> None:
    listener = listen("127.0.0.1", 0)
    with LoopbackServer(listener, api):
        runtime_loop.run(handler, f"127.0.0.1:{listener.getsockname()[1]}/secret")


def test_it_answers_events_and_reports_errors(module: str) -> None:
    api = FakeApi({"a": 1}, "fail")
    with pytest.raises(ConnectionError):
        serve(api, f"{module}.handler")
    base = "/secret/2018-06-01/runtime/invocation/id-1"
    (path, result), (error_path, error) = api.answers
    assert (path, result) == (f"{base}/response", {"event": {"a": 1}, "id": "id-1", "left": True})
    assert error_path == f"{base}/error"
    assert isinstance(error, dict)
    assert (error["errorType"], error["errorMessage"]) == ("ValueError", "no")


def test_an_import_error_is_reported_before_it_ends(module: str) -> None:  # noqa: ARG001 - for its environment
    api = FakeApi()
    with pytest.raises(SystemExit):
        serve(api, "no_such_module.handler")
    assert api.answers[0][0] == "/secret/2018-06-01/runtime/init/error"
