"""Rows as events of OCSF: valid by its published schema, and whole whatever is stored."""

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from mcpist.audit.exports import EXPORTS
from mcpist.audit.ocsf import as_event, stored_as_ocsf_line
from mcpist.audit.record import new_row
from mcpist.audit.rows import COLUMNS, row_of
from mcpist.aws.attributes import serialize
from mcpist.caller import ClientInfo

SCHEMA = json.loads(Path(__file__).with_name("ocsf_api_activity.json").read_text("utf-8"))
CLIENT = ClientInfo("claude-code", "2.1", "https://client.example.com")


def stored(**columns: Any) -> dict[str, Any]:
    usual = {"user": "uma", "roles": ["members"], "event": "use", "service": "github", "tool": "github.get_me"}
    return new_row("acme", CLIENT, **{**usual, "outcome": "succeeded", "request": "r1", **columns})


def event_of(item: dict[str, Any]) -> dict[str, Any]:
    return dict(json.loads(stored_as_ocsf_line(serialize(item))))


@pytest.mark.parametrize(
    ("columns", "activity", "status"),
    [
        ({}, 99, "Success"),
        ({"outcome": "started"}, 99, "Started"),
        ({"outcome": "TOOL_NOT_ALLOWED", "measures": {"milliseconds": 7}}, 99, "Failure"),
        ({"event": "revoke", "tool": "", "account": "work"}, 4, "Success"),
        ({"event": "change", "target": "users.uma", "before": None, "after": {"roles": ["a"]}}, 3, "Success"),
    ],
)
def test_a_row_is_an_event_by_the_published_schema(columns: dict[str, Any], activity: int, status: str) -> None:
    event = event_of(stored(**columns))
    jsonschema.validate(event, SCHEMA)
    assert (event["activity_id"], event["status"], event["type_uid"]) == (activity, status, 600300 + activity)


def test_an_event_has_all_that_the_row_says_and_whose_it_is() -> None:
    item = stored(account="work", target="users.uma", batch="b1", after={"name": "Uma"}, change="c1")
    row, event = row_of(item), event_of(item)
    said = json.dumps(event)
    for name in set(COLUMNS) - {"time", "roles"}:
        assert not row[name] or json.dumps(row[name]) in said, name
    assert event["actor"]["user"]["groups"] == [{"name": "members"}]
    assert event["metadata"]["tenant_uid"] == "acme"
    assert event["metadata"]["uid"] == row["id"]
    assert event["time"] // 1000 == int(item["expires_at"]) - 400 * 86_400


@pytest.mark.parametrize(
    "item", [{"pk": "acme#0", "sk": "no time"}, {"sk": "2026-11-22T21:05:09.1+00:00#a"}, {"pk": 7}]
)
def test_an_item_that_nobody_of_ours_wrote_is_delivered_as_it_is(item: dict[str, Any]) -> None:
    """Else one item of somebody with rights at the table would stop the delivery of all rows after it."""
    event = event_of(item)
    assert (event["class_uid"], json.loads(event["raw_data"])) == (0, serialize(item))


def test_an_export_and_the_delivery_write_the_same_line() -> None:
    item = stored()
    assert EXPORTS["ocsf"][1]([row_of(item)], "acme") == stored_as_ocsf_line(serialize(item))
    assert as_event(row_of(item), "acme") == event_of(item)
