"""One request, found everywhere by its one id."""

from collections.abc import Iterator

import pytest

from infra.local.accounts import connect, disconnect
from infra.local.deployment import LocalDeployment
from tests import emf
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
    before = {log: log.stat().st_size for log in deployment.logs.iterdir()}
    steps = [{"id": "me", **GET_ME}, {"id": "again", **GET_ME, "after": ["me"]}]
    assert "2 of 2 steps" in connected.texts("batch", commands=steps)[0]
    written = {log.stem: list(emf.documents(log.read_bytes()[size:].decode())) for log, size in before.items()}
    endpoint, runner, broker = (written[f"{door}Function"] for door in ("McpEndpoint", "StepRunner", "TokenBroker"))
    (correlation,) = {line["correlation_id"] for line in (*runner, *broker)}
    assert sorted(line["message"] for line in runner if "message" in line) == ["request"] * 2 + ["response"] * 2
    assert {line["operation"] for line in broker if "operation" in line} == {"warrant", "resolve"}
    found = [line for line in endpoint if line.get("correlation_id") == correlation]  # libraries' lines have none
    assert [line["message"] for line in found if "message" in line] == ["request", "response"]
    assert correlation == found[0]["request"], "the endpoint's own, which its errors name and the audit has"
    assert [line for line in found if "TokensAfter" in line]
    assert {line["trace_id"] for line in (*found, *runner, *broker)} == {correlation.replace("-", "")}
