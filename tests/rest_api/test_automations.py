"""Automations by REST: set up as tools, run by the tick of the schedule, and ended by either side."""

import json
import re
import time
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import boto3
import pytest

from mcpist import settings
from mcpist.automations import occasions, records, runs, starting
from mcpist.automations.records import Automation, DueEntry, Run
from mcpist.aws.table import ledger_table
from mcpist.batch.execution.judging import place_of
from mcpist.batch.ledger import ledger
from mcpist.caller import Policies, Role, Subject
from mcpist.errors import StoreUnavailable, UpstreamUnavailable
from mcpist.events import interests, store
from mcpist.events.event import Event
from mcpist.events.event_type import Argument, event_type
from mcpist.events.interests import Interest
from mcpist.people import directory, edits
from mcpist.running import broker, notification
from mcpist.tools.access.permissions import Permissions
from mcpist.tools.search.translation import read_translation
from mcpist_services import NAMES
from mcpist_services.automations import module
from mcpist_services.catalogue import CATALOGUE
from mcpist_services.events import deployed_types
from rest_api.handler import handler
from tests import members
from tests.lambda_context import Context
from tests.mcp_endpoint.ledger_driver import LedgerDriver
from tests.mocked_aws import make_once
from tests.rest_api.rest_client import Answer, RestClient
from token_broker.handler import perform

TAGS = {"id": "tags", "module": "rag", "tool": "list_tags", "params": {"limit": "${param.count}"}, "output": True}
MORE = {"id": "more", "module": "rag", "tool": "search_docs", "params": {"query": "${param.about}"}, "after": ["tags"]}
PARAMETERS = {"count": {"type": "integer", "default": 3}, "about": {"type": "string"}}
SET = {"name": "daily", "batch": "report", "schedule": "0 12 25 11 *", "parameters": {"about": "${event.scheduled_at}"}}
MODULES = (*NAMES, "saved", "automations")
NOON = int(datetime(2021, 11, 25, 12, tzinfo=UTC).timestamp())


@pytest.fixture
def uma(rest: RestClient, monkeypatch: pytest.MonkeyPatch) -> RestClient:
    """A program of a person who sets up automations; the broker answers in this process."""

    def invoke(message: dict[str, Any], **_: Any) -> Any:
        return perform(json.loads(json.dumps(message)))

    made = make_once(f"key beside {rest.login.issuer}", lambda: boto3.client("kms").create_key())
    monkeypatch.setenv("VAULT_KEY", made["KeyMetadata"]["Arn"])
    settings.settings.cache_clear()
    monkeypatch.setitem(deployed_types(), TYPE.module, [TYPE])
    monkeypatch.setattr(broker, "invoke", invoke)
    members.put_role(
        "acme", Role("members", modules=MODULES, allow=("rag.*", "saved.*", "automations.*"), destructive=True)
    )
    directory.access_cache.clear()
    saved(rest)
    return rest


def saved(rest: RestClient, **changes: Any) -> None:
    fields = {"name": "report", "description": "Report", "commands": [TAGS, MORE], "parameters": PARAMETERS}
    made = call(rest, "saved.save", **fields | changes)
    assert made.status == 200, made.text


def call(rest: RestClient, name: str, /, **parameters: Any) -> Answer:
    """Call a tool; what a person is asked about is agreed to."""
    body = {"name": name, "parameters": parameters}
    answer = rest.post("/v1/tools/call", body)
    if answer.status != 428:
        return answer
    return rest.post("/v1/tools/call", {**body, "confirmation": answer.json["details"]["confirmation"]})


def do(rest: RestClient, tool: str, /, **parameters: Any) -> Any:
    answer = call(rest, f"automations.{tool}", **parameters)
    assert answer.status == 200, answer.text
    return answer.json["result"]


def refusal(rest: RestClient, tool: str, /, **parameters: Any) -> tuple[str, str]:
    said = call(rest, f"automations.{tool}", **parameters).json
    return said["code"], f"{said.get('details', {}).get('field', '')}: {said['error']} {said['hint']}"


def kept(name: str = "daily") -> Automation:
    found = records.find("acme", name)
    assert found
    return found


