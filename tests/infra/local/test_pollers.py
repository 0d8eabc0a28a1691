"""The new items of a table reach a function in their order, at least once, and what it stores is a file."""

import json
import sys
from pathlib import Path

from infra.local.stack import EmbeddedAws, StackOptions

TEMPLATE = """
Transform: AWS::Serverless-2016-10-31
Parameters:
  PublicUrl: {Type: String, Default: ""}
  AuditExport: {Type: String, Default: ""}
Conditions:
  Exports: !Not [!Equals [!Ref AuditExport, ""]]
Globals:
  Function: {AutoPublishAlias: live, Timeout: 20}
Resources:
  ExporterFunction:
    Type: AWS::Serverless::Function
    Properties:
      Handler: exporter.handler
      CodeUri: functions
      Environment: {Variables: {BUCKET: !Ref AuditExport}}
  Delivery:
    Type: AWS::Lambda::EventSourceMapping
    Condition: Exports
    Properties: {EventSourceArn: !GetAtt Items.StreamArn, FunctionName: !Ref ExporterFunction.Alias, BatchSize: 2}
  Items:
    Type: AWS::DynamoDB::Table
    Properties:
      BillingMode: PAY_PER_REQUEST
      AttributeDefinitions: [{AttributeName: pk, AttributeType: S}]
      KeySchema: [{AttributeName: pk, KeyType: HASH}]
      StreamSpecification: !If [Exports, {StreamViewType: NEW_IMAGE}, !Ref AWS::NoValue]
"""
EXPORTER = """
import os, boto3
failed = False
def handler(event, context):
    global failed
    if not failed:
        failed = True
        raise OSError("the bucket is not there")
    names = [record["dynamodb"]["NewImage"]["pk"]["S"] for record in event["Records"]]
    boto3.client("s3").put_object(Bucket=os.environ["BUCKET"], Key=f"rows/{names[0]}", Body=" ".join(names).encode())
"""


def write(folder: Path, export: Path | None, *names: str) -> None:
    """Run a stack from the first item to its end."""
    (folder / "functions").mkdir(exist_ok=True)
    (folder / "template.yaml").write_text(TEMPLATE)
    (folder / "functions" / "exporter.py").write_text(EXPORTER)
    with EmbeddedAws(StackOptions(root=folder, audit_export=export)) as aws:
        dynamodb = aws.client("dynamodb")
        for name in names:
            dynamodb.put_item(TableName=aws.resource("Items"), Item={"pk": {"S": name}})
        dynamodb.put_item(TableName=aws.resource("Items"), Item={"pk": {"S": names[0]}, "changed": {"BOOL": True}})
        dynamodb.delete_item(TableName=aws.resource("Items"), Key={"pk": {"S": names[1]}})


def test_new_items_are_files_in_their_order_after_a_failure_and_at_the_end(tmp_path: Path) -> None:
    export = tmp_path / "out"
    write(tmp_path, export, "a", "b", "c", "d", "e")
    files = sorted((export / "rows").iterdir())
    words = [word for file in files for word in file.read_text().split()]
    assert sorted(set(words)) == ["a", "b", "c", "d", "e"]
    assert json.dumps(words) == json.dumps(sorted(words))
    assert not list(export.rglob("*.part"))


def test_without_a_folder_no_stream_is_kept_and_the_interpreter_is_left_as_it_was(tmp_path: Path) -> None:
    before = sys.getswitchinterval()
    sys.setswitchinterval(0.004)
    try:
        write(tmp_path, None, "a", "b")
        assert sys.getswitchinterval() == 0.004
    finally:
        sys.setswitchinterval(before)
    assert [one.name for one in tmp_path.iterdir() if one.is_dir() and one.name != ".mcpist"] == ["functions"]
