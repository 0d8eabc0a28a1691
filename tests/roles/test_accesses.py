"""The rights that AWS derives from a request, and its verdict where one of them is missing."""

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from typing import Any

import pytest

from infra.local.names import ACCOUNT, REGION
from infra.local.template import read_template
from infra.source import ROOT
from tests.roles.accesses import accesses, invocation, questions
from tests.roles.evaluator import allowed
from tests.roles.judgement import refused
from tests.roles.operations import Operation
from tests.roles.stack import Stack, stack_of, trust
from tests.traffic import AwsRequest


@cache
def stack(**more: str) -> Stack:
    given = {"Issuer": "https://login.example.com", "LoginClientId": "mcpist", "PublicUrl": "https://mcp.example.com"}
    given |= more
    return stack_of(read_template(ROOT / "template.yaml", given))


def named(id_: str) -> str:
    return str(stack().template.intrinsics.resolve({"Ref": id_}))


def needs(service: str, name: str, /, **parameters: Any) -> dict[str, tuple[str, Mapping[str, Any]]]:
    return {
        action: (resource, context)
        for action, resource, context in accesses(stack(), Operation(service, name, parameters))
    }


def test_a_request_to_a_table_uses_the_tables_key_in_its_callers_name() -> None:
    used = needs("dynamodb", "GetItem", TableName=named("Ledger"), Key={"pk": {"S": "acme#b"}, "sk": {"S": "batch"}})
    table, keys = used["dynamodb:GetItem"]
    assert table == f"arn:aws:dynamodb:{REGION}:{ACCOUNT}:table/mcpist-Ledger"
    assert keys == {"dynamodb:LeadingKeys": ["acme#b"]}
    key, context = used["kms:Decrypt"]
    assert key.endswith(named("DataKey"))
    assert context["kms:ViaService"] == f"dynamodb.{REGION}.amazonaws.com"
    assert context["kms:EncryptionContext:aws:dynamodb:tableName"] == "mcpist-Ledger"


@pytest.mark.parametrize(
    ("name", "parameters", "keys"),
    [
        ("Query", {"KeyConditionExpression": "pk = :pk", "ExpressionAttributeValues": {":pk": {"S": "a"}}}, ["a"]),
        ("Scan", {}, None),
        ("PutItem", {"Item": {"pk": {"S": "b"}}}, ["b"]),
    ],
)
def test_the_partition_keys_of_a_request_are_in_its_context(
    name: str, parameters: dict[str, Any], keys: list[str] | None
) -> None:
    _, context = needs("dynamodb", name, TableName=named("Ledger"), **parameters)[f"dynamodb:{name}"]
    assert context.get("dynamodb:LeadingKeys") == keys


def test_a_query_of_an_index_asks_for_the_index_and_a_transaction_for_each_of_its_writes() -> None:
    query = {"KeyConditionExpression": "user_key = :key", "ExpressionAttributeValues": {":key": {"S": "a"}}}
    used = needs("dynamodb", "Query", TableName=named("Audit"), IndexName="by_user", **query)
    assert used["dynamodb:Query"][0].endswith("table/mcpist-Audit/index/by_user")
    put, delete = ({"TableName": named("Ledger"), where: {"pk": {"S": "a"}}} for where in ("Item", "Key"))
    used = needs("dynamodb", "TransactWriteItems", TransactItems=[{"Put": put}, {"Delete": delete}])
    assert {"dynamodb:PutItem", "dynamodb:DeleteItem"} < set(used)


def test_files_use_the_buckets_key_to_be_written_and_read_but_not_to_be_listed_or_deleted() -> None:
    bucket = named("FilesBucket")
    writes, reads, deletes = (
        needs("s3", name, Bucket=bucket, Key="files/a") for name in ("PutObject", "HeadObject", "DeleteObject")
    )
    assert set(writes) == {"s3:PutObject", "kms:GenerateDataKey"}
    assert set(reads) == {"s3:GetObject", "kms:Decrypt"}
    assert reads["kms:Decrypt"][1]["kms:EncryptionContext:aws:s3:arn"] == f"arn:aws:s3:::{bucket}"
    assert set(deletes) == {"s3:DeleteObject"}
    listing = needs("s3", "ListObjectsV2", Bucket=bucket, Prefix="rag/")
    assert listing == {"s3:ListBucket": (f"arn:aws:s3:::{bucket}", {"s3:prefix": "rag/"})}


