"""The stores of the embedded AWS after a restart: everything that was answered, and nothing that has expired."""

import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError

from infra.local.stack import EmbeddedAws, StackOptions
from infra.local.state import State, opened_state

TEMPLATE = """
Transform: AWS::Serverless-2016-10-31
Resources:
  Items:
    Type: AWS::DynamoDB::Table
    Properties:
      BillingMode: PAY_PER_REQUEST
      AttributeDefinitions: [{AttributeName: pk, AttributeType: S}, {AttributeName: sk, AttributeType: S}]
      KeySchema: [{AttributeName: pk, KeyType: HASH}, {AttributeName: sk, KeyType: RANGE}]
      TimeToLiveSpecification: {AttributeName: expires_at, Enabled: true}
  Files:
    Type: AWS::S3::Bucket
    Properties:
      LifecycleConfiguration:
        Rules: [{Id: old, Status: Enabled, Prefix: old/, ExpirationInDays: 1}]
  Vault: {Type: AWS::KMS::Key}
"""
NEW_TABLE = """
  Added:
    Type: AWS::DynamoDB::Table
    Properties:
      BillingMode: PAY_PER_REQUEST
      AttributeDefinitions: [{AttributeName: pk, AttributeType: S}]
      KeySchema: [{AttributeName: pk, KeyType: HASH}]
"""
EVERY_TYPE: dict[str, Any] = {
    "text": {"S": "設計"},
    "number": {"N": "1.50"},
    "bytes": {"B": b"\x00\xff"},
    "list": {"L": [{"B": b"\xfe"}, {"M": {"a": {"NULL": True}}}]},
    "sets": {"M": {"b": {"BS": [b"\x01"]}, "n": {"NS": ["1"]}, "s": {"SS": ["x"]}}},
    "truth": {"BOOL": False},
}


@contextmanager
def started(folder: Path, template: str = TEMPLATE) -> Iterator[EmbeddedAws]:
    """Start the stack with the state of its last run."""
    (folder / "template.yaml").write_text(template)
    with opened_state(folder / "state") as state, EmbeddedAws(StackOptions(root=folder, state=state)) as aws:
        yield aws


def key(sk: str) -> dict[str, Any]:
    return {"pk": {"S": "p"}, "sk": {"S": sk}}


def test_what_was_stored_is_there_after_a_restart_also_with_a_newer_template(tmp_path: Path) -> None:
    with started(tmp_path) as aws:
        sealed = _store(aws)
    with started(tmp_path, TEMPLATE + NEW_TABLE) as aws:
        _expect(aws, sealed)
        added = {"TableName": aws.resource("Added"), "Item": {"pk": {"S": "new"}}}
        aws.client("dynamodb").put_item(**added)
    with started(tmp_path) as aws:  # the older version again, which does not have the table
        _expect(aws, sealed)
    with started(tmp_path, TEMPLATE + NEW_TABLE) as aws:
        (item,) = aws.client("dynamodb").scan(TableName=aws.resource("Added"))["Items"]
        assert item == {"pk": {"S": "new"}}


def _store(aws: EmbeddedAws) -> bytes:
    """Change all stores in every way that is recorded; return what KMS has sealed."""
    dynamodb, s3, ssm, table, bucket = _clients(aws)
    dynamodb.put_item(TableName=table, Item=key("kept") | EVERY_TYPE)
    writes = [{"PutRequest": {"Item": key(name) | {"count": {"N": "1"}}}} for name in ("a", "b", "c", "d")]
    dynamodb.batch_write_item(RequestItems={table: writes})
    dynamodb.delete_item(TableName=table, Key=key("a"))
    change = {"UpdateExpression": "ADD #n :one", "ExpressionAttributeNames": {"#n": "count"}}
    one = {"ExpressionAttributeValues": {":one": {"N": "1"}}}
    dynamodb.update_item(TableName=table, Key=key("b"), **change, **one)
    update = {"Update": {"TableName": table, "Key": key("c"), **change, **one}}
    put = {"Put": {"TableName": table, "Item": key("e")}}
    dynamodb.transact_write_items(TransactItems=[put, update, {"Delete": {"TableName": table, "Key": key("d")}}])
    never = {"ConditionExpression": "attribute_exists(never)"}
    with pytest.raises(ClientError):
        dynamodb.transact_write_items(
            TransactItems=[
                {"Put": {"TableName": table, "Item": key("f")}},
                {"Put": {"TableName": table, "Item": key("g"), **never}},
            ]
        )
    dynamodb.put_item(TableName=table, Item=key("expired") | {"expires_at": {"N": str(int(time.time()) - 1)}})
    for name in ("old/a", "b c/ü.md", "c", "d", "e"):
        s3.put_object(Bucket=bucket, Key=name, Body=f"{name}\n".encode(), ContentType="text/x", Metadata={"k": "v"})
    s3.put_object(Bucket=bucket, Key="c", Body=b"second")
    s3.copy_object(Bucket=bucket, Key="copy", CopySource={"Bucket": bucket, "Key": "b c/ü.md"})
    s3.delete_object(Bucket=bucket, Key="d")
    s3.delete_objects(Bucket=bucket, Delete={"Objects": [{"Key": "e"}]})
    for name in ("/a/kept", "/a/gone"):
        ssm.put_parameter(Name=name, Value="s3cret", Type="SecureString")
    ssm.put_parameter(Name="/a/kept", Value="newer", Type="SecureString", Overwrite=True)
    ssm.delete_parameter(Name="/a/gone")
    sealed = aws.client("kms").encrypt(KeyId=aws.resource("Vault"), Plaintext=b"open", EncryptionContext={"a": "b"})
    return bytes(sealed["CiphertextBlob"])


