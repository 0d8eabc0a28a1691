"""A secret leaves the broker as the answer of `resolve`, and in no other way."""

import base64
import json
import logging
from typing import Any

import boto3
import pytest

from mcpist.aws.clients import client
from mcpist.caller import Caller, Subject
from tests import emf
from tests.token_broker.conftest import ACCESS, REFRESH, Broker, error_of
from token_broker import vault
from token_broker.grants.grant import AccountChoice
from token_broker.message import parse
from token_broker.resolving import credentials

SHARED = "ghu_shared_access_canary"


@pytest.fixture
def logged(caplog: pytest.LogCaptureFixture) -> pytest.LogCaptureFixture:
    """Every logger at DEBUG, as far as the broker leaves that to its surroundings."""
    caplog.set_level(logging.DEBUG)
    return caplog


def written(logged: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]) -> str:
    """Everything that was logged or printed, with every field of every record."""
    records = [json.dumps(record.__dict__ | {"text": record.getMessage()}, default=repr) for record in logged.records]
    return "\n".join([*records, logged.text, *capsys.readouterr()])


def assert_silent(everything: str, *secrets: str) -> None:
    for secret in secrets:
        for form in (secret, base64.b64encode(secret.encode()).decode().rstrip("=")[:-1], secret.encode().hex()):
            assert form not in everything


def test_no_log_line_holds_a_secret_even_at_debug(
    door: Broker, logged: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    keys: list[str] = []
    remember_data_keys(keys)
    door.store(refresh_token=REFRESH)
    door.store("role#engineering", access_token=SHARED)
    events = [door.event(name) for name in ("resolve", "resolve_by_warrant", "status")]
    events += [door.event("resolve", proof={"kind": "jwt", "value": door.login.mint("ada", exp=1)})]
    events += [{**events[0], "operation": ACCESS}, {**events[0], "service": 7}, door.event("revoke_personal")]
    vault.data_keys.clear()
    answers = [door.send(event) for event in events]
    assert answers[0]["result"]["token"] == ACCESS
    everything = written(logged, capsys)
    assert '"response"' in everything
    assert len(keys) >= 6
    assert_silent(everything, ACCESS, REFRESH, SHARED, *(event["proof"]["value"] for event in events), *keys)
    assert_silent(json.dumps(answers[2:]), ACCESS, REFRESH, SHARED)


def remember_data_keys(keys: list[str]) -> None:
    """Note each data key that KMS hands out in the clear, as it stands in KMS's answer."""

    def note(parsed: dict[str, Any], **_: Any) -> None:
        if "Plaintext" in parsed:
            keys.append(base64.b64encode(parsed["Plaintext"]).decode())

    client("kms").meta.events.register("after-call.kms.*", note)


def test_each_message_is_one_line_in_and_one_line_out(door: Broker, capsys: pytest.CaptureFixture[str]) -> None:
    door.store()
    capsys.readouterr()
    door.ask("resolve")
    lines = [line for line in emf.documents(capsys.readouterr().out) if "message" in line]
    assert [line["message"] for line in lines] == ["request", "response"]
    out = lines[1]
    assert {name: out[name] for name in ("request", "operation", "organization", "services", "outcome")} == {
        "request": "request-1",
        "operation": "resolve",
        "organization": "acme",
        "services": ["github"],
        "outcome": "OK",
    }


@pytest.mark.parametrize(
    ("change", "operation", "outcome"),
    [
        ({"service": "notion"}, "resolve", "CONNECTION_REQUIRED"),
        ({"organization": "globex"}, "resolve", "AUTHORIZATION_ERROR"),
        ({"service": "#"}, "resolve", "VALIDATION_ERROR"),
        ({"operation": "dump"}, "unknown", "VALIDATION_ERROR"),
    ],
)
def test_a_refusal_is_logged_by_its_code(
    door: Broker, capsys: pytest.CaptureFixture[str], change: dict[str, Any], operation: str, outcome: str
) -> None:
    door.ask("resolve", **change)
    asked, answered = (line for line in emf.documents(capsys.readouterr().out) if "message" in line)
    assert (asked["operation"], answered["outcome"], answered["level"]) == (operation, outcome, "INFO")


def test_a_defect_becomes_an_internal_error_with_the_request_id_and_no_words(
    door: Broker, logged: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    event = door.event("resolve")
    boto3.client("dynamodb").delete_table(TableName="mcpist-Grants")
    try:
        answer = door.send(event)
    finally:
        restore_grants()
    assert answer["error"] == {"type": "InternalError", "details": {"request_id": "request-1"}}
    printed = capsys.readouterr().out
    out = [line for line in emf.documents(printed) if "message" in line][-1]
    assert tuple(out[name] for name in ("level", "outcome", "defect", "aws_code")) == (
        "ERROR",
        "INTERNAL_ERROR",
        "AwsError",
        "ResourceNotFoundException",
    )
    assert any(frame.startswith("grants.py") for frame in out["frames"])
    assert_silent(printed + written(logged, capsys), ACCESS, REFRESH, event["proof"]["value"])


def restore_grants() -> None:
    boto3.client("dynamodb").create_table(
        TableName="mcpist-Grants",
        KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}],
        AttributeDefinitions=[{"AttributeName": name, "AttributeType": "S"} for name in ("pk", "sk")],
        BillingMode="PAY_PER_REQUEST",
    )


