"""Whether the functions did only what their roles in the template allow."""

from collections.abc import Iterable, Iterator
from typing import Any

from infra.local.aws_requests import AwsRequest
from infra.local.deployment import ROOT
from infra.local.intrinsics import read_yaml
from infra.local.names import STACK
from infra.local.stack import EmbeddedAws

type Right = tuple[str, str]
"""An action, and the logical id of what it is done to."""

S3_ACTIONS = {"GET": "GetObject", "HEAD": "GetObject", "PUT": "PutObject", "DELETE": "DeleteObject"}


def missing_rights(aws: EmbeddedAws, requests: Iterable[AwsRequest]) -> set[tuple[str, str, str]]:
    """Return the rights that functions used and their roles do not allow: function, action, resource."""
    resources = read_yaml(ROOT / "template.yaml")["Resources"]
    asked = {(request.function, *right) for request in requests if request.function for right in rights(aws, request)}
    return {(function, *right) for function, *right in asked if tuple(right) not in granted(resources, function)}


def rights(aws: EmbeddedAws, request: AwsRequest) -> Iterator[Right]:
    """Yield the rights that one request needs."""
    match request.service:
        case "dynamodb":
            tables = {table.name: table.id for table in aws.template.tables}
            yield from ((f"dynamodb:{request.operation}", tables[table]) for table in request.tables)
        case "s3":
            method, _, path = request.operation.partition(" ")
            whole_bucket = path.strip("/").count("/") == 0
            action = "ListBucket" if whole_bucket else S3_ACTIONS[method]
            yield f"s3:{action}", "FilesBucket"
        case "lambda":
            yield "lambda:InvokeFunction", "TokenBrokerFunction.Alias"
        case "states":
            yield f"states:{request.operation}", "stateMachine"
        case "ssm":
            yield f"ssm:{request.operation}", f"parameter{request.body['Name'].rpartition('/')[0]}"
        case "kms":
            yield f"kms:{request.operation}", "VaultKey"
        case "ssm":
            yield f"ssm:{request.operation}", "upstream secrets"
        case other:
            yield other, request.operation


def granted(resources: dict[str, Any], function: str) -> set[Right]:
    """Return the rights that a function's role allows, and those that VaultKey's policy allows the role."""
    role = _name(resources[function]["Properties"]["Role"])
    statements = [
        statement
        for policy in resources[role]["Properties"]["Policies"]
        if "Fn::If" not in policy  # the embedded AWS hears no traces
        for statement in policy["PolicyDocument"]["Statement"]
    ]
    key = resources["VaultKey"]["Properties"]["KeyPolicy"]["Statement"]
    by_key = [{**one, "Resource": {"Ref": "VaultKey"}} for one in key if role in str(one["Principal"])]
    return {
        (action, _name(resource))
        for statement in [*statements, *by_key]
        for action in _list(statement["Action"])
        for resource in _list(statement["Resource"])
    }


def _name(value: Any) -> str:
    """The logical id that a Ref, a GetAtt or a Sub names."""
    text = str(next(iter(value.values()))) if isinstance(value, dict) else str(value)
    if "/upstreams/" in text:
        return "upstream secrets"
    if "stateMachine" in text:
        return "stateMachine"
    if ":parameter/" in text:
        return text[text.index("parameter/") :].replace("${AWS::StackName}", STACK).removesuffix("/*")
    if text.endswith(".Alias"):
        return text
    return text.strip("[]'${").split("'")[0].split(".")[0]


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]
