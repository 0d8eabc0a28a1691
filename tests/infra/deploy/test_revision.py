"""A parameter's new value publishes a version of every function that reads it."""

from functools import cache
from typing import Any

import pytest

from infra.deploy.revision import RULE, VARIABLE, revised, revision
from infra.local.intrinsics import TemplateError
from infra.local.template import parameter_values, read_template
from tests.examples import has_slow_tests
from tests.translation import template, translate

type Json = dict[str, Any]

DEFAULTS = parameter_values(template()["Parameters"], {})
# Another value than the default of each parameter.
OTHER = {
    "DomainName": "mcp.example.com",
    "CertificateArn": "arn:aws:acm:eu-west-1:123456789012:certificate/a1",
    "HostedZoneId": "Z1",
    "PublicUrl": "https://mcp.example.com",
    "Issuer": "https://login.example.com",
    "LoginClientId": "mcpist",
    "IssuersByDomain": '{"globex.com":{"issuer":"https://login.globex.com","client_id":"mcpist"}}',
    "Administrator": "ada@example.com",
    "Audience": "https://mcp.example.com/other",
    "ConnectClientId": "pages",
    "OwnLogin": "off",
    "LoginPages": "classic",
    "AllowedOrigins": "https://app.example.com",
    "ResponseCache": "on",
    "CategoryTools": "on",
    "DatabaseNetworks": "10.0.0.0/16",
    "VpcSubnets": "subnet-0a1",
    "VpcSecurityGroups": "sg-0a1",
    "AuditRequired": "on",
    "AuditExport": "acme-audit",
    "AuditExportAccount": "123456789012",
    "ServiceLevels": "on",
    "FormerVaultKey": "arn:aws:kms:eu-west-1:123456789012:key/a1",
    "ChallengeHeader": "renamed",
    "LogLevel": "DEBUG",
    "SnapStart": "all",
    "Tracing": "on",
    "AlarmEmail": "ops@example.com",
    "Alarms": "off",
    "Dashboard": "on",
    "Metrics": "off",
    **{name: "77" for name, one in template()["Parameters"].items() if one["Type"] == "Number"},
    "KeyRotationDays": "365",
}
# Translating a template takes half a second: the quick tests change one parameter of each kind.
QUICK = {"Issuer", "ResponseCache", "RequestRate"}
PARAMETERS = [name if name in QUICK else pytest.param(name, marks=pytest.mark.slow) for name in DEFAULTS]


@cache
def versions() -> dict[str, frozenset[str]]:
    """The versions that a deployment publishes: with the defaults (under ""), and with each parameter changed alone."""
    names = DEFAULTS if has_slow_tests() else QUICK
    changed = {"": DEFAULTS, "again": DEFAULTS, **{name: DEFAULTS | {name: OTHER[name]} for name in names}}
    found = translate({name: revised(template(), values) for name, values in changed.items()})
    return {
        name: frozenset(id_ for id_, one in made["Resources"].items() if one["Type"] == "AWS::Lambda::Version")
        for name, made in found.items()
    }


@pytest.mark.parametrize("parameter", PARAMETERS)
def test_a_changed_parameter_publishes_a_new_version_of_every_function(parameter: str) -> None:
    functions = [one for one in template()["Resources"].values() if one["Type"] == "AWS::Serverless::Function"]
    assert len(versions()[parameter]) == len(functions)
    assert not versions()[parameter] & versions()[""]


def test_equal_parameters_publish_nothing() -> None:
    assert versions()["again"] == versions()[""]


def test_without_the_revision_a_changed_parameter_would_publish_nothing() -> None:
    """CloudFormation resolves a parameter after SAM has named the versions: this is why the revision is needed."""
    variables = template()["Globals"]["Function"]["Environment"]["Variables"]
    assert {"Ref": "Issuer"} in variables["ISSUER"]["Fn::If"]
    assert variables[VARIABLE] == ""


def test_a_revision_names_its_values_whatever_their_order() -> None:
    assert revision({"A": "1", "B": "2"}) == revision({"B": "2", "A": "1"}) != revision({"A": "2", "B": "1"})


def test_the_built_template_refuses_other_values_than_its_revision_and_names_the_command(tmp_path: Any) -> None:
    import yaml

    built = revised(template(), DEFAULTS | {"OwnLogin": "off"})
    file = tmp_path / "template.yaml"
    file.write_text(yaml.safe_dump(built), "utf-8")
    assert read_template(file, {"OwnLogin": "off"}).functions
    with pytest.raises(
        TemplateError, match=r"another value of RequestRate: deploy with `make deploy ARGS=RequestRate="
    ):
        read_template(file, {"OwnLogin": "off", "RequestRate": "5"})
    functions = {name for rule in built["Rules"].values() for name in _functions(rule["Assertions"])}
    # AWS accepts no others here, not even Fn::If.
    assert functions <= {"Ref", "Fn::And", "Fn::Or", "Fn::Not", "Fn::Equals", "Fn::Contains"}
    assert {"Domain", "Vpc", RULE} == set(built["Rules"])


def _functions(value: Any) -> set[str]:
    if isinstance(value, list):
        return set().union(*map(_functions, value))
    if isinstance(value, dict):
        own = {name for name in value if name == "Ref" or name.startswith("Fn::")}
        return own.union(*map(_functions, value.values()))
    return set()
