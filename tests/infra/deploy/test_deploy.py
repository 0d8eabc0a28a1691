"""`make deploy`, with a SAM that only notes how it was called, and CloudFormation by moto."""

import json
import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest
from moto import mock_aws

from infra.deploy.__main__ import main
from infra.deploy.revision import revision
from infra.deploy.stack import Concurrency
from infra.local.intrinsics import read_yaml
from infra.local.template import parameter_values
from tests.core.loopback import Service, json_response, listening
from tests.translation import ROOT

SAM = """
import json, pathlib, sys
print("asked:", sys.stdin.read())
pathlib.Path("called.json").write_text(json.dumps(sys.argv[1:]))
"""
PARAMETERS = {"RequestRate": {"Type": "Number"}, "Gone": {"Type": "String"}}
STACK = json.dumps({"Parameters": PARAMETERS, "Resources": {"Topic": {"Type": "AWS::SNS::Topic"}}})


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A built project, as `sam build` leaves it; nothing is deployed."""
    (tmp_path / ".aws-sam/build").mkdir(parents=True)
    shutil.copy(ROOT / "template.yaml", tmp_path / ".aws-sam/build/template.yaml")
    (tmp_path / "samconfig.toml").write_text(
        '[default.deploy.parameters]\nparameter_overrides = "KeepHours=48"', "utf-8"
    )
    (tmp_path / "sam.py").write_text(SAM, "utf-8")
    monkeypatch.setenv("SAM", f"{sys.executable} {tmp_path / 'sam.py'}")
    for name in ("AWS_ENDPOINT_URL", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-west-1")
    with mock_aws():
        yield tmp_path


def called(root: Path) -> list[str]:
    found: list[str] = json.loads((root / "called.json").read_text("utf-8"))
    return found


def values(root: Path) -> dict[str, str]:
    """The values that SAM is given; the template's revision is that of the same values."""
    found: dict[str, str] = json.loads((root / ".aws-sam/build/parameters.yaml").read_text("utf-8"))
    assert stamped(root) == revision(found)
    return found


def stamped(root: Path) -> str:
    built = read_yaml(root / ".aws-sam/build/template.yaml")
    return str(built["Globals"]["Function"]["Environment"]["Variables"]["REVISION"])


def deployed(**parameters: str) -> Any:
    cloudformation = boto3.client("cloudformation", region_name="eu-west-1")
    given = [{"ParameterKey": name, "ParameterValue": value} for name, value in parameters.items()]
    cloudformation.create_stack(StackName="mcpist", TemplateBody=STACK, Parameters=given)
    return cloudformation


def test_a_first_deployment_has_the_files_values_and_the_defaults_and_asks_nothing(root: Path) -> None:
    assert main([], root) == 0
    usual = parameter_values(read_yaml(ROOT / "template.yaml")["Parameters"], {})
    assert values(root) == usual | {"KeepHours": "48"}
    file = f"file://{root}/.aws-sam/build/parameters.yaml"
    assert called(root) == [
        *("deploy", "--no-confirm-changeset", "--no-fail-on-empty-changeset", "--stack-name", "mcpist"),
        *("--parameter-overrides", file),
    ]


def test_the_command_line_is_stronger_than_the_file_and_the_file_than_the_stack(root: Path) -> None:
    deployed(RequestRate="7", Gone="x")
    assert main(["KeepHours=72", "--region", "eu-west-1", "--", "--s3-bucket", "mine"], root) == 0
    found = values(root)
    assert (found["KeepHours"], found["RequestRate"], "Gone" in found) == ("72", "7", False)
    assert called(root)[-2:] == ["--s3-bucket", "mine"]
    assert main(["RequestRate=9"], root) == 0
    assert (values(root)["KeepHours"], values(root)["RequestRate"]) == ("48", "9")


