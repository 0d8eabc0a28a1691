"""People of several services, found through the gate."""

import io
import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from mcpist.aws import clients
from mcpist.batch.execution.plan import plan
from mcpist.batch.execution.start import start
from mcpist.batch.language.references import StepResult, resolve
from mcpist.caller import Proof, Role
from mcpist.errors import ConnectionRequired, InvalidRequest, to_message
from mcpist.running import broker
from mcpist.running.broker import Credential
from mcpist.running.gate import ToolUse, admit
from mcpist.tools.access.permissions import Permissions
from mcpist_services.catalogue import CATALOGUE
from mcpist_services.people.directory import Directory, directories
from tests.audit_items import audit_items
from tests.core.loopback import Service, close_connections, json_response, serving
from tests.core.sample import caller

MEMBERS = Role("members", modules=("people", "jira", "slack"))
AIKO = {"accountId": "5b1", "displayName": "Aiko Tanaka", "emailAddress": None, "active": True}
OTHER = {"accountId": "5b2", "displayName": "Aiko Sato", "active": True}
LEFT = {"accountId": "5b3", "displayName": "Aiko Tanaka", "active": False}
MEMBER = {
    "id": "U0123ABCD45",
    "name": "aiko",
    "real_name": "Aiko Tanaka",
    "profile": {"display_name": "", "email": "aiko@example.com"},
}
SLACK = {"ok": True, "members": [MEMBER, MEMBER | {"id": "U2", "is_bot": True}, {"id": "U3", "name": "bob"}]}


@pytest.fixture
def services(aws: list[str], monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, Service]]:  # noqa: ARG001
    """Jira and Slack on loopback, where Uma has accounts, and both find Aiko."""
    with serving() as jira, serving() as slack:
        for name, service in (("jira", jira), ("slack", slack)):
            monkeypatch.setattr(CATALOGUE.module(name), "host", service.url)
            connect(name)
        jira.reply_with(json_response([LEFT, OTHER, AIKO]))
        slack.reply_with(json_response(SLACK))
        yield {"jira": jira, "slack": slack}
    close_connections()


def connect(service: str) -> None:
    held = Credential("t", account_id="1", account_name=f"uma@{service}", owner="user#uma", expires_at=None)
    broker.credential_cache.put(("acme", "uma", ("members",), service, "", ()), held)


def find(role: Role = MEMBERS, **arguments: Any) -> Any:
    permissions = Permissions(replace(caller(role), proof=Proof("jwt", "j.w.t")), CATALOGUE)
    use = ToolUse("people", "find", {"person": "Aiko Tanaka", **arguments}, "r1")
    return admit(permissions, use).run(10)


def rows() -> set[tuple[str, str, str]]:
    return {(item["tool"], item["outcome"], item.get("account", "")) for item in audit_items("acme")}


def test_a_person_has_a_row_in_each_service_with_the_id_that_its_tools_take(services: dict[str, Service]) -> None:
    found = find().json
    jira = {"service": "jira", "id": "5b1", "name": "Aiko Tanaka", "email": None}
    slack = {"service": "slack", "id": "U0123ABCD45", "name": "Aiko Tanaka", "email": "aiko@example.com"}
    other = {"service": "jira", "id": "5b2", "name": "Aiko Sato", "email": None}
    assert found["people"] == [jira, other, slack]
    assert len(services["jira"].received) == len(services["slack"].received) == 1
    source = StepResult(found, CATALOGUE.module("people").tools["find"].shows, dict)
    assigned = {"account": "${aiko.jira[0].id}", "attendees": ["${aiko.email}"], "user": "${aiko.items[2].id}"}
    assert resolve(assigned, {"aiko": source}.__getitem__) == {
        "account": "5b1",
        "attendees": ["aiko@example.com"],
        "user": "U0123ABCD45",
    }


def test_each_service_is_asked_through_the_gate_with_its_account_and_audit(services: dict[str, Service]) -> None:
    assert services
    find()
    assert rows() == {
        ("people.find", "succeeded", ""),
        ("jira.search_users", "succeeded", "uma@jira"),
        ("slack.list_users", "succeeded", "uma@slack"),
    }


def test_a_service_whose_tool_the_caller_may_not_use_is_not_asked(services: dict[str, Service]) -> None:
    masked = replace(MEMBERS, deny=("slack.list_*",))
    found = find(masked)
    assert {row["service"] for row in found.json["people"]} == {"jira"}
    assert (services["slack"].received, found.more) == ([], "")
    with pytest.raises(InvalidRequest, match="slack is not among jira"):
        find(masked, services=["slack"])
    assert not any(tool.startswith("slack") for tool, _, _ in rows())


