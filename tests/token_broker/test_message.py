"""What the broker understands, and what it says about the rest."""

from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcpist.aws.table import directory_table
from mcpist.caller import RegisteredModule
from mcpist.errors import InvalidRequest, McpistError
from mcpist.people import directory
from tests import emf
from tests.faults import for_each
from tests.token_broker.conftest import ROOT, Broker
from token_broker.handler import PERFORMERS
from token_broker.message import OPERATIONS, Expire, Mac, Message, carried_of, parse

RESOLVE: dict[str, Any] = {
    "operation": "resolve",
    "proof": {"kind": "jwt", "value": "a.b.c"},
    "organization": "acme",
    "roles": ["engineering"],
    "service": "github",
}

EVENTS = sorted(Path(ROOT / "events").glob("token_broker_*.json"))
# What needs a provider, or what a browser brings back from one; test_connecting sends these.
CONNECTING = ("begin", "finish", "confirm", "paste")
ALONE = [path for path in EVENTS if path.stem.split("_")[2] not in CONNECTING]


@pytest.mark.parametrize("path", ALONE, ids=lambda path: path.stem)
def test_every_event_is_answered_with_a_result_when_its_grants_exist(door: Broker, path: Path) -> None:
    door.store()
    door.store("role#engineering")
    notes = RegisteredModule(
        "notes", "upstream", "0" * 64, "2026-11-27T09:00:00Z", "grace", "https://notes.example/mcp"
    )
    directory.change("acme", lambda before: replace(before, modules={"notes": notes}))
    directory.access_cache.clear()
    address = {"url": "github:engineering/#approvals", "secret": "s"}  # of the organization's notifications
    directory_table().put({"pk": "notification#acme", "sk": "approvals"} | address)
    assert "result" in door.ask(path.stem.removeprefix("token_broker_"))


def test_every_operation_has_an_event() -> None:
    assert all(any(operation in path.stem for path in EVENTS) for operation in OPERATIONS)


@for_each(
    ("change", "field"),
    [
        ({"operation": "dump"}, "message"),
        ({"operation": None}, "message"),
        ({"operation": ["resolve"]}, "message"),
        ({"organization": ""}, "organization"),
        ({"correlation": ""}, "correlation"),
        ({"correlation": "a" * 65}, "correlation"),
        ({"correlation": "a\n"}, "correlation"),
        ({"correlation": "a b"}, "correlation"),
        ({"correlation": 7}, "correlation"),
        ({"organization": "acme#github"}, "organization"),
        ({"organization": "a/b"}, "organization"),
        ({"organization": "a\nb"}, "organization"),
        ({"organization": "\ud800"}, "organization"),
        ({"organization": 7}, "organization"),
        ({"roles": ["role#x"]}, "roles.0"),
        ({"roles": "engineering"}, "roles"),
        ({"roles": ["r"] * 101}, "roles"),
        ({"service": "git#hub"}, "service"),
        ({"service": "../admin"}, "service"),
        ({"service": "github\n"}, "service"),
        ({"proof": {"kind": "none", "value": "x"}}, "proof.kind"),
        ({"proof": {"kind": "jwt", "value": ""}}, "proof.value"),
        ({"proof": {"kind": "jwt", "value": "a\r\nb"}}, "proof.value"),
        ({"proof": {"kind": "jwt", "value": "x" * 16_385}}, "proof.value"),
    ],
)
def test_a_wrong_message_is_refused_with_its_field(change: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidRequest) as refusal:
        parse(RESOLVE | change)
    assert refusal.value.details["field"] == field


NEWER = {"of_a_newer_release": {"a": [1]}}


def test_a_field_of_a_newer_door_is_ignored(door: Broker) -> None:
    door.store()
    proof = {**door.event("resolve")["proof"], **NEWER}
    assert "result" in door.send(door.event("resolve") | NEWER | {"proof": proof})


