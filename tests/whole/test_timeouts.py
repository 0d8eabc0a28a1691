"""Services that do not answer, on the embedded stack: every door says TIMEOUT before API Gateway gives up."""

import json
import os
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx2
import pytest

from infra.local.demo import ADMINISTRATOR, USER
from infra.local.deployment import LocalDeployment
from infra.local.http_api import INTEGRATION_TIMEOUT_SECONDS
from infra.local.login import Person
from tests.accounts import connect
from tests.whole.conftest import McpUser
from tests.whole.test_in_flight import post

CODE = '"code":"TIMEOUT"'


@pytest.mark.parametrize("owner", ["silent", "stalls"])
def test_a_service_that_says_nothing_or_half_an_answer_is_a_timeout(
    deployment: LocalDeployment, user: McpUser, owner: str
) -> None:
    connect(deployment, "github", "uma-canary-token")
    began = time.monotonic()
    call = {"module": "github", "tool": "get_repo", "params": {"owner": owner, "repo": "any"}}
    result = user.call("call", **call, options={"timeout": 1})
    assert result.is_error
    assert CODE in result.content[0].text
    assert time.monotonic() - began < 10


@pytest.mark.slow
def test_every_door_answers_in_time_also_where_no_deadline_ends_the_work(
    deployment: LocalDeployment, tmp_path: Path
) -> None:
    """Nobody opens the gate that the tool waits at; four requests are no more than may be in flight."""
    connect(deployment, "github", "uma-canary-token")
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    path = str(gate).removeprefix("/")
    tokens = {person: deployment.token(person) for person in (USER, ADMINISTRATOR)}
    for token in tokens.values():  # unknown ones would wait for each other
        assert post(deployment, token, "list_tools")[0] == 200
    wait: dict[str, Any] = {"module": "probe", "tool": "wait", "params": {"gate": path}}
    silent: dict[str, Any] = {"module": "github", "tool": "get_repo", "params": {"owner": "silent", "repo": "any"}}

    def call(person: Person, arguments: dict[str, Any]) -> tuple[int, str]:
        status, answer = post(deployment, tokens[person], "call", **arguments)
        return status, json.dumps(answer)

    def rest(person: Person, name: str, parameters: dict[str, Any]) -> tuple[int, str]:
        answer = httpx2.post(
            f"{deployment.aws.api_url}/v1/tools/call",
            json={"name": name, "parameters": parameters},
            headers={"authorization": f"Bearer {tokens[person]}"},
            timeout=INTEGRATION_TIMEOUT_SECONDS,
        )
        return answer.status_code, answer.text

    def read(person: Person) -> tuple[int, str]:
        answer = httpx2.post(
            deployment.mcp_url,
            json={"jsonrpc": "2.0", "id": 1, "method": "resources/read", "params": {"uri": f"probe://gates/{path}"}},
            headers={
                "authorization": f"Bearer {tokens[person]}",
                "accept": "application/json, text/event-stream",
                "mcp-protocol-version": "2025-11-25",
            },
            timeout=INTEGRATION_TIMEOUT_SECONDS,
        )
        return answer.status_code, answer.text

    def patient(request: Callable[..., tuple[int, str]], *arguments: Any) -> tuple[int, str, float]:
        """An answer and its seconds, of a request that is sent again while others take all places."""
        while True:
            began = time.monotonic()
            status, text = request(*arguments)
            if status != 429:
                return status, text, time.monotonic() - began
            time.sleep(1)

    with ThreadPoolExecutor() as pool:
        answers = [
            pool.submit(patient, call, USER, wait),
            pool.submit(patient, call, USER, silent),
            pool.submit(patient, read, USER),
            pool.submit(patient, rest, ADMINISTRATOR, "probe-wait", {"gate": path}),
        ]
        results = [answer.result() for answer in answers]
    assert [status for status, _, _ in results] == [200, 200, 200, 408]
    assert all("TIMEOUT" in text and seconds < INTEGRATION_TIMEOUT_SECONDS for _, text, seconds in results), results
    assert post(deployment, tokens[USER], "list_tools")[0] == 200
