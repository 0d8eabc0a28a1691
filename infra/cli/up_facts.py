"""The facts of a running deployment, kept for the other commands."""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from infra.cli.whole_file import ONLY_OWNER, write_whole
from infra.local.demo import ADMINISTRATOR, ORGANIZATION, USER
from infra.local.deployment import LocalDeployment
from infra.local.environment import STORES, TABLES
from infra.local.names import PSEUDO, STACK
from mcpist.batch.machine.definition import stack_prefix


def facts_of(deployment: LocalDeployment) -> dict[str, object]:
    """Return where everything of a deployment is, and the tokens of its first users."""
    return {
        "mcp_url": deployment.mcp_url,
        "api_url": deployment.aws.api_url,
        "console_url": deployment.console_url,
        "connect_url": deployment.connect_url,
        "issuer": deployment.login.issuer,
        "access_token": deployment.token(),
        "administrator_token": deployment.token(ADMINISTRATOR),
        "organization": ORGANIZATION,
        "user": USER.sub,
        "documents": deployment.documents,
        "upstreams": str(deployment.upstreams),
        "read_upstreams": str(deployment.read_upstreams),
        "aws": deployment.aws.environment,
        # The embedded AWS has no CloudFormation to ask for them.
        "stack": {
            "STACK_NAME": stack_prefix(PSEUDO["AWS::StackId"]),
            "PUBLIC_URL": deployment.aws.api_url,
            "LOCAL_SERVICES": "on",
            "LOGIN_SECRETS": f"/mcpist/{STACK}/login",
            **{variable: deployment.aws.resource(store) for variable, store in (TABLES | STORES).items()},
            **deployment.settings,
            "TOKEN_BROKER": deployment.aws.resource("TokenBrokerFunction.Alias"),
        },
    }


def _deployment(deployment: LocalDeployment) -> dict[str, object]:
    """Return the facts that CloudFormation and Lambda would have of the stack."""
    template = deployment.aws.template
    tables, buckets, keys = ([one.id for one in some] for some in (template.tables, template.buckets, template.keys))
    return {
        "name": STACK,
        "parameters": dict(template.intrinsics.parameters),
        "resources": {id_: deployment.aws.resource(id_) for id_ in (*tables, *buckets, *keys, "TokenBrokerRole")},
        "environments": {
            one.id: {**one.environment, "UPSTREAMS": str(deployment.read_upstreams), **deployment.settings}
            for one in template.functions
        },
    }


@contextmanager
def recorded(deployment: LocalDeployment, path: Path) -> Iterator[None]:
    """Keep the facts for the other commands while the deployment runs, in a file that only its owner can read."""
    facts = {**facts_of(deployment), "pid": os.getpid(), "deployment": _deployment(deployment)}
    write_whole(path, json.dumps(facts), mode=ONLY_OWNER)  # it holds tokens
    try:
        yield
    finally:
        path.unlink(missing_ok=True)
