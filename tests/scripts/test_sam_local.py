"""The preparation of `make sam-local`, and its messages if SAM cannot run."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from infra.local.demo import ORGANIZATION
from infra.local.intrinsics import read_yaml
from infra.local.template import Function, read_template
from infra.source import ROOT
from scripts.sam_local import MissingPrerequisite, bridge, filled, target, values, with_endpoint_variable
from tests.faults import for_each

ENDPOINT = "http://172.17.0.1:4000"
EVENTS = sorted((ROOT / "events").glob("*.json"))
WITH_LOGIN = {"Issuer": "http://172.17.0.1:1", "LoginClientId": "mcpist", "PublicUrl": "http://127.0.0.1:1"}

type Engine = Callable[[str], None]


@pytest.fixture
def engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Engine:
    """A fake `docker`, which runs a shell script; it is missing until a test writes the script."""
    monkeypatch.setenv("PATH", str(tmp_path))

    def write(script: str) -> None:
        (tmp_path / "docker").write_text(f"#!/bin/sh\n{script}\n")
        (tmp_path / "docker").chmod(0o700)

    return write


def test_without_an_engine_it_says_what_to_do(engine: Engine) -> None:
    with pytest.raises(MissingPrerequisite, match=r"there is no `docker` here\. .*make up"):
        bridge()
    engine("echo first >&2; echo Is the docker daemon running? >&2; exit 1")
    with pytest.raises(MissingPrerequisite, match=r"no engine responds: Is the docker daemon running\? .*make up"):
        bridge()


@pytest.mark.parametrize(
    ("network", "address"),
    [({"Subnet": "127.0.0.0/24", "Gateway": "127.0.0.9"}, "127.0.0.9"), ({"Subnet": "127.0.0.0/24"}, "127.0.0.1")],
)
def test_containers_reach_this_machine_at_their_gateway(engine: Engine, network: dict[str, str], address: str) -> None:
    engine(f"echo '{json.dumps([network])}'")
    assert bridge() == address


def test_a_gateway_of_another_machine_is_refused(engine: Engine) -> None:
    engine("""echo '[{"Subnet": "203.0.113.0/24"}]'""")
    with pytest.raises(MissingPrerequisite, match=r"203\.0\.113\.1 is not an address of this machine"):
        bridge()


@pytest.mark.slow
def test_the_command_ends_with_the_message(tmp_path: Path) -> None:
    environment = {**os.environ, "PATH": str(tmp_path)}
    asked = [sys.executable, "-m", "scripts.sam_local"]
    done = subprocess.run(asked, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.startswith("make sam-local: SAM runs functions in containers, and there is no `docker` here.")


def test_each_function_gets_every_variable_that_the_template_declares() -> None:
    written = read_yaml(ROOT / "template.yaml")
    declared = with_endpoint_variable(read_yaml(ROOT / "template.yaml"))
    given = values(read_template(ROOT / "template.yaml", WITH_LOGIN), ENDPOINT)
    functions = {id_: one for id_, one in written["Resources"].items() if one["Type"] == "AWS::Serverless::Function"}
    assert set(given) == set(functions)
    shared = declared["Globals"]["Function"]["Environment"]["Variables"]
    assert "AWS_ENDPOINT_URL" not in written["Globals"]["Function"]["Environment"]["Variables"]
    for id_, function in functions.items():
        own = function["Properties"].get("Environment", {}).get("Variables", {})
        assert set(given[id_]) == {*shared, *own}
        assert all(isinstance(value, str) for value in given[id_].values())
        assert given[id_]["AWS_ENDPOINT_URL"] == ENDPOINT
    broker = "arn:aws:lambda:us-east-1:123456789012:function:mcpist-TokenBrokerFunction:live"
    assert given["McpEndpointFunction"]["TOKEN_BROKER"] == broker


@cache
def functions_of_the_template() -> dict[str, Function]:
    return {one.id: one for one in read_template(ROOT / "template.yaml", WITH_LOGIN).functions}


@for_each("event", {event.stem: event for event in EVENTS})
def test_every_event_finds_its_function_and_a_token(event: Path) -> None:
    functions = functions_of_the_template()
    room = functions[target(event, functions)].handler.partition(".")[0]
    assert event.name.startswith(f"{room}_")
    text = filled(event.read_text("utf-8"), lambda sub: f"token-of-{sub}")
    json.loads(text)
    assert "<access token" not in text
    assert '"acme"' not in text


def test_an_event_gets_our_organization_and_tokens() -> None:
    text = '{"organization": "acme", "proof": {"kind": "jwt", "value": "<access token of uma>"}}'
    made = json.loads(filled(text, lambda sub: f"token-of-{sub}"))
    assert made == {"organization": ORGANIZATION, "proof": {"kind": "jwt", "value": "token-of-uma"}}


def test_a_file_of_no_function_is_refused() -> None:
    with pytest.raises(MissingPrerequisite, match="TokenBrokerFunction"):
        target(Path("events/other.json"), {"TokenBrokerFunction": {}})