def tick() -> dict[str, int]:
    """What the schedule of each minute does, as if all that is noted were due."""
    for item in ledger_table().query("automations"):
        rest = item["sk"].partition("#")[2]
        if not rest.endswith("#"):  # a run; the moment of a schedule stays
            records.done(DueEntry(item["sk"]))
            organization, name, run = rest.split("#")
            records.put_due(replace(kept(name), organization=organization), run, 1)
    result: dict[str, int] = handler({"source": "aws.events"}, Context(29))["result"]
    return result


def later(years: int) -> int:
    return int(datetime(2021 + years, 11, 25, 12, tzinfo=UTC).timestamp())


def fire(at: int = NOON, name: str = "daily") -> dict[str, int]:
    records.put_due(kept(name), "", at)
    return tick()


def all_runs(name: str = "daily") -> list[Run]:
    return records.list_runs(kept(name), 50)


def finish(run: Run, status: Any = "succeeded") -> None:
    driver = LedgerDriver(run.batch)
    for step in driver.head.ids:
        if driver.head.ids.index(step) not in driver.head.seq:
            error = UpstreamUnavailable(service="rag", problem="down") if status == "failed" else None
            driver.finish(step, status, raw=[], error=error)


def test_a_saved_batch_runs_at_each_moment_of_a_schedule_once(uma: RestClient) -> None:
    made = do(uma, "set", **SET)
    assert (made["state"], made["runs"], made["today"]) == ("active", [], 0)
    assert fire() == {"followed": 1, "left": 0}
    (run,) = all_runs()
    head = LedgerDriver(run.batch).head
    assert (run.state, run.params, head.user, head.depth) == ("running", {"about": "2021-11-25T12:00:00Z"}, "uma", 1)
    assert LedgerDriver(run.batch).step("more").step.params == {"query": "2021-11-25T12:00:00Z"}
    assert head.client.name == "automation daily"
    fire()  # the note is found again
    assert [one.id for one in all_runs()] == [run.id]
    assert LedgerDriver(run.batch).head.started_at == head.started_at
    finish(run)
    tick()
    shown = do(uma, "show", name="daily")
    assert [(one["state"], one["at"]) for one in shown["runs"]] == [("succeeded", "2021-11-25T12:00:00Z")]
    assert (shown["running"], shown["today"]) == (0, 1)
    assert not [item for item in ledger_table().query("automations") if not item["sk"].endswith("#")]


