"""The conformance suite's scenarios of the Tasks extension, against a server with our task handlers."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.mcp_endpoint.task_server import TaskServer
from tests.peers.conformance import outcomes
from tests.upstreams.served import served

# The suite also lists tasks-status-notifications, which checks nothing yet.
SCENARIOS = (
    "capability-negotiation",
    "dispatch-and-envelope",
    "lifecycle",
    "mrtr-composition",
    "mrtr-input",
    "request-headers",
    "request-state-removal",
    "required-task-error",
    "wire-fields",
)


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with served(TaskServer().server) as url:
        yield url


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_our_task_handlers_conform(url: str, scenario: str, tmp_path: Path) -> None:
    found = outcomes(url, f"tasks-{scenario}", tmp_path)
    assert len(found) > 1
    assert {check: outcome for check, outcome in found.items() if outcome != "SUCCESS"} == {}
