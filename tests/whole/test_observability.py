"""One request, found everywhere by its one id."""

from collections.abc import Iterator
from typing import Any

import pytest

from infra.local.deployment import LocalDeployment
from mcpist.polling import Polling
from tests import emf
from tests.accounts import connect, disconnect
from tests.whole.conftest import McpUser

GET_ME = {"module": "github", "tool": "get_me", "output": True}


@pytest.fixture
def connected(user: McpUser) -> Iterator[McpUser]:
    connect(user.deployment, "github", "uma-canary-token")
    yield user
    disconnect(user.deployment, "github")


def test_a_batch_is_found_by_one_id_in_the_logs_of_the_endpoint_its_steps_and_the_broker(
    deployment: LocalDeployment, connected: McpUser
) -> None:
    before = {log: log.stat().st_size for log in deployment.aws.logs.iterdir()}
    steps = [{"id": "me", **GET_ME}, {"id": "again", **GET_ME}]
    assert "2 of 2 steps" in connected.texts("batch", commands=steps)[0]

    def written() -> dict[str, list[dict[str, Any]]]:
        return {log.stem: list(emf.documents(log.read_bytes()[size:].decode())) for log, size in before.items()}

    def of_steps(logs: dict[str, list[dict[str, Any]]]) -> set[tuple[int, str]]:
        return {(line["step"], line["message"]) for line in logs["StepRunnerFunction"] if "message" in line}

    # The last line of a step is written after it has settled.
    every_line = {(step, message) for step in (0, 1) for message in ("request", "response")}
    logs = Polling(0.02, 0.5).wait(written(), lambda logs: of_steps(logs) >= every_line, written, seconds=10)
    endpoint, runner, broker = (logs[f"{door}Function"] for door in ("McpEndpoint", "StepRunner", "TokenBroker"))
    # A machine that is busy may still do for a test before this one what it asked for in the background.
    (correlation,) = {line["correlation_id"] for line in runner} & {line.get("request") for line in endpoint}
    runner, broker = ([line for line in lines if line["correlation_id"] == correlation] for lines in (runner, broker))
    assert of_steps({"StepRunnerFunction": runner}) == every_line
    assert {line["operation"] for line in broker if "operation" in line} == {"warrant", "resolve"}
    found = [line for line in endpoint if line.get("correlation_id") == correlation]  # libraries' lines have none
    assert [line["message"] for line in found if "message" in line] == ["request", "response"]
    assert correlation == found[0]["request"], "the endpoint's own, which its errors name and the audit has"
    assert [line for line in found if "TokensAfter" in line]
    assert {line["trace_id"] for line in (*found, *runner, *broker)} == {correlation.replace("-", "")}