def test_a_person_of_another_role_is_asked_for_with_that_roles_account(services: dict[str, Service]) -> None:
    broker.credential_cache.clear()
    for service, held in (("jira", ("trackers",)), ("slack", ("chatters",))):
        credential = Credential("t", account_id="1", account_name="uma", owner="user#uma", expires_at=None)
        broker.credential_cache.put(("acme", "uma", held, service, "", ()), credential)
    roles = (
        Role("finders", modules=("people",)),
        Role("trackers", modules=("jira",)),
        Role("chatters", modules=("slack",)),
    )
    permissions = Permissions(replace(caller(*roles), proof=Proof("jwt", "j.w.t")), CATALOGUE)
    found = admit(permissions, ToolUse("people", "find", {"person": "Aiko"}, "r1")).run(10)
    assert {row["service"] for row in found.json["people"]} == set(services)


def broker_refuses(service: str) -> None:
    """Let the broker answer that no account of a service is connected."""
    error = {"error": to_message(ConnectionRequired(service=service, url=""))}
    response = type("Response", (), {"status_code": 200})

    def answer(**_: Any) -> Any:
        return response, {"Payload": io.BytesIO(json.dumps(error).encode()), "ResponseMetadata": {"RequestId": "i1"}}

    clients.session().register("before-call.lambda.Invoke", answer)


def test_a_service_without_an_account_is_named_and_the_others_answer(services: dict[str, Service]) -> None:
    broker.credential_cache.clear()
    connect("jira")
    broker_refuses("slack")
    found = find()
    assert {row["service"] for row in found.json["people"]} == {"jira"}
    assert found.more == "Not answered: slack: CONNECTION_REQUIRED."
    assert services["slack"].received == []
    assert rows() == {("people.find", "succeeded", ""), ("jira.search_users", "succeeded", "uma@jira")}
    with pytest.raises(ConnectionRequired) as refused:
        find(services=["slack"])
    assert refused.value.details["url"].endswith("/connect/slack?organization=acme&user=uma")


def test_several_people_of_a_service_are_refused_where_one_is_wanted(services: dict[str, Service]) -> None:
    with pytest.raises(InvalidRequest, match=r"jira finds several: Aiko Tanaka \(5b1\), Aiko Sato \(5b2\)"):
        find(unique=True)
    services["slack"].reply_with(json_response(SLACK))
    assert find(unique=True, services=["slack"]).json["slack"][0]["id"] == "U0123ABCD45"


@pytest.mark.parametrize("person", ["Aiko Tanaka", "aiko@example.com"])
def test_each_directory_uses_a_reading_tool_of_its_service_and_columns_that_it_shows(person: str) -> None:
    assert {"confluence", "github", "jira", "notion", "slack"} <= set(directories())
    for service, directory in directories().items():
        name, arguments = directory.use(person)
        tool = CATALOGUE.module(service).tools[name]
        tool.validate(arguments)
        assert tool.reads
        assert {directory.id, directory.email} <= set(tool.shows.fields)
        assert set(directory.names) & set(tool.shows.fields)


@pytest.mark.parametrize("person", ["田中 愛子", "田中愛子", "愛子", "AIKO@example", "tanaka Aiko", "アイコ"])
def test_a_name_is_found_in_any_order_and_spelling_of_its_words(person: str) -> None:
    rows = [
        {"id": "1", "name": "田中 愛子", "email": None},
        {"id": "2", "name": "Aiko Tanaka", "email": "aiko@example.com"},
        {"id": "3", "name": "ｱｲｺ", "email": None},
        {"id": "4", "name": "Bob", "email": "bob@example.com"},
    ]
    wanted = {"AIKO@example": "2", "tanaka Aiko": "2", "アイコ": "3"}.get(person, "1")
    found = Directory(lambda _: ("list_users", {})).people("notes", rows, person)
    assert [row["id"] for row in found] == [wanted]


def test_the_warrant_of_a_batch_covers_the_services_with_directories(aws: list[str]) -> None:
    del aws
    asked: list[dict[str, Any]] = []

    def grant(params: Any, **_: Any) -> Any:
        asked.append(json.loads(params["body"]))
        payload = io.BytesIO(json.dumps({"result": {"warrant": "sealed", "expires_at": 0}}).encode())
        answer = {"Payload": payload, "ResponseMetadata": {"RequestId": "i1"}}
        return type("Response", (), {"status_code": 200}), answer

    clients.session().register("before-call.lambda.Invoke", grant)
    permissions = Permissions(replace(caller(MEMBERS), proof=Proof("jwt", "j.w.t")), CATALOGUE)
    step = {"id": "aiko", "module": "people", "tool": "find", "params": {"person": "Aiko"}}
    head = start(plan([step], permissions), permissions)
    (message,) = asked
    assert (message["operation"], message["services"]) == ("warrant", sorted(directories()))
    assert head.warrant == "sealed"
