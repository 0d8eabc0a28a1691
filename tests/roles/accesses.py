"""What a recorded request asks of IAM: its own action, and those that AWS derives from it.

References: https://docs.aws.amazon.com/service-authorization/latest/reference/reference_policies_actions-resources-contextkeys.html
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/encryption.usagenotes.html (the table's key)
https://docs.aws.amazon.com/AmazonS3/latest/userguide/bucket-key.html (the bucket's key and its encryption context)
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from infra.local.names import ACCOUNT, REGION, arn
from infra.local.router import STEP_FUNCTIONS
from tests.roles.evaluator import Context, Question
from tests.roles.operations import Operation, operation_of
from tests.roles.stack import PARAMETER_KEY, Stack
from tests.traffic import AwsRequest

# S3's operations whose action has another name.
S3_ACTIONS = {
    "HeadObject": "GetObject",
    "ListObjectsV2": "ListBucket",
    "ListObjects": "ListBucket",
    "HeadBucket": "ListBucket",
    "ListObjectVersions": "ListBucketVersions",
}
TRANSACTION_ACTIONS = {
    "Put": "PutItem",
    "Update": "UpdateItem",
    "Delete": "DeleteItem",
    "ConditionCheck": "ConditionCheckItem",
}
# What S3 does with the bucket's key for an action.
S3_KEY_ACTIONS = {"GetObject": "kms:Decrypt", "PutObject": "kms:GenerateDataKey"}

type Access = tuple[str, str, Context]
"""An action, the ARN of what it is done to, and the context."""


def questions(stack: Stack, requests: Iterable[AwsRequest]) -> dict[Question, str]:
    """Return what the functions and machines asked of IAM, each once, with the request that asked it first."""
    found: dict[Question, str] = {}
    functions: set[str] = set()
    for request in requests:
        operation = operation_of(request)
        if request.caller == STEP_FUNCTIONS.id:
            role = stack.role_taken_by("states")
            found.setdefault(stack.ask_trust(role, "states"), "execution")
        elif request.function:
            role = stack.roles[request.function]
            functions.add(request.function)
        else:
            continue
        for action, resource, context in accesses(stack, operation):
            found.setdefault(stack.ask(role, action, resource, context), f"{operation.service}:{operation.name}")
        if request.operation == "Invoke":
            functions |= {one.id for one in stack.template.functions if one.arn in _function_arn(operation.parameters)}
    for function in functions:
        found |= dict.fromkeys(invocation(stack, function), "invocation")
    return found


def invocation(stack: Stack, function: str) -> Iterator[Question]:
    """Yield what Lambda does in the name of a function's role when the function runs."""
    role = stack.roles[function]
    group = arn(stack.log_groups[function], "AWS::Logs::LogGroup").removesuffix(":*")
    yield stack.ask_trust(role, "lambda")
    yield stack.ask(role, "logs:CreateLogStream", f"{group}:log-stream:live", {})
    yield stack.ask(role, "logs:PutLogEvents", f"{group}:log-stream:live", {})
    if next(one for one in stack.template.functions if one.id == function).traced:
        yield stack.ask(role, "xray:PutTraceSegments", "*", {})
        yield stack.ask(role, "xray:PutTelemetryRecords", "*", {})
    for queue in stack.template.queues:
        if queue.consumer == function:  # https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-configure.html
            for action in ("ReceiveMessage", "DeleteMessage", "GetQueueAttributes"):
                yield stack.ask(role, f"sqs:{action}", str(arn(queue.name, "AWS::SQS::Queue")), {})


def accesses(stack: Stack, operation: Operation) -> Iterator[Access]:
    """Yield what one operation needs."""
    rules = {
        "dynamodb": _dynamodb,
        "kms": _kms,
        "lambda": _lambda,
        "s3": _s3,
        "sqs": _sqs,
        "ssm": _ssm,
        "states": _states,
    }
    assert operation.service in rules, f"no rule says what {operation.service} asks of IAM: write one"
    yield from rules[operation.service](stack, operation.name, operation.parameters)


def _dynamodb(stack: Stack, name: str, parameters: Mapping[str, Any]) -> Iterator[Access]:
    for action, table, part in _parts(name, parameters):
        context = {"dynamodb:LeadingKeys": _leading_keys(action, part)} if _leading_keys(action, part) else {}
        index = f"/index/{part['IndexName']}" if "IndexName" in part else ""
        yield f"dynamodb:{action}", f"{arn(table, 'AWS::DynamoDB::Table')}{index}", context
        sealing = next(one for one in stack.template.tables if one.name == table).definition.get("SSESpecification", {})
        if key := sealing.get("KMSMasterKeyId"):
            encryption = {"aws:dynamodb:tableName": table, "aws:dynamodb:subscriberId": ACCOUNT}
            yield _through("dynamodb", "kms:Decrypt", key, encryption)


def _parts(name: str, parameters: Mapping[str, Any]) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    """Yield the actions of a request to DynamoDB with their tables and parameters."""
    if name == "TransactWriteItems":
        for item in parameters["TransactItems"]:
            ((kind, part),) = item.items()
            yield TRANSACTION_ACTIONS[kind], part["TableName"], part
    elif "RequestItems" in parameters:
        for table, part in parameters["RequestItems"].items():
            yield name, table, {"Parts": part}
    else:
        yield name, parameters["TableName"], parameters


