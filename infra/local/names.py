"""Names and ARNs of resources, the same in every run; in AWS CloudFormation generates them."""

import uuid
from typing import Any

from infra.local.intrinsics import NO_VALUE

ACCOUNT = "123456789012"
REGION = "us-east-1"
STACK = "mcpist"
EXPORT_BUCKET = "audit-export"
"""The owner's bucket for audit rows, which is a folder on one machine."""

PSEUDO: dict[str, Any] = {
    "AWS::AccountId": ACCOUNT,
    "AWS::Region": REGION,
    "AWS::StackName": STACK,
    "AWS::StackId": f"arn:aws:cloudformation:{REGION}:{ACCOUNT}:stack/{STACK}/local",
    "AWS::Partition": "aws",
    "AWS::URLSuffix": "amazonaws.com",
    "AWS::NoValue": NO_VALUE,
}
FUNCTION, QUEUE = "AWS::Serverless::Function", "AWS::SQS::Queue"
# The property with which a template names a resource itself.
NAME_PROPERTIES = {
    FUNCTION: "FunctionName",
    "AWS::Serverless::StateMachine": "Name",
    "AWS::DynamoDB::Table": "TableName",
    "AWS::S3::Bucket": "BucketName",
    "AWS::IAM::Role": "RoleName",
    "AWS::Logs::LogGroup": "LogGroupName",
    QUEUE: "QueueName",
}
_ARNS = {
    FUNCTION: f"arn:aws:lambda:{REGION}:{ACCOUNT}:function:{{}}",
    "AWS::Serverless::StateMachine": f"arn:aws:states:{REGION}:{ACCOUNT}:stateMachine:{{}}",
    "AWS::DynamoDB::Table": f"arn:aws:dynamodb:{REGION}:{ACCOUNT}:table/{{}}",
    "AWS::S3::Bucket": "arn:aws:s3:::{}",
    "AWS::KMS::Key": f"arn:aws:kms:{REGION}:{ACCOUNT}:key/{{}}",
    "AWS::IAM::Role": f"arn:aws:iam::{ACCOUNT}:role/{{}}",
    "AWS::Logs::LogGroup": f"arn:aws:logs:{REGION}:{ACCOUNT}:log-group:{{}}:*",
    QUEUE: f"arn:aws:sqs:{REGION}:{ACCOUNT}:{{}}",
}
REF_IS_ARN = {"AWS::Serverless::StateMachine"}


QUEUE_URL = f"https://sqs.{REGION}.amazonaws.com/{ACCOUNT}/"
"""The beginning of a queue's URL, at whose host nobody asks: requests go to the only port."""


def generated_name(id_: str, type_: str) -> str:
    """Return the physical name of a resource that the template does not name."""
    if type_ == "AWS::KMS::Key":  # the same in every run: what is kept was sealed under this id
        return str(uuid.uuid5(uuid.NAMESPACE_URL, f"{STACK}/{id_}"))
    name = f"{STACK}-{id_}"
    # S3 takes no capitals.
    return name.lower() if type_ == "AWS::S3::Bucket" else name


def arn(name: str, type_: str) -> str | None:
    """Return the ARN of a resource, for the types that have one here."""
    return _ARNS[type_].format(name) if type_ in _ARNS else None
