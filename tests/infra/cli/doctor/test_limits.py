"""Limits of an account."""

import json

import pytest

from infra.cli.doctor import configuration
from infra.local.names import ACCOUNT
from mcpist.aws.clients import client
from tests.core.loopback import Reply, Service, json_response
from tests.infra.cli.doctor.conftest import Made, only


def account_of(limit: int, *reserved: str) -> Reply:
    unreserved = limit - sum(map(int, reserved))
    settings = {"ConcurrentExecutions": limit, "UnreservedConcurrentExecutions": unreserved}
    return json_response({"AccountLimit": settings, "AccountUsage": {}})


@pytest.fixture
def account(service: Service, monkeypatch: pytest.MonkeyPatch) -> Service:
    """Lambda as a service whose responses a test sets."""
    monkeypatch.setenv("AWS_ENDPOINT_URL_LAMBDA", service.url)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "any")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "any")
    return service


@pytest.mark.parametrize(
    ("limit", "reserved", "state"),
    [(1000, "0", "ok"), (1000, "250", "ok"), (10, "0", "warning"), (300, "250", "problem"), (10, "1", "problem")],
)
def test_a_reservation_leaves_the_minimum_of_aws_and_a_small_account_is_a_warning(
    made: Made, account: Service, aws: list[str], limit: int, reserved: str, state: str
) -> None:
    account.reply_with(account_of(limit, reserved))
    own = {"BrokerConcurrency": "1", "UserConcurrency": "9", "OrganizationConcurrency": "90"} if state == "ok" else {}
    found = only(configuration.concurrency(made(embedded=False, StepConcurrency=reserved, **own)))
    assert found.state == state
    assert "GetAccountSettings" in aws
    if state != "ok":
        assert "`aws service-quotas request-service-quota-increase --service-code lambda" in found.remedy


@pytest.mark.usefixtures("aws")
def test_the_limits_of_a_new_account_are_a_warning_in_a_large_one(made: Made, account: Service) -> None:
    account.reply_with(account_of(1000))
    found = only(configuration.concurrency(made(embedded=False, UserConcurrency="7")))
    assert found.state == "warning"
    assert 'BrokerConcurrency=50 OrganizationConcurrency=250"`' in found.remedy


@pytest.mark.parametrize(("limit", "state"), [("10", "ok"), ("4", "ok"), ("3", "problem"), ("2", "problem")])
@pytest.mark.usefixtures("aws")
def test_machines_are_counted_against_the_limit(made: Made, limit: str, state: str) -> None:
    for name in ("one", "two", "three"):
        machine(name)
    assert only(configuration.machines(made(MachineLimit=limit))).state == state


@pytest.mark.usefixtures("aws")
def test_machines_near_the_limit_are_a_warning(made: Made) -> None:
    for number in range(10):
        machine(f"m{number}")
    assert only(configuration.machines(made(MachineLimit="11"))).state == "warning"


def machine(name: str) -> None:
    """Create a machine without any work."""
    definition = json.dumps({"StartAt": "end", "States": {"end": {"Type": "Succeed"}}})
    role = f"arn:aws:iam::{ACCOUNT}:role/machines"
    client("stepfunctions").create_state_machine(name=name, definition=definition, roleArn=role, type="EXPRESS")