def test_a_run_that_is_interrupted_anywhere_goes_on_with_the_same_batch(
    uma: RestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    do(uma, "set", **SET)
    real = records.update_run
    monkeypatch.setattr(records, "update_run", lambda *_: 1 / 0)  # killed between the batch's start and the note of it
    assert fire() == {"followed": 0, "left": 1}
    (run,) = all_runs()
    driver = LedgerDriver(run.batch)
    driver.finish("tags", raw=[])
    monkeypatch.setattr(records, "update_run", real)
    tick()
    assert (all_runs()[0].state, driver.head.seq) == ("running", {driver.head.ids.index("tags"): 0})
    monkeypatch.setattr(records, "put_due", lambda *_: 1 / 0)  # killed between a run and the note about it
    with pytest.raises(ZeroDivisionError):
        runs.offer(kept(), occasions.scheduled_event(kept(), later(1)), CATALOGUE)
    monkeypatch.undo()
    assert [one.state for one in all_runs()] == ["waiting", "running"]


def test_a_run_ends_with_the_persons_access_or_the_permission(uma: RestClient, login: Any) -> None:
    do(uma, "set", **SET)
    permit = kept().permit
    members.put_user("acme", "uma", name="Uma", subject=Subject(login.issuer, "other"), roles=["members"])
    directory.access_cache.clear()
    fire()
    assert (kept().state, all_runs()[0].state) == ("ended", "failed")
    assert "MembershipRequired" in kept().problem or "AUTHORIZATION_ERROR" in kept().problem
    members.put_user("acme", "uma", name="Uma", subject=Subject(login.issuer, "uma"), roles=["members"])
    directory.access_cache.clear()
    fire(later(1))
    assert len(all_runs()) == 1, "access that comes back brings no permission back"
    do(uma, "set", **SET, replaces=True)
    assert (kept().state, kept().permit == permit) == ("active", False)
    ada = uma.of("ada")
    assert do(ada, "list")[0]["name"] == "daily"
    broker.invoke(
        {
            "operation": "end_permit",
            "proof": {"kind": "jwt", "value": uma.login.mint("ada")},
            "organization": "acme",
            "permit": kept().permit,
            "user": "uma",
        }
    )
    fire(later(2))
    assert (kept().state, all_runs()[0].state) == ("ended", "failed")
    assert "AUTHENTICATION_ERROR" in kept().problem


def test_an_automation_is_its_persons_and_administrators_only_see_pause_and_end_it(uma: RestClient) -> None:
    do(uma, "set", **SET)
    members.put_user("acme", "bob", name="Bob", subject=Subject(uma.login.issuer, "bob"), roles=["members"])
    directory.access_cache.clear()
    bob, ada = uma.of("bob"), uma.of("ada")
    fire()
    finish(all_runs()[0])
    tick()
    run = all_runs()[0].id
    for tool in ("show", "pause", "resume", "delete", "preview"):
        assert refusal(bob, tool, name="daily")[0] == "AUTOMATION_NOT_FOUND", tool
    assert refusal(bob, "replay", name="daily", run=run)[0] == "AUTOMATION_NOT_FOUND"
    assert do(bob, "list") == []
    assert refusal(bob, "set", **SET)[0] == refusal(bob, "set", **SET, replaces=True)[0] == "CONFLICT"
    assert refusal(ada, "replay", name="daily", run=run)[0] == "AUTOMATION_NOT_FOUND"
    assert refusal(ada, "resume", name="daily")[0] == "AUTOMATION_NOT_FOUND"
    assert "parameters" not in do(ada, "show", name="daily")
    assert do(ada, "pause", name="daily")["state"] == "paused"
    fire(later(1))
    assert len(all_runs()) == 1
    assert do(uma, "resume", name="daily")["state"] == "active"
    permit = kept().permit
    assert do(ada, "delete", name="daily") == {"name": "daily", "state": "deleted"}
    assert refusal(uma, "show", name="daily")[0] == "AUTOMATION_NOT_FOUND"
    permits = perform(
        {"operation": "permits", "proof": {"kind": "jwt", "value": uma.login.mint("uma")}, "organization": "acme"}
    )
    assert permit not in [one["id"] for one in permits["permits"]]


def test_what_is_wrong_is_said_when_an_automation_is_set(uma: RestClient) -> None:
    saved(
        uma, name="drop", commands=[{"module": "rag", "tool": "delete_doc", "params": {"path": "a.md"}}], parameters={}
    )
    cases: dict[str, dict[str, Any]] = {
        "give the type of an event, or a schedule": {"schedule": ""},
        "five fields": {"schedule": "every day"},
        "is no minute": {"schedule": "61 * * * *"},
        "it never comes": {"schedule": "0 0 31 2 *"},
        "no time zone Mars": {"time_zone": "Mars"},
        'no tool "gone"': {"batch": "gone"},
        "is no saved batch": {"batch": "show"},
        "nobody is there to be asked": {"batch": "drop", "parameters": {}},
        "the event has no issue": {"parameters": {"about": "${event.issue}"}},
        "here are no steps": {"parameters": {"about": "${find.items}"}},
        "of type string, and the parameter of type integer": {
            "parameters": {"about": "x", "count": "${event.scheduled_at}"}
        },
        "other: there is no such field": {"parameters": {"about": "x", "other": 1}},
        "write ": {"when": [{"equals": "x"}]},
        "the event has no gone": {"when": ["${event.gone}"]},
    }
    seen = {wanted: " ".join(refusal(uma, "set", **SET | changes)) for wanted, changes in cases.items()}
    assert not {wanted: said for wanted, said in seen.items() if wanted not in said}
    assert records.find("acme", "daily") is None


def test_conditions_own_events_and_loops_keep_runs_away(uma: RestClient) -> None:
    do(uma, "set", **SET, when=[{"equals": ["${event.scheduled_at}", "2021-11-25T12:00:00Z"]}])
    found = replace(kept(), accounts=("uma", "583231"))

    def offered(at: int = NOON, **changes: Any) -> Run | None:
        return runs.offer(found, replace(occasions.scheduled_event(found, at), **changes), CATALOGUE)

    assert offered(later(1)) is None
    assert offered(actor="583231", id="own") is None
    assert offered(depth=3, id="loop").state == "skipped"
    assert offered(depth=2, actor="1", id="third").depth == 3
    own = runs.offer(
        replace(found, own_events=True),
        Event(
            id="asked",
            organization="acme",
            user="uma",
            type="x.y",
            occurred_at=NOON,
            actor="583231",
            data={"scheduled_at": "2021-11-25T12:00:00Z"},
        ),
        CATALOGUE,
    )
    assert own
    assert do(uma, "preview", name="daily")["runs"] is False


def test_runs_wait_for_a_place_and_stop_at_the_days_budget(uma: RestClient) -> None:
    do(uma, "set", **SET, at_once=1, runs_a_day=2)
    for number in range(3):
        fire(later(number))
    third, second, first = all_runs()
    assert [one.state for one in (first, second, third)] == ["running", "waiting", "waiting"]
    finish(first)
    tick()
    third, second, first = all_runs()
    assert [one.state for one in (first, second, third)] == ["succeeded", "running", "skipped"]
    assert "used up" in third.problem
    finish(second)
    tick()
    assert do(uma, "show", name="daily")["today"] == 2


def test_a_failed_run_goes_on_with_what_did_not_succeed_and_reaches_its_owner(
    uma: RestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[notification.Notice] = []
    monkeypatch.setattr(notification, "send", lambda _, notice: told.append(notice))
    do(uma, "set", **SET, retries=1)
    wish = Interest(id="w", organization="acme", user="uma", type="automations.failed", kind="callback")
    interests.add(wish)
    fire()
    (first,) = all_runs()
    LedgerDriver(first.batch).finish("tags", raw=[{"tag": "a", "count": 1}])
    finish(first, "failed")
    tick()
    assert (all_runs()[0].state, all_runs()[0].attempt, told) == ("waiting", 1, [])
    tick()
    (again,) = all_runs()
    driver = LedgerDriver(again.batch)
    assert (again.state, driver.head.resumes, driver.step("tags").status) == ("running", first.batch, "succeeded")
    finish(again, "failed")
    tick()
    (over,) = all_runs()
    assert over.state == "failed"
    assert "more: UPSTREAM_UNAVAILABLE" in over.problem
    assert [(one.kind, one.facts["owner"]) for one in told] == [("automation.failed", "uma")]
    (event,) = (one.event for one in store.read("acme", "uma", "automations.failed", now=time.time()).events)
    assert event.data == {
        "automation": SET["name"],
        "run": over.id,
        "state": "failed",
        "problem": over.problem,
        "batch": over.batch,
    }
    assert (event.actor, event.depth) == ("uma", 1), "no automation of the same person runs on it unasked"
    fire(later(1))
    LedgerDriver(all_runs()[0].batch)
    finish(all_runs()[0], "unknown")
    tick()
    assert (all_runs()[0].state, len(told)) == ("failed", 1), "a write in doubt is not repeated; told once an hour"


def test_the_place_of_a_run_is_free_although_somebody_was_interrupted_after_its_end(uma: RestClient) -> None:
    do(uma, "set", **SET)
    fire()
    (run,) = all_runs()
    assert kept().running == (run.id,)
    assert records.update_run(kept(), run, run.ended("succeeded"))
    tick()
    assert kept().running == ()


def test_a_store_that_is_down_is_tried_again_and_a_policy_that_asks_fails_the_run(
    uma: RestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    do(uma, "set", **SET)

    def down(*_: Any, **__: Any) -> Any:
        raise StoreUnavailable(store="ledger")

    with monkeypatch.context() as patched:
        patched.setattr(starting, "start", down)
        fire()
        assert all_runs()[0].state == "waiting"
    tick()
    assert all_runs()[0].state == "running"
    finish(all_runs()[0])
    tick()
    base = '@id("base") permit (principal, action, resource);'
    rule = '@id("sure") @ask forbid (principal, action == Action::"rag.list_tags", resource);'
    directory.change("acme", edits.set_policies(Policies(1, f"{base}\n{rule}")))
    directory.access_cache.clear()
    fire(later(1))
    assert all_runs()[0].state == "failed"
    assert "nobody is there to be asked" in all_runs()[0].problem


def test_a_batch_that_changed_pauses_until_its_person_agrees_again(uma: RestClient) -> None:
    do(uma, "set", **SET)
    saved(uma, commands=[TAGS, {**MORE, "params": {"query": "secrets ${param.about}"}}], replaces=1)
    fire()
    assert (kept().state, all_runs()[0].state) == ("paused", "failed")
    assert "saved.report has changed" in kept().problem
    do(uma, "set", **SET, replaces=True)
    fire(later(1))
    assert all_runs()[0].state == "running"


def test_a_broken_batch_starts_its_persons_other_automation_and_fails_its_own_by_the_same_problem(
    uma: RestClient,
) -> None:
    do(uma, "set", **SET)
    about = {name: value for name, value in MORE.items() if name != "after"}
    saved(uma, name="tell", commands=[about], parameters={"about": PARAMETERS["about"]})
    wish = {"event": "saved.checked", "arguments": {"state": "broken"}, "parameters": {"about": "${event.problem}"}}
    do(uma, "set", name="watch", batch="tell", **wish)
    members.put_organization("acme", name="Acme", disabled=("rag.list_tags",))
    ledger_table().set("acme#saved", "report", {"checked_at": 1})
    handler({"organization": "acme", "saved_batches": True}, Context(29))
    (told,) = (one.event for one in store.read("acme", "uma", "saved.checked", now=2e9).events)
    deliver(told, "watch")
    (heard,) = all_runs("watch")
    assert LedgerDriver(heard.batch).step("more").step.params["query"].startswith("TOOL_DISABLED: ")
    directory.access_cache.clear()
    fire()
    assert [(one.state, one.problem) for one in all_runs()] == [("failed", told.data["problem"])]


def test_a_run_is_replayed_with_the_same_values_and_previewed_without_any(uma: RestClient) -> None:
    do(uma, "set", **SET)
    seen = do(uma, "preview", name="daily")
    assert (seen["runs"], [step["tool"] for step in seen["steps"]]) == (True, ["rag.list_tags", "rag.search_docs"])
    assert all_runs() == []
    fire()
    (first,) = all_runs()
    assert "run: there is no such run" in refusal(uma, "replay", name="daily", run=first.id)[1]
    finish(first, "failed")
    tick()
    made = do(uma, "replay", name="daily", run=first.id)
    tick()
    again = records.find_run(kept(), made["run"])
    assert again
    assert (again.state, again.params, again.replays) == ("running", first.params, first.id)
    assert again.batch != first.batch
    assert ledger.get_header(f"acme#{again.batch}").started_at <= time.time()


TYPE = event_type(
    "rag", "changed", "A document changed", tool="list_docs", payload="action doc.title doc.size:integer",
    arguments={"action": Argument("action", "What happened")},
)  # fmt: skip
ON_EVENT = {"name": "daily", "batch": "report", "event": "rag.changed", "arguments": {"action": "opened"}}
ON_EVENT |= {"parameters": {"about": "about ${event.doc.title}", "count": "${event.doc.size}"}}


def happened(id_: str = "e1", **changes: Any) -> Event:
    data = {"action": "opened", "doc": {"title": "${a} plan", "size": 2}}
    fields: dict[str, Any] = {"id": id_, "organization": "acme", "user": "uma", "type": "rag.changed", "data": data}
    event = Event(**fields | {"occurred_at": NOON} | changes)
    store.put(event, NOON)
    return event


def deliver(event: Event, name: str = "daily") -> str:
    """What the function of events asks for, each time that it has the event."""
    message = {"organization": "acme", "automation": name, "event": event.id}
    return str(handler(message, Context(29))["result"]["run"])


def test_the_fields_of_an_event_have_the_labels_of_its_type(uma: RestClient) -> None:
    def label(name: str, version: int) -> None:
        base = '@id("base") permit (principal, action, resource);'
        rule = 'forbid (principal, action, resource) when { context.labels.contains("untrusted") };'
        policies = Policies(version, f'{base}\n@id("outsiders") @ask {rule}', labels=(f"rag.changed={name}",))
        directory.change("acme", edits.set_policies(policies))
        directory.access_cache.clear()

    do(uma, "set", **ON_EVENT)
    label("internal", 1)
    deliver(happened())
    (first,) = all_runs()
    driver = LedgerDriver(first.batch)
    permissions = Permissions(directory.identify(Subject(uma.login.issuer, "uma")), CATALOGUE)
    place = place_of(driver.head, driver.step("more"), permissions, ledger.get_entries)
    assert first.state == "running"
    assert place is not None
    assert "rag.changed" in place.reached_by
    finish(first, "failed")
    tick()
    label("untrusted", 2)
    deliver(happened("e2"))
    assert "nobody is there to be asked" in all_runs()[0].problem
    # Nor does a person who goes on with the batch take them for their own.
    assert uma.post(f"/v1/batches/{first.batch}/resume", {}).status == 428


def test_each_event_has_one_run_however_often_it_is_delivered(uma: RestClient) -> None:
    do(uma, "set", **ON_EVENT, when=[{"exists": "${event.doc.size}"}])
    (interest,) = interests.of("acme", "rag.changed")
    assert (interest.user, interest.kind, interest.target) == ("uma", "automation", {"automation": "daily"})
    event = happened()
    assert {deliver(event) for _ in range(3)} == {all_runs()[0].id}
    (run,) = all_runs()
    driver = LedgerDriver(run.batch)
    assert driver.step("more").step.params == {"query": "about $${a} plan"}
    assert driver.step("tags").step.params == {"limit": 2}
    finish(run)
    tick()
    over = all_runs()
    assert [one.state for one in over] == ["succeeded"]
    deliver(event)
    assert all_runs() == over
    assert deliver(happened("e2", user="ada")) == "", "an event of another person"
    assert deliver(happened("e3", data={"action": "opened", "doc": {}})) == "", "its condition does not hold"
    deliver(happened("e4", data={"action": "opened", "doc": {"size": 1}}))
    (failed,) = [one for one in all_runs() if one.event == "e4"]
    assert "${event.doc.title} does not resolve" in failed.problem
    seen = do(uma, "preview", name="daily", event="e1")
    assert (seen["runs"], seen["parameters"]) == (True, {"about": "about ${a} plan", "count": 2})
    do(uma, "delete", name="daily")
    assert (interests.of("acme", "rag.changed"), deliver(happened("e5"))) == ([], "")


def test_an_event_type_needs_its_tool_and_has_the_fields_that_are_referred_to(uma: RestClient) -> None:
    cases: dict[str, dict[str, Any]] = {
        "There is no event type rag.gone": {"event": "rag.gone"},
        "subscribe to: rag.changed": {"event": "rag.change"},
        "give the type of an event, or a schedule": {"schedule": "* * * * *"},
        "the event has no body": {"parameters": {"about": "${event.doc.body}"}},
        "of type string, and the parameter of type integer": {
            "parameters": {"about": "x", "count": "${event.doc.title}"}
        },
        "color: there is no such field": {"arguments": {"color": "red"}},
    }
    seen = {wanted: " ".join(refusal(uma, "set", **ON_EVENT | changes)) for wanted, changes in cases.items()}
    assert not {wanted: said for wanted, said in seen.items() if wanted not in said}
    assert interests.of("acme", "rag.changed") == []
    permits = perform(
        {
            "operation": "permits",
            "proof": {"kind": "jwt", "value": uma.login.mint("uma")},
            "organization": "acme",
        }
    )
    assert permits["permits"] == [], "what was refused leaves no permission"


def test_the_page_about_automations_does_what_it_says(uma: RestClient) -> None:
    page = (Path(__file__).parents[2] / "docs/automations.md").read_text("utf-8")
    find = {"id": "find", "module": "rag", "tool": "search_docs", "params": {"query": "${param.words}"}}
    words = {"words": {"type": "string"}, "most": {"type": "integer", "default": 3}}
    find["params"] |= {"limit": "${param.most}"}
    saved(uma, name="read_about", commands=[find], parameters=words)
    blocks = [json.loads(text) for text in re.findall(r"^```json\n(.*?)^```", page, re.MULTILINE | re.DOTALL)]
    assert [block["tool"] for block in blocks] == ["set", "set", "list", "preview", "show", "pause", "resume", "delete"]
    for block in blocks:
        do(uma, block["tool"], **block["params"])
    assert [one["name"] for one in do(uma, "list")] == ["look_up"]


def test_each_description_is_translated() -> None:
    texts = read_translation(Path(module.__file__).parent, "ja")
    tools = module.automations.tools.values()
    english = {tool.description for tool in tools} | {module.automations.description}
    english |= {spec["description"] for tool in tools for spec in tool.input_schema["properties"].values()}
    assert not {one for one in english if texts.text(one) == one}
