"""Which AWS a command acts on: the one of the last `mcpist up`, or a stack in an account of yours."""

import os
from collections.abc import Iterator
from contextlib import contextmanager

from infra.cli.document import Failed
from infra.cli.endpoint import last_up
from mcpist import settings, stores
from mcpist.batch.machine import own_name

TABLES = {"LEDGER_TABLE": "Ledger", "DIRECTORY_TABLE": "Directory", "GRANTS_TABLE": "Grants"}


@contextmanager
def stack(name: str | None, profile: str | None, region: str | None) -> Iterator[None]:
    """Point core's settings and clients at a stack, and back again afterwards; what AWS refuses is a Failed."""
    from botocore.exceptions import ClientError

    before = dict(os.environ)
    try:
        if name or profile or region:
            os.environ |= _given(profile, region)
            _forget()
            os.environ |= _deployed(name or "mcpist")
        else:
            last = last_up("name a stack in AWS with --stack")
            os.environ |= last["aws"] | last["stack"]
        _forget()
        yield
    except ClientError as error:
        hint = "Ask as somebody who may do this in the stack's account."
        raise Failed({"code": "UPSTREAM_UNAVAILABLE", "message": f"AWS refused: {error}", "hint": hint}) from None
    finally:
        os.environ.clear()
        os.environ |= before
        _forget()


def _given(profile: str | None, region: str | None) -> dict[str, str]:
    """The variables by which AWS's own tools choose, too."""
    given = {"AWS_PROFILE": profile, "AWS_DEFAULT_REGION": region, "AWS_REGION": region}
    return {name: value for name, value in given.items() if value}


def _deployed(name: str) -> dict[str, str]:
    """The names of a deployed stack's own things; a Failed where it cannot be asked for them."""
    from botocore.exceptions import BotoCoreError, ClientError

    try:
        ask = stores.client("cloudformation").describe_stack_resource
        found = {
            variable: ask(StackName=name, LogicalResourceId=table)["StackResourceDetail"]
            for variable, table in TABLES.items()
        }
    except (BotoCoreError, ClientError) as error:
        message = f"The stack {name} could not be asked: {error}"
        hint = "Choose an account with --profile and --region, and the stack with --stack."
        raise Failed({"code": "UPSTREAM_UNAVAILABLE", "message": message, "hint": hint}) from None
    tables = {variable: resource["PhysicalResourceId"] for variable, resource in found.items()}
    return {"STACK_NAME": own_name(found["LEDGER_TABLE"]["StackId"]), **tables}


def _forget() -> None:
    settings.settings.cache_clear()
    stores.session.cache_clear()
    stores.client.cache_clear()
