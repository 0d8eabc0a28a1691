"""Slow calls of one user on the embedded AWS, whose functions run ten requests at once: others do not wait for them."""

import json
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx2
import pytest

from infra.local.demo import USER
from infra.local.deployment import LocalDeployment, operating
from infra.local.login import Person
from mcpist.caller import Subject
from tests import members
from tests.whole.gate import held

EVENTS = Path(__file__).parents[2] / "events"
SLOW_CALLS = 10
OLGA = Person(sub="olga", name="Olga Other", email="olga@example.com", role="user")


def post(deployment: LocalDeployment, token: str, event: str, **arguments: Any) -> tuple[int, Any]:
    """Send one of the recorded requests, and return its status and its answer."""
    recorded = json.loads((EVENTS / f"mcp_endpoint_{event}.json").read_text("utf-8"))
    headers = {name: value for name, value in recorded["headers"].items() if name.startswith(("accept", "mcp-", "co"))}
    message = json.loads(recorded["body"])
    if arguments:
        message["params"]["arguments"] = arguments
    answer = httpx2.post(
        deployment.mcp_url, json=message, headers=headers | {"authorization": f"Bearer {token}"}, timeout=30
    )
    return answer.status_code, answer.json()


@pytest.mark.usefixtures("guests")
def test_ten_slow_calls_of_a_user_make_no_other_organization_wait(deployment: LocalDeployment, tmp_path: Path) -> None:
    with operating(deployment.aws):
        members.put_organization("other", name="Other")
        subject = Subject(deployment.login.issuer, OLGA.sub)
        members.put_user("other", OLGA.sub, name=OLGA.name, subject=subject, system_role="user", roles=[])
    traces, gate, olga = tmp_path / "traces", tmp_path / "gate", deployment.token(OLGA)
    slow = {"module": "probe", "tool": "look_long", "params": {"file": str(traces), "gate": str(gate)}}
    assert post(deployment, olga, "list_tools")[0] == 200
    api = deployment.aws.router.http_api
    assert api is not None
    assert api.turns is not None
    assert api.turns.client(f"Bearer {olga}")[1] == b"org#other"
    deployment.aws.functions["McpEndpointFunction"].stop_idle()  # with the places that they keep
    with ThreadPoolExecutor(SLOW_CALLS) as pool:
        with held(gate):
            calls = [pool.submit(post, deployment, deployment.token(USER), "call", **slow) for _ in range(SLOW_CALLS)]
            patience = time.monotonic() + 60
            while not traces.exists() or sum(call.done() for call in calls) + traces.stat().st_size < SLOW_CALLS:
                assert time.monotonic() < patience, "calls beyond the limit are neither served nor refused"
                time.sleep(0.02)
            began = time.monotonic()
            assert post(deployment, olga, "list_tools")[0] == 200
            assert time.monotonic() - began < 3
        answers = [call.result() for call in calls]
    ended = Counter(status for status, _ in answers)
    assert ended in ({200: 4, 429: 6}, {200: 3, 429: 7})  # of two that come at once, both may find the last place taken
    refusals = [answer["error"] for status, answer in answers if status == 429]
    assert {(error["code"], error["details"]["retry_after"]) for error in refusals} == {("RATE_LIMIT_EXCEEDED", 1)}
