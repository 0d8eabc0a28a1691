"""The tables, the bucket and the KMS keys, compared with the template."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from botocore.exceptions import ClientError

from infra.cli.doctor.deployment import CheckFinding, Deployment, ok, problem, template, warning
from infra.local.names import ACCOUNT
from mcpist.aws.clients import client

type Right = tuple[str, str, str, str]


def table(deployment: Deployment, id_: str) -> list[CheckFinding]:
    """Check a table's status, encryption, point-in-time recovery and time to live."""
    (expected,) = (one for one in template().tables if one.id == id_)
    name = deployment.resources[id_]
    dynamodb = client("dynamodb")
    try:
        about = dynamodb.describe_table(TableName=name)["Table"]
    except dynamodb.exceptions.ResourceNotFoundException:
        restore = "restore it from a backup or to a point in time, under this name, or deploy a new stack."
        return [problem(f"there is no table {name}", f"If it was removed: {restore}")]
    faults = []
    if about["TableStatus"] != "ACTIVE":
        remedy = f"Wait until {deployment.aws(f'dynamodb wait table-exists --table-name {name}')} returns."
        faults.append(problem(f"{name} is {about['TableStatus']}", remedy))
    key = deployment.resources["DataKey"]
    if not about.get("SSEDescription", {}).get("KMSMasterKeyArn", "").endswith(key):
        sealed = f"--sse-specification Enabled=true,SSEType=KMS,KMSMasterKeyId={key}"
        remedy = deployment.aws(f"dynamodb update-table --table-name {name} {sealed}")
        faults.append(problem(f"{name} is not encrypted with DataKey", remedy))
    if expected.point_in_time_recovery and not _can_recover(name):
        recovers = "--point-in-time-recovery-specification PointInTimeRecoveryEnabled=true"
        remedy = deployment.aws(f"dynamodb update-continuous-backups --table-name {name} {recovers}")
        faults.append(problem(f"{name} cannot be restored to a point in time", remedy))
    if expected.ttl_attribute and not _expires(name, expected.ttl_attribute):
        expires = f"--time-to-live-specification Enabled=true,AttributeName={expected.ttl_attribute}"
        remedy = deployment.aws(f"dynamodb update-time-to-live --table-name {name} {expires}")
        faults.append(warning(f"{name} keeps expired items: its time to live is off", remedy))
    return faults or [ok(f"{name} is active, encrypted with DataKey and as in the template")]


def bucket(deployment: Deployment) -> list[CheckFinding]:
    """Check the bucket's public access, encryption and versions."""
    (expected,) = template().buckets
    name = deployment.resources[expected.id]
    key = deployment.resources["DataKey"]
    faults = []
    block = _of_bucket("get_public_access_block", name, "NoSuchPublicAccessBlockConfiguration")
    if block.get("PublicAccessBlockConfiguration", {}) != expected.public_access_block:
        closed = ",".join(f"{setting}=true" for setting in expected.public_access_block or ())
        put = f"s3api put-public-access-block --bucket {name} --public-access-block-configuration {closed}"
        faults.append(problem(f"{name} does not block public access", deployment.aws(put)))
    if not _encryption_key(name).endswith(key):
        rule = f'{{"SSEAlgorithm":"aws:kms","KMSMasterKeyID":"{key}"}}'
        rules = f'\'{{"Rules":[{{"ApplyServerSideEncryptionByDefault":{rule},"BucketKeyEnabled":true}}]}}\''
        put = f"s3api put-bucket-encryption --bucket {name} --server-side-encryption-configuration {rules}"
        faults.append(problem(f"{name} is not encrypted with DataKey", deployment.aws(put)))
    if expected.versioned and client("s3").get_bucket_versioning(Bucket=name).get("Status") != "Enabled":
        put = f"s3api put-bucket-versioning --bucket {name} --versioning-configuration Status=Enabled"
        faults.append(warning(f"{name} keeps no former versions", deployment.aws(put)))
    return faults or [ok(f"{name} is closed to the public, encrypted with DataKey and keeps former versions")]


def _can_recover(name: str) -> bool:
    backups = client("dynamodb").describe_continuous_backups(TableName=name)["ContinuousBackupsDescription"]
    return bool(backups["PointInTimeRecoveryDescription"]["PointInTimeRecoveryStatus"] == "ENABLED")


def _expires(name: str, attribute: str) -> bool:
    about = client("dynamodb").describe_time_to_live(TableName=name)["TimeToLiveDescription"]
    return about["TimeToLiveStatus"] in {"ENABLED", "ENABLING"} and about.get("AttributeName") == attribute


def _of_bucket(operation: str, name: str, absent: str) -> dict[str, Any]:
    """Return S3's answer about a bucket; `absent` is the code of its error where nothing is set."""
    try:
        found: dict[str, Any] = getattr(client("s3"), operation)(Bucket=name)
    except ClientError as error:
        if error.response["Error"]["Code"] != absent:
            raise
        return {}
    return found


