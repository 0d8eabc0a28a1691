"""`mcpist doctor` beside the running deployment: well as it stands, and each thing broken for real, with its remedy."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from infra.cli.doctor.command import CHECKS
from infra.cli.document import ADMINISTRATOR
from infra.cli.main import run
from infra.cli.stacks import LocalStack
from infra.cli.up_facts import recorded
from infra.local.demo import ROLE
from infra.local.deployment import LocalDeployment
from infra.local.names import STACK
from mcpist.caller import Role, Subject
from tests import members

type Line = dict[str, str]
type Examine = Callable[[], tuple[int, dict[str, list[Line]]]]

APPS = f"/mcpist/{STACK}/oauth"
APP = '{"client_id": "us", "client_secret": "canary-of-the-app"}'


@pytest.fixture
def examine(
    deployment: LocalDeployment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Iterator[Examine]:
    """The exit code, and the findings by what they are about."""
    monkeypatch.chdir(tmp_path)

    def examined() -> tuple[int, dict[str, list[Line]]]:
        code = run(["doctor"])
        text = capsys.readouterr().out
        assert "canary-of-the-app" not in text
        document = json.loads(text)
        assert document["success"] == (code == 0)
        facts = document["metadata"] if code == 0 else document["error"]["details"]
        found: dict[str, list[Line]] = {}
        for line in facts["findings"]:
            found.setdefault(f"{line['area']} {line['about']}", []).append(line)
        return code, found

    with recorded(deployment, LocalStack().facts_file):
        yield examined


def put_app(deployment: LocalDeployment, name: str, value: str, type_: str) -> None:
    deployment.aws.client("ssm").put_parameter(Name=f"{APPS}/{name}", Value=value, Type=type_)


@pytest.fixture
def no_apps(deployment: LocalDeployment) -> Iterator[None]:
    """None stands before, and whatever a test stores is forgotten, by sandboxes as well."""
    forget_apps(deployment)
    yield
    forget_apps(deployment)


def forget_apps(deployment: LocalDeployment) -> None:
    ssm = deployment.aws.client("ssm")
    for one in ssm.get_parameters_by_path(Path=APPS, Recursive=True)["Parameters"]:
        ssm.delete_parameter(Name=one["Name"])
    deployment.aws.functions["TokenBrokerFunction"].stop_idle()


def test_the_house_is_well(examine: Examine) -> None:
    code, found = examine()
    problems = [line for lines in found.values() for line in lines if line["state"] == "problem"]
    assert (code, problems) == (0, [])
    assert {*found} == {f"{check.area} {check.about}" for check in CHECKS} - {"keys FormerVaultKey"}
    states = {about: {line["state"] for line in lines} for about, lines in found.items()}
    assert {about for about, some in states.items() if some == {"skipped"}} == {
        "configuration stack",
        "configuration functions",
        "endpoint TLS",
        "limits concurrency",
    }
    # No app is stored, and the role has modules of tests that this process does not know.
    assert {about for about, some in states.items() if "warning" in some} == {"apps usable", "directory roles"}
    assert all(line["remedy"] for lines in found.values() for line in lines if line["state"] == "warning")


def test_whatever_is_switched_off_is_found_at_once_with_its_remedy(
    deployment: LocalDeployment, examine: Examine
) -> None:
    kms, dynamodb, s3 = map(deployment.aws.client, ("kms", "dynamodb", "s3"))
    vault, data, ledger, grants, bucket = map(
        deployment.aws.resource, ("VaultKey", "DataKey", "Ledger", "Grants", "FilesBucket")
    )

    def switch(*, on: bool) -> None:
        (kms.enable_key if on else kms.disable_key)(KeyId=vault)
        (kms.enable_key_rotation if on else kms.disable_key_rotation)(KeyId=data)
        expires = {"AttributeName": "expires_at", "Enabled": on}
        dynamodb.update_time_to_live(TableName=ledger, TimeToLiveSpecification=expires)
        recovers = {"PointInTimeRecoveryEnabled": on}
        dynamodb.update_continuous_backups(TableName=grants, PointInTimeRecoverySpecification=recovers)
        versions = {"Status": "Enabled" if on else "Suspended"}
        s3.put_bucket_versioning(Bucket=bucket, VersioningConfiguration=versions)

    remedies = {
        "keys VaultKey": ("problem", f"aws kms enable-key --key-id {vault}"),
        "keys DataKey": ("warning", f"aws kms enable-key-rotation --key-id {data}"),
        "stores Ledger": ("warning", f"aws dynamodb update-time-to-live --table-name {ledger} "),
        "stores Grants": ("problem", f"aws dynamodb update-continuous-backups --table-name {grants} "),
        "stores FilesBucket": ("warning", f"aws s3api put-bucket-versioning --bucket {bucket} "),
    }
    switch(on=False)
    try:
        code, broken = examine()
    finally:
        switch(on=True)
    _, mended = examine()
    assert code == ADMINISTRATOR
    for about, (state, remedy) in remedies.items():
        (line,) = broken[about]
        assert line["state"] == state
        assert remedy in line["remedy"]
        assert [line["state"] for line in mended[about]] == ["ok"]


def test_a_key_that_will_be_deleted_is_a_problem(deployment: LocalDeployment, examine: Examine) -> None:
    kms, key = deployment.aws.client("kms"), deployment.aws.resource("DataKey")
    kms.schedule_key_deletion(KeyId=key, PendingWindowInDays=7)
    try:
        code, found = examine()
    finally:
        kms.cancel_key_deletion(KeyId=key)
        kms.enable_key(KeyId=key)
    (line,) = found["keys DataKey"]
    assert (code, line["state"]) == (ADMINISTRATOR, "problem")
    assert f"aws kms cancel-key-deletion --key-id {key}" in line["remedy"]


def test_a_bucket_that_may_be_opened_and_has_another_key_is_found_and_mended_by_the_remedies(
    deployment: LocalDeployment, examine: Examine
) -> None:
    s3, bucket = deployment.aws.client("s3"), deployment.aws.resource("FilesBucket")
    s3.delete_public_access_block(Bucket=bucket)
    s3.delete_bucket_encryption(Bucket=bucket)
    code, found = examine()
    opened, unsealed = found["stores FilesBucket"]
    block = dict(part.split("=") for part in opened["remedy"].rstrip("`").split(" ")[-1].split(","))
    s3.put_public_access_block(
        Bucket=bucket, PublicAccessBlockConfiguration={name: value == "true" for name, value in block.items()}
    )
    rules = json.loads(unsealed["remedy"].split("'")[1])
    s3.put_bucket_encryption(Bucket=bucket, ServerSideEncryptionConfiguration=rules)
    assert (code, opened["state"], unsealed["state"]) == (ADMINISTRATOR, "problem", "problem")
    _, found = examine()
    assert [line["state"] for line in found["stores FilesBucket"]] == ["ok"]


def test_whoever_else_may_use_the_vaults_key_is_named_and_the_remedy_shuts_them_out(
    deployment: LocalDeployment, examine: Examine
) -> None:
    kms, key = deployment.aws.client("kms"), deployment.aws.resource("VaultKey")
    policy = json.loads(kms.get_key_policy(KeyId=key, PolicyName="default")["Policy"])
    stranger = {"AWS": "arn:aws:iam::999999999999:root"}
    sealing = next(one for one in policy["Statement"] if one["Sid"] == "SealAndOpen")
    sealing["Action"] = "kms:Decrypt"
    policy["Statement"].append({"Effect": "Allow", "Principal": stranger, "Action": "kms:*", "Resource": "*"})
    kms.put_key_policy(KeyId=key, PolicyName="default", Policy=json.dumps(policy))
    code, found = examine()
    more, lacks = found["keys VaultKey policy"]
    kms.put_key_policy(KeyId=key, PolicyName="default", Policy=more["remedy"].split("'")[1])
    assert code == ADMINISTRATOR
    assert "Allow kms:* to arn:aws:iam::999999999999:root" in more["found"]
    assert "lacks: Allow kms:GenerateDataKey to arn:aws:iam::123456789012:role/mcpist-TokenBrokerRole" in lacks["found"]
    _, found = examine()
    assert [line["state"] for line in found["keys VaultKey policy"]] == ["ok"]


@pytest.mark.usefixtures("no_apps")
def test_an_app_in_plain_text_is_a_problem_and_its_value_is_never_told(
    deployment: LocalDeployment, examine: Examine
) -> None:
    put_app(deployment, "github", APP, "String")
    put_app(deployment, "notion", APP, "SecureString")
    code, found = examine()
    plain, sealed = found["apps stored"]
    assert (code, plain["state"], sealed["state"]) == (ADMINISTRATOR, "problem", "ok")
    assert "`mcpist grant app github app.json" in plain["remedy"]
    assert "aws ssm" not in plain["remedy"], "on one machine nobody has the AWS CLI"
    assert sealed["found"] == "SecureStrings: notion"


@pytest.mark.usefixtures("no_apps")
def test_only_what_the_broker_can_read_is_of_use(deployment: LocalDeployment, examine: Examine) -> None:
    put_app(deployment, "github", APP, "SecureString")
    put_app(deployment, "notion", '{"client": "us"}', "SecureString")
    put_app(deployment, "linear", APP, "SecureString")  # not built in, and not described as a server
    code, found = examine()
    told = {line["found"].partition(" ")[0].strip(":"): line for line in found["apps usable"]}
    assert code == ADMINISTRATOR
    assert told["github"]["state"] == "ok"
    for broken in (f"{APPS}/notion", f"{APPS}/linear"):
        assert told[broken]["state"] == "problem"
        assert f"`mcpist grant app {broken.rpartition('/')[2]} app.json" in told[broken]["remedy"]
    assert told["google"]["state"] == "warning"
    assert "/connect/callback/google" in told["google"]["remedy"]


@pytest.mark.usefixtures("guests")
def test_an_organization_that_nobody_can_administer_is_a_problem(deployment: LocalDeployment, examine: Examine) -> None:
    members.put_organization("hollow", name="Hollow")
    members.put_organization("moved", name="Moved")
    old = Subject("https://old.example.com", "1")
    members.put_user("moved", "ada", name="Ada", subject=old, system_role="admin")
    code, found = examine()
    told = {line["found"].split(" ")[0].rstrip(":"): line for line in found["directory organizations"]}
    assert (code, told["demo"]["state"]) == (ADMINISTRATOR, "ok")
    assert (told["hollow"]["state"], told["moved"]["state"]) == ("problem", "problem")
    for name in ("hollow", "moved"):
        given = f"org create {name} --restore --administrator ID --issuer {deployment.login.issuer} "
        assert given in told[name]["remedy"]
    new = Subject(deployment.login.issuer, "new")
    members.put_user("moved", "bea", name="Bea", subject=new, system_role="admin")
    _, found = examine()
    able, strangers = (line for line in found["directory organizations"] if line["found"].startswith("moved"))
    assert (able["state"], strangers["state"]) == ("ok", "warning")
    assert strangers["found"].endswith("cannot log in: ada")


@pytest.mark.usefixtures("guests")
def test_a_mask_that_fits_nothing_is_told(examine: Examine) -> None:
    members.put_organization("typing", name="Typing")
    members.put_role("typing", Role(ROLE, modules=("rag",), deny=("rag.putt_*",)))
    _, found = examine()
    (line,) = (line for line in found["directory roles"] if line["found"].startswith("typing"))
    assert (line["state"], "rag.putt_*" in line["found"]) == ("warning", True)
