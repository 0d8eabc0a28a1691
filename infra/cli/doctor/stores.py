"""The tables and the bucket, compared with the template."""

from collections.abc import Iterator

from botocore.exceptions import ClientError

from infra.cli.doctor.deployment import Deployment, template
from infra.cli.doctor.finding import Finding, ok, problem, warning
from mcpist.aws.clients import client


def table(deployment: Deployment, id_: str) -> Iterator[Finding]:
    """Check a table's status, encryption, point-in-time recovery and time to live."""
    (expected,) = (one for one in template().tables if one.id == id_)
    name = deployment.resources[id_]
    dynamodb = client("dynamodb")
    try:
        about = dynamodb.describe_table(TableName=name)["Table"]
    except dynamodb.exceptions.ResourceNotFoundException:
        restore = "restore it from a backup or to a point in time, under this name, or deploy a new stack."
        yield problem(f"there is no table {name}", f"If it was removed: {restore}")
        return
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
    yield from faults or [ok(f"{name} is active, encrypted with DataKey and as in the template")]


def bucket(deployment: Deployment) -> Iterator[Finding]:
    """Check the bucket's public access, encryption and versions."""
    (expected,) = template().buckets
    name = deployment.resources[expected.id]
    key = deployment.resources["DataKey"]
    faults = []
    if _closed(name) != expected.public_access_block:
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
    yield from faults or [ok(f"{name} is closed to the public, encrypted with DataKey and keeps former versions")]


def _can_recover(name: str) -> bool:
    backups = client("dynamodb").describe_continuous_backups(TableName=name)["ContinuousBackupsDescription"]
    return bool(backups["PointInTimeRecoveryDescription"]["PointInTimeRecoveryStatus"] == "ENABLED")


def _expires(name: str, attribute: str) -> bool:
    about = client("dynamodb").describe_time_to_live(TableName=name)["TimeToLiveDescription"]
    return about["TimeToLiveStatus"] in {"ENABLED", "ENABLING"} and about.get("AttributeName") == attribute


def _closed(name: str) -> dict[str, bool]:
    try:
        found: dict[str, bool] = client("s3").get_public_access_block(Bucket=name)["PublicAccessBlockConfiguration"]
    except ClientError as error:
        if error.response["Error"]["Code"] != "NoSuchPublicAccessBlockConfiguration":
            raise
        return {}
    return found


def _encryption_key(name: str) -> str:
    """Return the bucket's default key; empty for S3's own."""
    try:
        found = client("s3").get_bucket_encryption(Bucket=name)["ServerSideEncryptionConfiguration"]
    except ClientError as error:
        if error.response["Error"]["Code"] != "ServerSideEncryptionConfigurationNotFoundError":
            raise
        return ""
    defaults = (rule.get("ApplyServerSideEncryptionByDefault", {}) for rule in found["Rules"])
    return str(next((one["KMSMasterKeyID"] for one in defaults if "KMSMasterKeyID" in one), ""))
