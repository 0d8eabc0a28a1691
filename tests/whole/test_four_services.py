"""An example of what people do: from Jira issues to a Confluence page, a To Do task and time in the calendar."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from mcpist_services import provider_name
from tests.accounts import connect, disconnect, forget
from tests.services.contracts import needs_descriptions
from tests.whole.conftest import McpUser
from tests.whole.vendors import ACCOUNT, HOSTS, Vendors

pytestmark = needs_descriptions

BATCH = Path(__file__).with_name("four_services.jsonl").read_text("utf-8")


@pytest.fixture
def connected(user: McpUser, vendors: Vendors) -> Iterator[McpUser]:
    """Uma with an account of each service."""
    for service in HOSTS:
        account = {"account_id": ACCOUNT, "account_name": f"uma@{service}"}
        connect(user.deployment, service, f"{provider_name(service)}-canary-token", **account)
    forget(user.deployment)
    vendors.refused.clear()
    for service in HOSTS:  # where a test before this one has asked some of them
        vendors.asked(service).clear()
        vendors.tokens[service].clear()
    yield user
    for service in HOSTS:
        disconnect(user.deployment, service)


def test_a_batch_goes_through_four_services(connected: McpUser, vendors: Vendors) -> None:
    summary, *blocks = connected.texts("batch", commands=BATCH)
    assert "done, 5 of 5 steps: find succeeded" in summary, (summary, blocks, vendors.refused)
    assert not vendors.refused
    assert [block.partition(":")[0] for block in blocks] == ["find", "page", "task", "time"]
    assert vendors.asked("jira")[-1].json["jql"] == "assignee = currentUser() AND statusCategory != Done"
    task = vendors.asked("microsoft_todo")[-1].json
    event = vendors.asked("google_calendar")[-1].json
    key, _, title = task["title"].partition(": ")
    assert title
    assert key in vendors.asked("confluence")[0].query["cql"][0]
    assert event["summary"] == f"Work on {key}"
    assert all(vendors.tokens[service] == {f"Bearer {provider_name(service)}-canary-token"} for service in HOSTS)
    assert "canary" not in json.dumps(blocks)
