"""Automations through the whole deployment: an event of our own begins runs, which lead to each other three times."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import httpx2
import pytest

from infra.local.demo import ADMINISTRATOR, ORGANIZATION, OWNERS
from infra.local.deployment import LocalDeployment, operating
from mcpist.people import directory
from mcpist.polling import Polling
from tests import members

WAIT = Polling(initial_seconds=0.1, max_seconds=1)
TAGS = {"id": "tags", "module": "rag", "tool": "list_tags", "params": {"limit": "${param.count}"}, "output": True}


@pytest.fixture
def owners(deployment: LocalDeployment) -> Iterator[None]:
    """Let administrators save batches and automate them, for this test."""
    with operating(deployment.aws):
        role = directory.read(ORGANIZATION).roles[OWNERS]
        members.put_role(ORGANIZATION, replace(role, modules=(*role.modules, "saved", "automations")))
    yield
    with operating(deployment.aws):
        members.put_role(ORGANIZATION, role)


@pytest.mark.usefixtures("owners")
def test_a_finished_batch_begins_an_automation_and_a_loop_of_them_ends(deployment: LocalDeployment) -> None:
    headers = {"authorization": f"Bearer {deployment.token(ADMINISTRATOR)}"}
    with httpx2.Client(base_url=deployment.aws.api_url, headers=headers, timeout=60) as client:

        def call(name: str, /, **parameters: Any) -> Any:
            body: dict[str, Any] = {"name": name, "parameters": parameters}
            answer = client.post("/v1/tools/call", json=body)
            if answer.status_code == 428:
                body["confirmation"] = answer.json()["details"]["confirmation"]
                answer = client.post("/v1/tools/call", json=body)
            assert answer.status_code == 200, answer.text
            return answer.json()["result"]

        count = {"count": {"type": "integer"}}
        call("saved.save", name="tags_of", description="Show tags", commands=[TAGS], parameters=count)
        about = {"name": "again", "batch": "tags_of", "event": "batches.finished", "own_events": True}
        call("automations.set", **about, parameters={"count": 2}, when=[{"equals": ["${event.outcome}", "succeeded"]}])
        client.post("/v1/batches", json={"commands": [{"module": "rag", "tool": "list_tags"}]})

        def runs() -> list[str]:
            return [one["state"] for one in call("automations.show", name="again")["runs"]]

        found = WAIT.wait([], lambda states: "skipped" in states, runs, 50)
        assert sorted(found) == ["running", "skipped", "succeeded", "succeeded"], found
        assert call("automations.delete", name="again")["state"] == "deleted"
