"""The contents of the engine's account: resources by kind and name, and what a deployed stack runs."""

import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from infra.local.names import REGION
from rehearsal.engine import ACCOUNT, API_HOST_SUFFIX, Engine
from rehearsal.report import expect

# Kind of resource -> service, the operation that lists it, the list in the response, and the field of the name.
LISTS = {
    "alarm": ("cloudwatch", "describe_alarms", "MetricAlarms", "AlarmName"),
    "api": ("apigatewayv2", "get_apis", "Items", "Name"),
    "bucket": ("s3", "list_buckets", "Buckets", "Name"),
    "dashboard": ("cloudwatch", "list_dashboards", "DashboardEntries", "DashboardName"),
    "function": ("lambda", "list_functions", "Functions", "FunctionName"),
    "layer": ("lambda", "list_layers", "Layers", "LayerName"),
    "log group": ("logs", "describe_log_groups", "logGroups", "logGroupName"),
    "machine": ("stepfunctions", "list_state_machines", "stateMachines", "name"),
    "parameter": ("ssm", "describe_parameters", "Parameters", "Name"),
    "role": ("iam", "list_roles", "Roles", "RoleName"),
    "rule": ("events", "list_rules", "Rules", "Name"),
    "schedule": ("scheduler", "list_schedules", "Schedules", "Name"),
    "stack": ("cloudformation", "describe_stacks", "Stacks", "StackName"),
    "topic": ("sns", "list_topics", "Topics", "TopicArn"),
}
ACTIVE_SECONDS = 120
SAM_PREFIX = "aws-sam-cli-managed-default"  # SAM's own stack with its bucket, which all stacks of an account share


def resources(engine: Engine) -> set[tuple[str, str]]:
    """Return every resource of the account as its kind and name.

    SAM's own stack does not count, nor a key that is to be deleted.
    """
    found = {(kind, one[name]) for kind, (*where, name) in LISTS.items() for one in _listed(engine, *where)}
    found |= {("table", name) for name in engine.client("dynamodb").list_tables()["TableNames"]}
    kms = engine.client("kms")
    keys = [kms.describe_key(KeyId=one["KeyId"])["KeyMetadata"] for one in kms.list_keys()["Keys"]]
    found |= {("key", key["Description"]) for key in keys if key["KeyState"] != "PendingDeletion"}
    return {(kind, name) for kind, name in found if not name.startswith(SAM_PREFIX)}


def _listed(engine: Engine, service: str, operation: str, items: str) -> list[dict[str, Any]]:
    client = engine.client(service)
    if not client.can_paginate(operation):
        return list(getattr(client, operation)()[items])
    return [one for page in client.get_paginator(operation).paginate() for one in page[items]]


def remove(engine: Engine, found: Iterable[tuple[str, str]]) -> None:
    """Remove what a deleted stack has retained, by the requests of the commands in docs/deploy.md."""
    kms = engine.client("kms")
    for kind, name in found:
        match kind:
            case "table":
                engine.client("dynamodb").delete_table(TableName=name)
            case "bucket":
                bucket = engine.resource("s3").Bucket(name)
                bucket.object_versions.delete()
                bucket.delete()
            case "machine":
                arn = f"arn:aws:states:{REGION}:{ACCOUNT}:stateMachine:{name}"
                engine.client("stepfunctions").delete_state_machine(stateMachineArn=arn)
            case "parameter":
                engine.client("ssm").delete_parameter(Name=name)
            case "key":
                for one in kms.list_keys()["Keys"]:
                    about = kms.describe_key(KeyId=one["KeyId"])["KeyMetadata"]
                    if about["Description"] == name and about["KeyState"] == "Enabled":
                        kms.schedule_key_deletion(KeyId=one["KeyId"], PendingWindowInDays=7)
            case _:
                expect(False, f"{kind} {name} is not removed by hand")


@dataclass(frozen=True)
class Stack:
    """A stack of the account."""

    engine: Engine
    name: str = "mcpist"

    @property
    def status(self) -> str:
        """CloudFormation's status."""
        return str(self._describe()["StackStatus"])

    @property
    def id(self) -> str:
        """The UUID in its ARN."""
        return str(self._describe()["StackId"]).rsplit("/", 1)[1]

    @property
    def outputs(self) -> dict[str, str]:
        """The outputs by name."""
        return {one["OutputKey"]: one["OutputValue"] for one in self._describe()["Outputs"]}

    @property
    def api_host(self) -> str:
        """The host name that API Gateway gives the API."""
        client = self.engine.client("cloudformation")
        found = client.describe_stack_resource(StackName=self.name, LogicalResourceId="Api")
        return f"{found['StackResourceDetail']['PhysicalResourceId']}{API_HOST_SUFFIX}"

    @property
    def functions(self) -> dict[str, str]:
        """The functions' names by the template's ids."""
        pages = self.engine.client("cloudformation").get_paginator("list_stack_resources").paginate(StackName=self.name)
        return {
            one["LogicalResourceId"]: one["PhysicalResourceId"]
            for page in pages
            for one in page["StackResourceSummaries"]
            if one["ResourceType"] == "AWS::Lambda::Function"
        }

    def live(self) -> dict[str, dict[str, Any]]:
        """Return the configuration that the alias `live` of each function runs, once all of them can be invoked."""
        deadline = time.monotonic() + ACTIVE_SECONDS
        while True:
            found = {id_: self._configuration(name, "live") for id_, name in self.functions.items()}
            waiting = [id_ for id_, one in found.items() if one["State"] == "Pending"]
            if not waiting:
                return found
            expect(time.monotonic() < deadline, f"still not active: {', '.join(waiting)}")
            time.sleep(0.2)

    def check_live(self) -> dict[str, dict[str, Any]]:
        """Check that `live` runs what was deployed last, with one version kept of each function, and return it."""
        live = self.live()
        for id_, running in live.items():
            name = self.functions[id_]
            latest = self._configuration(name, "$LATEST")
            for field in ("CodeSha256", "Environment", "MemorySize", "Timeout", "Role"):
                expect(running[field] == latest[field], f"live of {id_} has another {field} than $LATEST")
            layers = [[layer["Arn"] for layer in one["Layers"]] for one in (running, latest)]
            expect(layers[0] == layers[1], f"live of {id_} has other layers than $LATEST: {layers}")
            expect(running["State"] == "Active", f"live of {id_} is {running['State']}: {running.get('StateReason')}")
            kept = list(self._versions(name))
            expect(kept == [running["Version"]], f"{id_} keeps the versions {kept}, live is {running['Version']}")
        return live

    def delete(self) -> None:
        """Delete the stack and wait until it is gone."""
        client = self.engine.client("cloudformation")
        client.delete_stack(StackName=self.name)
        waiter = client.get_waiter("stack_delete_complete")
        waiter.wait(StackName=self.name, WaiterConfig={"Delay": 1, "MaxAttempts": 120})

    def _versions(self, function: str) -> Iterator[str]:
        versions = self.engine.client("lambda").list_versions_by_function(FunctionName=function)["Versions"]
        return (one["Version"] for one in versions if one["Version"] != "$LATEST")

    def _configuration(self, function: str, qualifier: str) -> dict[str, Any]:
        found = self.engine.client("lambda").get_function_configuration(FunctionName=function, Qualifier=qualifier)
        return dict(found)

    def _describe(self) -> dict[str, Any]:
        (found,) = self.engine.client("cloudformation").describe_stacks(StackName=self.name)["Stacks"]
        return dict(found)