@pytest.mark.parametrize(
    ("limit", "unreserved", "broker", "user", "organization"),
    [
        (10, 10, "0", "5", "8"),
        (100, 100, "0", "5", "25"),
        (400, 350, "20", "8", "100"),
        (1000, 1000, "50", "20", "250"),
    ],
)
def test_the_limits_suit_the_account_and_reserve_only_what_aws_allows(
    limit: int, unreserved: int, broker: str, user: str, organization: str
) -> None:
    assert Concurrency(limit, unreserved).parameters == {
        "BrokerConcurrency": broker,
        "UserConcurrency": user,
        "OrganizationConcurrency": organization,
    }
    assert unreserved - int(broker) >= 100 or broker == "0"


def test_a_first_deployment_reserves_executions_for_the_broker_where_the_account_has_enough(
    root: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    limits = {"ConcurrentExecutions": 1000, "UnreservedConcurrentExecutions": 1000}
    service = Service()
    service.reply_with(json_response({"AccountLimit": limits, "AccountUsage": {}}))
    with listening(service.server), mock_aws(config={"core": {"passthrough": {"urls": ["127.0.0.1"]}}}):
        monkeypatch.setenv("AWS_ENDPOINT_URL_LAMBDA", service.url)
        assert main(["UserConcurrency=9"], root) == 0
        found = values(root)
        assert [found[f"{name}Concurrency"] for name in ("Broker", "User", "Organization")] == ["50", "9", "250"]
        assert (
            "runs 1000 functions at once: BrokerConcurrency=50 OrganizationConcurrency=250" in capsys.readouterr().err
        )


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["Requestrate=9"], "the template has no parameter Requestrate"),
        (
            ["PublicUrl=https://mcp.example.com/"],
            "PublicUrl may not be 'https://mcp.example.com/': it must be https://",
        ),
        (["DomainName=mcp.example.com"], "DomainName needs CertificateArn"),
        (["now"], "'now' is not NAME=VALUE"),
    ],
)
def test_a_wrong_parameter_is_refused_before_anything_is_uploaded(
    root: Path, capsys: pytest.CaptureFixture[str], words: list[str], told: str
) -> None:
    assert main(words, root) == 1
    assert told in capsys.readouterr().err
    assert not (root / "called.json").exists()


def test_a_former_value_that_no_longer_works_is_named_as_the_stacks(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    deployed(RequestRate="0", Gone="x")
    assert main([], root) == 1
    assert (
        "RequestRate may not be '0'; values that are not named are those of the stack mcpist" in capsys.readouterr().err
    )
    assert main(["RequestRate=5"], root) == 0


def test_sam_gets_the_keyboard_only_if_its_question_is_wanted(root: Path, capfd: pytest.CaptureFixture[str]) -> None:
    read, write = os.pipe()
    os.write(write, b"consent")
    os.close(write)
    keyboard = os.dup(0)
    os.dup2(read, 0)
    try:
        main([], root)
        assert "asked: consent" not in capfd.readouterr().out
        main(["--", "--confirm-changeset"], root)
        assert "asked: consent" in capfd.readouterr().out
    finally:
        os.dup2(keyboard, 0)
        os.close(read)
        os.close(keyboard)


def test_the_rest_of_a_failed_first_creation_is_removed(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cloudformation = deployed(RequestRate="7", Gone="x")
    from moto.cloudformation import cloudformation_backends

    (backend,) = cloudformation_backends["123456789012"]["eu-west-1"].stacks.values()
    monkeypatch.setattr(backend, "status", "ROLLBACK_COMPLETE")
    assert main([], root) == 0
    assert values(root)["RequestRate"] == "100", "nothing of it is kept"
    assert cloudformation.describe_stacks()["Stacks"] == []


def test_without_a_build_the_command_is_named(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (root / ".aws-sam/build/template.yaml").unlink()
    assert main([], root) == 1
    assert "run `make build`" in capsys.readouterr().err


def test_a_build_is_stamped_without_asking_aws(root: Path) -> None:
    assert stamped(root) == ""
    assert main(["--stamp"], root) == 0
    assert values(root)["KeepHours"] == "48"
    assert not (root / "called.json").exists()
