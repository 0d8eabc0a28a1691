"""Pointing core at the stack that a command acts on."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from infra.cli.document import CommandError
from infra.cli.options import Target
from infra.cli.stacks import last_up
from infra.local.environment import STORES, TABLES, environment
from mcpist.aws import clients
from mcpist.batch.machine.definition import stack_prefix

RESOURCES = {**TABLES, **STORES, "TOKEN_BROKER": "TokenBrokerFunctionAliaslive"}


def organization_of(target: Target, organization: str | None) -> str:
    """Return the organization of the command line, or that of the last `mcpist up`."""
    if organization:
        return organization
    if target.deployed:
        raise CommandError("VALIDATION_ERROR", "No organization was named.", "Name one with --organization.")
    return str(last_up("name one with --organization")["organization"])


@contextmanager
def opened(target: Target) -> Iterator[None]:
    """Point core's settings and clients at a stack, and restore them; a refusal by AWS becomes a CommandError."""
    from botocore.exceptions import ClientError

    chosen = {"AWS_PROFILE": target.profile, "AWS_DEFAULT_REGION": target.region, "AWS_REGION": target.region}
    last = {} if target.deployed else last_up("name a stack in AWS with --stack")
    aws = {name: value for name, value in chosen.items() if value} if target.deployed else last["aws"]
    try:
        # The account must be chosen before its stack can be read.
        with environment(aws), environment(last["stack"] if last else _stack_variables(target.stack or "mcpist")):
            yield
    except (ClientError, clients.AwsError) as error:
        hint = "Use a profile that has this right in the stack's account."
        raise CommandError("UPSTREAM_UNAVAILABLE", f"AWS refused: {error}", hint) from None


def describe_stack(name: str) -> tuple[dict[str, Any], dict[str, str]]:
    """Return a stack's description, and its physical ids by the template's ids; CommandError where there is none."""
    from botocore.exceptions import BotoCoreError, ClientError

    cloudformation = clients.client("cloudformation")
    try:
        (description,) = cloudformation.describe_stacks(StackName=name)["Stacks"]
        pages = cloudformation.get_paginator("list_stack_resources").paginate(StackName=name)
        resources = {
            resource["LogicalResourceId"]: resource.get("PhysicalResourceId", "")
            for page in pages
            for resource in page["StackResourceSummaries"]
        }
    except (BotoCoreError, ClientError) as error:
        hint = "Choose an account with --profile and --region, and the stack with --stack."
        raise CommandError("UPSTREAM_UNAVAILABLE", f"The stack {name} could not be read: {error}", hint) from None
    return description, resources


def outputs_of(description: dict[str, Any]) -> dict[str, str]:
    """Return a stack's outputs by their names."""
    return {output["OutputKey"]: output["OutputValue"] for output in description.get("Outputs", ())}


def _stack_variables(name: str) -> dict[str, str]:
    """Return the environment variables that name a deployed stack's resources."""
    description, resources = describe_stack(name)
    return {
        "STACK_NAME": stack_prefix(description["StackId"]),
        "PUBLIC_URL": outputs_of(description).get("McpUrl", "").removesuffix("/mcp"),
        "LOGIN_SECRETS": f"/mcpist/{description['StackName']}/login",
        **{variable: resources[id_] for variable, id_ in RESOURCES.items() if id_ in resources},
    }
