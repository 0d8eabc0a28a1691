"""Gaps between the engine and AWS, each with a check: a gap that has closed is reported.

docs/deploy.md lists them by these names.
"""

import io
import json
import os
import re
import shlex
import ssl
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import httpx2
from botocore.exceptions import ClientError

from infra.source import ROOT
from rehearsal.account import Stack
from rehearsal.engine import API_HOST_SUFFIX, Engine
from rehearsal.release import run
from rehearsal.report import act, expect

PAGE = ROOT / "docs/deploy.md"
HEADING = "What the engine does not do"
PROBE = "rehearsal-probe"
CODE = """
import json, os

def handler(event, context):
    seen = {"opt": os.path.exists("/opt/config"), "level": os.environ.get("AWS_LAMBDA_LOG_LEVEL"), "event": event}
    headers = {"www-authenticate": "Bearer", "x-copy": "mapped"}
    return {"statusCode": 401, "headers": headers, "body": json.dumps(seen)}
"""
BRANDING = {"Type": "AWS::Cognito::ManagedLoginBranding", "Properties": {"UserPoolId": "us-east-1_none"}}


@dataclass(frozen=True)
class Probe:
    """A function with the stack's layers behind an API of its own, and what was seen of it."""

    stack: Stack
    statuses: tuple[int, ...]
    """Of several requests in a row to a stage that lets one through each second."""
    headers: httpx2.Headers
    seen: dict[str, Any]
    """What the function saw."""


@dataclass(frozen=True)
class Gap:
    """Something that AWS does and the engine does not."""

    name: str
    remains: Callable[[Probe], bool]


def _no_sse(probe: Probe) -> bool:
    dynamodb, table = probe.stack.engine.client("dynamodb"), probe.stack.outputs["DirectoryTable"]
    backups = dynamodb.describe_continuous_backups(TableName=table)["ContinuousBackupsDescription"]
    recovery = backups["PointInTimeRecoveryDescription"]["PointInTimeRecoveryStatus"]
    return "SSEDescription" not in dynamodb.describe_table(TableName=table)["Table"] and recovery == "DISABLED"


def _no_metrics(probe: Probe) -> bool:
    listed = probe.stack.engine.client("cloudwatch").list_metrics(Namespace=f"mcpist/{probe.stack.name}")
    return not listed["Metrics"]


def _no_branding(probe: Probe) -> bool:
    cloudformation, name = probe.stack.engine.client("cloudformation"), f"{PROBE}-branding"
    try:
        cloudformation.create_stack(StackName=name, TemplateBody=json.dumps({"Resources": {"Branding": BRANDING}}))
    except ClientError as error:
        return "Unrecognized resource types" in str(error)
    cloudformation.delete_stack(StackName=name)
    return False


def _no_sam_delete(probe: Probe) -> bool:
    command = ["env", *shlex.split(os.environ["SAM"]), "delete", "--no-prompts", "--stack-name", probe.stack.name]
    return "is not a valid S3 url" in run(probe.stack.engine.environment, command).output


# Checked where a release that cannot start is deployed.
FAILING_SNAPSHOT = Gap("a failing snapshot", lambda _: True)
GAPS = (
    Gap("layers below `/opt`", lambda probe: probe.seen["opt"] is False),
    Gap("`AWS_LAMBDA_LOG_LEVEL`", lambda probe: probe.seen["level"] is None),
    Gap("cookies in events", lambda probe: "cookies" not in probe.seen["event"]),
    Gap("renamed headers", lambda probe: "x-amzn-remapped-www-authenticate" not in probe.headers),
    Gap("mapped headers", lambda probe: "x-mapped" not in probe.headers),
    Gap("throttling", lambda probe: 429 not in probe.statuses),
    Gap("metrics", _no_metrics),
    Gap("settings of the tables", _no_sse),
    Gap("managed login", _no_branding),
    Gap("`sam delete`", _no_sam_delete),
    FAILING_SNAPSHOT,
)


def checked(stack: Stack) -> None:
    """Check that each gap is there and is listed, and nothing else is."""
    with act(f"what the engine cannot do is what docs/deploy.md lists: {len(GAPS)} gaps"):
        listed = set(listed_gaps())
        names = {gap.name for gap in GAPS}
        expect(listed == names, f"only in docs/deploy.md: {listed - names}; only in gaps.py: {names - listed}")
        with _probe(stack) as probe:
            closed = [gap.name for gap in GAPS if not gap.remains(probe)]
        expect(
            not closed, f"the engine can do this now; use it, and remove it from gaps.py and docs/deploy.md: {closed}"
        )


def listed_gaps() -> list[str]:
    """Return the first cells of the table in docs/deploy.md."""
    section = PAGE.read_text("utf-8").partition(f"### {HEADING}\n")[2].partition("\n#")[0]
    cells: list[str] = re.findall(r"^\| ([^|]+) \|", section, re.MULTILINE)
    return cells[2:]  # below the header and its line


@contextmanager
def _probe(stack: Stack) -> Iterator[Probe]:
    engine = stack.engine
    functions, apis = engine.client("lambda"), engine.client("apigatewayv2")
    running = stack.live()["McpEndpointFunction"]
    made = functions.create_function(
        FunctionName=PROBE,
        Runtime=running["Runtime"],
        Role=running["Role"],
        Handler="probe.handler",
        Code={"ZipFile": _zipped()},
        Layers=[layer["Arn"] for layer in running["Layers"]],
        LoggingConfig={"LogFormat": "JSON", "ApplicationLogLevel": "DEBUG"},
    )
    functions.get_waiter("function_active_v2").wait(FunctionName=PROBE, WaiterConfig={"Delay": 1})
    functions.add_permission(
        FunctionName=PROBE, StatementId="api", Action="lambda:InvokeFunction", Principal="apigateway.amazonaws.com"
    )
    api = apis.create_api(Name=PROBE, ProtocolType="HTTP")["ApiId"]
    integration = apis.create_integration(
        ApiId=api,
        IntegrationType="AWS_PROXY",
        IntegrationUri=made["FunctionArn"],
        PayloadFormatVersion="2.0",
        ResponseParameters={"401": {"overwrite:header.x-mapped": "$response.header.x-copy"}},
    )["IntegrationId"]
    apis.create_route(ApiId=api, RouteKey="GET /", Target=f"integrations/{integration}")
    limit = {"ThrottlingRateLimit": 1.0, "ThrottlingBurstLimit": 1}
    apis.create_stage(ApiId=api, StageName="$default", AutoDeploy=True, DefaultRouteSettings=limit)
    try:
        yield _seen(engine, stack, api)
    finally:
        apis.delete_api(ApiId=api)
        functions.delete_function(FunctionName=PROBE)
        _forget_logs(engine)


def _seen(engine: Engine, stack: Stack, api: str) -> Probe:
    trusted = ssl.create_default_context(cafile=engine.certificates.authority)
    with httpx2.Client(proxy=engine.proxy, verify=trusted, timeout=60, trust_env=False) as client:
        responses = [client.get(f"https://{api}{API_HOST_SUFFIX}/", headers={"cookie": "a=b"}) for _ in range(5)]
    return Probe(stack, tuple(one.status_code for one in responses), responses[0].headers, responses[0].json())


def _forget_logs(engine: Engine) -> None:
    try:
        engine.client("logs").delete_log_group(logGroupName=f"/aws/lambda/{PROBE}")
    except ClientError as error:
        if error.response["Error"]["Code"] != "ResourceNotFoundException":
            raise


def _zipped() -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        archive.writestr("probe.py", CODE)
    return content.getvalue()