def test_a_new_machine_is_tagged_and_passed_its_role() -> None:
    role = stack().role_arns["MachinesRole"]
    used = needs("states", "CreateStateMachine", name="mcpist-local-1", roleArn=role, tags=[{"key": "k", "value": "v"}])
    machine = f"arn:aws:states:{REGION}:{ACCOUNT}:stateMachine:mcpist-local-1"
    assert used == {
        "states:CreateStateMachine": (machine, {}),
        "iam:PassRole": (role, {"iam:PassedToService": "states.amazonaws.com"}),
        "states:TagResource": (machine, {"aws:RequestTag/k": "v", "aws:TagKeys": ["k"]}),
    }


def test_a_parameter_is_opened_with_the_accounts_own_key() -> None:
    used = needs("ssm", "GetParameter", Name="/mcpist/mcpist/oauth/github", WithDecryption=True)
    assert used["kms:Decrypt"][1]["kms:EncryptionContext:PARAMETER_ARN"] == used["ssm:GetParameter"][0]


def test_a_service_without_a_rule_is_not_passed_over() -> None:
    with pytest.raises(AssertionError, match="no rule"):
        needs("sns", "Publish")


def test_each_statement_about_lambda_itself_is_needed_by_an_invocation() -> None:
    """Logs, traces and the trust in Lambda: Lambda uses them, no request of ours."""
    traced = stack(Tracing="on")
    asked = [question for function in traced.roles for question in invocation(traced, function)]
    assert all(allowed(traced.policies, asked))
    nothing = {name: [] for role in traced.role_arns for name in (role, trust(role))}
    assert not any(allowed(traced.policies | nothing, asked))


def test_a_request_is_refused_by_what_is_missing_from_a_role() -> None:
    request = AwsRequest("sandbox", "JanitorFunction", "states", "ListStateMachines", {"maxResults": 1000})
    asked = list(questions(stack(), [request]))
    assert all(allowed(stack().policies, asked))
    without = [one for one in stack().policies["JanitorRole"] if one["Sid"] != "ListMachines"]
    verdicts = allowed(stack().policies | {"JanitorRole": without}, asked)
    assert [question.action for question, verdict in zip(asked, verdicts, strict=True) if not verdict] == [
        "states:ListStateMachines"
    ]


def test_a_request_that_its_role_does_not_allow_is_named() -> None:
    request = AwsRequest("sandbox", "ProgramRunnerFunction", "dynamodb", "Scan", {"TableName": named("Grants")})
    (scan, key) = refused(stack(), [request])
    assert "dynamodb:Scan" in scan
    assert "kms:Decrypt" in key


def test_the_former_vault_key_of_another_account_opens_if_both_sides_let_the_broker_in() -> None:
    former = f"arn:aws:kms:{REGION}:210987654321:key/00000000-0000-4000-8000-000000000001"
    moved = stack(FormerVaultKey=former)
    broker = {"AWS": moved.role_arns["TokenBrokerRole"]}
    lets_in = [{"Effect": "Allow", "Principal": broker, "Action": "kms:Decrypt", "Resource": "*"}]
    policies = moved.policies | {former: lets_in}
    asked = [replace(moved.ask("TokenBrokerRole", "kms:Decrypt", former, {}), resource_policy=former)]
    assert allowed(policies, asked) == [True]
    assert allowed(policies | {"TokenBrokerRole": stack().policies["TokenBrokerRole"]}, asked) == [False]
    assert allowed(policies | {former: lets_in[:0]}, asked) == [False]
    other = [replace(moved.ask("McpEndpointRole", "kms:Decrypt", former, {}), resource_policy=former)]
    assert allowed(policies, other) == [False]
