"""Requests that the tests do not make although the template has rights for them, each kind with the reason.

The evaluator asks them beside the recorded requests: a right must be needed by one or the other.
"""

from collections.abc import Iterator

from infra.local.names import REGION
from tests.roles.evaluator import Question
from tests.roles.stack import Stack

# CloudFormation makes the tables and the bucket in the name of the person who deploys; then DynamoDB creates a grant
# on the key and checks that it can do all that it will need.
# https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/encryption.usagenotes.html
TABLE_CREATION = (
    "CreateGrant",
    "Encrypt",
    "GenerateDataKeyWithoutPlaintext",
    "ReEncryptFrom",
    "ReEncryptTo",
)
# People administer the keys in the console and by `mcpist`; no function does.
KEY_ADMINISTRATION = (
    "CancelKeyDeletion",
    "DescribeKey",
    "DisableKey",
    "DisableKeyRotation",
    "EnableKey",
    "EnableKeyRotation",
    "GetKeyPolicy",
    "GetKeyRotationStatus",
    "ListResourceTags",
    "PutKeyPolicy",
    "ScheduleKeyDeletion",
    "TagResource",
    "UntagResource",
    "UpdateKeyDescription",
)
PLAIN = {"aws:SecureTransport": "false"}


def made_up(stack: Stack) -> Iterator[Question]:
    """Yield them."""
    for key in stack.template.keys:
        yield from (stack.ask_owner(f"kms:{action}", stack.arn(key.id), {}) for action in KEY_ADMINISTRATION)
    through = {"kms:ViaService": f"dynamodb.{REGION}.amazonaws.com"}
    data_key = stack.arn("DataKey")
    yield from (stack.ask_owner(f"kms:{action}", data_key, through) for action in TABLE_CREATION)
    # Our clients use TLS alone, so that nothing recorded meets the bucket's refusal of everything else.
    for bucket in stack.template.buckets:
        bucket_arn = stack.arn(bucket.id)
        yield stack.ask_owner("s3:ListBucket", bucket_arn, PLAIN)
        yield stack.ask_owner("s3:GetObject", f"{bucket_arn}/files/a", PLAIN)