def test_an_integrity_error_is_logged_as_an_error_and_counted(door: Broker, capsys: pytest.CaptureFixture[str]) -> None:
    door.store()
    door.reset_sandbox()
    item = door.items()[0]
    boto3.client("dynamodb").put_item(TableName="mcpist-Grants", Item=item | {"version": {"N": "9"}})
    assert error_of(door.ask("resolve")) == "IntegrityError"
    printed = capsys.readouterr().out
    out = [line for line in emf.documents(printed) if "message" in line][-1]
    assert (out["level"], out["outcome"]) == ("ERROR", "INTEGRITY_ERROR")
    assert "IntegrityFailures" in printed


def test_no_repr_shows_a_secret(door: Broker) -> None:
    event = door.event("resolve")
    message = parse(event)
    stored = door.store(refresh_token=REFRESH)
    tokens = stored.tokens()
    place = vault.SecretPlace("acme", "user#ada", "github", "access_token", 1)
    key = vault.generate_data_key(place)
    credential = credentials.resolve(
        Caller("acme", "ada", Subject("https://login.example.com", "ada"), "user", ()), AccountChoice("github")
    )
    for shown in (message, tokens, stored, stored.unseal_token("refresh_token"), key, credential):
        assert_silent(f"{shown} {shown!r}", ACCESS, REFRESH, event["proof"]["value"], repr(key.plain)[2:-1])
    assert credential.token == ACCESS
    assert "sealed" not in repr(stored)


def test_no_table_holds_a_secret_in_the_clear(door: Broker) -> None:
    door.store(refresh_token=REFRESH)
    door.store("role#engineering", access_token=SHARED)
    for table in ("mcpist-Grants", "mcpist-Directory", "mcpist-Audit"):
        assert_silent(repr(door.items(table)), ACCESS, REFRESH, SHARED)


def test_a_refresh_token_never_leaves(door: Broker) -> None:
    door.store(refresh_token=REFRESH)
    answers = [door.ask(name) for name in ("resolve", "status", "warrant", "revoke_personal")]
    assert_silent(json.dumps(answers), REFRESH)


def test_a_refused_secret_is_not_quoted(door: Broker) -> None:
    for value in (f"{ACCESS} with a space", [ACCESS], {"token": ACCESS}, ACCESS * 1000):
        answer = door.send(door.event("resolve") | {"proof": {"kind": "jwt", "value": value}})
        assert error_of(answer) == "InvalidRequest"
        assert_silent(json.dumps(answer), ACCESS)
