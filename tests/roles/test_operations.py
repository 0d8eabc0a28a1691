"""Recorded requests of REST services are found in AWS's models again."""

import pytest

from tests.roles.operations import Operation, operation_of
from tests.traffic import AwsRequest


def rest(service: str, line: str, **headers: str) -> AwsRequest:
    return AwsRequest("sandbox", "F", service, line.partition("?")[0], request_line=line, headers=headers)


@pytest.mark.parametrize(
    ("line", "name", "parameters"),
    [
        ("GET /b/files/a%20b", "GetObject", {"Bucket": "b", "Key": "files/a b"}),
        ("GET /b/files/a?versionId=7", "GetObject", {"Bucket": "b", "Key": "files/a", "VersionId": "7"}),
        ("HEAD /b/files/a", "HeadObject", {"Bucket": "b", "Key": "files/a"}),
        ("PUT /b/files/a", "PutObject", {"Bucket": "b", "Key": "files/a"}),
        ("PUT /b/files/a?tagging", "PutObjectTagging", {"Bucket": "b", "Key": "files/a"}),
        (
            "PUT /b/k?partNumber=1&uploadId=u",
            "UploadPart",
            {"Bucket": "b", "Key": "k", "PartNumber": 1, "UploadId": "u"},
        ),
        ("DELETE /b/k", "DeleteObject", {"Bucket": "b", "Key": "k"}),
        ("GET /b?list-type=2&prefix=rag%2F", "ListObjectsV2", {"Bucket": "b", "Prefix": "rag/"}),
    ],
)
def test_a_request_to_s3_is_its_operation(line: str, name: str, parameters: dict[str, object]) -> None:
    assert operation_of(rest("s3", line)) == Operation("s3", name, parameters)


def test_headers_are_parameters_and_tell_operations_apart() -> None:
    put = operation_of(rest("s3", "PUT /b/k", **{"if-none-match": "*", "content-type": "text/plain"}))
    assert put == Operation(
        "s3", "PutObject", {"Bucket": "b", "Key": "k", "IfNoneMatch": "*", "ContentType": "text/plain"}
    )
    copy = operation_of(rest("s3", "PUT /b/k", **{"x-amz-copy-source": "b/other"}))
    assert copy == Operation("s3", "CopyObject", {"Bucket": "b", "Key": "k", "CopySource": "b/other"})


def test_an_invocation_names_its_function() -> None:
    invoke = rest("lambda", "POST /2015-03-31/functions/mcpist-F/invocations?Qualifier=live")
    assert operation_of(invoke) == Operation("lambda", "Invoke", {"FunctionName": "mcpist-F", "Qualifier": "live"})


def test_what_aws_would_not_take_is_named() -> None:
    assert not Operation("dynamodb", "GetItem", {"TableName": "Ledger", "Key": {"pk": {"S": "a"}}}).errors()
    assert "Key" in Operation("dynamodb", "GetItem", {"TableName": "Ledger"}).errors()
    assert "Consistent" in Operation("dynamodb", "GetItem", {"TableName": "T", "Key": {}, "Consistent": True}).errors()
