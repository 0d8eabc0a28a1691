from dataclasses import replace
from typing import Any

import pytest

from infra.cli.doctor import configuration
from infra.cli.doctor.deployment import Deployment, template
from mcpist.aws.clients import client
from tests.conftest import REGION
from tests.infra.cli.doctor.conftest import Made, states

VARIABLES = {"REVISION": "r1", "ISSUER": "https://secret.example.com"}


@pytest.fixture
def stands(made: Made, aws: list[str]) -> Deployment:  # noqa: ARG001 - a fixture's name
    """A stack whose functions have version 1 as `live`."""
    lambda_, role = client("lambda"), "arn:aws:iam::123456789012:role/any"
    client("iam").create_role(RoleName="any", AssumeRolePolicyDocument="{}")
    deployment = made(embedded=False, variables=VARIABLES)
    for function in template().functions:
        lambda_.create_function(
            FunctionName=function.name,
            Runtime="python3.13",
            Role=role,
            Handler="x.y",
            Code={"ZipFile": b"one"},
            Environment={"Variables": VARIABLES},
        )
        lambda_.publish_version(FunctionName=function.name)
        lambda_.create_alias(FunctionName=function.name, Name="live", FunctionVersion="1")
        deployment.resources[function.id] = function.name
    return deployment


def broken(deployment: Deployment) -> list[Any]:
    return [one for one in configuration.functions(deployment) if one.remedy]


def test_an_alias_on_the_newest_version_is_well(stands: Deployment) -> None:
    assert set(states(configuration.functions(stands))) == {"ok"}


def test_an_alias_on_an_old_version_is_a_warning(stands: Deployment) -> None:
    broker = stands.resources["TokenBrokerFunction"]
    client("lambda").update_function_code(FunctionName=broker, ZipFile=b"two", Publish=True)
    (behind,) = broken(replace(stands, flags=f" --region {REGION}"))
    assert behind.found == "TokenBrokerFunction: live is version 1, the newest is 2"
    update = f"lambda update-alias --function-name {broker} --name live --function-version 2 --region {REGION}"
    assert (behind.state, behind.remedy) == ("warning", f"`aws {update}`")


def test_a_parameter_that_never_reached_live_is_a_problem_and_no_value_is_shown(stands: Deployment) -> None:
    broker = stands.resources["TokenBrokerFunction"]
    changed = {**VARIABLES, "ISSUER": "https://other.example.com"}
    client("lambda").update_function_configuration(FunctionName=broker, Environment={"Variables": changed}, Timeout=17)
    (behind,) = broken(stands)
    assert behind.state == "problem"
    assert behind.found == "TokenBrokerFunction: live (version 1) has another ISSUER, Timeout than $LATEST"
    assert "make deploy" in behind.remedy


def test_a_template_without_a_revision_is_a_warning(stands: Deployment, made: Made) -> None:
    unstamped = made(embedded=False, variables={"ISSUER": ""})
    unstamped.resources.update(stands.resources)
    (found,) = broken(unstamped)
    assert (found.state, "without a revision" in found.found) == ("warning", True)
