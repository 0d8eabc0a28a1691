"""The whole embedded AWS: machines, stores, nested invocations and faults, through boto3 and HTTP."""

import gc
import json
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import boto3
import httpx2
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError

from infra.local.server import PortInUse
from infra.local.stack import EmbeddedAws, StackOptions
from tests.core.loopback import has_ipv6
from tests.traffic import AwsRequest, HookPhase, InjectedResponse, traffic_of

TEMPLATE = """
Transform: AWS::Serverless-2016-10-31
Parameters:
  PublicUrl: {Type: String}
Globals:
  Function:
    AutoPublishAlias: live
    Timeout: 20
    SnapStart: {ApplyOn: PublishedVersions}
    Environment: {Variables: {PUBLIC_URL: !Ref PublicUrl}}
Resources:
  Api: {Type: AWS::ApiGatewayV2::Api}
  DoorIntegration:
    Type: AWS::ApiGatewayV2::Integration
    Properties: {ApiId: !Ref Api, IntegrationUri: !Ref DoorFunction.Alias}
  DoorRoute:
    Type: AWS::ApiGatewayV2::Route
    Properties: {ApiId: !Ref Api, RouteKey: "ANY /door/{name}", Target: !Sub "integrations/${DoorIntegration}"}
  DoorFunction:
    Type: AWS::Serverless::Function
    Properties:
      Handler: door.handler
      CodeUri: functions
      Environment: {Variables: {WORKER: !Ref WorkerFunction.Alias}}
  WorkerFunction:
    Type: AWS::Serverless::Function
    Properties:
      Handler: worker.handler
      CodeUri: functions
      Environment: {Variables: {TABLE: !Ref Items, BUCKET: !Ref Files}}
  Items:
    Type: AWS::DynamoDB::Table
    Properties:
      BillingMode: PAY_PER_REQUEST
      AttributeDefinitions: [{AttributeName: pk, AttributeType: S}, {AttributeName: by, AttributeType: S}]
      KeySchema: [{AttributeName: pk, KeyType: HASH}]
      GlobalSecondaryIndexes:
        - IndexName: by_by
          KeySchema: [{AttributeName: by, KeyType: HASH}]
          Projection: {ProjectionType: ALL}
      TimeToLiveSpecification: {AttributeName: expires_at, Enabled: true}
      PointInTimeRecoverySpecification: {PointInTimeRecoveryEnabled: true}
      SSESpecification: {SSEEnabled: true, SSEType: KMS, KMSMasterKeyId: !Ref Vault}
  Files:
    Type: AWS::S3::Bucket
    Properties:
      VersioningConfiguration: {Status: Enabled}
      PublicAccessBlockConfiguration: {BlockPublicAcls: true, IgnorePublicAcls: false}
      BucketEncryption:
        ServerSideEncryptionConfiguration:
          - BucketKeyEnabled: true
            ServerSideEncryptionByDefault: {SSEAlgorithm: aws:kms, KMSMasterKeyID: !GetAtt Vault.Arn}
  Vault:
    Type: AWS::KMS::Key
    Properties:
      Description: seals
      EnableKeyRotation: true
      KeyPolicy:
        Version: "2012-10-17"
        Statement: [{Effect: Allow, Principal: {AWS: "*"}, Action: kms:*, Resource: "*"}]
  Machine:
    Type: AWS::Serverless::StateMachine
    Properties:
      Type: EXPRESS
      Role: !Sub "arn:aws:iam::${AWS::AccountId}:role/machines"
      Definition:
        StartAt: fan
        States:
          fan:
            Type: Parallel
            Branches:
              - StartAt: step
                States:
                  step: &step
                    Type: Task
                    Resource: arn:aws:states:::lambda:invoke
                    Parameters: {FunctionName: !Ref WorkerFunction.Alias, Payload: {put.$: $.left}}
                    OutputPath: $.Payload
                    Catch: [{ErrorEquals: [Runtime.ExitError], ResultPath: $.error, Next: lost}]
                    End: true
                  lost: {Type: Pass, Parameters: {lost: true}, End: true}
              - StartAt: step
                States:
                  step:
                    <<: *step
                    Parameters: {FunctionName: !Ref WorkerFunction.Alias, Payload: {put.$: $.right}}
                  lost: {Type: Pass, Parameters: {lost: true}, End: true}
            End: true
"""
BRIDGE = "127.0.0.2"  # Linux has all of 127.0.0.0/8
DOOR = """
import json, os
import boto3
client = boto3.client("lambda")
def handler(event, context):
    name = event["pathParameters"]["name"]
    answer = client.invoke(FunctionName=os.environ["WORKER"], Payload=json.dumps({"put": name}))
    body = {"result": json.loads(answer["Payload"].read()), "error": answer.get("FunctionError"),
            "url": os.environ["PUBLIC_URL"]}
    return {"statusCode": 200, "headers": {"WWW-Authenticate": "Bearer"}, "body": json.dumps(body)}
"""
WORKER = """
import os
import boto3
table = boto3.resource("dynamodb").Table(os.environ["TABLE"])
def handler(event, context):
    table.put_item(Item={"pk": event["put"]})
    return {"put": event["put"], "pid": os.getpid()}
"""