def _encryption_key(name: str) -> str:
    """Return the bucket's default key; empty for S3's own."""
    found = _of_bucket("get_bucket_encryption", name, "ServerSideEncryptionConfigurationNotFoundError")
    rules = found.get("ServerSideEncryptionConfiguration", {}).get("Rules", ())
    defaults = (rule.get("ApplyServerSideEncryptionByDefault", {}) for rule in rules)
    return str(next((one["KMSMasterKeyID"] for one in defaults if "KMSMasterKeyID" in one), ""))


def key(deployment: Deployment, id_: str) -> CheckFinding:
    """Check that a key of the stack is enabled and rotates."""
    named = deployment.resources[id_]
    if about := _state(deployment, named):
        return about
    if client("kms").get_key_rotation_status(KeyId=named)["KeyRotationEnabled"]:
        return ok(f"{named} is enabled and rotates")
    return warning(f"{named} does not rotate", deployment.aws(f"kms enable-key-rotation --key-id {named}"))


def former_key(deployment: Deployment) -> Iterator[CheckFinding]:
    """Check that data under the former key can still be decrypted."""
    named = deployment.parameters["FormerVaultKey"]
    if named:
        yield _state(deployment, named) or ok(f"{named} is enabled")


def policy(deployment: Deployment) -> Iterator[CheckFinding]:
    """Check that only the broker's role may use the vault's key, by comparing its policy with the template's."""
    named = deployment.resources["VaultKey"]
    arn = client("kms").describe_key(KeyId=named)["KeyMetadata"]["Arn"]
    written = _written(deployment, arn)
    current = set(_rights(json.loads(client("kms").get_key_policy(KeyId=named, PolicyName="default")["Policy"])))
    expected = set(_rights(json.loads(written)))
    remedy = deployment.aws(f"kms put-key-policy --key-id {named} --policy-name default --policy '{written}'")
    for effect, who, what, condition in sorted(current - expected):
        statement = f"{effect} {what} to {who}" + (f" if {condition}" if condition else "")
        yield problem(f"the policy has more than the template: {statement}", remedy)
    for effect, who, what, _ in sorted(expected - current):
        yield problem(f"the policy lacks: {effect} {what} to {who}", remedy)
    if current == expected:
        yield ok("only the token broker's role may use it, as the template says")


def _state(deployment: Deployment, named: str) -> CheckFinding | None:
    """Return the problem that prevents the use of a key, if there is one."""
    kms = client("kms")
    try:
        about = kms.describe_key(KeyId=named)["KeyMetadata"]
    except kms.exceptions.NotFoundException:
        return problem(
            f"there is no key {named}", "Its data cannot be decrypted: deploy again, and connect all accounts again."
        )
    enable = deployment.aws(f"kms enable-key --key-id {named}")
    match about["KeyState"]:
        case "Enabled":
            return None
        case "PendingDeletion":
            at = f"{about['DeletionDate']:%Y-%m-%d}" if "DeletionDate" in about else "soon"
            cancel = deployment.aws(f"kms cancel-key-deletion --key-id {named}")
            return problem(f"{named} will be deleted: {at}", f"At once: {cancel}, then {enable}.")
        case state:
            return problem(f"{named} is {state}: its data cannot be decrypted", enable)


def _written(deployment: Deployment, arn: str) -> str:
    """Return the template's policy with the names of this account."""
    (vault,) = (one for one in template().keys if one.id == "VaultKey")
    partition, account = arn.split(":")[1], arn.split(":")[4]
    role = template().intrinsics.get_att("TokenBrokerRole", "Arn")
    own = f"arn:{partition}:iam::{account}:role/{deployment.resources['TokenBrokerRole']}"
    text = json.dumps(vault.policy).replace(role, own)
    return text.replace(f"arn:aws:iam::{ACCOUNT}:root", f"arn:{partition}:iam::{account}:root")


def _rights(policy: Mapping[str, Any]) -> Iterator[Right]:
    """Yield each effect, principal, action and condition of a policy, however it groups them."""
    for statement in _many(policy["Statement"]):
        condition = json.dumps(statement["Condition"], sort_keys=True) if "Condition" in statement else ""
        for who in _principals(statement):
            # Statements that name what they exclude must differ from those that name it.
            for what in _many(statement.get("Action", json.dumps({"NotAction": statement.get("NotAction")}))):
                yield statement["Effect"], who, what, condition


def _principals(statement: Mapping[str, Any]) -> Iterator[str]:
    given = statement.get("Principal", {"NotPrincipal": json.dumps(statement.get("NotPrincipal"))})
    if isinstance(given, str):
        given = {"AWS": given}
    for kind, names in given.items():
        yield from (name if kind == "AWS" else f"{kind}:{name}" for name in _many(names))


def _many(one_or_more: Any) -> list[Any]:
    return one_or_more if isinstance(one_or_more, list) else [one_or_more]