def _expect(aws: EmbeddedAws, sealed: bytes) -> None:
    dynamodb, s3, ssm, table, bucket = _clients(aws)
    items = {item["sk"]["S"]: item for item in dynamodb.scan(TableName=table)["Items"]}
    assert items == {
        "kept": key("kept") | EVERY_TYPE,
        "b": key("b") | {"count": {"N": "2"}},
        "c": key("c") | {"count": {"N": "2"}},
        "e": key("e"),
    }
    assert dynamodb.get_item(TableName=table, Key=key("kept"))["Item"] == key("kept") | EVERY_TYPE
    listed = {one["Key"]: one["ETag"] for one in s3.list_objects_v2(Bucket=bucket)["Contents"]}
    assert set(listed) == {"old/a", "b c/ü.md", "c", "copy"}
    for name in ("b c/ü.md", "copy"):
        answer = s3.get_object(Bucket=bucket, Key=name)
        assert (answer["Body"].read(), answer["ContentType"]) == ("b c/ü.md\n".encode(), "text/x")
        assert (answer["Metadata"], answer["ETag"]) == ({"k": "v"}, listed[name])
    assert s3.get_object(Bucket=bucket, Key="c")["Body"].read() == b"second"
    (parameter,) = ssm.get_parameters_by_path(Path="/a", WithDecryption=True)["Parameters"]
    assert (parameter["Name"], parameter["Value"], parameter["Version"]) == ("/a/kept", "newer", 2)
    opened = aws.client("kms").decrypt(CiphertextBlob=sealed, EncryptionContext={"a": "b"})
    assert opened["Plaintext"] == b"open"


def _clients(aws: EmbeddedAws) -> tuple[Any, Any, Any, str, str]:
    return *map(aws.client, ("dynamodb", "s3", "ssm")), aws.resource("Items"), aws.resource("Files")  # type: ignore[return-value]


def test_an_object_is_deleted_when_its_days_are_over(tmp_path: Path) -> None:
    with started(tmp_path) as aws:
        for name in ("old/a", "new"):
            aws.client("s3").put_object(Bucket=aws.resource("Files"), Key=name, Body=b"x")
    with opened_state(tmp_path / "state") as state:
        for name, record in list(state.all("s3")):
            state.put("s3", name, record.replace(b'"last_modified": "20', b'"last_modified": "19'))
    with started(tmp_path) as aws:
        (left,) = aws.client("s3").list_objects_v2(Bucket=aws.resource("Files"))["Contents"]
        assert left["Key"] == "new"
    with opened_state(tmp_path / "state") as state:
        assert len(dict(state.all("s3"))) == 1


def test_a_change_that_cannot_be_stored_fails_and_is_named_on_the_terminal(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    with started(tmp_path):
        pass
    with (
        closing(sqlite3.connect(tmp_path / "state", check_same_thread=False)) as connection,
        EmbeddedAws(StackOptions(root=tmp_path, state=State(connection))) as aws,
    ):
        table, client = aws.resource("Items"), aws.client("dynamodb")
        (pages,) = connection.execute("PRAGMA page_count").fetchone()
        connection.execute(f"PRAGMA max_page_count = {pages}")
        large = key("1") | {"text": {"S": "x" * 100_000}}
        with pytest.raises(ClientError):
            client.put_item(TableName=table, Item=large)
        assert "what is stored cannot be written: database or disk is full\n" in capfd.readouterr().err
        connection.execute(f"PRAGMA max_page_count = {pages + 1000}")
        client.put_item(TableName=table, Item=large)
