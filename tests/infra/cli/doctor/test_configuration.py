"""Parameters that do not fit together, and the upstreams' file."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from infra.cli.doctor import configuration
from mcpist.aws.clients import client
from mcpist.loopback import LOOPBACK_NAMES
from tests.infra.cli.doctor.conftest import Made, only, states


@pytest.mark.parametrize(
    ("status", "state"),
    [
        ("UPDATE_COMPLETE", "ok"),
        ("UPDATE_ROLLBACK_COMPLETE", "warning"),
        ("UPDATE_COMPLETE_CLEANUP_IN_PROGRESS", "warning"),
        ("ROLLBACK_COMPLETE", "problem"),
        ("UPDATE_ROLLBACK_FAILED", "problem"),
    ],
)
def test_the_stack_is_judged_by_cloudformations_status(made: Made, status: str, state: str) -> None:
    stands = replace(made(embedded=False), status=status, flags=" --profile ops --region eu-west-1")
    found = only(configuration.stack(stands))
    assert found.state == state
    if state == "problem":
        events = "`aws cloudformation describe-stack-events --stack-name mcpist --profile ops --region eu-west-1`"
        assert found.remedy.startswith(events)


def test_an_address_that_only_this_machine_reaches_is_a_problem_of_a_stack(made: Made) -> None:
    assert only(configuration.public_url(made())).state == "ok"
    for host in sorted({*LOOPBACK_NAMES} - {"[::1]"}):
        local = made(url=f"http://{host}:3000")
        assert only(configuration.public_url(local)).state == "ok"
        found = only(configuration.public_url(replace(local, embedded=False)))
        assert (found.state, "PublicUrl=''" in found.remedy) == ("problem", True)


@pytest.mark.parametrize(
    ("audience", "state"),
    [
        ("", "ok"),
        ("https://mcp.example.com", "ok"),
        ("https://mcp.example.com/mcp/", "ok"),
        ("https://mcp.example.com/mc", "warning"),
        ("api://mcpist", "warning"),
    ],
)
def test_an_audience_that_clients_would_not_request_is_a_warning(made: Made, audience: str, state: str) -> None:
    assert only(configuration.audience(made(Audience=audience))).state == state


def test_pages_without_a_client_cannot_log_people_in(made: Made) -> None:
    found = only(configuration.connect_client(made(ConnectClientId="")))
    assert found.state == "problem"
    assert "https://mcp.example.com/connect/login" in found.remedy
    own_login = made(Issuer="", variables={"CONNECT_CLIENT_ID": "console"})
    assert only(configuration.connect_client(own_login)).found == "console"


def test_large_results_that_end_before_their_batches_are_a_warning(made: Made) -> None:
    found = only(configuration.kept(made(FileDays="1", KeepHours="25")))
    assert (found.state, "FileDays=2" in found.remedy) == ("warning", True)
    assert only(configuration.kept(made(FileDays="1", KeepHours="24"))).state == "ok"


def test_a_former_key_is_a_warning_until_it_is_removed(made: Made) -> None:
    found = only(configuration.former_key(made(embedded=False, FormerVaultKey="arn:former")))
    assert found.state == "warning"
    assert "mcpist grant reencrypt --organization ORG --token TOKEN --stack mcpist`" in found.remedy


def test_a_file_of_upstreams_that_cannot_be_read_is_a_problem(made: Made, tmp_path: Path) -> None:
    upstreams = tmp_path / "upstreams.json"
    stands = made(upstreams=upstreams)
    assert only(configuration.upstreams(stands)).state == "ok"
    upstreams.write_text('{"mcpServers": {"x": {"command": 1}}}')
    found = only(configuration.upstreams(stands))
    assert found.state == "problem"
    assert f"mcpist upstream check {upstreams}" in found.remedy


@pytest.mark.usefixtures("aws")
def test_servers_that_lambda_cannot_run_and_secrets_that_are_missing_are_problems(made: Made, tmp_path: Path) -> None:
    upstreams = tmp_path / "upstreams.json"
    name = "/mcpist/mcpist/upstreams/linear"
    servers = {
        "here": {"command": "npx", "description": "X"},
        "linear": {"type": "http", "url": "https://x.example", "description": "X", "headers": {"X-Key": f"ssm:{name}"}},
    }
    upstreams.write_text(json.dumps({"mcpServers": servers}))
    unpackaged, missing = configuration.upstreams(made(embedded=False, upstreams=upstreams))
    assert 'mcpServers["here"].command: npx fetches' in unpackaged.found
    assert (missing.state, "`mcpist upstream secret set linear --stack" in missing.remedy) == ("problem", True)
    client("ssm").put_parameter(Name=name, Value="secret", Type="SecureString")
    assert states(configuration.upstreams(made(embedded=False, upstreams=upstreams))) == ["problem"]
    assert only(configuration.upstreams(made(upstreams=upstreams))).found.startswith(
        f"{upstreams}: 2 servers, 2 categories"
    )
