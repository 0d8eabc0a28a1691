"""The tables and buckets of a template, made empty."""

from typing import Any

from infra.local.template import Bucket, DeclaredTable


def create_table(dynamodb: Any, table: DeclaredTable) -> None:
    """Create a table with what the template says of it."""
    dynamodb.create_table(TableName=table.name, **table.definition)
    if table.ttl_attribute:
        specification = {"AttributeName": table.ttl_attribute, "Enabled": True}
        dynamodb.update_time_to_live(TableName=table.name, TimeToLiveSpecification=specification)
    if table.point_in_time_recovery:
        specification = {"PointInTimeRecoveryEnabled": True}
        dynamodb.update_continuous_backups(TableName=table.name, PointInTimeRecoverySpecification=specification)


def create_bucket(s3: Any, bucket: Bucket) -> None:
    """Create a bucket with what the template says of it."""
    s3.create_bucket(Bucket=bucket.name)
    if bucket.versioned:
        s3.put_bucket_versioning(Bucket=bucket.name, VersioningConfiguration={"Status": "Enabled"})
    if bucket.public_access_block:
        s3.put_public_access_block(Bucket=bucket.name, PublicAccessBlockConfiguration=bucket.public_access_block)
    if bucket.encryption:
        s3.put_bucket_encryption(Bucket=bucket.name, ServerSideEncryptionConfiguration=bucket.encryption)