@pytest.mark.parametrize("path", ALONE, ids=lambda path: path.stem)
def test_a_field_that_might_narrow_what_is_stored_or_deleted_is_not_ignored(door: Broker, path: Path) -> None:
    message = door.event(path.stem.removeprefix("token_broker_"))
    strict = {"revoke", "default", "list", "kill", "reencrypt", "expire", "begin", "paste", "end_permit", "mac"}
    strict |= {"set_app", "remove_app"}
    if message["operation"] not in strict:
        parse(message | NEWER)
        return
    with pytest.raises(InvalidRequest) as refusal:
        parse(message | NEWER)
    assert refusal.value.details["field"] == "of_a_newer_release"


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"proof": {"kind": "jwt", "value": "x"}}, "proof"),
        ({"proof": {"kind": "warrant", "value": "x"}}, "proof"),
        ({"services": []}, "services"),
        ({"user": "ada"}, "user"),
    ],
)
def test_a_browser_s_operations_need_its_session(change: dict[str, Any], field: str) -> None:
    begin = {"operation": "begin", "proof": {"kind": "session", "value": "x"}, "organization": "acme"}
    with pytest.raises(InvalidRequest) as refusal:
        parse({**begin, "services": ["github"], **change})
    assert refusal.value.details["field"] == field


@pytest.mark.parametrize(
    ("operation", "fields"),
    [
        ("resolve", {"service": "github", "roles": ["engineering"]}),
        ("warrant", {"services": ["github"], "roles": ["engineering"], "expires_at": 1}),
        ("status", {"services": ["github"], "roles": ["engineering"]}),
        ("list", {"user": "ada"}),
        ("kill", {"user": "ada"}),
    ],
)
def test_a_browsers_session_proves_its_person(operation: str, fields: dict[str, Any]) -> None:
    proof = {"kind": "session", "value": "x"}
    assert parse({"operation": operation, "proof": proof, "organization": "acme", **fields}).proof.kind == "session"


@pytest.mark.parametrize("operation", ["reencrypt", "login"])
def test_only_the_access_token_itself_begins_a_session_and_reencrypts(operation: str) -> None:
    fields = {"service": "github", "services": ["github"], "expires_at": 1}
    with pytest.raises(InvalidRequest) as refusal:
        parse({**RESOLVE, **fields, "operation": operation, "proof": {"kind": "session", "value": "x"}})
    assert refusal.value.details["field"].startswith("proof")


@pytest.mark.parametrize("number", ["1", 1.0, True, -1])
def test_a_version_is_an_integer_and_no_other_type(number: object) -> None:
    with pytest.raises(InvalidRequest):
        parse(RESOLVE | {"refused": number})


@pytest.mark.parametrize("event", [None, [], "resolve", 7, {}])
def test_a_value_that_is_no_message_is_answered_too(door: Broker, event: object) -> None:
    assert door.send(event)["error"]["type"] == "InvalidRequest"


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(event=json_values, operation=st.sampled_from(OPERATIONS), field=st.sampled_from(sorted(RESOLVE)))
def test_no_message_crashes_the_parser(event: Any, operation: str, field: str) -> None:
    for message in (event, RESOLVE | {"operation": operation, field: event}):
        try:
            parse(message)
        except McpistError:
            continue


@pytest.mark.parametrize(
    ("event", "correlation"),
    [
        ({"correlation": "5b0c1d9e-0000-4000-8000-123456789abc"}, "5b0c1d9e-0000-4000-8000-123456789abc"),
        ({"correlation": "a" * 65}, ""),
        ({"correlation": "a\n"}, ""),
        ({"correlation": ["a"]}, ""),
        ({}, ""),
        (["correlation"], ""),
    ],
)
def test_a_correlation_id_is_accepted_only_in_its_form(event: Any, correlation: str) -> None:
    assert carried_of(event, "correlation") == correlation


@pytest.mark.parametrize(
    ("sent", "written"),
    [({"correlation": "asker-1"}, "asker-1"), ({}, "request-1"), ({"correlation": "{}"}, "request-1")],
)
def test_the_log_lines_of_a_message_have_its_correlation_id(
    door: Broker,
    capsys: pytest.CaptureFixture[str],
    sent: dict[str, str],
    written: str,
) -> None:
    door.store()
    door.send(door.event("resolve") | sent)
    lines = [line for line in emf.documents(capsys.readouterr().out) if "message" in line]
    assert [(line["message"], line["correlation_id"]) for line in lines] == [
        ("request", written),
        ("response", written),
    ]


def test_every_message_with_a_proof_is_performed() -> None:
    assert {*PERFORMERS, Expire, Mac} == {*get_args(Message.__value__)}
