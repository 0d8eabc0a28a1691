"""Events at the REST API: their types, what happened, and what brings it in."""

import json
import re
import time

import pytest

from infra.source import ROOT
from mcpist.caller import Role
from mcpist.events import store
from mcpist.events.event import Event
from mcpist_services import NAMES
from tests import members
from tests.rest_api.fake_broker import FakeBroker
from tests.rest_api.rest_client import RestClient

REPOSITORY = {"owner": "octocat", "repo": "hello-world"}


@pytest.fixture
def broker(rest: RestClient) -> FakeBroker:  # noqa: ARG001 - AWS is mocked first
    fake = FakeBroker()
    fake.answers["permit"] = {"id": "p1", "permit": "sealed", "expires_at": 1}
    fake.answers["keep_secret"] = {"sealed": "sealed-secret", "secret": None}
    return fake


def happened(number: int, user: str = "uma") -> None:
    event = Event(
        id=f"e{number}-{user}",
        organization="acme",
        user=user,
        type="github.issues",
        occurred_at=1_800_000_000,
        data={"action": "opened", "issue": {"number": number}},
        source="acme.s1",
    )
    store.put(event, time.time() - 100 + number)


def test_types_are_listed_with_what_narrows_them_and_what_they_carry(rest: RestClient) -> None:
    types = {one["name"]: one for one in rest.get("/v1/events/types").json["types"]}
    issues = types["github.issues"]
    assert (issues["delivery"], issues["byHand"]) == ("webhook", False)
    assert issues["arguments"]["required"] == ["owner", "repo"]
    assert issues["payload"]["properties"]["issue"]["properties"]["number"] == {"type": "integer"}
    assert (types["slack.messages"]["byHand"], types["jira.issues"]["delivery"]) == (True, "polled")


def test_only_the_events_of_ones_own_sources_are_read_the_newest_first_or_after_a_cursor(rest: RestClient) -> None:
    for number in range(3):
        happened(number)
    happened(3, "ada")
    page = rest.get("/v1/events", type="github.issues", limit=2).json
    assert [one["data"]["issue"]["number"] for one in page["events"]] == [2, 1]
    assert (page["hasMore"], page["events"][0]["occurredAt"]) == (True, "2027-01-15T08:00:00+00:00")
    after = page["events"][1]["cursor"]
    assert [one["id"] for one in rest.get("/v1/events", type="github.issues", after=after).json["events"]] == ["e2-uma"]
    assert rest.get("/v1/events", type="github.issues", after=page["cursor"]).json["events"] == []
    assert rest.of("ada").get("/v1/events", type="github.issues").json["events"][0]["id"] == "e3-ada"
    assert rest.get("/v1/events", type="github.isues").json["code"] == "EVENT_TYPE_NOT_FOUND"
    assert rest.get("/v1/events", type="github.issues", after="Z").status == 400


def test_a_source_is_begun_listed_and_ended_by_its_person(rest: RestClient, broker: FakeBroker) -> None:
    begun = rest.post("/v1/events/sources", {"type": "github.issues", "arguments": REPOSITORY}).json["source"]
    assert (begun["state"], begun["types"], begun["pinned"]) == ("starting", ["github.issues"], True)
    assert rest.get("/v1/events/sources").json["sources"] == [begun]
    assert broker.messages[-1]["operation"] == "permit"
    assert broker.messages[-1]["services"] == ["github"]
    assert rest.of("ada").get("/v1/events/sources").json["sources"] == []
    assert rest.of("ada").send("DELETE", f"/v1/events/sources/{begun['id']}").status == 404
    assert rest.send("DELETE", f"/v1/events/sources/{begun['id']}").json["state"] == "ending"


def test_the_guide_begins_sources_as_it_says(rest: RestClient, broker: FakeBroker) -> None:  # noqa: ARG001 - asked
    members.put_role("acme", Role("members", modules=(*NAMES, "saved"), allow=("saved.list",)))
    page = (ROOT / "docs/events.md").read_text("utf-8")
    bodies = [json.loads(one) for one in re.findall(r"(?s)```json\n(.*?)```", page) if '"id"' not in one]
    begun = [rest.post("/v1/events/sources", body).json["source"] for body in bodies]
    assert [one["types"][0] for one in begun] == ["github.issues", "slack.messages"]
    listed = [one["name"] for one in rest.get("/v1/events/types").json["types"]]
    assert sorted(listed) == sorted(re.findall(r"`(\w+\.\w+)`", page.partition("| --- |")[2].partition("\n\n")[0]))


def test_a_source_whose_address_a_person_enters_needs_the_vendors_secret(rest: RestClient, broker: FakeBroker) -> None:
    missing = rest.post("/v1/events/sources", {"type": "slack.messages"})
    assert (missing.status, missing.json["details"]["field"]) == (400, "secret")
    begun = rest.post("/v1/events/sources", {"type": "slack.messages", "secret": "s3cr3t"}).json["source"]
    assert begun["url"].endswith(f"/hooks/{begun['id']}")
    assert begun["types"] == ["slack.messages", "slack.mentions", "slack.reactions"]
    assert broker.messages[-1] | {"secret": "s3cr3t", "owner": begun["id"]} == broker.messages[-1]