@pytest.fixture(scope="module")
def functions(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("stack")
    (root / "template.yaml").write_text(TEMPLATE)
    (root / "functions").mkdir()
    (root / "functions" / "door.py").write_text(DOOR)
    (root / "functions" / "worker.py").write_text(WORKER)
    return root


@pytest.fixture(scope="module")
def running(functions: Path) -> Iterator[EmbeddedAws]:
    parameters = {"PublicUrl": "{api_url}"}
    with EmbeddedAws(StackOptions(root=functions, bridge=BRIDGE, parameters=parameters)) as aws:
        yield aws


@pytest.fixture
def aws(running: EmbeddedAws) -> Iterator[EmbeddedAws]:
    """The shared stack with nothing recorded."""
    traffic_of(running).requests.clear()
    yield running
    traffic_of(running).on_request = None


def door(aws: EmbeddedAws, name: str) -> tuple[httpx2.Response, Any]:
    answer = httpx2.get(f"{aws.api_url}/door/{name}", timeout=30)
    return answer, answer.json()


def items(aws: EmbeddedAws) -> set[str]:
    rows = aws.client("dynamodb").scan(TableName=aws.resource("Items"))["Items"]
    return {row["pk"]["S"] for row in rows}


def run_machine(aws: EmbeddedAws, name: str, left: str, right: str) -> Any:
    states = aws.client("stepfunctions")
    started = states.start_execution(
        stateMachineArn=aws.resource("Machine"), name=name, input=json.dumps({"left": left, "right": right})
    )
    for _ in range(3000):
        found = states.describe_execution(executionArn=started["executionArn"])
        if found["status"] != "RUNNING":
            return found
        threading.Event().wait(0.005)
    raise AssertionError(found)


def test_a_request_goes_through_a_function_that_invokes_another(aws: EmbeddedAws) -> None:
    answer, body = door(aws, "nested")
    assert answer.status_code == 200
    assert answer.headers["x-amzn-remapped-www-authenticate"] == "Bearer"
    assert (body["result"]["put"], body["error"]) == ("nested", None)
    assert body["url"] == aws.api_url
    assert "nested" in items(aws)


@pytest.mark.skipif(not has_ipv6(), reason="this machine has no IPv6")
def test_localhost_is_answered_on_ipv6_too(aws: EmbeddedAws) -> None:
    port = urlsplit(aws.api_url).port
    answer = httpx2.get(f"http://[::1]:{port}/door/v6", headers={"host": f"localhost:{port}"}, timeout=30)
    assert answer.status_code == 200
    assert "v6" in items(aws)


def test_requests_are_recorded_with_their_function_and_invocation(aws: EmbeddedAws) -> None:
    door(aws, "counted")
    by_door, by_worker = traffic_of(aws).requests
    assert (by_door.function, by_door.service, by_door.operation) == ("DoorFunction", "lambda", "Invoke")
    assert (by_worker.function, by_worker.operation, by_worker.table) == ("WorkerFunction", "PutItem", "mcpist-Items")
    assert by_worker.body["Item"] == {"pk": {"S": "counted"}}
    assert by_door.invocation
    assert by_door.invocation != by_worker.invocation


def test_many_nested_calls_at_once_do_not_wait_for_each_other_forever(aws: EmbeddedAws) -> None:
    with ThreadPoolExecutor(20) as threads:
        answers = list(threads.map(lambda n: door(aws, f"many{n}")[1]["error"], range(20)))
    assert answers == [None] * 20
    assert len(aws.functions["WorkerFunction"].sandboxes) <= 10


def test_a_machine_runs_sandboxed_handlers_in_parallel(aws: EmbeddedAws) -> None:
    found = run_machine(aws, "parallel", "left", "right")
    assert found["status"] == "SUCCEEDED"
    assert [branch["put"] for branch in json.loads(found["output"])] == ["left", "right"]
    assert [request.caller for request in traffic_of(aws).requests if request.operation == "Invoke"] == [
        "states",
        "states",
    ]


def test_no_thread_that_has_ended_is_remembered(aws: EmbeddedAws) -> None:
    """Each keeps the memory of its stack as long as its object is there."""
    for number in range(3):
        run_machine(aws, f"forgotten-{number}", "left", "right")
    gc.collect()
    threads = [one for one in gc.get_objects() if isinstance(one, threading.Thread) and one.name != "MainThread"]
    mine = [
        one for one in threads if any(name in one.name for name in ("(eval)", "(_exec_and_notify)", "BranchWorker"))
    ]
    ended = [one for one in mine if one.ident is not None and not one.is_alive()]
    assert len(ended) <= 8, [one.name for one in ended]  # those of one execution


def test_a_sandbox_killed_after_its_write_leaves_the_write_and_loses_the_answer(aws: EmbeddedAws) -> None:
    def hook(request: AwsRequest, moment: HookPhase) -> None:
        if moment == "after" and request.table and request.body["Item"]["pk"]["S"] == "doomed-after":
            aws.kill(request.caller)

    traffic_of(aws).on_request = hook
    found = run_machine(aws, "killed", "doomed-after", "spared")
    left, right = json.loads(found["output"])
    assert left == {"lost": True}
    assert right["put"] == "spared"
    traffic_of(aws).on_request = None
    assert "doomed-after" in items(aws)


def test_a_sandbox_killed_before_its_write_leaves_nothing(aws: EmbeddedAws) -> None:
    def hook(request: AwsRequest, moment: HookPhase) -> None:
        if moment == "before" and request.table:
            aws.kill(request.caller)

    traffic_of(aws).on_request = hook
    result = door(aws, "doomed-before")[1]
    assert (result["error"], result["result"]["errorType"]) == ("Unhandled", "Runtime.ExitError")
    traffic_of(aws).on_request = None
    assert "doomed-before" not in items(aws)


def test_a_throttled_request_is_retried_by_the_sdk(aws: EmbeddedAws) -> None:
    faults = iter([True])

    def hook(request: AwsRequest, moment: HookPhase) -> None:
        if moment == "before" and request.table and next(faults, False):
            raise InjectedResponse(
                400, {"__type": "com.amazonaws.dynamodb.v20120810#ThrottlingException", "message": "slow"}
            )

    traffic_of(aws).on_request = hook
    assert door(aws, "throttled")[1]["error"] is None
    assert [request.operation for request in traffic_of(aws).requests if request.table] == ["PutItem", "PutItem"]


def test_keys_encrypt_and_decrypt_under_the_arn_of_the_template(aws: EmbeddedAws) -> None:
    kms, arn = aws.client("kms"), aws.template.intrinsics.get_att("Vault", "Arn")
    made = kms.generate_data_key(KeyId=arn, KeySpec="AES_256", EncryptionContext={"a": "1"})
    assert made["KeyId"] == arn
    opened = kms.decrypt(CiphertextBlob=made["CiphertextBlob"], EncryptionContext={"a": "1"})
    assert (opened["Plaintext"], opened["KeyId"]) == (made["Plaintext"], arn)


def test_stores_and_keys_are_kept_as_the_template_says(aws: EmbeddedAws) -> None:
    dynamodb, s3, kms = map(aws.client, ("dynamodb", "s3", "kms"))
    table, bucket, key = map(aws.resource, ("Items", "Files", "Vault"))
    expires = dynamodb.describe_time_to_live(TableName=table)["TimeToLiveDescription"]
    assert expires == {"AttributeName": "expires_at", "TimeToLiveStatus": "ENABLED"}
    backups = dynamodb.describe_continuous_backups(TableName=table)["ContinuousBackupsDescription"]
    assert backups["PointInTimeRecoveryDescription"]["PointInTimeRecoveryStatus"] == "ENABLED"
    assert dynamodb.describe_table(TableName=table)["Table"]["SSEDescription"]["KMSMasterKeyArn"].endswith(key)
    closed = s3.get_public_access_block(Bucket=bucket)["PublicAccessBlockConfiguration"]
    assert (closed["BlockPublicAcls"], closed["IgnorePublicAcls"]) == (True, False)
    (rule,) = s3.get_bucket_encryption(Bucket=bucket)["ServerSideEncryptionConfiguration"]["Rules"]
    sealed = {"SSEAlgorithm": "aws:kms", "KMSMasterKeyID": aws.template.intrinsics.get_att("Vault", "Arn")}
    assert (rule["BucketKeyEnabled"], rule["ApplyServerSideEncryptionByDefault"]) == (True, sealed)
    assert kms.get_key_rotation_status(KeyId=key)["KeyRotationEnabled"]
    policy = json.loads(kms.get_key_policy(KeyId=key, PolicyName="default")["Policy"])
    assert policy["Statement"] == [{"Effect": "Allow", "Principal": {"AWS": "*"}, "Action": "kms:*", "Resource": "*"}]


def test_a_parameter_is_decrypted_only_on_request(aws: EmbeddedAws) -> None:
    parameters = aws.client("ssm")
    with pytest.raises(parameters.exceptions.ParameterNotFound):
        parameters.get_parameter(Name="/shop/absent", WithDecryption=True)
    parameters.put_parameter(Name="/shop/key", Type="SecureString", Value="hush")
    assert parameters.get_parameter(Name="/shop/key", WithDecryption=True)["Parameter"]["Value"] == "hush"
    assert parameters.get_parameter(Name="/shop/key")["Parameter"]["Value"] != "hush"


def test_the_bucket_keeps_bytes_and_versions(aws: EmbeddedAws) -> None:
    s3, bucket = aws.client("s3"), aws.resource("Files")
    first = s3.put_object(Bucket=bucket, Key="a/b c.txt", Body=b"\x00" * 300_000)
    s3.put_object(Bucket=bucket, Key="a/b c.txt", Body=b"new")
    assert s3.get_object(Bucket=bucket, Key="a/b c.txt", VersionId=first["VersionId"])["ContentLength"] == 300_000


def test_a_presigned_url_works_with_the_signature_that_encrypted_buckets_want(aws: EmbeddedAws) -> None:
    wanted = {"Bucket": aws.resource("Files"), "Key": "a"}
    aws.client("s3").put_object(Body=b"x", **wanted)
    old, new = (
        boto3.session.Session(aws.environment["AWS_ACCESS_KEY_ID"], "s", region_name="us-east-1")
        .client("s3", endpoint_url=aws.api_url, config=Config(signature_version=version))
        .generate_presigned_url("get_object", Params=wanted)
        for version in ("s3", "s3v4")
    )
    assert httpx2.get(new).content == b"x"
    assert httpx2.get(old).status_code == 403


def test_foreign_credentials_are_refused(aws: EmbeddedAws) -> None:
    session = boto3.session.Session("AKIAFOREIGN", "secret", region_name="us-east-1")
    for service, call in [("dynamodb", "list_tables"), ("s3", "list_buckets"), ("lambda", "list_functions")]:
        with pytest.raises(ClientError) as refused:
            getattr(session.client(service, endpoint_url=aws.api_url), call)()
        assert refused.value.response["ResponseMetadata"]["HTTPStatusCode"] == 403


def test_another_process_reaches_it_by_its_environment(aws: EmbeddedAws, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in aws.environment.items():
        monkeypatch.setenv(name, value)
    assert boto3.session.Session().client("dynamodb").list_tables()["TableNames"] == ["mcpist-Items"]


def test_a_container_reaches_it_on_the_bridge_with_the_same_credentials(
    aws: EmbeddedAws, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in (aws.environment | {"AWS_ENDPOINT_URL": aws.api_url.replace("127.0.0.1", BRIDGE)}).items():
        monkeypatch.setenv(name, value)
    assert aws.resource("Items") in boto3.session.Session().client("dynamodb").list_tables()["TableNames"]


def test_retired_sandboxes_make_the_next_call_cold(aws: EmbeddedAws) -> None:
    warm = {door(aws, "warm")[1]["result"]["pid"] for _ in range(2)}  # the first may not be ready again for the second
    aws.functions["WorkerFunction"].stop_idle()
    assert door(aws, "warm")[1]["result"]["pid"] not in warm


def test_a_second_embedded_aws_in_the_same_process_is_refused(aws: EmbeddedAws, functions: Path) -> None:  # noqa: ARG001 - runs
    with (
        pytest.raises(RuntimeError, match="already runs"),
        EmbeddedAws(StackOptions(root=functions, parameters={"PublicUrl": ""})),
    ):
        pass


def test_a_busy_port_is_refused(aws: EmbeddedAws, functions: Path) -> None:
    port = int(aws.api_url.rpartition(":")[2])
    with pytest.raises(PortInUse), EmbeddedAws(StackOptions(root=functions, port=port, parameters={"PublicUrl": ""})):
        pass
