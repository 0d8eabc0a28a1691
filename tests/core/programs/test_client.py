"""The doors' client of the program runner: what it does before it sends anything, and how long it waits."""

import base64
import io
import json
import time
from typing import Any

import pytest

from mcpist.aws import clients
from mcpist.errors import DayLimitReached
from mcpist.programs import client
from mcpist.programs.messages import ServerDeclaration, ServerRequest
from mcpist.settings import settings
from mcpist.spending import spending

SERVER = ServerDeclaration(name="notes", command="npx", timeout_seconds=55, result_bytes=1_000, concurrency=1)


def test_no_program_runs_beyond_the_seconds_of_the_day(aws: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DAY_PROGRAM_SECONDS", "60")
    settings.cache_clear()
    server = ServerDeclaration(name="notes", command="npx", timeout_seconds=5, result_bytes=1_000, concurrency=1)
    request = ServerRequest(organization="acme", server=server, method="list", seconds=5)
    spending.add("acme", "program_seconds", 59.1)
    aws.clear()
    with pytest.raises(DayLimitReached) as refused:
        client.ask(request, deadline=time.monotonic() + 5)
    assert refused.value.details["measure"] == "program_seconds"
    assert "Invoke" not in aws


@pytest.mark.parametrize("seconds", [1, 2, 4])
def test_a_server_has_the_seconds_that_were_asked_for(aws: list[str], seconds: int) -> None:
    sent: list[dict[str, Any]] = []

    def answer(params: dict[str, Any], **_: Any) -> Any:
        sent.append(json.loads(params["body"]))
        content = {"result": {"packed": base64.b64encode(b"answer").decode()}}
        payload = io.BytesIO(json.dumps(content).encode())
        return type("Response", (), {"status_code": 200}), {"Payload": payload, "ResponseMetadata": {"RequestId": "i"}}

    clients.session().register("before-call.lambda.Invoke", answer)
    request = ServerRequest(organization="acme", server=SERVER, method="call", name="find", seconds=1)
    assert client.ask(request, deadline=time.monotonic() + seconds) == b"answer"
    assert seconds * 0.8 < sent[0]["seconds"] <= seconds
    assert aws == []
