"""Which AWS a command acts on: the one of the last `mcpist up`, or a stack in an account of yours."""

import argparse
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from infra.cli.document import CommandError
from infra.cli.endpoint import last_up
from mcpist.aws import clients
from mcpist.batch.machine.definition import stack_prefix
from mcpist.memory import forget_all

# The stack's own things that commands act on, by the variables in which core reads their names.
TABLES = {
    "LEDGER_TABLE": "Ledger",
    "DIRECTORY_TABLE": "Directory",
    "GRANTS_TABLE": "Grants",
    "AUDIT_TABLE": "Audit",
}
RESOURCES = {**TABLES, "TOKEN_BROKER": "TokenBrokerFunctionAliaslive"}


def organization(options: argparse.Namespace) -> str:
    """The organization of the command line, or that of the last `mcpist up`."""
    if options.organization:
        return str(options.organization)
    if options.stack or options.profile or options.region:
        hint = "Name one with --organization."
        raise CommandError({"code": "VALIDATION_ERROR", "message": "No organization was named.", "hint": hint})
    return str(last_up("name one with --organization")["organization"])


@contextmanager
def stack(name: str | None, profile: str | None, region: str | None) -> Iterator[None]:
    """Point core's settings and clients at a stack, and back again afterwards; what AWS refuses is a CommandError."""
    from botocore.exceptions import ClientError

    before = dict(os.environ)
    try:
        if name or profile or region:
            os.environ |= _given(profile, region)
            forget_all()
            os.environ |= _deployed(name or "mcpist")
        else:
            last = last_up("name a stack in AWS with --stack")
            os.environ |= last["aws"] | last["stack"]
        forget_all()
        yield
    except (ClientError, clients.AwsError) as error:
        hint = "Ask as somebody who may do this in the stack's account."
        raise CommandError({"code": "UPSTREAM_UNAVAILABLE", "message": f"AWS refused: {error}", "hint": hint}) from None
    finally:
        os.environ.clear()
        os.environ |= before
        forget_all()


def _given(profile: str | None, region: str | None) -> dict[str, str]:
    """The variables by which AWS's own tools choose, too."""
    given = {"AWS_PROFILE": profile, "AWS_DEFAULT_REGION": region, "AWS_REGION": region}
    return {name: value for name, value in given.items() if value}


def _deployed(name: str) -> dict[str, str]:
    """The names of a deployed stack's own things."""
    found, made = described(name)
    outputs = {one["OutputKey"]: one["OutputValue"] for one in found.get("Outputs", ())}
    return {
        "STACK_NAME": stack_prefix(found["StackId"]),
        "PUBLIC_URL": outputs.get("McpUrl", "").removesuffix("/mcp"),
        **{variable: made[id_] for variable, id_ in RESOURCES.items() if id_ in made},
    }


def described(name: str) -> tuple[dict[str, Any], dict[str, str]]:
    """The description of a stack, and its resources' ids by the template's ids; CommandError where there is none."""
    from botocore.exceptions import BotoCoreError, ClientError

    formation = clients.client("cloudformation")
    try:
        (found,) = formation.describe_stacks(StackName=name)["Stacks"]
        pages = formation.get_paginator("list_stack_resources").paginate(StackName=name)
        made = {
            one["LogicalResourceId"]: one.get("PhysicalResourceId", "")
            for page in pages
            for one in page["StackResourceSummaries"]
        }
    except (BotoCoreError, ClientError) as error:
        message = f"The stack {name} could not be asked: {error}"
        hint = "Choose an account with --profile and --region, and the stack with --stack."
        raise CommandError({"code": "UPSTREAM_UNAVAILABLE", "message": message, "hint": hint}) from None
    return found, made