def _leading_keys(action: str, part: Mapping[str, Any]) -> Sequence[str]:
    """Return the partition keys that a request names: none for a scan."""
    match action:
        case "BatchGetItem":
            keys = [key["pk"] for key in part["Parts"]["Keys"]]
        case "BatchWriteItem":
            writes = [write for one in part["Parts"] for write in one.values()]
            keys = [write.get("Item", write.get("Key"))["pk"] for write in writes]
        case "Query":
            value = re.search(r"= (:\w+)", part["KeyConditionExpression"])
            assert value, part
            keys = [part["ExpressionAttributeValues"][value[1]]]
        case "Scan":
            keys = []
        case _:
            keys = [part.get("Item", part.get("Key"))["pk"]]
    return sorted({key["S"] for key in keys})


def _s3(stack: Stack, name: str, parameters: Mapping[str, Any]) -> Iterator[Access]:
    action = S3_ACTIONS.get(name, name)
    if name == "GetObject" and "VersionId" in parameters:
        action = "GetObjectVersion"
    bucket = f"arn:aws:s3:::{parameters['Bucket']}"
    context = {f"s3:{key.lower()}": parameters[key] for key in ("Prefix", "Delimiter") if key in parameters}
    yield f"s3:{action}", f"{bucket}/{parameters['Key']}" if "Key" in parameters else bucket, context
    encryption = next(one for one in stack.template.buckets if one.name == parameters["Bucket"]).encryption
    if encryption and action in S3_KEY_ACTIONS:
        (rule,) = encryption["Rules"]
        key = rule["ApplyServerSideEncryptionByDefault"]["KMSMasterKeyID"]
        yield _through("s3", S3_KEY_ACTIONS[action], key, {"aws:s3:arn": bucket})


def _sqs(stack: Stack, name: str, parameters: Mapping[str, Any]) -> Iterator[Access]:  # noqa: ARG001 - as the others
    yield f"sqs:{name}", str(arn(parameters["QueueUrl"].rpartition("/")[2], "AWS::SQS::Queue")), {}


def _kms(stack: Stack, name: str, parameters: Mapping[str, Any]) -> Iterator[Access]:  # noqa: ARG001 - as the others
    yield f"kms:{name}", parameters["KeyId"], _encryption(parameters.get("EncryptionContext", {}))


def _ssm(stack: Stack, name: str, parameters: Mapping[str, Any]) -> Iterator[Access]:  # noqa: ARG001 - as the others
    for path in parameters.get("Names") or [parameters["Name"]]:
        yield from _parameter(name, path, parameters)


def _parameter(name: str, path: str, parameters: Mapping[str, Any]) -> Iterator[Access]:
    parameter = f"arn:aws:ssm:{REGION}:{ACCOUNT}:parameter{path}"
    yield f"ssm:{name}", parameter, {}
    if parameters.get("WithDecryption"):
        yield _through("ssm", "kms:Decrypt", PARAMETER_KEY, {"PARAMETER_ARN": parameter})


def _lambda(stack: Stack, name: str, parameters: Mapping[str, Any]) -> Iterator[Access]:  # noqa: ARG001 - as the others
    yield f"lambda:{'InvokeFunction' if name == 'Invoke' else name}", _function_arn(parameters), {}


def _function_arn(parameters: Mapping[str, Any]) -> str:
    """Return the qualified ARN of what is invoked, which a request may give in parts."""
    name, qualifier = parameters["FunctionName"], parameters.get("Qualifier")
    whole = name if name.startswith("arn:") else f"arn:aws:lambda:{REGION}:{ACCOUNT}:function:{name}"
    return f"{whole}:{qualifier}" if qualifier else whole


def _states(stack: Stack, name: str, parameters: Mapping[str, Any]) -> Iterator[Access]:  # noqa: ARG001 - as the others
    named = f"arn:aws:states:{REGION}:{ACCOUNT}:stateMachine:{parameters.get('name', '')}"
    machine = parameters.get("stateMachineArn") or parameters.get("resourceArn") or named
    # Listing has no resource level: https://docs.aws.amazon.com/service-authorization/latest/reference/list_awsstepfunctions.html
    yield f"states:{name}", "*" if name == "ListStateMachines" else machine, {}
    if "roleArn" in parameters:
        yield "iam:PassRole", parameters["roleArn"], {"iam:PassedToService": "states.amazonaws.com"}
    if tags := parameters.get("tags"):
        values = {f"aws:RequestTag/{tag['key']}": tag["value"] for tag in tags}
        yield "states:TagResource", machine, values | {"aws:TagKeys": [tag["key"] for tag in tags]}


def _through(service: str, action: str, key: str, encryption: Mapping[str, str]) -> Access:
    """Return the use of a key that another service makes in its caller's name."""
    via = {"kms:ViaService": f"{service}.{REGION}.amazonaws.com", "kms:CallerAccount": ACCOUNT}
    key_arn = key if key.startswith("arn:") else str(arn(key, "AWS::KMS::Key"))
    return action, key_arn, via | dict(_encryption(encryption))


def _encryption(context: Mapping[str, str]) -> Context:
    keys = {f"kms:EncryptionContext:{name}": value for name, value in context.items()}
    return {**keys, "kms:EncryptionContextKeys": sorted(context)} if context else {}
